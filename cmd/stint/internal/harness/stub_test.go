package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKimiStub makes what looks like kimi-cli 1.51.0, and like the versions after it, which start, do nothing and
// end with exit code 0.
func TestKimiStub(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs python3")
	}
	f, err := Load("kimi-cli", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		version string
		modules []string
		want    string
	}{
		"program": {"1.51.0", []string{"soul/kimisoul.py"}, "1.51.0"},
		"stub":    {"1.52.0", []string{"soul/kimisoul.py", "deprecation.py"}, "kimi-cli 1.52.0 is a stub that does nothing"},
		"broken":  {"1.51.0", []string{"soul/__init__.py"}, "No module named"},
	} {
		prefix := t.TempDir()
		files := map[string]string{
			"bin/python": "#!/bin/sh\nPYTHONPATH=" + prefix + "/lib exec " + python + " \"$@\"\n",
			"lib/kimi_cli-" + c.version + ".dist-info/METADATA": "Metadata-Version: 2.1\nName: kimi-cli\nVersion: " + c.version + "\n",
		}
		for _, m := range c.modules {
			files["lib/kimi_cli/"+m] = ""
		}
		for p, text := range files {
			p = filepath.Join(prefix, p)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Installer{}.Version(t.Context(), f, prefix)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
