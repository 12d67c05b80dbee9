package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

func newReproduceCmd(e *env) *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:   "reproduce DIR ID",
		Short: "The failing requests of an attempt as curl lines, and a way to start its server",
		Long: `reproduce shows a failed attempt as a person can try it: for every failing check the
clauses it cites, the requests as curl lines in their order, what was expected and what
came. --serve starts the server of the attempt's snapshot, --script prints one check as
a shell script that needs sh, awk and curl and fails if the failure is there again.

ID is EPISODE@TURN.ATTEMPT. EPISODE is an id as ls prints it, the beginning of one, or
CONFIG/SCENARIO#REPEAT, of which parts may be left out at the front; turn and attempt
count from 0. Without @TURN.ATTEMPT it is the last failed attempt of the episode.

Every sequence is for a freshly started server: start --serve again before the next.
With the server in one terminal (--serve --port 8123), in another:

  ` + e.Self + ` reproduce DIR ID --script | BASE=http://127.0.0.1:8123 sh`,
		Example: "  " + e.Self + " reproduce runs/demo none/r0/s01#1\n  " + e.Self + " reproduce runs/demo none/r0/s01#1 --script >reproduce.sh",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.portGiven = cmd.Flags().Changed("port")
			return reproduce(cmd.Context(), e, args[0], args[1], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.check, "check", "", "only the check with this `ID`")
	fl.BoolVar(&f.script, "script", false, "print one check as a shell script: exit code 1 if the failure is there again, 0 if all is well")
	fl.BoolVar(&f.serve, "serve", false, "start the snapshot's server and keep it until Ctrl-C")
	fl.IntVar(&f.port, "port", 0, "port of --serve on 127.0.0.1 (default: a free one)")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.StringVar(&f.sandbox, "sandbox", "", "`KIND` of sandbox for --serve: bubblewrap or none (default: that of the episode)")
	return cmd
}

// reproduceFlags are the choices of reproduce.
type reproduceFlags struct {
	check     string
	script    bool
	serve     bool
	port      int
	portGiven bool
	sandbox   string
	json      bool
}

func (f *reproduceFlags) validate() error {
	switch {
	case f.serve && f.script:
		return inputErrorf("run them in two terminals", "--serve and --script: one keeps a server running, the other prints a script for it")
	case f.json && (f.serve || f.script):
		return inputErrorf("leave --json out", "--json is for the list of checks, not for --serve or --script")
	case f.serve && f.check != "":
		return inputErrorf("leave --check out", "--check chooses among requests; --serve sends none")
	case f.portGiven && !f.serve:
		return inputErrorf("add --serve", "--port is the port of --serve")
	case f.sandbox != "" && !f.serve:
		return inputErrorf("add --serve", "--sandbox is where the server of --serve runs")
	case f.port < 0 || f.port > 65535:
		return inputErrorf("leave --port out for a free one", "--port %d: a port is a number from 1 to 65535", f.port)
	case f.sandbox != "" && f.sandbox != sandbox.KindBubblewrap && f.sandbox != sandbox.KindNone:
		return inputErrorf("say bubblewrap or none", "--sandbox %s: there is no such kind", clean(f.sandbox))
	}
	return nil
}

func reproduce(ctx context.Context, e *env, dir, id string, f reproduceFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		return err
	}
	a, err := findAttempt(e, d, id)
	if err != nil {
		return err
	}
	if f.serve {
		return serveAttempt(ctx, e, d, a, f)
	}
	if err := a.load(); err != nil {
		return err
	}
	again := "reproduce " + shellQuote(dir) + " " + shellQuote(a.id())
	if f.json {
		return a.printJSON(e, f.check)
	}
	if f.script {
		return a.printScript(e, f.check, again)
	}
	return a.print(e, f.check, again)
}

// serveAttempt serves the snapshot of an attempt until Ctrl-C or until the server ends.
func serveAttempt(ctx context.Context, e *env, d *logs.RunDir, a *attempt, f reproduceFlags) error {
	if a.tree == "" {
		return inputErrorf("the attempts with a snapshot are listed by "+e.Self+" reproduce without --serve", "%s left no snapshot: %s", a.id(), a.outcome())
	}
	box, limits, err := serveBox(ctx, e, d, a, f.sandbox)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "stint-serve-")
	if err != nil {
		return fmt.Errorf("making a scratch folder: %w", err)
	}
	defer os.RemoveAll(work) // Host removes what it put there; this is for its failures
	blobs, err := a.blobs()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return inputErrorf("leave --port out for a free one", "listening on port %d: %w", f.port, err)
	}
	base := "http://" + l.Addr().String()
	where := "in the sandbox " + box.Kind()
	if box.Kind() == sandbox.KindNone {
		where = "without a sandbox"
	}
	e.say("starting the server of %s %s; Ctrl-C ends it", a.id(), where)
	own := a.own()
	end, err := episode.Host(ctx, episode.HostSpec{
		Blobs: blobs, Tree: a.tree, Work: filepath.Join(work, "w"), Sandbox: box, Own: own, Limits: limits, Listener: l.(*net.TCPListener),
		Ready: func(ready time.Duration) {
			fmt.Fprintf(e.Stdout, "BASE=%s\n", base)
			if !e.Quiet {
				e.say("ready after %s", ready.Round(time.Millisecond))
				if !a.failed() {
					return
				}
				e.next("%s --script | BASE=%s sh", "reproduce "+shellQuote(d.Root)+" "+shellQuote(a.id()), base)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("serving the snapshot of %s: %w", a.id(), err)
	}
	if end.Reason == "" { // Ctrl-C
		return nil
	}
	if text := strings.TrimSpace(end.Log); text != "" {
		for line := range strings.Lines(text) {
			fmt.Fprintf(e.Stderr, "  | %s\n", clean(strings.TrimRight(line, "\r\n")))
		}
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("the server of %s is not there: %s (%s)", a.id(), clean(end.Detail), clean(end.Reason)),
		hint: "recorded was: " + a.outcome()}
}

// serveBox is the sandbox for the server: that of the episode where this machine can, and never a weaker one for
// code of an agent unless the user says so.
func serveBox(ctx context.Context, e *env, d *logs.RunDir, a *attempt, kind string) (*sandbox.Sandbox, sandbox.Limits, error) {
	var limits sandbox.Limits
	opt := sandbox.Options{Kind: kind, Trusted: a.own(), Stint: e.Stint, Getenv: e.Getenv}
	st, err := study.LoadFrozen(d)
	if err == nil {
		opt.Runtimes, opt.Needs = st.Sandbox.Runtimes, st.Needs()
		limits = sandbox.Limits{Memory: st.Sandbox.Memory, Processes: st.Sandbox.Processes, Disk: st.Sandbox.Disk}
		opt.Limits = limits
	} else if !e.Quiet {
		e.say("the study cannot be read, so runtimes and limits are the defaults: %s", clean(err.Error()))
	}
	if kind == "" {
		opt.Kind = a.start.Sandbox.Kind
	}
	box, err := sandbox.New(ctx, opt)
	var missing *sandbox.UnavailableError
	if errors.As(err, &missing) && kind == "" {
		if !a.own() {
			return nil, limits, inputErrorf("only if you trust this code with your files and your network: add --sandbox none",
				"%s ran in %s, which does not work here: %s", a.id(), clean(a.start.Sandbox.Kind), clean(missing.Reason))
		}
		e.say("the episode ran in %s, which does not work here; the server is stint's own and runs without a sandbox", clean(a.start.Sandbox.Kind))
		opt.Kind = sandbox.KindNone
		box, err = sandbox.New(ctx, opt)
	}
	return box, limits, err
}

// own says whether the servers of the attempt's agent are stint itself.
func (a *attempt) own() bool {
	return a.start.Harness.Name == harness.SimulatedName || a.start.Harness.Name == harness.ReferenceName
}
