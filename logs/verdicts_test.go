package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func verdict(kind, annotator, strength, leaf string) VerdictRow {
	l1, _, _ := strings.Cut(leaf, ".")
	v := VerdictRow{Episode: "3f2a9c01b7de", Turn: 2, Attempt: 1, AnnotatorKind: kind, Annotator: annotator, Taxonomy: "stint-failures/1.0", L1: l1, Strength: strength}
	if leaf != l1 {
		v.Leaf = &leaf
	}
	return v
}

// TestCounting is the table of precedence: each list is in the order in which its verdicts count, and
// as long as an earlier one is there, no later one does.
func TestCounting(t *testing.T) {
	order := []VerdictRow{
		verdict(AnnotatorPerson, Adjudicated, "", "drift.too_lax"),
		verdict(AnnotatorPerson, "ann", "", "drift.too_strict"),
		verdict(AnnotatorContract, "a1", StrengthProved, "drift.forgotten"),
		verdict(AnnotatorRule, "a1", StrengthStrong, "infra.budget"),
		verdict(AnnotatorJudge, "model-x", StrengthJudged, "drift.wrong_logic"),
		verdict(AnnotatorContract, "b2", StrengthWeak, "drift.wire_format"),
		verdict(AnnotatorRule, "b2", StrengthWeak, "infra.tool_hang"),
		verdict(AnnotatorJudge, "model-y", StrengthAbstain, "unknown.insufficient"),
		verdict(AnnotatorPerson, "bea", StrengthAbstain, "unknown.insufficient"),
		verdict(AnnotatorRule, "c3", StrengthAbstain, "unknown.conflict"),
	}
	for i := range order {
		rows := slices.Clone(order[i:])
		for range 2 {
			got := Counting(rows)
			v := got[VerdictKey{"3f2a9c01b7de", 2, 1}]
			if len(got) != 1 || v == nil {
				t.Fatalf("from %d: %v", i, got)
			}
			if diff := cmp.Diff(order[i], *v); diff != "" {
				t.Errorf("from %d: −want +got\n%s", i, diff)
			}
			slices.Reverse(rows)
		}
	}
}

func TestCountingPeople(t *testing.T) {
	rule := verdict(AnnotatorRule, "a1", StrengthStrong, "infra.budget")
	ann, bea := verdict(AnnotatorPerson, "ann", "", "drift.too_lax"), verdict(AnnotatorPerson, "bea", "", "drift.too_strict")
	agrees := verdict(AnnotatorPerson, "cal", "", "drift.too_lax")
	settled := verdict(AnnotatorPerson, Adjudicated, "", "drift.too_strict")
	cannotTell := verdict(AnnotatorPerson, "dan", StrengthAbstain, "unknown.insufficient")
	for _, c := range []struct {
		what     string
		rows     []VerdictRow
		leaf     string
		disputed bool
	}{
		{"two agree", []VerdictRow{rule, agrees, ann}, "drift.too_lax", false},
		{"two differ", []VerdictRow{ann, rule, bea}, "infra.budget", true},
		{"two differ, settled", []VerdictRow{ann, bea, rule, settled}, "drift.too_strict", false},
		{"one cannot tell", []VerdictRow{cannotTell, ann, rule}, "drift.too_lax", false},
		{"only L1 differs in a leaf", []VerdictRow{ann, verdict(AnnotatorPerson, "eve", "", "drift"), rule}, "infra.budget", true},
	} {
		k := c.rows[0].Key()
		if v := Counting(c.rows)[k]; v == nil || *v.Leaf != c.leaf {
			t.Errorf("%s: %v counts, want %s", c.what, v, c.leaf)
		}
		if got := Disputed(c.rows)[k]; got != c.disputed {
			t.Errorf("%s: disputed %v", c.what, got)
		}
	}
	if v := Counting([]VerdictRow{ann, bea}); len(v) != 0 {
		t.Errorf("two people who differ, and nobody else: %v", v)
	}
}

func TestVerdictFiles(t *testing.T) {
	d := newRun(t)
	if rows, problems, err := ReadVerdicts(d); len(rows)+len(problems) > 0 || err != nil {
		t.Fatalf("without a folder: %v %v %v", rows, problems, err)
	}
	a := verdict(AnnotatorContract, "a1", StrengthStrong, "drift.forgotten")
	a.Mechanism, a.Secondary, a.Evidence = ptr("drift.too_lax"), []string{"infra.tool_hang"}, `[{"file": "x", "quote": "<\u0007>"}]`
	b := verdict(AnnotatorRule, "a1", StrengthAbstain, "unknown.insufficient")
	b.Turn = 10
	path := filepath.Join(d.VerdictsDir(), "rules.jsonl")
	if err := WriteVerdicts(path, []VerdictRow{b, a}); err != nil {
		t.Fatal(err)
	}
	first := string(readFile(t, path))
	people := `{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"person","annotator":"ann","l1":"drift","leaf":"drift.too_lax"}
{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"person","annotator":"ann","l1":"drift","leaf":"drift.too_strict"}

{"episode":"../etc","turn":2,"attempt":1,"annotator_kind":"person","annotator":"ann","l1":"drift"}
{"episode":"3f2a9c01b7de","turn":-2,"attempt":1,"annotator_kind":"person","annotator":"ann","l1":"drift"}
{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"robot","annotator":"ann","l1":"drift"}
{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"person","annotator":"ann","l1":"weather"}
{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"rule","annotator":"adjudicated","strength":"weak","l1":"drift"}
{"episode":"3f2a9c01b7de","turn":2,"attempt":1,"annotator_kind":"judge","annotator":"m","l1":"drift"}
{"episode":7}
{"episode":"3f2a9c0`
	mustWrite(t, filepath.Join(d.VerdictsDir(), "people.jsonl"), people, 0o644)
	rows, problems, err := ReadVerdicts(d)
	if err != nil || len(rows) != 3 || len(problems) != 8 {
		t.Fatalf("%d rows, problems %v, %v", len(rows), problems, err)
	}
	if p := problems[7]; p.Line != 11 || p.Text != "the last line is cut off" || p.File != "verdicts/people.jsonl" {
		t.Errorf("problem %v", p)
	}
	if v := rows[1]; v.Annotator != "ann" || *v.Leaf != "drift.too_strict" || v.Offset != int64(strings.Index(people, "\n")+1) {
		t.Errorf("the later line does not count: %+v", v)
	}
	got := rows[0]
	if got.File != "verdicts/rules.jsonl" || got.Offset != 0 || got.Evidence != `[{"file":"x","quote":"<\u0007>"}]` {
		t.Errorf("read %+v", got)
	}
	// What was read is written as the same bytes.
	if err := WriteVerdicts(path, []VerdictRow{rows[2], rows[0]}); err != nil {
		t.Fatal(err)
	}
	if second := string(readFile(t, path)); strings.ReplaceAll(second, `,"evidence":[]`, "") != first {
		t.Errorf("written again:\n%s\n%s", first, second)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(first, "\n", 2)[0]), &keys); err != nil {
		t.Fatal(err)
	}
	for _, c := range columnsOf[VerdictRow]() {
		delete(keys, c.name)
	}
	if len(keys) > 0 {
		t.Errorf("keys that are no columns: %v", keys)
	}
	if entries, err := os.ReadDir(d.VerdictsDir()); err != nil || len(entries) != 2 {
		t.Errorf("%d files in the folder, %v", len(entries), err)
	}
	a.L1 = "weather"
	if err := WriteVerdicts(path, []VerdictRow{a}); err == nil || string(readFile(t, path)) == "" {
		t.Errorf("a row that cannot be read was written: %v", err)
	}
}

// TestVerdictLink refuses to follow a link out of the run directory.
func TestVerdictLink(t *testing.T) {
	d := newRun(t)
	outside := filepath.Join(t.TempDir(), "x.jsonl")
	if err := WriteVerdicts(outside, []VerdictRow{verdict(AnnotatorRule, "a1", StrengthStrong, "infra.budget")}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.VerdictsDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(d.VerdictsDir(), "rules.jsonl")); err != nil {
		t.Fatal(err)
	}
	if rows, problems, err := ReadVerdicts(d); len(rows) != 0 || len(problems) != 1 || err != nil {
		t.Errorf("%v %v %v", rows, problems, err)
	}
}

// TestEnds is the cause of each way an episode can end.
func TestEnds(t *testing.T) {
	failed := func(turn, attempt int, leaf string) VerdictRow {
		v := verdict(AnnotatorRule, "a1", StrengthStrong, leaf)
		v.Turn, v.Attempt = turn, attempt
		return v
	}
	caused := failed(1, 1, "drift.broken_server")
	caused.CausedBy = ptr("m+h/minimal/r1/s01#1@1.0")
	loop := failed(1, 0, "infra.compaction")
	loop.CausedBy = ptr("1.1")
	person := verdict(AnnotatorPerson, Adjudicated, "", "bench.test_defect")
	person.Turn = 1
	for _, c := range []struct {
		what     string
		finish   func(*player)
		verdicts []VerdictRow
		want     string
	}{
		{"no verdicts", failTurn, nil, ""},
		{"the last attempt's", failTurn, []VerdictRow{failed(1, 0, "infra.budget"), failed(1, 1, "drift.too_lax")}, "drift drift.too_lax rule"},
		{"what it was caused by", failTurn, []VerdictRow{failed(1, 0, "infra.compaction"), caused}, "infra infra.compaction rule"},
		{"caused by one without a verdict", failTurn, []VerdictRow{caused}, "drift drift.broken_server rule"},
		{"a circle of causes", failTurn, []VerdictRow{loop, caused}, "infra infra.compaction rule"},
		{"a person's", failTurn, []VerdictRow{failed(1, 1, "drift.too_lax"), person}, "bench bench.test_defect adjudicated"},
		{"no leaf", failTurn, []VerdictRow{failed(1, 1, "unknown")}, "unknown  rule"},
		{"verdict of another attempt only", failTurn, []VerdictRow{failed(0, 0, "infra.budget")}, ""},
		{"passed everything", func(p *player) { p.pass(1); p.finish("capped", 2) }, []VerdictRow{failed(1, 1, "drift.too_lax")}, ""},
		{"provider", voided("rate_limit", "provider"), nil, "infra infra.rate_limit loop"},
		{"host", voided("host", "host"), nil, "bench bench.host loop"},
		{"budget", voided("budget", "budget"), nil, ""},
		{"operator", voided("operator", "operator"), nil, ""},
		{"grader", func(p *player) {
			p.begin(1)
			p.work("first")
			p.add(TypeGradeEnd, GradeEnd{Reason: "bench_grader"})
			p.finish("bench", 1)
		}, nil, "bench bench.verifier loop"},
		{"not ended", func(p *player) {
			p.begin(1)
			p.add(TypeAttemptStart, AttemptStart{})
			p.add(TypeVoid, Void{Reason: "host"})
			p.j.Close()
		}, nil, ""},
	} {
		d := newRun(t)
		p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2, Retries: 1, Mode: modeFailStop})
		p.pass(0)
		c.finish(p)
		for i := range c.verdicts {
			c.verdicts[i].Episode = p.id
			if c.verdicts[i].AnnotatorKind == AnnotatorPerson {
				c.verdicts[i].Attempt = 1
			}
		}
		if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "judge.jsonl"), c.verdicts); err != nil {
			t.Fatal(err)
		}
		tables := d.mustRead(t)
		e := tables.Episodes[0]
		got := ""
		if e.EndSource != nil {
			leaf := ""
			if e.EndLeaf != nil {
				leaf = *e.EndLeaf
			}
			got = fmt.Sprintf("%s %s %s", *e.EndL1, leaf, *e.EndSource)
		}
		if got != c.want {
			t.Errorf("%s: the end is %q, want %q", c.what, got, c.want)
		}
		if o := must(tables.Outcomes("turns_passed")).Rows[0]; c.want != "" && !strings.HasPrefix(c.want, o.EndL1+" "+o.EndLeaf+" ") {
			t.Errorf("%s: the outcome says %q %q", c.what, o.EndL1, o.EndLeaf)
		}
	}
}

func (p *player) pass(turn int) {
	p.begin(turn)
	p.work("first")
	p.grade(true)
	p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: 1})
}

// failTurn fails turn 1 with both attempts.
func failTurn(p *player) {
	p.begin(1)
	p.work("first")
	p.grade(false)
	p.try = 1
	p.work("retry")
	p.grade(false)
	p.add(TypeTurnEnd, TurnEnd{Passed: false, AttemptsUsed: 2})
	p.finish("failed", 1)
}

// voided stops the episode after void attempts.
func voided(reason, end string) func(*player) {
	return func(p *player) {
		p.begin(1)
		for range 2 {
			p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
			p.add(TypeVoid, Void{Reason: reason})
		}
		p.finish(end, 1)
	}
}

// TestDigestLeavesPeopleOut labels a run, and lets a person label it differently.
func TestDigestLeavesPeopleOut(t *testing.T) {
	d := newRun(t)
	p := eventful(t, d, "s01")
	before := Digest(d.mustRead(t))
	rule := verdict(AnnotatorRule, "a1", StrengthStrong, "drift.too_lax")
	rule.Episode = p.id
	if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "rules.jsonl"), []VerdictRow{rule}); err != nil {
		t.Fatal(err)
	}
	labelled := Digest(d.mustRead(t))
	if before["verdicts"] == labelled["verdicts"] || before["episodes"] == labelled["episodes"] {
		t.Error("the digests do not see a rule's verdict")
	}
	person := verdict(AnnotatorPerson, "ann", "", "bench.host")
	person.Episode = p.id
	if err := WriteVerdicts(filepath.Join(d.VerdictsDir(), "people.jsonl"), []VerdictRow{person}); err != nil {
		t.Fatal(err)
	}
	tables := d.mustRead(t)
	if *tables.Episodes[0].EndL1 != "bench" {
		t.Fatalf("the person does not count: %s", *tables.Episodes[0].EndL1)
	}
	if diff := cmp.Diff(labelled, Digest(tables)); diff != "" {
		t.Errorf("the digests see a person's verdict:\n%s", diff)
	}
}
