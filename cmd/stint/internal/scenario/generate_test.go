package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func generate(t testing.TB, opt Options) *Scenario {
	t.Helper()
	sc, err := Generate(opt)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// digest is a hash over everything that a scenario consists of.
func digest(t testing.TB, sc *Scenario) string {
	t.Helper()
	b, err := json.Marshal(sc)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// The golden digests change whenever a generator, a wording or a vocabulary does: then raise Version unless
// no scenario has been recorded with it yet.
func TestGenerateGolden(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Seed: 1, Changes: 12, Name: "s01"}, "8f9d19d4b7fba8f3"},
		{Options{Seed: 20260619, Changes: 30, Name: "s02", Delivery: DeliveryFull}, "cc989f098a53511c"},
		{Options{Seed: 3, Changes: 12, Name: "s03", Delivery: DeliveryDelta, Schedule: ScheduleIID}, "84f8551ad26be283"},
	} {
		if got := digest(t, generate(t, c.opt)); got != c.want {
			t.Errorf("seed %d: digest %s, want %s", c.opt.Seed, got, c.want)
		}
	}
}

func TestGenerateRepeatsAndExtends(t *testing.T) {
	short, long := generate(t, Options{Seed: 5, Changes: 6}), generate(t, Options{Seed: 5, Changes: 14})
	if d := cmp.Diff(short.Steps, long.Steps[:7]); d != "" {
		t.Errorf("a longer scenario starts differently:\n%s", d)
	}
	if digest(t, long) != digest(t, generate(t, Options{Seed: 5, Changes: 14})) {
		t.Error("the same options gave different scenarios")
	}
	if digest(t, long) == digest(t, generate(t, Options{Seed: 6, Changes: 14})) {
		t.Error("two seeds gave the same scenario")
	}
}

func TestGenerateRefusesBadOptions(t *testing.T) {
	for _, opt := range []Options{{Changes: -1}, {Changes: MaxChanges + 1}, {Delivery: "mail"}, {Schedule: "random"}} {
		if _, err := Generate(opt); err == nil {
			t.Errorf("Generate(%+v) gave no error", opt)
		}
	}
}

// Words that would tell the agent how it is graded.
var forbidden = regexp.MustCompile(`(?i)\b(test|tests|suite|grading|feedback|retry|retries|attempt|attempts|benchmark)\b`)

// TestManySeeds holds 200 scenarios of 15 changes to everything that must be true at every turn.
func TestManySeeds(t *testing.T) {
	labels := make(map[string]int)
	ops := make(map[string]int)
	for seed := uint64(1); seed <= 200; seed++ {
		schedule := ScheduleStratified
		if seed%4 == 0 {
			schedule = ScheduleIID
		}
		sc := generate(t, Options{Seed: seed, Changes: 15, Schedule: schedule})
		if w := forbidden.FindString(sc.Steps[15].Spec); w != "" {
			t.Errorf("seed %d: the specification says %q", seed, w)
		}
		ids := make(map[string]string)     // clause id → kind and subject, over all turns
		former := make(map[string]bool)    // entity.name of every tombstone
		operation := make(map[string]bool) // ids
		for i := range sc.Steps {
			st := &sc.Steps[i]
			if err := st.Schema.Validate(); err != nil {
				t.Fatalf("seed %d turn %d: %v", seed, i, err)
			}
			lines := make(map[string]int)
			for line := range strings.SplitSeq(st.Spec, "\n") {
				lines[line]++
			}
			for _, c := range st.Schema.Clauses {
				key := string(c.Kind) + " " + c.Subject
				if was, ok := ids[c.ID]; ok && was != key {
					t.Fatalf("seed %d turn %d: clause %s was %s, is %s", seed, i, c.ID, was, key)
				}
				ids[c.ID] = key
				if lines["- "+c.ID+": "+c.Text] != 1 {
					t.Fatalf("seed %d turn %d: clause %s is not once in the specification", seed, i, c.ID)
				}
			}
			for _, tomb := range st.Schema.Tombstones {
				former[tomb.Entity+"."+tomb.Name] = true
			}
			for _, e := range st.Schema.Entities {
				for _, f := range e.Fields {
					if former[e.UID+"."+f.Name] {
						t.Fatalf("seed %d turn %d: %s.%s uses a former name", seed, i, e.Name, f.Name)
					}
				}
			}
			if strings.ContainsAny(st.Operation.Title, "{}") || strings.Contains(st.Request, "{a ") || strings.Contains(st.Request, "{noun") || st.Operation.Title == "" {
				t.Fatalf("seed %d turn %d: open place in %q or\n%s", seed, i, st.Operation.Title, st.Request)
			}
			if w := forbidden.FindString(st.Request); w != "" {
				t.Fatalf("seed %d turn %d: the texts say %q", seed, i, w)
			}
			if i == 0 {
				continue
			}
			// What goes to and fro (limits, policies, values) may come again; what is added or renamed may not.
			if operation[st.Operation.ID] && (st.Operation.Label == "A" || st.Operation.Name == "rename_field") {
				t.Errorf("seed %d turn %d: %s for the second time", seed, i, st.Operation.ID)
			}
			operation[st.Operation.ID] = true
			labels[st.Operation.Label]++
			ops[st.Operation.Name]++
			checkStep(t, &sc.Steps[i-1], st, seed%8 == 0)
		}
	}
	for _, k := range operations() {
		if ops[k.name] == 0 {
			t.Errorf("operation %s never came up", k.name)
		}
	}
	if labels["A"] < 1000 || labels["T"] < 500 {
		t.Errorf("labels %v: about 4 in 10 should be A, 2 in 10 T", labels)
	}
}

// checkStep checks one change against the state before it, and perhaps that it can be repeated.
func checkStep(t *testing.T, before, st *Step, repeat bool) {
	t.Helper()
	if st.Operation.Label != "B" && len(st.Added)+len(st.Changed)+len(st.Removed) == 0 {
		t.Errorf("turn %d: %s adds, changes and removes no clause", st.Turn, st.Operation.ID)
	}
	if st.Operation.Label == "B" && len(st.Added)+len(st.Changed)+len(st.Removed) > 0 {
		t.Errorf("turn %d: %s changes clauses", st.Turn, st.Operation.ID)
	}
	for _, c := range st.Added {
		if c.Introduced != st.Turn || c.Changed != st.Turn || before.Schema.Clause(c.ID) != nil {
			t.Errorf("turn %d: added clause %+v", st.Turn, c)
		}
		if !strings.Contains(st.Request, c.Text) {
			t.Errorf("turn %d: the request lacks the new rule %q", st.Turn, c.Text)
		}
	}
	for _, c := range st.Changed {
		if c.Introduced >= st.Turn || c.Changed != st.Turn {
			t.Errorf("turn %d: changed clause %+v", st.Turn, c)
		}
	}
	if !repeat {
		return
	}
	again, err := Apply(before.Schema, st.Operation, st.Turn)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(st.Schema, again); d != "" {
		t.Errorf("turn %d: applying %s again gives\n%s", st.Turn, st.Operation.ID, d)
	}
}

func TestStratifiedQuota(t *testing.T) {
	last := make(map[string]int)
	for seed := range uint64(40) {
		count := make(map[string]int)
		for turn := 11; turn <= 20; turn++ {
			count[scheduled(seed, turn)]++
		}
		if count["A"] != 4 || count["T"] != 2 || count["L"] != 1 || count["R"] != 2 || count["D"]+count["B"] != 1 {
			t.Errorf("seed %d: block of ten %v", seed, count)
		}
		last["D"] += count["D"]
		last["B"] += count["B"]
	}
	if last["D"] < last["B"] || last["B"] == 0 {
		t.Errorf("last places: %v, want about 3 D for each B", last)
	}
}

func TestLongScenario(t *testing.T) {
	sc := generate(t, Options{Seed: 11, Changes: 100})
	last := sc.Steps[100].Schema
	if len(last.Entities) < 5 || len(last.Clauses) < 200 {
		t.Errorf("after 100 changes: %d entities, %d clauses", len(last.Entities), len(last.Clauses))
	}
}

func TestDeliveries(t *testing.T) {
	for _, c := range []struct {
		delivery              string
		specInBuild, specFile bool
		specInChange          bool
	}{
		{DeliveryDelta, true, false, false},
		{DeliveryDeltaFile, false, true, false},
		{DeliveryFull, true, false, true},
	} {
		sc := generate(t, Options{Seed: 2, Changes: 1, Delivery: c.delivery})
		build, later := sc.Steps[0], sc.Steps[1]
		if got := strings.Contains(build.Request, build.Spec); got != c.specInBuild {
			t.Errorf("%s: specification in the build request: %v", c.delivery, got)
		}
		if got := strings.Contains(build.Request, "SPEC.md") && strings.Contains(later.Request, "SPEC.md"); got != c.specFile {
			t.Errorf("%s: SPEC.md in the requests: %v", c.delivery, got)
		}
		if got := strings.Contains(later.Request, later.Spec); got != c.specInChange {
			t.Errorf("%s: specification in the change request: %v", c.delivery, got)
		}
		for _, word := range []string{"start.sh", "PORT", "DATA_DIR", "/health"} {
			if !strings.Contains(build.Request, word) {
				t.Errorf("%s: the build request does not mention %s", c.delivery, word)
			}
		}
	}
}

func TestWithToolchain(t *testing.T) {
	sc := generate(t, Options{Seed: 2, Changes: 1})
	const sentence = "Available: Python 3.11."
	for _, text := range []string{sc.Steps[0].Spec, sc.Steps[0].Request} {
		got := WithToolchain(text, sentence)
		if strings.Count(got, "- "+sentence+"\n") != 1 || strings.Replace(got, "- "+sentence+"\n", "", 1) != text {
			t.Errorf("sentence not added once:\n%s", got)
		}
	}
	if got := WithToolchain(sc.Steps[1].Request, sentence); got != sc.Steps[1].Request {
		t.Error("a plain change request was changed")
	}
}

func TestEveryOperationHasWordings(t *testing.T) {
	for _, k := range operations() {
		ws := wordings(k.name)
		if len(ws) < 4 {
			t.Errorf("%s has %d wordings, want at least 4", k.name, len(ws))
		}
		slices.Sort(ws)
		if len(slices.Compact(ws)) != len(wordings(k.name)) {
			t.Errorf("%s has the same wording twice", k.name)
		}
	}
}

func BenchmarkGenerate12(b *testing.B) {
	for seed := uint64(0); b.Loop(); seed++ {
		generate(b, Options{Seed: seed, Changes: 12})
	}
}

func BenchmarkGenerate100(b *testing.B) {
	for seed := uint64(0); b.Loop(); seed++ {
		generate(b, Options{Seed: seed, Changes: 100})
	}
}
