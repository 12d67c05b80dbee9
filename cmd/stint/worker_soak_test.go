package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// soak is a fleet whose workers die and hang all the time.
type soak struct {
	repeats, scenarios int           // episodes are twice their product: there are two models
	delay              time.Duration // of every answer of a model
	jobs               string        // episodes of a worker at once
	times              []string      // of the leases
	every              time.Duration // one worker is killed or stopped
	stopped            time.Duration // until a stopped one goes on
	atLeast            int           // so many times must something have happened, or the test shows little
	limit              time.Duration
}

var (
	shortSoak = soak{repeats: 2, scenarios: 8, delay: 700 * time.Millisecond, jobs: "2", times: []string{"--lease", "5s", "--heartbeat", "500ms", "--self-stop", "3500ms"},
		every: 4 * time.Second, stopped: 12 * time.Second, atLeast: 4, limit: 4 * time.Minute}
	longSoak = soak{repeats: 10, scenarios: 25, delay: time.Second, jobs: "3", times: []string{"--lease", "5s", "--heartbeat", "500ms", "--self-stop", "3500ms"},
		every: 15 * time.Second, stopped: 18 * time.Second, atLeast: 18, limit: 30 * time.Minute}
)

// TestFleetSoak has four workers of which every few seconds one is killed, and replaced, or stopped until its leases have
// long gone to others. STINT_SOAK=1 plays 500 episodes for at least five minutes.
func TestFleetSoak(t *testing.T) {
	s := shortSoak
	switch os.Getenv("STINT_SOAK") {
	case "short":
	case "":
		t.Skip("workers die for half a minute: set STINT_SOAK=short, or STINT_SOAK=1 for five minutes, as .ci/full does")
	default:
		s = longSoak
	}
	dir := t.TempDir()
	text := fmt.Sprintf(fleetStudy, s.scenarios, s.delay, s.delay) + fmt.Sprintf("repeats: %d\n", s.repeats)
	writeFile(t, dir, "study.yaml", text)
	episodes := 2 * s.repeats * s.scenarios
	stint(t, dir, 0, "run", "study.yaml", "-o", "alone", "-q", "--jobs", fmt.Sprint(min(episodes, 125)))
	want, _ := digests(t, filepath.Join(dir, "alone"))

	began := time.Now()
	f := offered(t, dir, "many", s.times...)
	killed, stopped := s.disturb(f)
	took := time.Since(began)
	if killed+stopped < s.atLeast {
		t.Errorf("%d workers were killed and %d stopped, want %d in all: the study is too short", killed, stopped, s.atLeast)
	}
	f.once(episodes)
	got, _ := digests(t, f.run)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ (-alone +many):\n%s", diff)
	}
	_, turns := turnsOnce(t, filepath.Join(dir, "alone"))
	resumed, after := turnsOnce(t, f.run)
	if diff := cmp.Diff(turns, after); diff != "" {
		t.Errorf("turns that ended (-alone +many):\n%s", diff)
	}
	again, left, tokens := f.wasted()
	if resumed == 0 {
		t.Error("no episode went on at another worker")
	}
	t.Logf("%d episodes in %v: %d workers killed, %d stopped for %v; %d times an episode went on elsewhere; wasted: %d turns were played again, %d journals of workers that had lost their lease with %d tokens",
		episodes, took.Round(time.Second), killed, stopped, s.stopped, resumed, again, left, tokens)
}

// disturb starts four workers and lets them die and hang until the run has ended.
func (s *soak) disturb(f *fleetRun) (killed, stopped int) {
	f.t.Helper()
	type hanging struct {
		cmd   *exec.Cmd
		until time.Time
	}
	var alive []*exec.Cmd
	var hang []hanging
	dead := map[*exec.Cmd]bool{}
	for range 4 {
		alive = append(alive, f.worker("--jobs", s.jobs))
	}
	random := rand.New(rand.NewPCG(12, 3))
	end, next := time.After(s.limit), time.Now().Add(s.every)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-f.ended:
			if err != nil {
				f.t.Fatalf("the coordinator: %v\n%s", err, f.log)
			}
			for _, h := range hang { // they slept through the end: nobody is left to tell them of it
				_ = h.cmd.Process.Kill()
				_ = h.cmd.Wait()
				dead[h.cmd] = true
			}
			f.left(dead)
			return killed, stopped
		case <-end:
			f.t.Fatalf("the run has not ended after %v\n%s", s.limit, f.log)
		case now := <-tick.C:
			for len(hang) > 0 && now.After(hang[0].until) {
				_ = hang[0].cmd.Process.Signal(syscall.SIGCONT)
				alive, hang = append(alive, hang[0].cmd), hang[1:]
			}
			if now.Before(next) || len(alive) < 2 {
				continue
			}
			next = now.Add(s.every)
			i := random.IntN(len(alive))
			w := alive[i]
			alive = append(alive[:i], alive[i+1:]...)
			if random.IntN(2) == 0 {
				_ = w.Process.Kill()
				_ = w.Wait()
				dead[w] = true
				alive = append(alive, f.worker("--jobs", s.jobs))
				killed++
			} else if w.Process.Signal(syscall.SIGSTOP) == nil {
				hang = append(hang, hanging{w, now.Add(s.stopped)})
				stopped++
			}
		}
	}
}

// left checks that the workers that were not killed leave without an error when the study is done.
func (f *fleetRun) left(dead map[*exec.Cmd]bool) {
	f.t.Helper()
	for _, w := range f.workers {
		if dead[w] {
			continue
		}
		ended := make(chan error, 1)
		go func() { ended <- w.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				f.t.Errorf("a worker ended with %v:\n%s", err, w.Stderr)
			}
		case <-time.After(30 * time.Second):
			f.t.Errorf("a worker has not left:\n%s", w.Stderr)
			_ = w.Process.Kill()
			<-ended
		}
	}
}

// turnsOnce checks that every turn of every episode ended once and in order, and counts how often an episode went on at
// another worker. turns are those that ended, by episode.
func turnsOnce(t *testing.T, run string) (resumed int, turns map[string]int) {
	t.Helper()
	turns = map[string]int{}
	d := &logs.RunDir{Root: run}
	ids, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		records, _, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(id), logs.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		processes := 0
		for _, r := range records {
			switch r.Type {
			case logs.TypeResume:
				processes++
			case logs.TypeTurnEnd:
				if r.Turn == nil || *r.Turn != turns[id] {
					t.Errorf("%s: the end of a turn comes where that of turn %d should be: %v", id, turns[id], r.Turn)
				}
				turns[id]++
			}
		}
		resumed += max(0, processes-1)
	}
	return resumed, turns
}

var turnLine = regexp.MustCompile(`(?m)^stint: (\S+) turn (\d+) (?:passed|failed|not passed)`)

// wasted adds up what was done twice.
func (f *fleetRun) wasted() (again, journals int, tokens int64) {
	f.t.Helper()
	seen := map[string]bool{}
	for _, m := range turnLine.FindAllStringSubmatch(f.log.String(), -1) {
		if at := m[1] + " " + m[2]; seen[at] {
			again++
		} else {
			seen[at] = true
		}
	}
	d, err := logs.OpenRunDir(f.run)
	if err != nil {
		f.t.Fatal(err)
	}
	ids, err := d.Episodes()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, id := range ids {
		names, err := d.WastedJournals(id)
		if err != nil {
			f.t.Fatal(err)
		}
		journals += len(names)
	}
	tables, _, err := logs.ReadRun(d, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range tables.Episodes {
		if e.WastedTokens != nil {
			tokens += *e.WastedTokens
		}
	}
	return again, journals, tokens
}
