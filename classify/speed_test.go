package classify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// writeLoad makes a run directory of episodes that failed, each with about a megabyte: a journal of some 100 kB and the
// logs of three failed attempts, with failing checks and, in every fifth, an end by a rate limit.
func writeLoad(t testing.TB, root string, episodes int) *logs.RunDir {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(root, 0o755))
	check(os.WriteFile(filepath.Join(root, "study.yaml"), []byte("version: 1\n"), 0o644))
	d, err := logs.OpenRunDir(root)
	check(err)
	for n := range episodes {
		scenario := fmt.Sprintf("s%04d", n)
		id := logs.EpisodeID("load", "a/b/r2", scenario, 1)
		if _, err := os.Stat(d.EpisodeDir(id)); err == nil {
			continue // made by an earlier run
		}
		blobs, err := logs.OpenBlobs(filepath.Join(d.EpisodeDir(id), "blobs"))
		check(err)
		change, err := blobs.Put([]byte("Build the service."))
		check(err)
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		j, _, err := logs.OpenJournal(d.EpisodeDir(id), id, logs.JournalOptions{Now: func() time.Time { now = now.Add(time.Second); return now }, Sync: func(*os.File) error { return nil }})
		check(err)
		turn, try := 0, 0
		add := func(typ string, at, attempt *int, data any) { check(j.Append(typ, at, attempt, data, false)) }
		add(logs.TypeEpisodeStart, nil, nil, logs.EpisodeStart{Study: "load", Config: "a/b/r2", Scenario: logs.ScenarioRef{ID: scenario, Content: scenario}, Repeat: 1, TurnsMax: 1, Mode: "fail-stop"})
		add(logs.TypeResume, nil, nil, logs.Resume{Epoch: 1, Host: "host", PID: 1})
		refs := []logs.ClauseRef{{ID: "c1", Kind: "range", Title: "book.pages between 1 and 30", Text: "`pages` of a book is at least 1 and at most 30."},
			{ID: "c2", Kind: "read", Title: "read book by id", Text: "`GET /books/{id}` answers 200 and the book."}}
		add(logs.TypeTurnStart, &turn, nil, logs.TurnStart{Name: "build", Label: "T", ChangeSHA: change, Clauses: logs.ClauseChanges{Added: refs}, Suite: logs.SuiteRef{SHA: strings.Repeat("a", 64), Checks: 150}})
		for try = range 3 {
			limited := n%5 == 0 && try == 2
			log, err := blobs.Put([]byte(agentLog(rand.New(rand.NewPCG(uint64(n), uint64(try))), 300_000, limited)))
			check(err)
			exit, completion := 0, "clean"
			if limited {
				exit, completion = 1, "cut"
			}
			add(logs.TypeAttemptStart, &turn, &try, logs.AttemptStart{Kind: "first"})
			add(logs.TypeAgentExit, &turn, &try, logs.AgentExit{Exit: &exit, By: "self", Completion: completion, AgentS: 60, Log: logs.LogRef{Reader: "simulated", Blob: log}})
			for i := range 40 {
				add(logs.TypeCheckFail, &turn, &try, logs.CheckFail{Check: fmt.Sprintf("c%d.range", i), Clauses: []string{"c1"}, Category: "validation", Intent: "reject", Mutation: "range", Status: "fail", Age: "new",
					Confirmed: ptr(true), Request: fmt.Sprintf(`POST /books {"pages":%d}`, -i), Expected: `400; body.error.code = "range"; body.error.field = "pages"`, Actual: fmt.Sprintf(`201; body = {"id":%d,"pages":%d}`, i, -i)})
			}
			add(logs.TypeSuiteEnd, &turn, &try, logs.SuiteEnd{Checks: 150, Failed: 40, Runs: 1})
			add(logs.TypeGradeEnd, &turn, &try, logs.GradeEnd{Passed: ptr(false), Reason: "checks", GradeS: 1})
		}
		add(logs.TypeTurnEnd, &turn, nil, logs.TurnEnd{AttemptsUsed: 3})
		add(logs.TypeEpisodeEnd, nil, nil, logs.EpisodeEnd{EndReason: "failed"})
		check(j.Close())
	}
	return d
}

// agentLog is the log of an agent that calls tools, of about so many bytes.
func agentLog(r *rand.Rand, size int, limited bool) string {
	var b strings.Builder
	b.WriteString(`{"seq":0,"actor":"harness","kind":"message","text":"Build the service."}` + "\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"actor":"model","kind":"tool_call","tool":"bash","call_id":"call-%d","text":"sed -n %d,200p app.py"}`+"\n", i, r.IntN(1000))
		fmt.Fprintf(&b, `{"actor":"tool","kind":"tool_result","tool":"bash","call_id":"call-%d","text":"`, i)
		for range 40 {
			fmt.Fprintf(&b, "%016x if error: raise too many requests, out of memory in a loop\\n", r.Uint64())
		}
		b.WriteString("\"}\n")
	}
	if limited {
		b.WriteString(`{"actor":"provider","kind":"error","text":"429 too many requests"}` + "\n")
	}
	b.WriteString(`{"actor":"harness","kind":"end","exit":0}` + "\n")
	return b.String()
}

// BenchmarkEpisodes is the bar of 1,000 episodes of one megabyte by rules alone: at most 60 s and 300 MB on two cores.
// With STINT_BENCH_DIR the run directory is made there and kept, so that the command can be timed on it:
//
//	STINT_BENCH_DIR=/tmp/load go test ./classify -run '^$' -bench Episodes -benchtime 1x
//	/usr/bin/time -v stint classify /tmp/load
func BenchmarkEpisodes(b *testing.B) {
	root, episodes := b.TempDir(), 1000
	if dir := os.Getenv("STINT_BENCH_DIR"); dir != "" {
		root = dir
	}
	if n, err := strconv.Atoi(os.Getenv("STINT_BENCH_EPISODES")); err == nil {
		episodes = n
	}
	d := writeLoad(b, root, episodes)
	b.ResetTimer()
	for range b.N {
		os.RemoveAll(d.VerdictsDir())
		r, err := Pass(b.Context(), d, PassOptions{})
		if err != nil || len(r.Problems) > 0 || len(r.Verdicts) != 3*episodes {
			b.Fatalf("%d verdicts, %d problems, %v", len(r.Verdicts), len(r.Problems), err)
		}
	}
	b.ReportMetric(float64(episodes*b.N)/b.Elapsed().Seconds(), "episodes/s")
}

// TestPass: a second pass decides only about what has changed, and the file is that of a whole one.
func TestPass(t *testing.T) {
	d := writeLoad(t, t.TempDir(), 4)
	read := func() string {
		b, err := os.ReadFile(rulesPath(d))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	pass := func(book *Taxonomy, reused int) string {
		t.Helper()
		r, err := Pass(t.Context(), d, PassOptions{Book: book})
		if err != nil || r.Reused != reused || len(r.Configs) != 4+len(r.Problems) {
			t.Fatalf("%+v, %v; want %d reused", r, err, reused)
		}
		return read()
	}
	whole := pass(nil, 0)
	tables, _, err := logs.ReadRun(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), d, tables, Options{})
	if err != nil || len(r.Verdicts) != 12 || strings.Count(whole, "\n") != 12 || !strings.Contains(whole, LeafRateLimit) {
		t.Fatalf("%d verdicts, %v\n%s", len(r.Verdicts), err, whole)
	}
	at := filepath.Join(t.TempDir(), "rules.jsonl")
	if err := logs.WriteVerdicts(at, r.Verdicts); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(at); string(b) != whole {
		t.Error("a pass gives other bytes than one look at the whole run")
	}
	if pass(nil, 4) != whole {
		t.Error("the second pass gives other bytes")
	}
	// Other rules are another annotator of everything.
	book, err := ExtendCodebook([]byte(strings.ReplaceAll(userRules[strings.Index(userRules, "rules:"):], "infra.vpn", "infra.provider_error")))
	if err != nil {
		t.Fatal(err)
	}
	if other := pass(book, 0); other == whole {
		t.Error("other rules give the same bytes")
	}
	pass(nil, 0)
	// One journal loses its last record.
	ids, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(d.EpisodeDir(ids[0]), logs.JournalName)
	b, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
	if err := os.WriteFile(journal, []byte(strings.Join(lines[:len(lines)-1], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	pass(nil, 3)
	// What somebody changed or deleted is made again.
	if err := os.WriteFile(rulesPath(d), []byte(strings.Replace(whole, "infra.rate_limit", "infra.budget", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if pass(nil, 0) != whole {
		t.Error("a changed file is not made again")
	}
	os.Remove(rulesPath(d))
	if pass(nil, 0) != whole {
		t.Error("a deleted file is not made again")
	}
}
