package logs

import (
	"errors"
	"strings"
	"testing"
)

func TestExpr(t *testing.T) {
	row := &EpisodeRow{Config: "glm-5+opencode/detailed/r2", Model: "glm-5", Harness: "opencode", Feedback: "detailed", Retries: 2,
		Scenario: "s07", TurnsPassed: ptr(12), Validity: "valid", EndReason: ptr("failed"), Sandbox: "bubblewrap 0af3", Study: "a (b) \"c\""}
	for s, want := range map[string]bool{
		"": true, "  ": true, "*": true, "-*": false,
		"harness:opencode":                          true,
		"harness:builtin":                           false,
		"harness:open":                              false,
		"-harness:builtin":                          true,
		"--harness:builtin":                         false,
		"harness:opencode retries:2":                true,
		"harness:opencode AND retries:3":            false,
		"harness:builtin OR retries:2":              true,
		"harness:builtin OR retries:2 model:x":      false,
		"(harness:builtin OR retries:2) model:x":    false,
		"harness:(builtin OR opencode)":             true,
		"-harness:(builtin OR opencode)":            false,
		"-(harness:opencode model:x)":               true,
		"scenario:s07 turns_passed:12":              true,
		"config:glm-5+opencode/detailed/r2":         true,
		`config:"glm-5+opencode/detailed/r2"`:       true,
		`study:"a (b) \"c\""`:                       true,
		`end_l1:""`:                                 true,
		`end_reason:""`:                             false,
		"sandbox:bubblewrap":                        true,
		"seed:0":                                    true,
		"turns_passed:-1":                           false,
		"harness:opencode AND -feedback:(minimal)":  true,
		"end_reason:failed -validity:incomplete * ": true,
	} {
		e, err := ParseExpr(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if got, err := e.Match(row.Get); err != nil || got != want {
			t.Errorf("%q matches: %v (%v), want %v", s, got, err, want)
		}
	}
	if ok, err := (Expr{}).Match(row.Get); !ok || err != nil {
		t.Error("the zero expression does not match")
	}
}

func TestExprErrors(t *testing.T) {
	for _, c := range []struct {
		expr string
		pos  int
		want string
	}{
		{"harness", 8, "expected a colon"},
		{"harness:", 9, "is missing"},
		{":x", 1, "expected key:value"},
		{"a:b )", 5, "unexpected"},
		{"(a:b", 5, "opened at character 1 is not closed"},
		{"a:(b c)", 6, "expected OR"},
		{"a:(b OR", 8, "expected a value"},
		{"a:()", 4, "expected a value"},
		{`a:"b`, 3, "no end"},
		{"a:b AND", 8, "missing at the end"},
		{"OR a:b", 1, "expected key:value"},
		{"a:b -", 6, "missing at the end"},
		{strings.Repeat("(", 200), 101, "too many parentheses"},
	} {
		_, err := ParseExpr(c.expr)
		var e *ExprError
		if !errors.As(err, &e) || e.Pos != c.pos || !strings.Contains(e.Text, c.want) || e.Hint() == "" || e.ExitCode() != 2 {
			t.Errorf("%q: %v, want %q at %d", c.expr, err, c.want, c.pos)
		}
	}
	e, err := ParseExpr("harness:x modl:y")
	if err != nil {
		t.Fatal(err)
	}
	var unknown *ExprError
	if _, err := e.Match((&EpisodeRow{Harness: "z"}).Get); !errors.As(err, &unknown) || unknown.Pos != 11 ||
		!strings.Contains(err.Error(), `"modl"`) || !strings.Contains(unknown.Hint(), "model, model_returned") {
		t.Errorf("unknown key: %v", err)
	}
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{"a:b", `-(a:"x y" OR *)`, "a:(b OR c) AND d:e", "((((", "\x00:\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseExpr(s)
		if err != nil {
			return
		}
		if _, err := e.Match(func(string) (string, bool) { return "x", true }); err != nil {
			t.Fatal(err)
		}
	})
}
