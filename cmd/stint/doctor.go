package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
)

func newDoctorCmd(e *env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What this machine can and cannot do, each with the way out",
		Long: `doctor looks at what stint needs on this machine, starts every installed agent once against
a scripted model, and then runs the perfect agent (harness: reference) through the real
sandbox and grader: if that passes, a failure in a study is the agent's. Without bubblewrap
the reference runs without a sandbox, and doctor says so.`,
		Example: "  " + e.Self + " doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doctor(cmd.Context(), e, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// examined is one line of doctor.
type examined struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func doctor(ctx context.Context, e *env, asJSON bool) error {
	var list []examined
	for _, f := range sandbox.Probe(ctx) {
		list = append(list, examined{f.Name, f.OK, f.Detail, f.Hint})
	}
	for _, name := range harness.Shipped() {
		list = append(list, examineHarness(ctx, e, name))
	}
	list = append(list, examineReference(ctx, e))
	if asJSON {
		if err := e.printJSON(list); err != nil {
			return err
		}
	} else {
		wide := 0
		for _, x := range list {
			wide = max(wide, len(x.What))
		}
		for _, x := range list {
			word := "ok"
			if !x.OK {
				word = "no"
			}
			fmt.Fprintf(e.Stdout, "%-*s  %s  %s\n", wide, x.What, word, clean(x.Detail))
			if x.Hint != "" {
				for line := range strings.Lines(e.asTyped(x.Hint)) {
					fmt.Fprintf(e.Stdout, "%-*s      → %s\n", wide, "", clean(strings.TrimRight(line, "\n")))
				}
			}
		}
	}
	if last := list[len(list)-1]; !last.OK {
		return fmt.Errorf("the reference does not pass on this machine: %s", last.Detail)
	}
	e.next("demo")
	return nil
}

// examineHarness looks whether an agent is installed, and if so lets it ask a scripted model through the gateway.
func examineHarness(ctx context.Context, e *env, name string) examined {
	x := examined{What: "harness " + name}
	fail := func(err error) examined {
		x.Detail, x.Hint = err.Error(), hintOf(err)
		return x
	}
	f, err := harness.Load(name, "")
	if err != nil {
		return fail(err)
	}
	if _, _, err := e.installer().Find(f); err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "stint-doctor-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	trial := harnessTrial{harness: name, protocol: f.Protocol, sandbox: sandbox.KindAuto, changes: 0, script: "unhelpful", wall: 2 * time.Minute}
	t, err := trial.run(ctx, e, run, nil)
	if err != nil {
		return fail(err)
	}
	for _, a := range t.Attempts {
		if a.VoidReason == nil && a.Input != nil && a.AgentS != nil {
			x.OK = true
			x.Detail = fmt.Sprintf("%s, asks its model through the gateway; a start with one answer takes %.1f s", f.Version, *a.AgentS)
			return x
		}
	}
	x.Detail = f.Version + " is installed, but no request reached the gateway" + lastDetail(filepath.Join(run, "episodes"))
	x.Hint = e.Self + " harness check " + name + " keeps what it did"
	return x
}

const referenceStudy = `version: 1
name: doctor
seed: 1
scenarios: {count: 1, changes: 2}
configs:
  - {harness: reference}
`

// examineReference runs the perfect agent through the sandbox that auto chooses and through the grader.
func examineReference(ctx context.Context, e *env) examined {
	x := examined{What: "reference"}
	took, where, err := tryReference(ctx, e)
	if err != nil {
		x.Detail = err.Error()
		return x
	}
	x.OK, x.Detail = true, fmt.Sprintf("passed 3 of 3 turns in %s, sandbox %s", took.Round(10*time.Millisecond), where)
	return x
}

// tryReference says how long the reference took and where it ran.
func tryReference(ctx context.Context, e *env) (took time.Duration, where string, err error) {
	dir, err := os.MkdirTemp("", "stint-doctor-")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	start := e.Now()
	t, err := e.tryStudy(ctx, "doctor's study", referenceStudy, filepath.Join(dir, "run"), nil)
	if err != nil {
		return 0, "", err
	}
	took = e.Now().Sub(start)
	if len(t.Episodes) != 1 || t.Episodes[0].TurnsPassed == nil {
		return took, "", fmt.Errorf("the reference's episode did not end")
	}
	ep := t.Episodes[0]
	if *ep.TurnsPassed != ep.TurnsMax {
		return took, "", fmt.Errorf("the reference passed %d of %d turns; please report this with the output of stint doctor --json", *ep.TurnsPassed, ep.TurnsMax)
	}
	return took, ep.Sandbox, nil
}
