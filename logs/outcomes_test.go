package logs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func outcomeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	mustWrite(t, path, text, 0o644)
	return path
}

// brief renders outcomes so that a test fits a line each.
func brief(set *OutcomeSet) []string {
	var s []string
	for _, o := range set.Rows {
		s = append(s, fmt.Sprintf("%d: %s %s %d %v %s", o.Line, o.Config, o.Scenario, o.Repeat, *o.Value, o.Status))
	}
	return s
}

func TestReadOutcomes(t *testing.T) {
	const csv = "agent,task,turns\na,t1,3\na,t2,0\nb,t1,12.5\n"
	want := []string{"2: a t1 1 3 failed", "3: a t2 1 0 failed", "4: b t1 1 12.5 failed"}
	var packed, zipped bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, csv)
	w.Close()
	z, err := zstd.NewWriter(&zipped)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(z, csv)
	z.Close()
	for name, text := range map[string]string{
		"plain.csv":   csv,
		"bom.csv":     "\xef\xbb\xbf" + csv,
		"windows.csv": strings.ReplaceAll(csv, "\n", "\r\n"),
		"tabs.tsv":    strings.ReplaceAll(csv, ",", "\t"),
		"tabs.txt":    strings.ReplaceAll(csv, ",", "\t"),
		"semi.csv":    strings.ReplaceAll(csv, ",", ";"),
		"no-end.csv":  strings.TrimSuffix(csv, "\n"),
		"x.csv.gz":    packed.String(),
		"x.csv.zst":   zipped.String(),
	} {
		set, err := ReadOutcomes(outcomeFile(t, name, text), OutcomeColumns{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, brief(set)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		guesses := []string{`config = column "agent" (guessed)`, `scenario = column "task" (guessed)`, `value = column "turns" (guessed)`}
		if name == "semi.csv" {
			guesses = append([]string{"separator = semicolon (guessed)"}, guesses...)
		}
		if diff := cmp.Diff(guesses, set.Guesses); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]string{"a", "b"}, set.Configs); diff != "" || set.ValueName != "turns" || set.Cap != 0 {
			t.Errorf("%s: %s %q %v", name, diff, set.ValueName, set.Cap)
		}
	}
}

func TestReadOutcomesColumns(t *testing.T) {
	const text = `{"who":"a","seed":1,"score":0.5,"run":1,"end":"failed","note":{"x":[1]}}
{"who":"a","seed":1,"score":1,"run":2,"end":"capped"}

{"who":"b","seed":2,"score":true,"run":1,"end":"stopped","extra":1}
`
	cols := OutcomeColumns{Config: "who", Status: "end", Cap: 1}
	set, err := ReadOutcomes(outcomeFile(t, "x.jsonl", strings.Replace(text, `true,"run":1,"end":"stopped"`, `0,"run":1,"end":"stopped"`, 1)), cols)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1: a 1 1 0.5 failed", "2: a 1 2 1 capped", "4: b 2 1 0 stopped"}, brief(set)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`scenario = column "seed" (guessed)`, `value = column "score" (guessed)`, `repeat = column "run" (guessed)`}, set.Guesses); diff != "" {
		t.Error(diff)
	}
	// Status and cap.
	set, err = ReadOutcomes(outcomeFile(t, "x.csv", "config,scenario,value\na,s,13\na,t,4\n"), OutcomeColumns{Cap: 13})
	if err != nil || set.Rows[0].Status != StatusCapped || set.Rows[1].Status != StatusFailed || set.Cap != 13 {
		t.Errorf("%v %v", set, err)
	}
	set, err = ReadOutcomes(outcomeFile(t, "x.csv", "config,scenario,value,status\na,s,13,capped\na,t,4,Failed\n"), OutcomeColumns{})
	if err != nil || set.Cap != 13 || !strings.Contains(strings.Join(set.Guesses, "\n"), "cap = 13") {
		t.Errorf("%v %v", set, err)
	}
}

func TestReadOutcomesErrors(t *testing.T) {
	const head = "config,scenario,value,repeat,status\n"
	for _, c := range []struct {
		name, text string
		cols       OutcomeColumns
		want, hint string
	}{
		{"missing", "a,b,c\n1,2,3\n", OutcomeColumns{}, "no column looks like the config", `"a", "b", "c"`},
		{"named", head, OutcomeColumns{Value: "turns"}, `there is no column "turns"`, `"config", "scenario", "value"`},
		{"ambiguous", "agent,model,task,score\na,b,c,1\n", OutcomeColumns{}, `several columns could be the config: "agent", "model"`, "--config-col agent"},
		{"nan", head + "a,s,NaN,1,failed\n", OutcomeColumns{}, `:2: column "value": NaN is no finite number`, "stopped"},
		{"inf", head + "a,s,-Inf,1,failed\n", OutcomeColumns{}, "no finite number", ""},
		{"huge", head + "a,s,1e999,1,failed\n", OutcomeColumns{}, "no finite number", ""},
		{"negative", head + "a,s,-1,1,failed\n", OutcomeColumns{}, ":2: column \"value\": -1 is negative", ""},
		{"text", head + "a,s,3,1,failed\na,t,many,1,failed\n", OutcomeColumns{}, `:3: column "value": "many" is no number`, ""},
		{"empty value", head + "a,s,,1,failed\n", OutcomeColumns{}, "it is empty", ""},
		{"empty config", head + " ,s,1,1,failed\n", OutcomeColumns{}, `:2: column "config": it is empty`, ""},
		{"duplicate", head + "a,s,1,1,failed\nb,s,1,1,failed\na,s,2,1,failed\n", OutcomeColumns{}, `:4: "a" on "s", repeat 1 already stands in line 2`, ""},
		{"duplicate without repeat", "config,scenario,value\na,s,1\na,s,2\n", OutcomeColumns{}, "line 2", "--repeat-col"},
		{"repeat", head + "a,s,1,one,failed\n", OutcomeColumns{}, `"one" is no whole number`, ""},
		{"status", head + "a,s,1,1,dead\n", OutcomeColumns{}, `:2: column "status": "dead" is no status`, "failed, capped, stopped"},
		{"above cap", head + "a,s,14,1,failed\n", OutcomeColumns{Cap: 13}, "14 is above the cap 13", "--cap"},
		{"failed at cap", head + "a,s,13,1,failed\n", OutcomeColumns{Cap: 13}, "its value is the cap 13", ""},
		{"capped below", head + "a,s,12,1,capped\n", OutcomeColumns{Cap: 13}, "is not the cap 13", ""},
		{"two caps", head + "a,s,12,1,capped\na,t,13,1,capped\n", OutcomeColumns{}, ":2: ", "--cap"},
		{"fields", head + "a,s,12,1\n", OutcomeColumns{}, ":2: the line does not have the 5 fields", "quote"},
		{"quote", head + "a,\"s,12,1,failed\n", OutcomeColumns{}, `extraneous or missing " in quoted-field`, ""},
		{"no rows", head, OutcomeColumns{}, "a header and no rows", ""},
		{"empty", "", OutcomeColumns{}, "it is empty", ""},
		{"one column", "hello\nworld\n", OutcomeColumns{}, "one column only", ""},
		{"array", "[{}]", OutcomeColumns{}, "one JSON array", "jq"},
		{"bad json", "{\"config\":1\n", OutcomeColumns{}, ":1: no JSON object", ""},
		{"binary", "a,b\x00c\n", OutcomeColumns{}, "neither text nor Parquet", ""},
		{"truncated gzip", "\x1f\x8b\x08\x00", OutcomeColumns{}, "cannot be unpacked", ""},
		{"fake parquet", "PAR1xxxxPAR1", OutcomeColumns{}, "Parquet", ""},
		{"cap", head, OutcomeColumns{Cap: -1}, "the cap -1", ""},
	} {
		path := outcomeFile(t, "outcomes.csv", c.text)
		_, err := ReadOutcomes(path, c.cols)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		var hint interface{ Hint() string }
		var code interface{ ExitCode() int }
		if !errors.As(err, &hint) || !strings.Contains(hint.Hint(), c.hint) || !errors.As(err, &code) || code.ExitCode() != 2 {
			t.Errorf("%s: hint %q lacks %q, or the exit code is not 2", c.name, hint, c.hint)
		}
	}
	if _, err := ReadOutcomes(t.TempDir(), OutcomeColumns{}); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
}

// TestReadOutcomesParquet reads our own table of episodes as if it were anybody's.
func TestReadOutcomesParquet(t *testing.T) {
	dir := t.TempDir()
	if err := WriteTables(dir, sampleTables(t)); err != nil {
		t.Fatal(err)
	}
	set, err := ReadOutcomes(filepath.Join(dir, "episodes.parquet"), OutcomeColumns{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1: m+h/minimal/r1/session=fresh s01 1 2 failed", "2: m+h/minimal/r1/session=fresh s02 1 2 failed"}, brief(set)); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadOutcomes(filepath.Join(dir, "episodes.parquet"), OutcomeColumns{Value: "cost"}); err == nil {
		t.Error("a missing column was found")
	}
}

// TestReadOutcomesOtherWriters reads files of DuckDB and polars; testdata/README.md says how they were made.
func TestReadOutcomesOtherWriters(t *testing.T) {
	file := func(name string) string { return filepath.Join("testdata", "parquet", name+".parquet") }
	for name, want := range map[string][]string{
		"polars":  {"1: a t1 1 1.5 failed", "2: a t2 1 0 failed", "3: b t1 255 3 failed"},
		"decimal": {"1: m0 t0 0 1.25 failed", "2: m1 t0 0 1.25 failed"},
	} {
		set, err := ReadOutcomes(file(name), OutcomeColumns{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, brief(set)[:len(want)]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, want := range map[string]string{"byte_stream_split": "column score has the encoding BYTE_STREAM_SPLIT", "lz4": "LZ4_RAW"} {
		_, err := ReadOutcomes(file(name), OutcomeColumns{})
		var bad *TableError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Hint() == "" {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestTablesOutcomes(t *testing.T) {
	d := newRun(t)
	eventful(t, d, "s01")
	tables := d.mustRead(t)
	for outcome, want := range map[string]float64{"turns_passed": 2, "full": 0, "share": 2.0 / 3, "usd": 3.25} {
		set, err := tables.Outcomes(outcome)
		if err != nil || len(set.Rows) != 1 {
			t.Fatal(outcome, err)
		}
		o := set.Rows[0]
		if *o.Value != want || o.Status != StatusFailed || o.EndReason != "failed" || set.ValueName != outcome {
			t.Errorf("%s: %+v, want %v", outcome, o, want)
		}
		if diff := cmp.Diff([]int{1, 2}, o.Attempts); diff != "" {
			t.Error(diff)
		}
	}
	tables.Episodes[0].CostUSD = nil
	if set, err := tables.Outcomes("usd"); err != nil || set.Rows[0].Value != nil {
		t.Errorf("an unknown cost became a number (%v)", err)
	}
	if _, err := tables.Outcomes("beauty"); err == nil {
		t.Error("an unknown outcome has values")
	}
	other := tables.Episodes[0]
	other.TurnsMax = 101
	tables.Episodes = append(tables.Episodes, other)
	if _, err := tables.Outcomes("turns_passed"); err == nil || !strings.Contains(err.Error(), "101") {
		t.Errorf("different lengths were mixed: %v", err)
	}
}

// TestAttemptCosts: void attempts and replaced tries are left out, the turn that failed is there; an attempt of unknown
// cost makes that currency unknown.
func TestAttemptCosts(t *testing.T) {
	d := newRun(t)
	eventful(t, d, "s01")
	tables := d.mustRead(t)
	for i := range tables.Attempts {
		a := &tables.Attempts[i]
		a.Tokens = Tokens{Input: ptr(int64(a.Turn)), Output: ptr(int64(100)), Cached: ptr(int64(1000))}
		a.CostUSD = ptr(float64(a.Turn))
	}
	costs := func() *AttemptCosts {
		t.Helper()
		set, err := tables.Outcomes("turns_passed")
		if err != nil {
			t.Fatal(err)
		}
		tables.AddAttemptCosts(set)
		return set.Rows[0].Costs
	}
	want := &AttemptCosts{Tokens: [][]float64{{1100}, {1101, 1101}, {1102, 1102}}, USD: [][]float64{{0}, {1, 1}, {2, 2}}}
	if diff := cmp.Diff(want, costs()); diff != "" {
		t.Error(diff)
	}
	last := &tables.Attempts[len(tables.Attempts)-1]
	last.CostUSD, last.Output = nil, ptr(int64(-5000))
	if diff := cmp.Diff(&AttemptCosts{}, costs()); diff != "" {
		t.Error(diff)
	}
}

func FuzzReadOutcomes(f *testing.F) {
	for _, s := range []string{"config,scenario,value\na,s,1\n", "{\"config\":\"a\",\"scenario\":1,\"value\":2}\n", "config\tscenario\tvalue\n", "PAR1", "a;b;c\n\"", "config,scenario,value,status\na,s,1,capped\n"} {
		f.Add([]byte(s), 0.0)
	}
	f.Fuzz(func(t *testing.T, b []byte, limit float64) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := ReadOutcomes(path, OutcomeColumns{Cap: limit})
		if err != nil {
			return
		}
		for _, o := range set.Rows {
			if o.Config == "" || o.Scenario == "" || o.Value == nil || *o.Value < 0 || set.Cap > 0 && *o.Value > set.Cap {
				t.Fatalf("accepted %+v", o)
			}
		}
	})
}

func BenchmarkReadOutcomes(b *testing.B) {
	var text strings.Builder
	text.WriteString("config,scenario,repeat,turns_passed,status\n")
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "model-%d+harness/detailed/r2,s%03d,%d,%d,failed\n", i%10, i/10%100, i/1000+1, i%101)
	}
	path := outcomeFile(b, "x.csv", text.String())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if set, err := ReadOutcomes(path, OutcomeColumns{}); err != nil || len(set.Rows) != 1_000_000 {
			b.Fatal(err)
		}
	}
}

func TestRunsSeen(t *testing.T) {
	// Against a plain map, with repeats that jump, come back and are negative.
	s := runsSeen{cells: map[outcomeCell]*seenCell{}}
	want := map[[3]int]int{}
	rnd := rand.New(rand.NewPCG(3, 4))
	for line := 1; line <= 5000; line++ {
		at, repeat := outcomeCell{rnd.IntN(3), rnd.IntN(2)}, rnd.IntN(40)
		switch rnd.IntN(4) {
		case 0:
			repeat = -repeat
		case 1:
			repeat <<= rnd.IntN(40)
		}
		k := [3]int{at.config, at.scenario, repeat}
		if got := s.add(at, repeat, line); got != want[k] {
			t.Fatalf("line %d: %v was seen in line %d, want %d", line, k, got, want[k])
		}
		if want[k] == 0 {
			want[k] = line
		}
	}
	for at, c := range s.cells {
		if len(c.lines) > 2*c.n+9 {
			t.Errorf("%v: a list of %d for %d runs", at, len(c.lines), c.n)
		}
	}
}
