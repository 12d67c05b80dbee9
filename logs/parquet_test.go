package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// sampleTables is a run with odd values: empty lists, nulls, quotes, zero bytes of UTF-8 text.
func sampleTables(t testing.TB) *Tables {
	d := newRun(t)
	eventful(t, d, "s01")
	p := eventful(t, d, "s02")
	if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "rules.jsonl"), []VerdictRow{
		{Episode: p.id, Turn: 2, Attempt: 0, AnnotatorKind: AnnotatorContract, L1: "drift", Leaf: ptr("drift.forgotten"), Strength: StrengthStrong, Recovered: []string{"infra.rate_limit"}, Evidence: `[{"file":"x"}]`},
		{Episode: p.id, Turn: 2, Attempt: 1, AnnotatorKind: AnnotatorRule, L1: "unknown", Strength: StrengthAbstain, AbstainReason: ptr("no log")},
	}); err != nil {
		t.Fatal(err)
	}
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) > 0 || len(tables.Events) == 0 {
		t.Fatalf("%v %v, %d events", problems, err, len(tables.Events))
	}
	tables.Checks[0].Clauses = []string{}
	tables.Checks[1].Clauses = []string{"", "ü\n\x00", strings.Repeat("x", 5000)}
	tables.Checks[2].Actual = "„quoted“ \x1b[31m"
	tables.Turns[0].ChangeText = nil
	return tables
}

func TestTablesRoundTrip(t *testing.T) {
	tables, dir := sampleTables(t), filepath.Join(t.TempDir(), "tables")
	if err := WriteTables(dir, tables); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTablesWith(dir, ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tables, got); diff != "" {
		t.Errorf("−written +read\n%s", diff)
	}
	if diff := cmp.Diff(Digest(tables), Digest(got)); diff != "" {
		t.Errorf("digests differ:\n%s", diff)
	}
	// The same rows give the same bytes, and nothing else is left in the folder.
	first := map[string][]byte{}
	for _, name := range TableNames() {
		first[name] = readFile(t, filepath.Join(dir, name+".parquet"))
	}
	if err := WriteTables(dir, got); err != nil {
		t.Fatal(err)
	}
	for name, want := range first {
		if !bytes.Equal(readFile(t, filepath.Join(dir, name+".parquet")), want) {
			t.Errorf("%s was written with other bytes the second time", name)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(first) {
		t.Errorf("%d files (%v)", len(entries), err)
	}
}

func TestTablesEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := WriteTables(dir, &Tables{}); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadTables(dir); err != nil || len(got.Episodes)+len(got.Checks) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

// TestTablesManyGroups writes more text than one row group takes.
func TestTablesManyGroups(t *testing.T) {
	tables, dir := &Tables{}, t.TempDir()
	for i := range 400 {
		tables.Checks = append(tables.Checks, CheckRow{Episode: "e", Turn: i, Check: fmt.Sprint("k", i), Clauses: make([]string, i%4),
			Actual: strings.Repeat(string(rune('a'+i%26)), 50_000), LastPassedTurn: ptr(i)})
	}
	if err := WriteTables(dir, tables); err != nil {
		t.Fatal(err)
	}
	p, err := openParquet(filepath.Join(dir, "checks.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	groups := p.r.NumRowGroups()
	p.close()
	got, err := ReadTables(dir)
	if err != nil || groups < 3 {
		t.Fatalf("%d row groups, %v", groups, err)
	}
	if diff := cmp.Diff(tables.Checks, got.Checks); diff != "" {
		t.Errorf("%.2000s", diff)
	}
}

func TestReadTablesErrors(t *testing.T) {
	dir := t.TempDir()
	if err := WriteTables(dir, sampleTables(t)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "turns.parquet")
	good := readFile(t, path)
	check := func(what, want string) {
		t.Helper()
		_, err := ReadTables(dir)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	mustWrite(t, path, "no parquet at all", 0o644)
	check("text", "no Parquet file")
	mustWrite(t, path, string(good[:len(good)/2])+string(good[len(good)-8:]), 0o644)
	check("half", "Parquet")
	mustWrite(t, path, string(readFile(t, filepath.Join(dir, "checks.parquet"))), 0o644)
	check("another table", "column operation is missing")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("none", "does not exist")
	// Damage anywhere is an error or goes unnoticed, but never a crash.
	for at := 4; at < len(good); at += 13 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x55
		mustWrite(t, path, string(bad), 0o644)
		if rows := new([]TurnRow); readTable(dir, "turns", rows) == nil && len(*rows) != 6 {
			t.Fatalf("byte %d: %d rows and no error", at, len(*rows))
		}
	}
}

func TestArrow(t *testing.T) {
	tables := sampleTables(t)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	records, release := arrowTables(mem, tables)
	defer release()
	for name, want := range map[string]int{"episodes": 2, "turns": 6, "clauses": 4, "attempts": 14, "checks": 10, "events": len(tables.Events), "verdicts": 2} {
		if got := records[name].NumRows(); got != int64(want) {
			t.Errorf("%s: %d rows, want %d", name, got, want)
		}
	}
	s := records["episodes"].Schema()
	for _, key := range EpisodeKeys() {
		if !s.HasField(key) {
			t.Errorf("no field %s", key)
		}
	}
}

// TestTablesWriterFiles leaves all tables or none, whether they are put in place or given up.
func TestTablesWriterFiles(t *testing.T) {
	tables := sampleTables(t)
	for _, commit := range []bool{true, false} {
		dir := t.TempDir()
		w, err := createTables(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.add(tables); err != nil {
			t.Fatal(err)
		}
		if commit {
			if err := w.commit(); err != nil {
				t.Fatal(err)
			}
		}
		w.abort()
		want := map[bool]int{true: len(TableNames())}[commit]
		if entries := must(os.ReadDir(dir)); len(entries) != want {
			t.Errorf("commit %v: %d files, want %d", commit, len(entries), want)
		}
	}
}

// TestColumns holds the tables to the columns of the design, which others read by name.
func TestColumns(t *testing.T) {
	names := func(cols []column) string {
		var s []string
		for _, c := range cols {
			s = append(s, c.name)
		}
		return strings.Join(s, " ")
	}
	const tokens, reported, place = "tokens_input tokens_cached tokens_cache_write tokens_output tokens_reasoning",
		"tokens_reported_input tokens_reported_cached tokens_reported_cache_write tokens_reported_output tokens_reported_reasoning", "file offset length"
	for _, c := range []struct{ got, want string }{
		{names(columnsOf[EpisodeRow]()), "study episode config model model_returned harness harness_version feedback retries process_retries session delivery scenario scenario_sha repeat seed turns_max turns_passed changes_passed turns_passed_share mode validity end_reason end_l1 end_leaf end_source started wall_s " + tokens + " cost_usd wasted_tokens wasted_usd loc sandbox " + place},
		{names(columnsOf[TurnRow]()), "episode turn operation operation_label change_text clauses_added clauses_changed clauses_removed attempts_used passed checks suite_sha " + place},
		{names(columnsOf[ClauseRow]()), "episode clause kind title text introduced changed removed " + place},
		{names(columnsOf[EventRow]()), "episode turn attempt attempt_offset seq via time actor channel kind tool call_id text exit_code http_status duration_s " + tokens + " " + place + " sha256"},
		{names(columnsOf[VerdictRow]()), "episode turn attempt annotator_kind annotator taxonomy l1 leaf mechanism origin reach recovered caused_by secondary clause completion guard_verdict strength abstain_reason rule_ids votes evidence missing " + place},
		{names(columnsOf[AttemptRow]()), "episode turn attempt void_of void_reason kind passed grade_reason completion exit_code signal ended_by feedback_bytes agent_s grade_s " + tokens + " " + reported + " cost_usd snapshot home loc lines_added lines_deleted files " + place},
		{names(columnsOf[CheckRow]()), "episode turn attempt check clauses category intent mutation status introduced last_passed_turn age request expected actual confirmed " + place},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(c.got)); diff != "" {
			t.Error(diff)
		}
	}
}

func BenchmarkWriteTables(b *testing.B) {
	tables, dir := &Tables{}, b.TempDir()
	for i := range 20_000 {
		tables.Checks = append(tables.Checks, CheckRow{Episode: "3f2a9c01b7de", Turn: i / 100, Check: fmt.Sprint("k", i), Clauses: []string{"c1", "c2"},
			Actual: fmt.Sprintf(`201 {"id": %d}`, i), Expected: "400"})
	}
	for b.Loop() {
		if err := WriteTables(dir, tables); err != nil {
			b.Fatal(err)
		}
	}
}
