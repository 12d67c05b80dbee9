package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
)

func TestFeedbackGolden(t *testing.T) {
	sc := scenarioOf(t, 7, 6)
	schema := sc.Steps[6].Schema
	s := suiteOf(t, sc, 6)
	mutants := oracle.Mutants(schema, sc.Steps[5].Schema)
	faults := []oracle.Fault{mutants[9], mutants[len(mutants)/2], mutants[len(mutants)-1]}
	r := grade(t, s, RunOptions{Start: reference(schema, faults...), Schema: schema})
	wantOutcome(t, r, "failed: checks")
	for _, level := range []string{"minimal", "moderate", "detailed"} {
		told := Feedback(level, s, r)
		if again := Feedback(level, s, r); again != told {
			t.Errorf("%s is not stable", level)
		}
		golden(t, "feedback_"+level+".txt", fmt.Sprintf("%s(omitted %d)\n", told.Text, told.Omitted))
		if strings.Contains(told.Text, "127.0.0.1") {
			t.Errorf("%s names a host:\n%s", level, told.Text)
		}
	}
	if told := Feedback("none", s, r); told != (Told{}) {
		t.Errorf("none tells %q", told.Text)
	}
	r2 := grade(t, s, RunOptions{Start: reference(schema, faults...), Schema: schema})
	if Feedback("detailed", s, r2) != Feedback("detailed", s, r) {
		t.Error("a second grading of the same server tells something else")
	}
}

func TestFeedbackBounds(t *testing.T) {
	sc := scenarioOf(t, 2, 6)
	schema := sc.Steps[6].Schema
	s := suiteOf(t, sc, 6)
	var faults []oracle.Fault
	for i, f := range oracle.Mutants(schema, nil) {
		if i%3 == 0 {
			faults = append(faults, f)
		}
	}
	r := grade(t, s, RunOptions{Start: reference(schema, faults...), SoloMax: 2})
	for level, shown := range map[string]string{"moderate": "\n- ", "detailed": "   Actual: "} {
		told := Feedback(level, s, r)
		n := strings.Count(told.Text, shown)
		if len(told.Text) > maxToldBytes || n == 0 || n > maxToldChecks || told.Omitted != r.Failed-n {
			t.Errorf("%s: %d bytes, %d checks, %d omitted of %d", level, len(told.Text), n, told.Omitted, r.Failed)
		}
		if !strings.Contains(told.Text, "more failing checks are not shown") {
			t.Errorf("%s does not say that something is left out", level)
		}
	}
}

func TestTellingOrder(t *testing.T) {
	s := &Suite{Turn: 5, Clauses: []ClauseInfo{{ID: "c1", Introduced: 0}, {ID: "c2", Introduced: 2, Changed: 5}, {ID: "c3", Introduced: 3, Changed: 3}}}
	no := false
	f := func(id, clause, status string, confirmed *bool) Failure {
		return Failure{Check: Check{ID: id, Clauses: []string{clause}}, Status: status, Confirmed: confirmed}
	}
	failures := []Failure{f("k1.a", "c1", StatusFail, nil), f("k1.b", "c1", StatusFail, nil), f("k2.a", "c2", StatusFail, nil), f("k2.b", "c2", StatusFail, &no),
		f("k3.a", "c3", StatusError, nil), f("k3.b", "c3", StatusFail, nil), f("k3.c", "c3", StatusNotRun, nil), f("k2.c", "c2", StatusFail, nil)}
	var got []string
	for _, i := range tellingOrder(s, failures) {
		got = append(got, failures[i].ID)
	}
	if want := "k2.a k3.b k1.a k2.c k1.b k2.b k3.a"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
	for id, want := range map[string]string{
		"c1": "required since the first version",
		"c2": "required since change 2, in this form since the current change (number 5)",
		"c3": "required since change 3",
	} {
		if got := s.since(Check{Clauses: []string{id}}); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestAnonymous(t *testing.T) {
	for in, want := range map[string]string{
		`File "/tmp/stint-123/w1/app.py", line 3`:         `File "app.py", line 3`,
		"listening on http://127.0.0.1:40123/":            "listening on http://127.0.0.1:PORT/",
		"Server running on port 40123 (pid 77)":           "Server running on port … (pid …)",
		"GET /orders/5 500":                               "GET /orders/5 500",
		"OSError: [Errno 98] address [::]:8080 is in use": "OSError: [Errno 98] address [::]:PORT is in use",
	} {
		if got := anonymous(in); got != want {
			t.Errorf("anonymous(%q) = %q, want %q", in, got, want)
		}
	}
}
