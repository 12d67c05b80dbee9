package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// classifiedStudy has several hundred failed attempts of drift, and some of infrastructure, which a process retry must
// not replace.
const classifiedStudy = `version: 1
name: classified
seed: 11
scenarios: {count: 12, changes: 8}
repeats: 2
mode: continue
` + weakConfigs

// weakConfigs ends a study with two configurations of the weak simulated agent. No process retry replaces its failures.
const weakConfigs = `configs:
  - {model: weak, harness: simulated, feedback: none, retries: 0}
  - {model: weak, harness: simulated, feedback: minimal, retries: 2}
models:
  weak: {simulate: weak, transport: inproc}
agent: {process_retries: 0}
sandbox: none
`

// The bars that the verdicts of the rules must reach on simulated studies.
const (
	leafBar = 0.95
	l1Bar   = 0.99
)

func TestClassifySimulated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", classifiedStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	out, _ := stint(t, dir, 0, "classify", "run")

	d, err := logs.OpenRunDir(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	tables, problems, err := logs.ReadRunWith(d, logs.ReadOptions{Events: true})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	t.Run("one verdict for every failed attempt", func(t *testing.T) { oneVerdictEach(t, tables, out) })
	t.Run("evidence", func(t *testing.T) { evidenceHolds(t, d, tables.Verdicts) })
	t.Run("ends", func(t *testing.T) { endsAreFilled(t, tables) })
	t.Run("bars", func(t *testing.T) { barsAreReached(t, dir) })
	t.Run("again", func(t *testing.T) { againIsNothing(t, dir, out) })
	t.Run("explain", func(t *testing.T) { everyLeafExplained(t, dir, tables) })
	t.Run("no planted fault is named", func(t *testing.T) { nothingPlantedIsNamed(t, dir, tables, out) })
}

func oneVerdictEach(t *testing.T, tables *logs.Tables, out string) {
	verdicts := map[logs.VerdictKey]int{}
	for i := range tables.Verdicts {
		v := &tables.Verdicts[i]
		verdicts[v.Key()]++
		if v.Leaf == nil || classify.Codebook().Leaf(*v.Leaf) == nil || !strings.HasPrefix(*v.Leaf, v.L1+".") {
			t.Errorf("%+v: no leaf of its level", v.Key())
		}
		if v.L1 == "unknown" && v.AbstainReason == nil {
			t.Errorf("%+v: unknown without a reason", v.Key())
		}
	}
	failed := 0
	for _, a := range tables.Attempts {
		if a.Attempt == nil || a.Passed == nil || *a.Passed {
			continue
		}
		failed++
		if k := (logs.VerdictKey{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt}); verdicts[k] != 1 {
			t.Errorf("%+v has %d verdicts", k, verdicts[k])
		}
	}
	if failed < 200 || len(verdicts) != failed {
		t.Errorf("%d verdicts for %d failed attempts, which should be some hundreds", len(verdicts), failed)
	}
	if want := fmt.Sprintf("%d failed attempts in ", failed); !strings.HasPrefix(out, want) {
		t.Errorf("classify prints %q first, want %q", strings.SplitN(out, "\n", 2)[0], want)
	}
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^all .* 100 %% +%d$`, failed)).MatchString(out) {
		t.Errorf("the counts of classify do not sum to %d:\n%s", failed, out)
	}
}

// evidenceHolds opens every place that a verdict points to and compares the bytes with their hash.
func evidenceHolds(t *testing.T, d *logs.RunDir, verdicts []logs.VerdictRow) {
	files := map[string][]byte{}
	open := func(name string) []byte {
		if b, ok := files[name]; ok {
			return b
		}
		b, err := os.ReadFile(filepath.Join(d.Root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".zst") {
			dec, err := zstd.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			defer dec.Close()
			var plain bytes.Buffer
			if _, err := plain.ReadFrom(dec); err != nil {
				t.Fatal(err)
			}
			b = plain.Bytes()
		}
		files[name] = b
		return b
	}
	places := 0
	for _, v := range verdicts {
		var list []classify.Evidence
		if err := json.Unmarshal([]byte(v.Evidence), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			t.Errorf("%+v has no evidence", v.Key())
		}
		for _, e := range list {
			b := open(e.File)
			if e.Offset+e.Length > int64(len(b)) {
				t.Fatalf("%+v: %s has no byte %d", v.Key(), e.File, e.Offset+e.Length)
			}
			if sum := sha256.Sum256(b[e.Offset : e.Offset+e.Length]); hex.EncodeToString(sum[:]) != e.SHA256 {
				t.Errorf("%+v: %s at byte %d has another hash", v.Key(), e.File, e.Offset)
			}
			places++
		}
	}
	if places < len(verdicts) {
		t.Errorf("%d places for %d verdicts", places, len(verdicts))
	}
}

func endsAreFilled(t *testing.T, tables *logs.Tables) {
	failed := 0
	for _, e := range tables.Episodes {
		if e.Validity != logs.ValidityValid || e.EndReason == nil || *e.EndReason != "failed" {
			continue
		}
		failed++
		if e.EndL1 == nil || e.EndLeaf == nil || e.EndSource == nil {
			t.Errorf("%s failed, and its end has no cause", e.Episode)
		}
	}
	if failed == 0 {
		t.Error("no episode failed")
	}
}

func barsAreReached(t *testing.T, dir string) {
	out, _ := stint(t, dir, 0, "audit", "eval", "run", "--json")
	var ev evaluation
	if err := json.Unmarshal([]byte(out), &ev); err != nil {
		t.Fatal(err)
	}
	t.Logf("single %s, drift against infrastructure %s, several %s, groups %s, void %s, unseen %d", ev.Single, ev.L1, ev.Double, ev.Groups, ev.Void, ev.Unseen)
	for what, got := range map[string]tally{"single faults": ev.Single, "several faults": ev.Double} {
		if got.Of < 50 || got.Share == nil || *got.Share < leafBar {
			t.Errorf("%s: %s; the bar is %.0f %% of at least 50", what, got, 100*leafBar)
		}
	}
	if ev.L1.Of < 200 || ev.L1.Share == nil || *ev.L1.Share < l1Bar || ev.Levels["infra"]["infra"] < 3 {
		t.Errorf("drift against infrastructure: %s (%v); the bar is %.0f %% of at least 200", ev.L1, ev.Levels, 100*l1Bar)
	}
	if ev.Void.Of > 0 && *ev.Void.Share < 1 {
		t.Errorf("void tries: %s", ev.Void)
	}
	// Nearly every fault is seen by some check; most of those in no group are hidden behind another fault.
	if ev.Groups.Share == nil || *ev.Groups.Share < 0.8 {
		t.Errorf("groups: %s", ev.Groups)
	}
	if ev.Unscored != 0 {
		t.Errorf("%d verdicts were not scored", ev.Unscored)
	}
	text, _ := stint(t, dir, 0, "audit", "eval", "run")
	if want := "one planted fault, leaf right"; !strings.Contains(text, want) {
		t.Errorf("audit eval does not print %q:\n%s", want, text)
	}
}

// againIsNothing classifies a second time, and once more from nothing: the same bytes, and nothing is touched that need
// not be.
func againIsNothing(t *testing.T, dir, out string) {
	rules := filepath.Join(dir, "run", "verdicts", "rules.jsonl")
	table := filepath.Join(dir, "run", "tables", "verdicts.parquet")
	state := func() (string, []byte, time.Time, time.Time) {
		b, err := os.ReadFile(rules)
		if err != nil {
			t.Fatal(err)
		}
		r, err1 := os.Stat(rules)
		p, err2 := os.Stat(table)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return string(b), b, r.ModTime(), p.ModTime()
	}
	first, _, madeRules, madeTable := state()
	if again, _ := stint(t, dir, 0, "classify", "run"); again != out {
		t.Errorf("the second run prints something else:\n%s", again)
	}
	second, _, atRules, atTable := state()
	if first != second || !madeRules.Equal(atRules) || !madeTable.Equal(atTable) {
		t.Error("the second run wrote something")
	}
	if err := os.RemoveAll(filepath.Dir(rules)); err != nil {
		t.Fatal(err)
	}
	stint(t, dir, 0, "classify", "run", "-q")
	if third, _, _, _ := state(); third != first {
		t.Error("from nothing the verdicts are different")
	}
}

func everyLeafExplained(t *testing.T, dir string, tables *logs.Tables) {
	seen := map[string]bool{}
	for i := range tables.Verdicts {
		v := &tables.Verdicts[i]
		if seen[*v.Leaf] {
			continue
		}
		seen[*v.Leaf] = true
		id := fmt.Sprintf("%s@%d.%d", v.Episode, v.Turn, v.Attempt)
		out, _ := stint(t, dir, 0, "explain", "run", id)
		for _, want := range []string{id, *v.Leaf, "decision path", "  1. is there a trustworthy result of grading?", "journal.jsonl  byte "} {
			if !strings.Contains(out, want) {
				t.Errorf("explain %s does not print %q:\n%s", id, want, out)
			}
		}
		if v.L1 == "drift" && *v.Leaf != classify.LeafBrokenServer && (!strings.Contains(out, "expected ") || !strings.Contains(out, "row K")) {
			t.Errorf("explain %s shows no failing check:\n%s", id, out)
		}
	}
	if len(seen) < 9 {
		t.Errorf("only %d leaves were seen", len(seen))
	}
}

// plantedWords are the words by which the simulated agent's sealed truth names faults, where nobody else uses them.
var plantedWords = strings.Fields(`permissive strict off_by_one default_ignored unique_ignored unique_self put_merges patch_resets on_delete_ignored
	on_delete_cascade on_delete_restrict field_missing endpoint_missing old_name wrong_status wrong_code extra_key not_atomic list_reversed
	total_wrong delete_soft analytics_wrong stale self_kill exit_early wrong_port oscillation carried faults.json`)

// plantedWord returns the first of these words that stands in a text as a word of its own, or "".
func plantedWord(text string) string {
	letter := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for _, w := range plantedWords {
		for at := 0; ; at += len(w) {
			i := strings.Index(text[at:], w)
			if i < 0 {
				break
			}
			if at += i; (at == 0 || !letter(text[at-1])) && (at+len(w) == len(text) || !letter(text[at+len(w)])) {
				return w
			}
		}
	}
	return ""
}

func nothingPlantedIsNamed(t *testing.T, dir string, tables *logs.Tables, out string) {
	for name, rows := range map[string]any{"episodes": tables.Episodes, "turns": tables.Turns, "clauses": tables.Clauses, "attempts": tables.Attempts,
		"checks": tables.Checks, "events": tables.Events, "verdicts": tables.Verdicts} {
		b, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 1000 {
			t.Errorf("the table %s is all but empty", name)
		}
		if w := plantedWord(string(b)); w != "" {
			t.Errorf("the table %s names a planted fault: %s", name, w)
		}
	}
	list, _ := stint(t, dir, 0, "explain", "run", "--json")
	rules, err := os.ReadFile(filepath.Join(dir, "run", "verdicts", "rules.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"classify": out, "explain": list, "rules.jsonl": string(rules)} {
		if w := plantedWord(text); w != "" {
			t.Errorf("%s names a planted fault: %s", what, w)
		}
	}
	truths, err := filepath.Glob(filepath.Join(dir, "run", "episodes", "*", "truth"))
	if err != nil || len(truths) == 0 {
		t.Fatal("no truth files", err)
	}
	for _, path := range truths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if plantedWord(string(b)) != "" {
			return
		}
	}
	t.Error("the search finds nothing even in the truth files")
}
