package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestIngestRun makes the same files in one pass as from all rows in memory, whatever the order in
// which episodes are done.
func TestIngestRun(t *testing.T) {
	d := newRun(t)
	makeStudy(t, d, studySize{3, 2, 4})
	eventful(t, d, "s09")
	failing := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2, Mode: modeFailStop})
	failing.pass(0)
	failTurn(failing)
	v := verdict(AnnotatorRule, "a1", StrengthStrong, "drift.too_lax")
	v.Episode, v.Turn = failing.id, 1
	if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "rules.jsonl"), []VerdictRow{v}); err != nil {
		t.Fatal(err)
	}
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	want := t.TempDir()
	if err := WriteTables(want, tables); err != nil {
		t.Fatal(err)
	}
	for _, procs := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(procs)
		n, problems, err := IngestRun(d, d.TablesDir(), IngestOptions{})
		runtime.GOMAXPROCS(before)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if diff := cmp.Diff(Counts{len(tables.Episodes), len(tables.Turns), len(tables.Clauses), len(tables.Attempts), len(tables.Checks), len(tables.Events), 1}, n); diff != "" {
			t.Errorf("counts: −want +got\n%s", diff)
		}
		for _, name := range TableNames() {
			if !bytes.Equal(readFile(t, filepath.Join(want, name+".parquet")), readFile(t, filepath.Join(d.TablesDir(), name+".parquet"))) {
				t.Errorf("with %d at a time %s has other bytes", procs, name)
			}
		}
	}
	got, err := ReadTablesWith(d.TablesDir(), ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tables, got); diff != "" {
		t.Errorf("−journals +tables\n%.3000s", diff)
	}
	ends := 0
	for _, e := range got.Episodes {
		if e.EndLeaf != nil && *e.EndLeaf == "drift.too_lax" {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("%d episodes have the labelled end, want 1", ends)
	}
	if entries := must(os.ReadDir(d.TablesDir())); len(entries) != len(TableNames())+1 {
		t.Errorf("%d files are in the folder: %v", len(entries), entries)
	}
}

func TestFresh(t *testing.T) {
	d := newRun(t)
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 3, Mode: modeFailStop})
	p.pass(0)
	ingest := func() []Problem {
		t.Helper()
		_, problems, err := IngestRun(d, d.TablesDir(), IngestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return problems
	}
	passed := func() float64 {
		t.Helper()
		tables, _, err := ReadForOutcomes(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		return *must(tables.Outcomes("turns_passed")).Rows[0].Value
	}
	fresh := func(what string, want bool) {
		t.Helper()
		if got := d.Fresh(); got != want {
			t.Errorf("%s: fresh is %v", what, got)
		}
	}
	fresh("before the first time", false)
	ingest()
	fresh("just made", true)
	if passed() != 1 {
		t.Errorf("%v turns passed", passed())
	}
	p.pass(1)
	fresh("a journal grew", false)
	if passed() != 2 {
		t.Errorf("%v turns passed after the journal grew", passed())
	}
	ingest()
	fresh("made again", true)
	path := filepath.Join(d.EpisodeDir(p.id), JournalName)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	fresh("a journal has another time", false)
	ingest()
	mustWrite(t, filepath.Join(d.VerdictsDir(), "people.jsonl"), "", 0o644)
	fresh("somebody labelled", false)
	ingest()
	if err := os.Remove(filepath.Join(d.TablesDir(), "events.parquet")); err != nil {
		t.Fatal(err)
	}
	fresh("a table is missing", false)
	ingest()
	if err := WriteTables(d.TablesDir(), &Tables{}); err != nil {
		t.Fatal(err)
	}
	fresh("other tables were written", false)
	mustWrite(t, filepath.Join(d.VerdictsDir(), "people.jsonl"), "no verdict\n", 0o644)
	if problems := ingest(); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
	fresh("something cannot be read", false) // so that the problem is told again
	p.j.Close()
}

// TestReadForOutcomes gives the same outcomes from journals, light or not, and from tables.
func TestReadForOutcomes(t *testing.T) {
	d := newRun(t)
	makeStudy(t, d, studySize{2, 2, 5})
	failing := play(t, d, EpisodeStart{Config: "model-00+simulated/detailed/r2", Scenario: ScenarioRef{ID: "s07"}, TurnsMax: 5, Mode: modeFailStop})
	failing.pass(0)
	failTurn(failing)
	full := d.mustRead(t)
	journals, _, err := ReadForOutcomes(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := IngestRun(d, d.TablesDir(), IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if !d.Fresh() {
		t.Fatal("not fresh")
	}
	tables, _, err := ReadForOutcomes(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range OutcomeNames() {
		want := must(full.Outcomes(name))
		for what, got := range map[string]*Tables{"journals": journals, "tables": tables} {
			if diff := cmp.Diff(want, must(got.Outcomes(name))); diff != "" {
				t.Errorf("%s from %s: −want +got\n%s", name, what, diff)
			}
		}
	}
	if len(tables.Checks)+len(journals.Checks)+len(journals.Clauses) > 0 || len(tables.Attempts) != len(full.Attempts) {
		t.Errorf("%d and %d checks, %d attempts", len(tables.Checks), len(journals.Checks), len(tables.Attempts))
	}
}

// TestIngestFails leaves nothing behind, and the old tables alone, when a table cannot be put in place.
func TestIngestFails(t *testing.T) {
	d := newRun(t)
	eventful(t, d, "s01")
	blocked := filepath.Join(d.TablesDir(), "episodes.parquet", "x")
	mustWrite(t, blocked, "", 0o644)
	if _, _, err := IngestRun(d, d.TablesDir(), IngestOptions{}); err == nil || !strings.Contains(err.Error(), "episodes") {
		t.Errorf("error %v", err)
	}
	if entries := must(os.ReadDir(d.TablesDir())); len(entries) != 1 || d.Fresh() {
		t.Errorf("left behind: %v, fresh %v", entries, d.Fresh())
	}
}

// TestIngestMemory holds the memory in use to a few episodes and row groups (about 60 MB), not to the run: 120 MB of
// events pass through, and three times as many take no more.
func TestIngestMemory(t *testing.T) {
	d := newRun(t)
	const episodes, bound = 48, 128 << 20
	var log strings.Builder
	for i := range 640 {
		fmt.Fprintf(&log, `{"actor":"tool","kind":"tool_result","tool":"bash","text":"%d %s"}`+"\n", i, strings.Repeat(fmt.Sprintf("%06d", i*7919), 660))
	}
	for i := range episodes {
		p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: fmt.Sprintf("s%02d", i)}, TurnsMax: 2, Mode: modeFailStop})
		p.begin(0)
		p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
		p.add(TypeAgentExit, AgentExit{By: "self", Completion: "clean", Log: LogRef{Reader: simulatedReader, Blob: p.put(log.String())}})
		p.j.Close()
	}
	log.Reset()
	var most uint64
	n, problems, err := IngestRun(d, d.TablesDir(), IngestOptions{OnEpisode: func(done, _ int) {
		if done%16 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}})
	if err != nil || len(problems) > 0 || n.Events != episodes*641 {
		t.Fatalf("%d events, problems %v, %v", n.Events, problems, err)
	}
	if most > bound {
		t.Errorf("%d MB in use, want at most %d", most>>20, bound>>20)
	}
	p, err := openParquet(filepath.Join(d.TablesDir(), "events.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for g := range p.r.NumRowGroups() {
		if size := p.r.RowGroup(g).ByteSize(); size > 16<<20 {
			t.Errorf("row group %d of %d has %d bytes", g, p.r.NumRowGroups(), size)
		}
	}
	if p.r.NumRowGroups() < 8 {
		t.Errorf("%d row groups", p.r.NumRowGroups())
	}
	t.Logf("%d MB in use at most, %d row groups", most>>20, p.r.NumRowGroups())
}

// TestRelabelRun gives the bytes of a whole ingest when only verdicts changed, and reads no journal then.
func TestRelabelRun(t *testing.T) {
	d := newRun(t)
	makeStudy(t, d, studySize{2, 1, 4})
	failing := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2, Mode: modeFailStop})
	failing.pass(0)
	failTurn(failing)
	relabel := func(opt IngestOptions) {
		t.Helper()
		if problems, err := RelabelRun(d, opt); err != nil || len(problems) > 0 || !d.Fresh() {
			t.Fatal(problems, err, d.Fresh())
		}
	}
	read := 0
	relabel(IngestOptions{OnEpisode: func(int, int) { read++ }})
	if read != 3 {
		t.Errorf("%d journals were read the first time", read)
	}
	v := verdict(AnnotatorRule, "a1", StrengthStrong, "drift.too_lax")
	v.Episode, v.Turn = failing.id, 1
	if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "rules.jsonl"), []VerdictRow{v}); err != nil {
		t.Fatal(err)
	}
	none := IngestOptions{OnEpisode: func(int, int) { t.Error("a journal was read") }}
	relabel(none)
	relabel(none)
	whole := t.TempDir()
	if _, _, err := IngestRun(d, whole, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range TableNames() {
		if !bytes.Equal(readFile(t, filepath.Join(whole, name+".parquet")), readFile(t, filepath.Join(d.TablesDir(), name+".parquet"))) {
			t.Errorf("%s has other bytes", name)
		}
	}
	// A table that cannot be read is made again.
	mustWrite(t, filepath.Join(d.TablesDir(), "attempts.parquet"), "x", 0o644)
	mustWrite(t, filepath.Join(d.VerdictsDir(), "people.jsonl"), "", 0o644)
	relabel(IngestOptions{})
	if _, err := ReadTables(d.TablesDir()); err != nil {
		t.Error(err)
	}
}
