package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// fleetStudy has agents that sleep, as those of real models do most of the time.
const fleetStudy = `version: 1
name: fleet
seed: 5
scenarios: {count: %d, changes: 2}
configs:
  - {model: [weak, strong], harness: simulated, feedback: detailed, retries: 1}
models:
  weak: {simulate: weak, transport: inproc, delay: %v}
  strong: {simulate: strong, transport: inproc, delay: %v}
sandbox: {kind: none}
`

// quick are times with which a dead worker is followed within seconds.
var quick = []string{"--lease", "6s", "--heartbeat", "500ms", "--self-stop", "4s"}

// fleet is a study that is offered to workers on this machine.
type fleetRun struct {
	t       *testing.T
	dir     string
	run     string
	queue   string // address of a cluster; "" = the coordinator serves
	offer   *exec.Cmd
	ended   chan error
	log     *output
	workers []*exec.Cmd
}

// output collects what a process prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// offered starts the coordinator of study.yaml in dir and waits until workers can join.
func offered(t *testing.T, dir, run string, args ...string) *fleetRun {
	t.Helper()
	f := &fleetRun{t: t, dir: dir, run: filepath.Join(dir, run)}
	t.Cleanup(f.kill)
	f.start(args...)
	return f
}

func (f *fleetRun) start(args ...string) {
	f.t.Helper()
	f.log, f.ended = &output{}, make(chan error, 1)
	where := []string{"--listen", "127.0.0.1:0"}
	if f.queue != "" {
		where = []string{"--queue", f.queue}
	}
	f.offer = command(f.t, f.dir, nil, slices.Concat([]string{"run", "study.yaml", "-o", f.run}, where, quick, args)...)
	f.offer.Stderr = f.log
	if err := f.offer.Start(); err != nil {
		f.t.Fatal(err)
	}
	offer, ended := f.offer, f.ended
	go func() { ended <- offer.Wait() }()
	f.waitFor("workers join with")
}

// waitFor waits until the coordinator has printed some words.
func (f *fleetRun) waitFor(words string) {
	f.t.Helper()
	for end := time.Now().Add(stepLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(f.log.String(), words) {
			return
		}
		select {
		case err := <-f.ended:
			f.t.Fatalf("the coordinator ended: %v\n%s", err, f.log)
		default:
		}
	}
	f.t.Fatalf("the coordinator has not said %q:\n%s", words, f.log)
}

// worker starts a worker.
func (f *fleetRun) worker(args ...string) *exec.Cmd {
	f.t.Helper()
	cmd := command(f.t, f.dir, nil, append([]string{"worker", "--join", filepath.Join(f.run, "queue", "join"), "-o", filepath.Join(f.dir, "work"), "-q"}, args...)...)
	cmd.Stderr = &output{}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.workers = append(f.workers, cmd)
	return cmd
}

// wait waits for the coordinator's end.
func (f *fleetRun) wait() {
	f.t.Helper()
	select {
	case err := <-f.ended:
		if err != nil {
			f.t.Fatalf("the coordinator: %v\n%s", err, f.log)
		}
	case <-time.After(stepLimit):
		f.t.Fatalf("the run has not ended\n%s", f.log)
	}
}

// kill ends what is left, by ids.
func (f *fleetRun) kill() {
	for _, w := range append(f.workers, f.offer) {
		if w.ProcessState == nil {
			w.Process.Signal(syscall.SIGCONT)
			w.Process.Kill()
		}
	}
	for _, w := range f.workers {
		w.Wait()
	}
}

// once checks that every episode has one journal with one end.
func (f *fleetRun) once(want int) {
	f.t.Helper()
	d := &logs.RunDir{Root: f.run}
	ids, err := d.Episodes()
	if err != nil || len(ids) != want {
		f.t.Fatalf("%d episodes, want %d; %v", len(ids), want, err)
	}
	for _, id := range ids {
		records, _, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(id), logs.JournalName))
		if err != nil {
			f.t.Fatal(err)
		}
		ends := 0
		for _, r := range records {
			if r.Type == logs.TypeEpisodeEnd {
				ends++
			}
		}
		if ends != 1 {
			f.t.Errorf("the journal of %s has %d ends", id, ends)
		}
	}
}

// TestFleet runs a study on workers of which one is killed and one is stopped until another has taken its episodes; then
// the coordinator is killed and starts again. What comes out is what one machine makes of it.
func TestFleet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := 4
	writeFile(t, dir, "study.yaml", fmt.Sprintf(fleetStudy, count, "300ms", "300ms"))
	stint(t, dir, 0, "run", "study.yaml", "-o", "alone", "-q", "--jobs", "8")
	want, _ := digests(t, filepath.Join(dir, "alone"))

	f := offered(t, dir, "many")
	first := f.worker("--jobs", "2")
	f.waitFor("turn 0 passed")
	first.Process.Kill()
	second := f.worker("--jobs", "2")
	f.waitFor("turn 1 passed")
	second.Process.Signal(syscall.SIGSTOP)
	f.worker("--jobs", "2")
	f.waitFor("ended:")
	f.offer.Process.Kill()
	<-f.ended
	f.start()
	second.Process.Signal(syscall.SIGCONT)
	f.wait()
	f.once(2 * count)
	got, _ := digests(t, f.run)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ (-alone +many):\n%s", diff)
	}
}

// A worker without the password, with another address or from another study is refused in clear words.
func TestWorkerRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", fmt.Sprintf(fleetStudy, 1, "1ms", "1ms"))
	f := offered(t, dir, "many")
	raw, err := os.ReadFile(filepath.Join(f.run, "queue", "join"))
	if err != nil {
		t.Fatal(err)
	}
	join := strings.TrimSpace(string(raw))
	if st, err := os.Stat(filepath.Join(f.run, "queue", "join")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file with the password: %v, %v", st.Mode(), err)
	}
	host := regexp.MustCompile(`@([^/]*)/`).FindStringSubmatch(join)[1]
	for name, c := range map[string]struct{ join, says string }{
		"no credential":    {"nats://" + host + "/0123456789ab", "refuses this credential"},
		"wrong password":   {"nats://work:guess@" + host + "/0123456789ab", "refuses this credential"},
		"no study":         {join[:len(join)-13], "names no study"},
		"no file":          {"nowhere/join", "no address of a queue"},
		"nobody there":     {"nats://work:x@127.0.0.1:1/0123456789ab", "cannot join the queue"},
		"not this program": {"http://127.0.0.1:1/", "must look like nats://"},
	} {
		_, errs := stint(t, dir, 2, "worker", "--join", c.join, "-o", "work")
		if !strings.Contains(errs, c.says) || strings.Contains(errs, "guess") {
			t.Errorf("%s: %s", name, errs)
		}
	}
	for _, args := range [][]string{{"--lease", "5s"}, {"--heartbeat", "1h"}, {"--queue", "nats://127.0.0.1:1"}, {"--listen", "here"}} {
		stint(t, dir, 2, append([]string{"run", "study.yaml", "-o", "other", "--listen", "127.0.0.1:0"}, args...)...)
	}
	f.worker()
	f.wait()
}
