package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// TestScenarioNew makes a set, makes it larger and refuses to mix it with another.
func TestScenarioNew(t *testing.T) {
	dir := t.TempDir()
	args := []string{"scenario", "new", "--seed", "5", "--changes", "2", "--count", "1", "-o", "set"}
	stint(t, dir, 0, args...)
	first, err := os.ReadFile(filepath.Join(dir, "set", "s01.json"))
	if err != nil {
		t.Fatal(err)
	}
	args[7] = "3"
	if out, errOut := stint(t, dir, 0, args...); out != "set\n" || !strings.Contains(errOut, "next: stint scenario check set") {
		t.Errorf("stdout %q, stderr %q", out, errOut)
	}
	set, err := suite.ReadSet(filepath.Join(dir, "set"))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Files) != 3 || set.Files[0].License != "CC0-1.0" || set.Files[2].Delivery != "delta+file" {
		t.Errorf("set %+v", set.Files)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "set", "s01.json")); err != nil || string(again) != string(first) {
		t.Errorf("the larger set changed its first scenario: %v", err)
	}
	_, errOut := stint(t, dir, 2, "scenario", "new", "--seed", "6", "--changes", "2", "--count", "1", "-o", "set")
	if !strings.Contains(errOut, "made with other options: seed") || !strings.Contains(errOut, "hint: use the options") {
		t.Errorf("another seed: %s", errOut)
	}
	for _, bad := range [][]string{{"--changes", "-1"}, {"--count", "0"}, {"--schedule", "often"}, {"--sampler", "dice"}, {"--delivery", "post"}, {"--seed", "9007199254740992"}} {
		stint(t, dir, 2, append([]string{"scenario", "new", "-o", "other"}, bad...)...)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("a bad option leaves a folder behind")
	}
}

// TestScenarioCheck proves a set, uses what it has proven, and says what is wrong with sets that are not whole.
func TestScenarioCheck(t *testing.T) {
	dir := t.TempDir()
	stint(t, dir, 0, "scenario", "new", "--seed", "5", "--changes", "2", "--count", "2", "-o", "set", "-q")
	if _, errOut := stint(t, dir, 0, "scenario", "check", "set"); !strings.Contains(errOut, "0 of 6 turns proven now") {
		t.Errorf("what new has proven is proven again: %s", errOut)
	}
	if err := os.RemoveAll(filepath.Join(dir, "set", "proof")); err != nil {
		t.Fatal(err)
	}
	out, errOut := stint(t, dir, 0, "scenario", "check", "set", "--json")
	if !strings.Contains(errOut, "6 of 6 turns proven now") {
		t.Errorf("stderr %s", errOut)
	}
	r, err := suite.DecodeReport([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if r.Accepted() != 2 || r.Total.Turns != 6 || r.Total.Mutants == 0 || r.Total.Red != r.Total.RedNeeded {
		t.Errorf("report %s", out)
	}
	if again, errOut := stint(t, dir, 0, "scenario", "check", "set", "--json"); again != out || !strings.Contains(errOut, "0 of 6") {
		t.Errorf("the report of kept proofs is another: %s", errOut)
	}
	// A proof that is not whole is no proof.
	writeFile(t, filepath.Join(dir, "set", "proof"), "s01.json", "{")
	if again, errOut := stint(t, dir, 0, "scenario", "check", "set", "--json"); again != out || !strings.Contains(errOut, "3 of 6") {
		t.Errorf("a torn proof: %s", errOut)
	}
	spoil := func(f func(map[string]any)) {
		t.Helper()
		path := filepath.Join(dir, "set", "s01.json")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		f(m)
		raw, err = json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "bad"), "s01.json", string(raw))
	}
	if err := os.Mkdir(filepath.Join(dir, "bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(map[string]any){
		"but this stint generates":     func(m map[string]any) { m["content"] = strings.Repeat("0", 64) },
		`schema "x" is not`:            func(m map[string]any) { m["schema"] = "x" },
		"turns for a build and":        func(m map[string]any) { m["changes"] = 7 },
		`unknown field \"extra\"`:      func(m map[string]any) { m["extra"] = 1 },
		"it holds the scenario s02":    func(m map[string]any) { m["name"] = "s02" },
		"does not belong to the param": func(m map[string]any) { m["turns"].([]any)[1].(map[string]any)["params"] = map[string]string{} },
	} {
		spoil(f)
		if _, errOut := stint(t, dir, 2, "scenario", "check", "bad"); !strings.Contains(errOut, strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("want %q in: %s", want, errOut)
		}
	}
	if err := os.Remove(filepath.Join(dir, "set", "s01.json")); err != nil {
		t.Fatal(err)
	}
	if _, errOut := stint(t, dir, 2, "scenario", "check", "set"); !strings.Contains(errOut, "s01.json is missing") {
		t.Errorf("a gap: %s", errOut)
	}
}

// TestScenarioShow reads a set in every way that show has.
func TestScenarioShow(t *testing.T) {
	dir := t.TempDir()
	stint(t, dir, 0, "scenario", "new", "--seed", "5", "--changes", "4", "--count", "2", "-o", "set", "-q")
	out, _ := stint(t, dir, 0, "scenario", "show", "set", "1")
	if !strings.HasPrefix(out, "s01 · content ") || strings.Count(out, "\n") != 8 || !strings.Contains(out, "build the service") {
		t.Errorf("show: %s", out)
	}
	out, _ = stint(t, dir, 0, "scenario", "show", "set", "s02", "--turn", "4")
	for _, want := range []string{"\nturn 4: ", "━━ change request", "━━ SPEC.md", "━━ clauses: ", "━━ suite: ", "W0, a server of its own", "cites c1", " → 404 ", "since turn 0"} {
		if !strings.Contains(out, want) {
			t.Errorf("show --turn says no %q", want)
		}
	}
	asJSON, _ := stint(t, dir, 0, "scenario", "show", "set", "2", "--turn", "4", "--json")
	var shown shownScenario
	if err := json.Unmarshal([]byte(asJSON), &shown); err != nil {
		t.Fatal(err)
	}
	turn := shown.Turns[0]
	if turn.Turn != 4 || turn.Suite == nil || len(turn.Table) != turn.Clauses || len(turn.Suite.Checks) != turn.Checks || !strings.Contains(turn.Spec, "#") {
		t.Errorf("show --json: %+v", turn)
	}
	out, _ = stint(t, dir, 0, "scenario", "show", "set", "set", "--contents")
	for _, want := range []string{"what the sets contain", "checks, new", "all A", "ref_exists", "nearest pair", "near duplicates, below 0.5"} {
		if !strings.Contains(out, want) {
			t.Errorf("show --contents says no %q:\n%s", want, out)
		}
	}
	for _, bad := range [][]string{{"set"}, {"set", "3"}, {"set", "x"}, {"set", "1", "--turn", "5"}, {"set", "1", "--turn", "-1"}, {"--contents", "set", "--turn", "1"}, {"nowhere", "1"}, {"set", "--failures", "x"}} {
		stint(t, dir, 2, append([]string{"scenario", "show"}, bad...)...)
	}
}

// TestFailureCounts holds the table of failing operations against counts by hand.
func TestFailureCounts(t *testing.T) {
	yes, no := true, false
	tables := &logs.Tables{
		Episodes: []logs.EpisodeRow{{Episode: "a", Config: "weak"}, {Episode: "b", Config: "weak"}},
		Turns: []logs.TurnRow{
			{Episode: "a", Turn: 0, Operation: "build", OperationLabel: "A", Passed: &yes},
			{Episode: "a", Turn: 1, Operation: "set_range:1", OperationLabel: "T", Passed: &no},
			{Episode: "b", Turn: 0, Operation: "build", OperationLabel: "A", Passed: &yes},
			{Episode: "b", Turn: 1, Operation: "set_range:2", OperationLabel: "T", Passed: &yes},
			{Episode: "b", Turn: 2, Operation: "set_length:2", OperationLabel: "T", Passed: &no},
			{Episode: "b", Turn: 3, Operation: "set_length:3", OperationLabel: "T"},
		},
	}
	got := map[string]string{}
	for _, r := range countFailures(tables) {
		got[r.Label+"/"+r.Operation] = fmt.Sprintf("%d of %d", r.Failed, r.Turns)
	}
	want := map[string]string{"/": "2 of 5", "/build": "0 of 2", "T/": "2 of 3", "T/set_range": "1 of 2", "T/set_length": "1 of 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestScenarioReport prints a proof that is not accepted.
func TestScenarioReport(t *testing.T) {
	r := suite.NewReport()
	r.Add(&suite.File{Name: "s01"}, &suite.Proof{Content: strings.Repeat("a", 64), Turns: []suite.TurnProof{
		{Turn: 0, Mutants: 10, Killed: 10, Checks: 5},
		{Turn: 1, Operation: "set_range:1", Mutants: 10, Killed: 9, RedNeeded: true, Survivors: []oracle.Fault{{Kind: "permissive", Subject: "e1.f1", Param: "range", Clause: "c9"}}},
	}})
	var b strings.Builder
	if err := printReport(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"95 %        90 %     passes       0 of 1        no", "turn 1: only 9 of 10 mutants are killed", "so set_range:1 is not checked", "1 survivor;", "s01  turn 1  c9  permissive  e1.f1  range"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if got := turnRanges([]int{1, 2, 3, 7, 9, 10}); got != "turns 1–3, 7, 9–10" {
		t.Errorf("turns %q", got)
	}
	if r.Accepted() != 0 {
		t.Error("it is accepted")
	}
}

// TestScenarioReplaced refuses the first seed of a scenario, whose content the set has already: the next one takes its
// place, and new says so.
func TestScenarioReplaced(t *testing.T) {
	var errOut strings.Builder
	w := &maker{scenarioNew: &scenarioNew{dir: t.TempDir(), seed: 5, changes: 1, schedule: "stratified", sampler: "rules", delivery: "full"},
		e: &env{Stderr: &errOut, Quiet: true}, meter: &meter{}, contents: map[string]string{}}
	if err := w.scenario(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "s01.json")
	first, err := suite.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.contents = map[string]string{first.Content: "s09"}
	if err := w.scenario(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	second, err := suite.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if second.Seed != suite.ScenarioSeed(5, 0, 1) || second.Content == first.Content {
		t.Errorf("seed %d, content %.12s", second.Seed, second.Content)
	}
	want := fmt.Sprintf("s01 with seed %d is not accepted, the next seed takes its place: it has the same content as s09", first.Seed)
	if !strings.Contains(errOut.String(), want) {
		t.Errorf("stderr %q, want %q", errOut.String(), want)
	}
	// A file of a later try belongs to the set as well.
	if err := w.scenario(t.Context(), 0); err != nil {
		t.Errorf("the same command again: %v", err)
	}
}
