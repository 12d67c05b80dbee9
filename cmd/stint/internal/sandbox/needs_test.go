package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A trusted sandbox does without runtimes that nothing in it needs, and only without those.
func TestNeeds(t *testing.T) {
	nothing := func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} }
	opt := Options{Kind: KindNone, Trusted: true, Runtimes: []string{"node"}, LookPath: nothing, Stint: "/stint"}
	box, err := New(context.Background(), opt)
	if err != nil || box.Fingerprint() != "" {
		t.Fatalf("nothing is needed and nothing there: %v", err)
	}
	opt.Needs = []string{"python3"}
	_, err = New(context.Background(), opt)
	var missing *UnavailableError
	if !errors.As(err, &missing) || missing.Kind != "runtime python3" || !strings.Contains(missing.Hint(), "install python3") {
		t.Errorf("python3 is needed and missing: %v", err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return // what follows needs one
	}
	opt.LookPath = func(name string) (string, error) {
		if name == "node" {
			return nothing(name)
		}
		return exec.LookPath(name)
	}
	if box, err = New(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if f := box.Fingerprint(); !strings.HasPrefix(f, "python3-") || strings.Contains(f, "node") {
		t.Errorf("fingerprint %q", f)
	}
	found, _ := box.runtimes()
	path, _, _ := strings.Cut(strings.TrimPrefix(pathOf(box.Environ()), "PATH="), ":")
	if path != filepath.Dir(found[0].path) {
		t.Errorf("PATH begins with %s, python3 is %s", path, found[0].path)
	}
}

func pathOf(env []string) string {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })
	return env[i]
}
