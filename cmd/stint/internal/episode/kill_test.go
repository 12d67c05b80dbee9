package episode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// simulatedSpec is an episode of the weak simulated agent that a second process can make again from two words.
func simulatedSpec(root, transport string) (Spec, error) {
	p, err := scenarioOf(5, 3)
	if err != nil {
		return Spec{}, err
	}
	agent, err := harness.NewSimulated(harness.SimOptions{Preset: "weak", Transport: transport})
	if err != nil {
		return Spec{}, err
	}
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Runtimes: []string{}})
	if err != nil {
		return Spec{}, err
	}
	s := specOf(root, p, agent, box)
	s.Start.Seed, s.Start.Retries = 5, 10 // some turns need retries
	return s, nil
}

// killedMain plays an episode and is killed by the kernel when the journal has reached a record.
func killedMain(args []string) int {
	if len(args) != 3 {
		return 2
	}
	k, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return 2
	}
	s, err := simulatedSpec(args[0], args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.Journal.AfterAppend = func(seq int64) {
		if seq == k {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing runs after it
			select {}
		}
	}
	if _, err := Run(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// kill -9 at a record, then the same episode again: the digests and the truth are those of an undisturbed run.
func TestKill9(t *testing.T) {
	for _, tt := range []struct {
		transport string
		at        []float64 // of the journal's length
	}{
		{harness.TransportInproc, []float64{0.05, 0.2, 0.45, 0.7, 0.95}},
		{harness.TransportServer, []float64{0.3, 0.6}},
	} {
		t.Run(tt.transport, func(t *testing.T) {
			whole, err := simulatedSpec(t.TempDir(), tt.transport)
			if err != nil {
				t.Fatal(err)
			}
			mustRun(t, whole)
			undisturbed, tables := digests(t, root(whole))
			if len(tables.Checks) == 0 {
				t.Error("nothing failed: the seed shows too little")
			}
			truth, err := os.ReadFile(filepath.Join(whole.Dir, truthName))
			if err != nil {
				t.Fatal(err)
			}
			records, _, err := logs.ReadJournal(filepath.Join(whole.Dir, logs.JournalName))
			if err != nil {
				t.Fatal(err)
			}
			for _, share := range tt.at {
				k := int64(share * float64(len(records)))
				dir := t.TempDir()
				out, err := exec.Command(os.Args[0], "__killed", dir, tt.transport, strconv.FormatInt(k, 10)).CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("record %d: the run was not killed: %v\n%s", k, err, out)
				}
				s, err := simulatedSpec(dir, tt.transport)
				if err != nil {
					t.Fatal(err)
				}
				mustRun(t, s)
				if got, _ := digests(t, root(s)); got != undisturbed {
					t.Errorf("killed at record %d (%s): digests differ", k, records[k].Type)
				}
				if got, err := os.ReadFile(filepath.Join(s.Dir, truthName)); err != nil || string(got) != string(truth) {
					t.Errorf("killed at record %d (%s): the truth differs (%v)", k, records[k].Type, err)
				}
			}
		})
	}
}

// What was planted is in the truth file and nowhere else.
func TestTruthIsSealed(t *testing.T) {
	s, err := simulatedSpec(t.TempDir(), harness.TransportInproc)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, s)
	lines, err := harness.ReadTruth(filepath.Join(s.Dir, truthName))
	if err != nil {
		t.Fatal(err)
	}
	planted := map[string]bool{"oscillation": true, "regression": true, "operation_ignored": true}
	for _, l := range lines {
		for _, f := range l.Faults {
			planted[f.Kind] = true
		}
	}
	if len(planted) == 3 {
		t.Fatal("nothing was planted")
	}
	blobs, err := logs.OpenBlobs(filepath.Join(s.Dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		texts := []string{string(r.Data)}
		var shas []string
		switch r.Type {
		case logs.TypeAttemptStart:
			d, _ := logs.Decode[logs.AttemptStart](r)
			shas = append(shas, d.PromptSHA)
		case logs.TypeAgentExit:
			d, _ := logs.Decode[logs.AgentExit](r)
			shas = append(shas, d.Log.Blob)
		case logs.TypeGradeEnd:
			d, _ := logs.Decode[logs.GradeEnd](r)
			shas = append(shas, d.Result)
		case logs.TypeFeedbackSent:
			d, _ := logs.Decode[logs.FeedbackSent](r)
			shas = append(shas, d.SHA)
		}
		for _, sha := range shas {
			b, err := blobs.Get(sha)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
		for _, text := range texts {
			for kind := range planted {
				if regexp.MustCompile(`\b` + kind + `\b`).MatchString(text) {
					t.Errorf("record %d (%s) names %q", r.Seq, r.Type, kind)
				}
			}
		}
	}
}
