package classify

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestCodebook(t *testing.T) {
	book, err := ParseCodebook(CodebookText())
	if err != nil {
		t.Fatal(err)
	}
	if book.Name != "stint-failures/1.0" {
		t.Errorf("the taxonomy is called %s", book.Name)
	}
	levels := map[string]int{}
	for i := range book.Leaves {
		levels[book.Leaves[i].L1()]++
	}
	for l1, want := range map[string]int{"drift": 8, "infra": 13, "bench": 4, "unknown": 2} {
		if levels[l1] != want {
			t.Errorf("%d leaves of %s, want %d", levels[l1], l1, want)
		}
	}
	// The engine's own names are in the book.
	for _, id := range []string{LeafTooLax, LeafNullAccepted, LeafTooStrict, LeafForgotten, LeafChangeMissed, LeafWrongLogic, LeafWireFormat, LeafBrokenServer, LeafToolCall,
		LeafLoopGuard, LeafCompaction, LeafContext, LeafBroadKill, LeafToolHang, LeafAgentExit, LeafResources, LeafBudget, LeafVerifier, LeafInsufficient} {
		if book.Leaf(id) == nil {
			t.Errorf("no leaf %s", id)
		}
	}
	for _, reason := range []string{ReasonNoLog, ReasonNoChecks, ReasonUnconfirmed, ReasonConflict, ReasonNoRule} {
		if !slices.Contains(book.Reasons, reason) {
			t.Errorf("no reason %s", reason)
		}
	}
	// Every leaf of infrastructure that a log can show has a rule, a limit or a detector; the last three are the engine's.
	reached := map[string]bool{LeafBroadKill: true, LeafToolHang: true, "infra.server_lifecycle": true}
	for _, r := range book.Rules {
		reached[r.Leaf] = true
	}
	for _, l := range book.Limits {
		reached[l.Leaf] = true
	}
	for i := range book.Leaves {
		if l := &book.Leaves[i]; l.L1() == "infra" && !reached[l.ID] {
			t.Errorf("nothing finds %s", l.ID)
		}
	}
}

// TestCodebookErrors breaks the book in one place each: loading says which line.
func TestCodebookErrors(t *testing.T) {
	book := string(CodebookText())
	tests := []struct{ name, old, new, want string }{
		{"an unknown key", "    title: accepts null or nothing\n", "    titel: accepts null or nothing\n", "titel"},
		{"a leaf without an example", "    signature: a 4xx is expected, a 2xx comes, and the request has a null or lacks a key\n", "", "drift.null_accepted: a leaf needs"},
		{"a leaf of no level", "  - id: bench.host\n", "  - id: benches.host\n", "benches.host: the leaf is on none of the levels"},
		{"a leaf that is there twice", "  - id: bench.host\n", "  - id: bench.setup\n", "bench.setup: the leaf is there twice"},
		{"a cause that is no leaf", "{cause: infra.broad_kill,", "{cause: infra.kill,", `"infra.kill" is no leaf`},
		{"a row with an unknown condition", "when: [no_listener]", "when: [no_luck]", `K01: "no_luck" is no condition`},
		{"a row with an unknown class", "{id: K02, expected: [any]", "{id: K02, expected: [3xx]", `K02: "3xx" is no class of status`},
		{"a row that is never reached", "when: [no_listener], mechanism", "mechanism", "row K01 takes everything this row is for"},
		{"a rule that misses its example", "anchors: [heap,", "anchors: [haep,", "R-heap: the rule does not fire on its own example"},
		{"a rule that fires where it must not", `negative: ["event loop is running"`, `negative: ["stuck in a loop"`, "R-loop-guard: the rule fires on"},
		{"a rule about an untrusted channel", "R-heap\n    leaf: infra.agent_exit\n    strength: strong\n    channels: [harness, system]", "R-heap\n    leaf: infra.agent_exit\n    strength: strong\n    channels: [model, system]", `R-heap: channel "model" is not trusted`},
		{"a pattern that is none", "pattern: 'oomkilled|", "pattern: '(oomkilled|", "R-resources: the pattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(book, tt.old) {
				t.Fatalf("the codebook has no %q", tt.old)
			}
			_, err := ParseCodebook([]byte(strings.Replace(book, tt.old, tt.new, 1)))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
			if !strings.Contains(err.Error(), "line ") && !strings.Contains(err.Error(), "[") {
				t.Errorf("%v names no line", err)
			}
			if strings.Contains(err.Error(), "line 0") {
				t.Errorf("%v: no line", err)
			}
		})
	}
}

func TestAnnotatorFollowsTheBook(t *testing.T) {
	a, err := ParseCodebook(CodebookText())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseCodebook(bytes.Replace(CodebookText(), []byte("accepts null or nothing"), []byte("takes null or nothing"), 1))
	if err != nil {
		t.Fatal(err)
	}
	if a.Annotator() == b.Annotator() {
		t.Error("two books, one annotator")
	}
}
