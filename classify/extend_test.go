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
