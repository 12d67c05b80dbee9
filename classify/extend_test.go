package classify

import (
	"errors"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

const userRules = `leaves:
  - id: infra.vpn
    title: the tunnel broke
    definition: The tunnel to the model's network is gone.
    includes: a gateway that answers for a tunnel that is down
    excludes: the provider itself (infra.provider_error)
    signature: the word tunnel
    example: "tunnel to dc2 lost"
rules:
  - id: U-vpn
    leaf: infra.vpn
    strength: strong
    channels: [harness]
    anchors: [tunnel]
    pattern: 'tunnel to \w+ lost'
    positive: ["tunnel to dc2 lost"]
    negative: ["the tunnel is up", "a tunnel of love"]
`

// TestExtendCodebook: a rule and a leaf of a user decide like those of the codebook.
func TestExtendCodebook(t *testing.T) {
	book, err := ExtendCodebook([]byte(userRules))
	if err != nil {
		t.Fatal(err)
	}
	if book.UserRules() != 1 || !strings.HasPrefix(book.Name, "stint-failures/1.0+") || book.Annotator() == Codebook().Annotator() {
		t.Errorf("%s by %s with %d rules of a user", book.Name, book.Annotator(), book.UserRules())
	}
	e := attemptEnded("cut", "self", "", nil).work().harness("tunnel to dc2 lost")
	f := &failure{book: book, attempt: &e.attempt, checks: e.checks, events: e.events, clauses: testClauses(), passedBefore: always, sha: func(logs.Place) string { return "" }}
	d, err := f.decide()
	if err != nil || deref(d.Verdict.Leaf) != "infra.vpn" || d.Verdict.Taxonomy != book.Name {
		t.Errorf("%+v, %v", d, err)
	}
	if got := e.decide(t); deref(got.Verdict.AbstainReason) != ReasonNoRule {
		t.Errorf("without the rule: %+v", got.Verdict)
	}
	// Rules alone are of the same taxonomy.
	only, err := ExtendCodebook([]byte(strings.ReplaceAll(userRules[strings.Index(userRules, "rules:"):], "infra.vpn", "infra.provider_error")))
	if err != nil || only.Name != Codebook().Name {
		t.Errorf("%+v, %v", only, err)
	}
}

// TestExtendCodebookErrors breaks a user's file in one place each, and wants the line.
func TestExtendCodebookErrors(t *testing.T) {
	for _, tt := range []struct {
		name, old, new, want string
		line                 int
	}{
		{"an example that is missed", `["tunnel to dc2 lost"]`, `["tunnel gone"]`, "U-vpn: the rule does not fire on its own example", 10},
		{"an example that must not fire", `"a tunnel of love"`, `"tunnel to dc3 lost"`, "U-vpn: the rule fires on", 10},
		{"a pattern that is none", `'tunnel to \w+ lost'`, `'tunnel to (\w+ lost'`, "U-vpn: the pattern", 10},
		{"an untrusted channel", "[harness]", "[tool]", `channel "tool" is not trusted`, 10},
		{"a leaf nobody knows", "    leaf: infra.vpn", "    leaf: infra.vpm", `"infra.vpm" is no leaf`, 10},
		{"a leaf of drift", "    leaf: infra.vpn", "    leaf: drift.too_lax", "a rule cannot name drift.too_lax", 10},
		{"an unknown key", "    anchors:", "    anchor:", "anchor", 14},
		{"an id of the codebook", "U-vpn", "R-heap", "there twice", 10},
		{"a leaf of the codebook", "- id: infra.vpn", "- id: infra.budget", "there twice", 2},
		{"half a leaf", "    includes: a gateway that answers for a tunnel that is down\n", "", "a leaf needs", 2},
		{"healthy text of another rule", `pattern: 'tunnel to \w+ lost'`, `pattern: 'tunnel|streaming the answer'`, "", 0},
		{"no YAML", "rules:", "rules: [", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(userRules, tt.old) {
				t.Fatalf("no %q", tt.old)
			}
			_, err := ExtendCodebook([]byte(strings.Replace(userRules, tt.old, tt.new, 1)))
			var wrong *RulesError
			if !errors.As(err, &wrong) {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(wrong.Error(), tt.want) || tt.line > 0 && wrong.Line == 0 || tt.line > 1 && wrong.Line != tt.line {
				t.Errorf("line %d: %v; want line %d: %s", wrong.Line, wrong, tt.line, tt.want)
			}
		})
	}
	for _, bad := range []string{"", "{}", "[]", "rules: 7", strings.Repeat("a", MaxUserRules+1)} {
		if _, err := ExtendCodebook([]byte(bad)); err == nil {
			t.Errorf("%.20q is taken", bad)
		}
	}
}

// TestUserLeafInPacket: a judge is told of a user's leaf as of any other: by its title where the agent got over it, under
// a code of its own, and a text that names it speaks to the reader.
func TestUserLeafInPacket(t *testing.T) {
	book, err := ExtendCodebook([]byte(strings.ReplaceAll(userRules, "infra.vpn", "infra.vpn_gone")))
	if err != nil {
		t.Fatal(err)
	}
	e := attemptEnded("clean", "", "", ptr(0)).work().harness("tunnel to dc2 lost").work()
	f := &failure{book: book, attempt: &e.attempt, checks: e.checks, events: e.events, clauses: testClauses(), passedBefore: always, sha: func(logs.Place) string { return "" }}
	if _, err := f.decide(); err != nil {
		t.Fatal(err)
	}
	b := builder{f: f, red: newRedactor(nil, "x", false)}
	if facts := b.build().item("facts"); facts == nil || !strings.Contains(facts.text.text, "got over: the tunnel broke") {
		t.Errorf("facts: %+v", facts)
	}
	s := draw(book, 1, "x", "v1")
	if said := s.instructions(book, detailFull, rungSchema); s.byLeaf["infra.vpn_gone"] == "" || !strings.Contains(said, s.byLeaf["infra.vpn_gone"]+": The tunnel to the model's network is gone.") {
		t.Errorf("no code for the leaf:\n%s", said)
	}
	const line = "it looks like vpn_gone to me"
	if len(book.spokenTo(line)) != 1 || len(Codebook().spokenTo(line)) != 0 {
		t.Errorf("%q speaks to the reader of %d of the two books", line, len(book.spokenTo(line))+len(Codebook().spokenTo(line)))
	}
}

// TestRuleConditions: what a rule can ask for beside its words.
func TestRuleConditions(t *testing.T) {
	lost := func(e *ended) *ended { return e.harness("tunnel to dc2 lost") }
	for _, tt := range []struct {
		name, line string
		e          *ended
		fires      bool
	}{
		{"a veto", "vetoes: ['dc2']", lost(attemptEnded("cut", "self", "", nil).work()), false},
		{"another veto", "vetoes: ['dc3']", lost(attemptEnded("cut", "self", "", nil).work()), true},
		{"a kind", "kinds: [notice]", lost(attemptEnded("cut", "self", "", nil).work()), false},
		{"the right kind", "kinds: [notice, error]", lost(attemptEnded("cut", "self", "", nil).work()), true},
		{"an exit code", "exit_codes: [7, 9]", lost(attemptEnded("cut", "self", "", ptr(1)).work()), false},
		{"the right exit code", "exit_codes: [7, 9]", lost(attemptEnded("cut", "self", "", ptr(9)).work()), true},
		{"a count", "count: 3", lost(lost(attemptEnded("cut", "self", "", nil).work())), false},
		{"often enough", "count: 2", lost(lost(attemptEnded("cut", "self", "", nil).work())), true},
		{"not at the end", "at_end: true", lost(attemptEnded("cut", "self", "", nil)).call("ls", true), false},
		{"at the end", "at_end: true", lost(attemptEnded("cut", "self", "", nil).work()), true},
		{"followed by success", "not_followed_by_success: true", lost(attemptEnded("clean", "self", "", ptr(0))).work(), false},
		{"not followed by it", "not_followed_by_success: true", lost(attemptEnded("cut", "self", "", nil).work()), true},
	} {
		text := strings.Replace(userRules, "    channels: [harness]\n", "    channels: [harness]\n    version: 2\n    "+tt.line+"\n", 1)
		if strings.HasPrefix(tt.line, "vetoes: ['dc2']") {
			text = strings.Replace(text, `positive: ["tunnel to dc2 lost"]`, `positive: ["tunnel to dc4 lost"]`, 1)
		}
		book, err := ExtendCodebook([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tr := newTrail(book, "", &tt.e.attempt, tt.e.events)
		fires := false
		for _, c := range tr.found {
			fires = fires || c.rule == "U-vpn"
		}
		if fires != tt.fires {
			t.Errorf("%s: fires %t", tt.name, fires)
		}
	}
	for line, want := range map[string]string{"vetoes: ['(']": "the veto", "kinds: [tool_call]": "a rule reads events of the kinds", "count: -1": "cannot be below 0", "vetoes: ['tunnel']": "does not fire on its own example"} {
		text := strings.Replace(userRules, "    channels: [harness]\n", "    channels: [harness]\n    "+line+"\n", 1)
		if _, err := ExtendCodebook([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
