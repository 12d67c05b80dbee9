package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// modelURL is the variable that tells a command below model-sim where the server is.
const modelURL = "STINT_MODEL_URL"

// modelSim are the choices of model-sim.
type modelSim struct {
	sources  []string
	seed     uint64
	changes  int
	count    int
	delivery string
	script   string
	addr     string
}

func newModelSimCmd(e *env) *cobra.Command {
	var f modelSim
	cmd := &cobra.Command{
		Use:   "model-sim [flags] [-- COMMAND [ARG...]]",
		Short: "A scripted model server, for tests and demos",
		Long: `model-sim serves a model on loopback that needs no model: told the scenarios, it answers any
agent as a perfect coder by calling whatever tool of the agent looks like a shell. With
--script it does wrong what real models and providers do wrong. With a COMMAND it serves
while that runs, with the address in ` + modelURL + `, and ends with its exit code;
else until Ctrl-C. Whatever the key and the name of the model, it answers.

Scripts: NAME, NAME@TURN or NAME@TURN.ATTEMPT, behind it *TIMES (requests it is done for in
one attempt; 0 = for ever), several with commas between them; or a YAML file, a list of
{do: NAME, model: NAME, turn: 1, attempt: 0, step: 0, times: 1, chance: 0.5, after: 1.5,
command: TEXT} of which only do is needed. The names, for every turn unless said otherwise:

` + scriptNames(),
		Example: "  " + e.Self + ` model-sim --seed 7 --changes 2 --script wrong@1 -- sh -c 'test -n "$` + modelURL + `"'`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.sources, "scenario", nil, "scenario file, folder of a set or run directory; may be given several times")
	fl.Uint64Var(&f.seed, "seed", 1, "without --scenario: seed of the study or set whose scenarios it is to know")
	fl.IntVar(&f.changes, "changes", 100, "without --scenario: change requests of every scenario")
	fl.IntVar(&f.count, "count", 1, "without --scenario: number of scenarios")
	fl.StringVar(&f.delivery, "delivery", "", "how the study gives its agents the changes: delta, delta+file, full (default: as the scenario says)")
	fl.StringVar(&f.script, "script", "perfect", "what goes wrong: names, or a YAML file")
	fl.StringVar(&f.addr, "addr", "127.0.0.1:0", "loopback address to listen on; port 0 = any free one")
	return cmd
}

func scriptNames() string {
	var b strings.Builder
	for _, s := range harness.SimScripts() {
		fmt.Fprintf(&b, "  %-15s %s\n", s[0], s[1])
	}
	return strings.TrimRight(b.String(), "\n")
}

// servedModel is a scripted model that serves.
type servedModel struct {
	url       string
	scenarios int
	sim       *harness.ModelSim
	server    *http.Server
	ended     chan error
}

// serve starts serving. The model must be closed.
func (f *modelSim) serve() (*servedModel, error) {
	rules, err := f.rules()
	if err != nil {
		return nil, err
	}
	scenarios, err := f.scenarios()
	if err != nil {
		return nil, err
	}
	coder, err := harness.NewCoder(harness.CoderOptions{Scenarios: scenarios, Rules: rules})
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(f.addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, inputErrorf("for example --addr 127.0.0.1:8123", "--addr %s is no loopback address: whoever reached it could have commands run by an agent", f.addr)
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return nil, fmt.Errorf("serving the scripted model: %w", err)
	}
	sim := &harness.ModelSim{Answer: coder.Answer}
	m := &servedModel{url: "http://" + listener.Addr().String() + "/v1", scenarios: len(scenarios), sim: sim, ended: make(chan error, 1),
		server: &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}}
	go func() { m.ended <- m.server.Serve(listener) }()
	return m, nil
}

func (m *servedModel) close() error {
	err := m.server.Close()
	if serr := <-m.ended; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

func (f *modelSim) run(ctx context.Context, e *env, command []string) error {
	m, err := f.serve()
	if err != nil {
		return err
	}
	if len(command) > 0 {
		err = e.under(ctx, m.url, command)
	} else {
		fmt.Fprintln(e.Stdout, m.url)
		if !e.Quiet {
			e.say("%d scenarios, script %s; Ctrl-C ends it", m.scenarios, f.script)
		}
		<-ctx.Done()
	}
	err = errors.Join(err, m.close())
	if !e.Quiet {
		e.say("%d model requests answered", m.sim.Served())
	}
	return err
}

// under runs a command with the server's address in its environment; its exit code becomes ours.
func (e *env) under(ctx context.Context, url string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), modelURL+"="+url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &exitError{code: max(exit.ExitCode(), 1), err: fmt.Errorf("%s: %w", command[0], err)}
	}
	if err != nil {
		return inputErrorf("behind -- stands a command and its arguments", "starting %s: %w", command[0], err)
	}
	return nil
}

func (f *modelSim) rules() ([]harness.SimRule, error) {
	if !strings.HasSuffix(f.script, ".yaml") && !strings.HasSuffix(f.script, ".yml") {
		return harness.ParseSimRules(f.script)
	}
	b, err := os.ReadFile(f.script)
	if err != nil {
		return nil, inputErrorf("give a file with rules, or names as model-sim -h lists them", "reading the script: %w", err)
	}
	return harness.ReadSimRules(f.script, b)
}

func (f *modelSim) scenarios() ([]*scenario.Scenario, error) {
	if len(f.sources) > 0 {
		var out []*scenario.Scenario
		for _, source := range f.sources {
			some, err := f.read(source)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
		return out, nil
	}
	if f.count < 1 || f.count > 1000 || f.changes < 0 || f.changes > scenario.MaxChanges {
		return nil, inputErrorf("for example --count 2 --changes 10", "--count %d --changes %d: allowed are 1 to 1000 and 0 to %d", f.count, f.changes, scenario.MaxChanges)
	}
	var out []*scenario.Scenario
	for i := range f.count {
		sc, err := scenario.Generate(scenario.Options{Seed: suite.ScenarioSeed(f.seed, i, 0), Changes: f.changes, Name: suite.ScenarioName(i), Delivery: f.delivery})
		if err != nil {
			return nil, err
		}
		out = append(out, sc)
	}
	return out, nil
}

// read makes the scenarios of a file, a set or a run again.
func (f *modelSim) read(source string) ([]*scenario.Scenario, error) {
	var files []*suite.File
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return nil, inputErrorf("give a scenario file, the folder of a set or a run directory", "reading scenarios: %w", err)
	case !info.IsDir():
		file, err := suite.ReadFile(source)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	default:
		dir := source
		if inner := filepath.Join(source, "scenarios"); isDir(inner) {
			dir = inner
		}
		set, err := suite.ReadSet(dir)
		if err != nil {
			return nil, err
		}
		files = set.Files
	}
	var out []*scenario.Scenario
	for _, file := range files {
		sc, err := file.Scenario(cmp.Or(f.delivery, file.Delivery))
		if err != nil {
			return nil, err
		}
		out = append(out, sc)
	}
	return out, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
