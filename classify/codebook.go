package classify

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed codebook.yaml
var codebookYAML []byte

// The leaves that the engine itself names. All leaves stand in the codebook.
const (
	LeafTooLax       = "drift.too_lax"
	LeafNullAccepted = "drift.null_accepted"
	LeafTooStrict    = "drift.too_strict"
	LeafForgotten    = "drift.forgotten"
	LeafChangeMissed = "drift.change_missed"
	LeafWrongLogic   = "drift.wrong_logic"
	LeafWireFormat   = "drift.wire_format"
	LeafBrokenServer = "drift.broken_server"
	LeafToolCall     = "infra.tool_call"
	LeafLoopGuard    = "infra.loop_guard"
	LeafCompaction   = "infra.compaction"
	LeafContext      = "infra.context_overflow"
	LeafBroadKill    = "infra.broad_kill"
	LeafToolHang     = "infra.tool_hang"
	LeafAgentExit    = "infra.agent_exit"
	LeafServer       = "infra.server_lifecycle"
	LeafRateLimit    = "infra.rate_limit"
	LeafResources    = "infra.resources"
	LeafBudget       = "infra.budget"
	LeafVerifier     = "bench.verifier"
	LeafSetup        = "bench.setup"
	LeafInsufficient = "unknown.insufficient"
	LeafUnlisted     = "unknown.unlisted"
)

// The reasons of unknown.insufficient that the deterministic tier gives.
const (
	ReasonNoLog       = "no_log"
	ReasonNoChecks    = "no_checks"
	ReasonUnconfirmed = "unconfirmed"
	ReasonConflict    = "conflict"
	ReasonNoRule      = "no_rule"
)

// The further reasons that a judge's abstention can have.
const (
	ReasonUnverified = "unverified_quote"
	ReasonIncomplete = "judge_incomplete"
	ReasonInjection  = "injection_flip"
	ReasonBudget     = "budget"
)

// Taxonomy is the codebook: everything a verdict can be and everything the rules tier decides with.
type Taxonomy struct {
	Name    string            `yaml:"taxonomy"` // stint-failures/1.0
	Levels  map[string]string `yaml:"levels"`   // l1 → meaning
	Leaves  []Leaf            `yaml:"leaves"`
	Reasons []string          `yaml:"abstain_reasons"`
	// ExplainsAway says which upstream cause explains which downstream symptoms.
	ExplainsAway []Explains `yaml:"explains_away"`
	Grades       []Grade    `yaml:"grades"`
	Limits       []Limit    `yaml:"limits"`
	Poisons      []string   `yaml:"poisons"`
	Contract     []Row      `yaml:"contract"`
	Rules        []Rule     `yaml:"rules"`
	// Programs are the programs that run agents, whose own processes a broad kill can hit.
	Programs  []Program  `yaml:"programs"`
	Detectors []Detector `yaml:"detectors"`

	leaves   map[string]*Leaf
	hash     string
	added    int                   // rules at the end of Rules that a user gave
	toReader func() *regexp.Regexp // text that speaks to the reader of a packet; made when it is needed
}

// Leaf is one label.
type Leaf struct {
	ID         string `yaml:"id"` // drift.too_lax
	Title      string `yaml:"title"`
	Definition string `yaml:"definition"`
	Includes   string `yaml:"includes"`
	Excludes   string `yaml:"excludes"`
	Signature  string `yaml:"signature"`
	Example    string `yaml:"example"`
}

// L1 is the level of a leaf: drift, infra, bench or unknown.
func (l *Leaf) L1() string { return levelOf(l.ID) }

func levelOf(leaf string) string {
	l1, _, _ := strings.Cut(leaf, ".")
	return l1
}

// Explains is one cause with the symptoms it explains away; "*" is everything.
type Explains struct {
	Cause    string   `yaml:"cause"`
	Explains []string `yaml:"explains"`
	Late     []string `yaml:"late"` // of these, those that the cause explains even if it shows after them
}

// Grade is how grading can end so that no check needs to be looked at.
type Grade struct {
	Reason string `yaml:"reason"`
	Leaf   string `yaml:"leaf"`
}

// Limit is what a limit that ended the agent means.
type Limit struct {
	EndedBy string `yaml:"ended_by"`
	Leaf    string `yaml:"leaf"`
}

// Row is one row of the contract table. Expected and Actual are classes of status, When are conditions of the engine.
type Row struct {
	ID        string   `yaml:"id"`
	Expected  []string `yaml:"expected"`
	Actual    []string `yaml:"actual"`
	When      []string `yaml:"when"`
	Mechanism string   `yaml:"mechanism"`
	Says      string   `yaml:"says"`
}

// Rule is about what a trusted channel says. A rule fires if one of its anchors and its pattern are found and none of its
// vetoes, or if the provider's status is one of Statuses; the further conditions must hold, too.
type Rule struct {
	ID       string   `yaml:"id"`
	Leaf     string   `yaml:"leaf"`
	Version  int      `yaml:"version"`  // for those who change rules; the engine compares nothing with it
	Strength string   `yaml:"strength"` // strong, medium, weak
	Channels []string `yaml:"channels"`
	Anchors  []string `yaml:"anchors"` // lower case
	Pattern  string   `yaml:"pattern"` // RE2, without regard to case
	Statuses []int    `yaml:"statuses"`
	After    string   `yaml:"after"` // kind of an event that must have come before; "" = none

	Vetoes []string `yaml:"vetoes"`     // RE2: a text in which one is found is none of it
	Kinds  []string `yaml:"kinds"`      // of events; none = all
	Exits  []int    `yaml:"exit_codes"` // the program must have ended with one of them; none = whatever it was
	Count  int      `yaml:"count"`      // so many events must be of it; 0 = one
	AtEnd  bool     `yaml:"at_end"`     // no step of the model may follow
	Lasts  bool     `yaml:"not_followed_by_success"`

	Positive []string `yaml:"positive"`
	Negative []string `yaml:"negative"`

	re     *regexp.Regexp
	vetoes []*regexp.Regexp
}

// Codebook is the embedded taxonomy. It is read once; an unsound one is a fault of the build and ends the program.
var Codebook = sync.OnceValue(func() *Taxonomy {
	t, err := ParseCodebook(codebookYAML)
	if err != nil {
		panic(fmt.Sprintf("classify: the embedded codebook: %v", err))
	}
	return t
})

// CodebookText is the embedded codebook as it was written.
func CodebookText() []byte { return bytes.Clone(codebookYAML) }

// ParseCodebook reads and checks a codebook. Unknown keys, unknown leaves, rules that fail their own examples and
// rows that can never be reached are errors that name the line.
func ParseCodebook(b []byte) (*Taxonomy, error) {
	var t Taxonomy
	dec := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField())
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("reading the codebook: %w", err)
	}
	t.leaves = map[string]*Leaf{}
	for i := range t.Leaves {
		t.leaves[t.Leaves[i].ID] = &t.Leaves[i]
	}
	if what, err := t.check(); err != nil {
		return nil, fmt.Errorf("reading the codebook, line %d: %s: %w", lineOf(b, what), what, err)
	}
	if what, err := t.checkLevels(); err != nil {
		return nil, fmt.Errorf("reading the codebook, line %d: %s: %w", lineOf(b, what), what, err)
	}
	sum := sha256.Sum256(b)
	t.hash = hex.EncodeToString(sum[:])
	t.toReader = sync.OnceValue(t.speech)
	return &t, nil
}

// lineOf is the line on which an id stands for the first time as a value; 0 if nowhere.
func lineOf(b []byte, id string) int {
	at := regexp.MustCompile(`(id|reason|ended_by|cause): "?` + regexp.QuoteMeta(id) + `\b`).FindIndex(b)
	if at == nil {
		return 0
	}
	return bytes.Count(b[:at[0]], []byte{'\n'}) + 1
}

// Leaf returns the leaf with this id, or nil.
func (t *Taxonomy) Leaf(id string) *Leaf { return t.leaves[id] }

// Choices are the leaves that a person can choose, in the order of the book: all that name a cause, and unlisted.
func (t *Taxonomy) Choices() []*Leaf {
	var out []*Leaf
	for i := range t.Leaves {
		if t.Leaves[i].ID != LeafInsufficient {
			out = append(out, &t.Leaves[i])
		}
	}
	return out
}

// Annotator identifies the rule set in a verdict: the beginning of the codebook's SHA-256.
func (t *Taxonomy) Annotator() string { return "rules-" + t.hash[:12] }

// Hash is the SHA-256 of the codebook, in hex.
func (t *Taxonomy) Hash() string { return t.hash }

// explains says whether cause explains the symptom away, and whether it may show after it.
func (t *Taxonomy) explains(cause, symptom string) (explains, late bool) {
	for _, e := range t.ExplainsAway {
		if e.Cause == cause && cause != symptom && (slices.Contains(e.Explains, symptom) || slices.Contains(e.Explains, "*")) {
			return true, slices.Contains(e.Late, symptom) || slices.Contains(e.Late, "*")
		}
	}
	return false, false
}

// program returns what is known of the processes of a program, or nil.
func (t *Taxonomy) program(name string) *Program {
	for i := range t.Programs {
		if t.Programs[i].Name == name {
			return &t.Programs[i]
		}
	}
	return nil
}

func (t *Taxonomy) grade(reason string) string {
	for _, g := range t.Grades {
		if g.Reason == reason {
			return g.Leaf
		}
	}
	return ""
}

func (t *Taxonomy) limit(endedBy string) string {
	for _, l := range t.Limits {
		if l.EndedBy == endedBy {
			return l.Leaf
		}
	}
	return ""
}
