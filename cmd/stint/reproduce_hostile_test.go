package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// hostileAttempt is an attempt whose every text tries to leave its place in the shell or on the terminal.
func hostileAttempt(mark string) *attempt {
	evil := "'\n touch " + mark + " #`touch " + mark + "` $(touch " + mark + ")\x1b[2J\u202e"
	body, _ := json.Marshal(map[string]any{"name": evil, "n": "${a}"})
	failed := false
	c := suite.Check{ID: "k1." + evil, Title: evil, Clauses: []string{"c1"}, Category: "type", World: suite.Own, Steps: []suite.Step{
		{Method: "POST", Path: "/things", Body: []byte(`{"name":"first"}`), Status: 201, Capture: "a"},
		{Method: "PUT", Path: "/things/${a}", Body: body, Status: 400, Match: suite.Subset, Expect: body},
	}}
	f := suite.Failure{Check: c, Status: suite.StatusFail, Expected: evil, Actual: evil,
		Exchanges: []suite.Exchange{{Status: 201, Response: evil}, {Status: 200, Response: evil, Error: evil}}}
	a := &attempt{episode: "0123456789ab", passed: &failed, reason: evil}
	a.start.Config, a.start.Scenario.ID = evil, evil
	a.suite = &suite.Suite{Worlds: []suite.World{{Name: suite.Own}}, Checks: []suite.Check{c}, Clauses: []suite.ClauseInfo{{ID: "c1", Text: evil}}}
	a.graded = &episode.GradeResult{Result: &suite.Result{Runs: 1, Checks: 1, Failed: 1, Detail: evil, Failures: []suite.Failure{f},
		Servers: []suite.ServerEvent{{World: evil, Kind: "exit", Reason: evil, End: &suite.ServerEnd{Log: evil}}}}}
	return a
}

// TestHostileTextStaysText prints hostile attempts and runs what was printed: nothing of it may become a command or
// reach the terminal raw.
func TestHostileTextStaysText(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	for name, change := range map[string]func(a *attempt){
		"checks": func(*attempt) {},
		"start":  func(a *attempt) { a.graded.Result.Failures = nil },
	} {
		for _, print := range []func(a *attempt, e *env) error{
			func(a *attempt, e *env) error { return a.print(e, "", "reproduce") },
			func(a *attempt, e *env) error { return a.printScript(e, "", "reproduce") },
		} {
			a := hostileAttempt(mark)
			change(a)
			var out bytes.Buffer
			if err := print(a, &env{Stdout: &out, Self: "stint"}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, r := range out.String() {
				if r != '\n' && (r < 0x20 || r == 0x7f || r == 0x202e) {
					t.Errorf("%s: %q is printed raw", name, r)
				}
			}
			cmd := exec.Command("sh")
			cmd.Stdin = strings.NewReader(strings.Replace(out.String(), "BASE=http://127.0.0.1:8123", "", 1))
			cmd.Env = append(os.Environ(), "BASE=http://127.0.0.1:1") // nothing answers there
			said, _ := cmd.CombinedOutput()                           // it fails: nothing answers
			if strings.Contains(string(said), "yntax error") || strings.Contains(string(said), "not found") {
				t.Errorf("%s: the shell says %s", name, said)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Fatalf("%s: text of the attempt was run as a command:\n%s", name, out.String())
			}
		}
	}
}

// TestHostileSymbolIsRefused has a suite that captures an id under a name that is a command.
func TestHostileSymbolIsRefused(t *testing.T) {
	a := hostileAttempt("/nonexistent")
	a.suite.Checks[0].Steps[0].Capture = "a$(id)"
	if err := a.print(&env{Stdout: &bytes.Buffer{}}, "", ""); err == nil {
		t.Error("a capture that is no name was accepted")
	}
}

// TestScriptComparesAsTheGrader gives the script's comparison what a grader has to tell apart.
func TestScriptComparesAsTheGrader(t *testing.T) {
	dir := t.TempDir()
	_, after, _ := strings.Cut(reproduceFunctions, "<<'AWK'\n")
	program, _, ok := strings.Cut(after, "\nAWK\n")
	if !ok {
		t.Fatal("the script holds no awk program")
	}
	writeFile(t, dir, "compare.awk", program)
	for _, c := range []struct {
		mode, want, got string
		same            bool
	}{
		{"exact", `{"a":1}`, ` { "a" : 1.0 } `, true},
		{"exact", `{"a":1}`, `{"a":1,"b":null}`, false},
		{"present", `{"a":1}`, `{"a":1,"b":null}`, true},
		{"present", `{"a":1,"b":null}`, `{"a":1}`, false},
		{"subset", `{"a":1,"b":null}`, `{"a":1}`, true},
		{"subset", `{"a":1,"b":null}`, `{"a":1,"b":0}`, false},
		{"exact", `{"a":1}`, `{"a":"1"}`, false},
		{"exact", `{"a":1}`, `{"a":1.001}`, false},
		{"exact", `{"a":1.50}`, `{"a":1.504}`, true},
		{"exact", `{"a":1.50}`, `{"a":1.51}`, false},
		{"exact", `{"a":10}`, `{"a":1e1}`, true},
		{"exact", `{"a":"é\n\"x"}`, `{"a":"\u00e9\u000a\u0022x"}`, true},
		{"exact", `{"a":"𝄞"}`, `{"a":"\ud834\udd1e"}`, true},
		{"exact", `{"a":"1.0"}`, `{"a":"1"}`, false},
		{"exact", `[{"id":1},{"id":2}]`, `[{"id":2},{"id":1}]`, false},
		{"present", `[1,2]`, `[1,2,3]`, false},
		{"exact", `{"a":[]}`, `{"a":{}}`, false},
		{"exact", `{"a":{}}`, `{"a":{}}`, true},
		{"exact", `{"a":null}`, `{"a":false}`, false},
		{"exact", `{"a":1}`, `{"a":1}}`, false},
		{"exact", `{"a":1}`, `{"a":1`, false},
		{"exact", `{"a":1}`, ``, false},
		{"exact", `{"a":1}`, `<html>`, false},
		{"exact", "{\"a\":1}", "{\n  \"a\": 1\n}\n", true},
	} {
		want, got := writeFile(t, dir, "want", c.want), writeFile(t, dir, "got", c.got)
		cmd := exec.Command("awk", "-v", "mode="+c.mode, "-f", filepath.Join(dir, "compare.awk"), want, got)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("awk: %v: %s", err, out)
		}
		if same := strings.TrimSpace(string(out)) == "same"; same != c.same {
			t.Errorf("%s %s against %s: %s", c.mode, c.want, c.got, out)
		}
	}
}
