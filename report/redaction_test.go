package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

func TestRedactorText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"glm-5+opencode/detailed/r2", "glm-5+opencode/detailed/r2"},
		{"qwen3.5-122b+mini-swe/none/r0/session=fresh", "qwen3.5-122b+mini-swe/none/r0/session=fresh"},
		{"deepseek-ai/DeepSeek-V3.1+builtin/detailed/r10@2", "deepseek-ai/DeepSeek-V3.1+builtin/detailed/r10@2"},
		{"/data/models/llama+opencode/detailed/r2", "[path 1]+opencode/detailed/r2"},
		{"http://10.1.2.3:8000/v1+builtin/none/r0", "[endpoint 1]+builtin/none/r0"},
		{"see https://api.example.com/v1. Then", "see [endpoint 1]. Then"},
		{"gpu07.cluster.internal:8000 and 10.1.2.3", "[host 1] and [host 2]"},
		{"from lab.uni-x.de", "from [host 1]"},
		{"on alice's box: alice@laptop, bob.b@uni.edu", "on alice's box: [user 1], [user 2]"},
		{"image@sha256:abcdef", "image@sha256:abcdef"},
		{"abc123@4.0", "abc123@4.0"},
		{"key sk-abcdefghijklmnopqrstuvwxyz123456", "key [secret 1]"},
		{"/home/al/x.py, ~/y and C:\\Users\\al\\z", "[path 1], [path 2] and [path 3]"},
		{"bubblewrap 0.8.0 ab12", "bubblewrap 0.8.0 ab12"},
		{"gpu07 gpu071 gpu07", "[host 1] gpu071 [host 1]"},
		{"kim and skim", "[user 1] and skim"},
		{"at my-vllm:9000", "at [host 1]"},
	} {
		known := Known{Hosts: []string{"gpu07"}, Users: []string{"kim"}, Endpoints: []string{"http://my-vllm:9000/v1"}}
		r := NewRedactor(known)
		got := r.Text(c.in)
		if got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("twice: %q", again)
		}
	}
}

// secretStudy are runs whose every name holds something that is nobody's business.
func secretStudy() (*logs.OutcomeSet, *logs.Tables, []string) {
	set, tables := billed()
	private := []string{"alice", "10.9.8.7", "/srv/nets/llama", "gpu07.corp", "sk-abcdefghijklmnopqrstuvwxyz123456"}
	for i := range set.Rows {
		row, e := &set.Rows[i], &tables.Episodes[i]
		row.Config = "/srv/nets/llama+a/detailed/r0"
		row.Factors = map[string]string{"model": "/srv/nets/llama", "harness": "a"}
		row.Scenario = "s" + row.Scenario + " by alice@gpu07.corp"
		row.File = "/home/alice/x.csv"
		e.Config, e.Scenario, e.Model = row.Config, row.Scenario, "/srv/nets/llama"
		e.ModelReturned = ptr("http://10.9.8.7:80/v1")
		e.HarnessVersion = "1.0 gpu07.corp sk-abcdefghijklmnopqrstuvwxyz123456"
	}
	return set, tables, private
}

// TestRedactedReport: nothing private is left in any file, numbers stay, and every form says what was taken out.
func TestRedactedReport(t *testing.T) {
	set, tables, private := secretStudy()
	plain := mustCompare(t, set, CompareOptions{Episodes: true})
	mean := *plain.Configs[0].Mean
	write := func(in Input) map[string]string {
		dir := filepath.Join(t.TempDir(), "report")
		if err := Write(dir, in); err != nil {
			t.Fatal(err)
		}
		return readTree(t, dir)
	}
	open := write(Input{Study: "alice's study", Comparison: plain, Tables: tables})
	for _, word := range private {
		if !strings.Contains(open["summary.json"]+open["figures/mean-turns.csv"]+open["index.html"], word) {
			t.Errorf("without redaction %s is not in the report: the test shows nothing", word)
		}
	}
	r := NewRedactor(Known{Users: []string{"alice"}})
	r.Apply(set)
	r.Apply(tables)
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	in := Input{Study: r.Text("alice's study"), Comparison: c, Tables: tables, Redacted: r.Redaction()}
	files := write(in)
	for name, text := range files {
		for _, word := range private {
			if strings.Contains(text, word) {
				t.Errorf("%s is in %s", word, name)
			}
		}
	}
	if *c.Configs[0].Mean != mean || c.Configs[0].Config != "[path 1]+a/detailed/r0" || len(c.Configs[0].scenarios) != 6 {
		t.Errorf("%s has the mean %v over %d scenarios", c.Configs[0].Config, *c.Configs[0].Mean, len(c.Configs[0].scenarios))
	}
	want := &Redaction{Secrets: 1, Endpoints: 1, Hosts: 1, Paths: 2, Users: 2}
	if d := cmp.Diff(want, in.Redacted); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	for name, say := range map[string]string{"index.html": "Redacted: 1 secret, 1 address", "report.md": "Redacted: 1 secret, 1 address", "results.tex": "Redacted: 1 secret", "summary.json": `"redacted": {`} {
		if !strings.Contains(files[name], say) {
			t.Errorf("%s does not say %q", name, say)
		}
	}
	if strings.Contains(open["index.html"], "Redacted:") || strings.Contains(open["summary.json"], `"redacted"`) {
		t.Error("a report that was not redacted speaks of it")
	}
}
