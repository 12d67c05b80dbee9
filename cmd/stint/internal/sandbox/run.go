package sandbox

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs one command and returns when every process of it is gone. The error is our own fault: a
// *SpawnError, or a mistake in the Command. A cancelled context is no error: the command is ended and By is
// "stint".
func (s *Sandbox) Run(ctx context.Context, c Command) (Exit, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Exit{}, errors.New("running a command in the sandbox: it has no name")
	}
	var err error
	if c.Workspace, err = filepath.Abs(c.Workspace); err != nil {
		return Exit{}, fmt.Errorf("finding the workspace: %w", err)
	}
	if st, err := os.Stat(c.Workspace); err != nil || !st.IsDir() {
		return Exit{}, &SpawnError{What: c.Argv[0], Err: fmt.Errorf("the workspace %s is no folder", c.Workspace)}
	}
	if c.Home != "" {
		if c.Home, err = filepath.Abs(c.Home); err != nil {
			return Exit{}, fmt.Errorf("finding the home folder: %w", err)
		}
	}
	if ctx.Err() != nil {
		return Exit{By: "stint"}, nil
	}
	r := &running{sandbox: s, command: c, stdout: newStream(c.MaxOutput), stderr: newStream(c.MaxOutput)}
	if c.Merge {
		r.stderr = r.stdout
	}
	if s.kind == KindBubblewrap {
		err = r.startBubblewrap()
	} else {
		err = r.startPlain()
	}
	if err != nil {
		return Exit{}, err
	}
	return r.wait(ctx)
}

// running is one command between its start and its end.
type running struct {
	sandbox        *Sandbox
	command        Command
	cmd            *exec.Cmd
	began          time.Time
	mark           string // under none
	home           string // temporary HOME under none; removed at the end
	stdout, stderr *stream
	copies         sync.WaitGroup
	readers        []*os.File
	status         <-chan bwrapStatus // under bubblewrap, what bwrap says after the start
	child          int                // first process of the namespace
	oom            int64
}

type bwrapStatus struct{ exit *int }

// pipes connects the output streams by pipes we own, so that the end of the process is not confused with the
// end of its output, which a daemon may hold open.
func (r *running) pipes() (closeAfterStart func(), err error) {
	var writers []*os.File
	open := func(to *stream) (*os.File, error) {
		pr, pw, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		writers = append(writers, pw)
		r.readers = append(r.readers, pr)
		r.copies.Go(func() { _, _ = io.Copy(to, pr) }) // ends when the pipe does
		return pw, nil
	}
	closeAfterStart = func() {
		for _, w := range writers {
			w.Close()
		}
	}
	out, err := open(r.stdout)
	if err != nil {
		return closeAfterStart, err
	}
	r.cmd.Stdout, r.cmd.Stderr = out, out
	if !r.command.Merge {
		errOut, err := open(r.stderr)
		if err != nil {
			return closeAfterStart, err
		}
		r.cmd.Stderr = errOut
	}
	return closeAfterStart, nil
}

// start starts r.cmd in a session of its own, away from the terminal and its Ctrl-C.
func (r *running) start() error {
	closeWriters, err := r.pipes()
	defer closeWriters()
	if err == nil {
		r.cmd.Stdin = r.command.Stdin
		r.cmd.WaitDelay = 2 * time.Second // for a Stdin that does not end
		r.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		r.began, r.oom = time.Now(), oomKills()
		err = r.cmd.Start()
	}
	if err != nil {
		closeWriters()
		r.closeReaders()
		return &SpawnError{What: r.command.Argv[0], Err: err}
	}
	register(r.cmd.Process.Pid)
	return nil
}

func (r *running) closeReaders() {
	deadline := time.Now().Add(2 * time.Second) // a process that escaped may hold the pipe
	for _, f := range r.readers {
		_ = f.SetReadDeadline(deadline)
	}
	r.copies.Wait()
	for _, f := range r.readers {
		f.Close()
	}
}

// startBubblewrap starts bwrap, learns the namespace's first process, limits it, and lets it go on.
func (r *running) startBubblewrap() error {
	s := r.sandbox
	spawnError := func(err error) error { return &SpawnError{What: "bwrap", Err: err, Way: bubblewrapWayOut()} }
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return spawnError(err)
	}
	blockR, blockW, err := os.Pipe()
	if err != nil {
		statusR.Close()
		statusW.Close()
		return spawnError(err)
	}
	defer blockW.Close()
	var list fdList
	defer list.close()
	fds := bwrapFDs{status: list.add(statusW), block: list.add(blockR)}
	for _, f := range etcFiles {
		fd, err := list.addText(f.text)
		if err != nil {
			statusR.Close()
			return spawnError(err)
		}
		fds.etc = append(fds.etc, fd)
	}
	if r.command.Role == Grade && !s.opt.Trusted {
		exe, err := os.Open(s.opt.Stint)
		if err != nil {
			statusR.Close()
			return spawnError(err)
		}
		fds.stint = list.add(exe)
	}
	args, err := s.bwrapArgs(r.command, fds)
	if err != nil {
		statusR.Close()
		return spawnError(err)
	}
	r.cmd = exec.Command(s.bwrap.path, args...)
	r.cmd.Env = []string{}
	r.cmd.Dir = "/"
	r.cmd.ExtraFiles = list.files
	if err := r.start(); err != nil {
		statusR.Close()
		return err
	}
	statusW.Close() // so that the status ends with bwrap
	return r.letGo(statusR, blockW)
}

// letGo reads the first status line, sets the limits and unblocks the sandbox.
func (r *running) letGo(statusR, blockW *os.File) error {
	lines := bufio.NewScanner(statusR)
	var first struct {
		Child int `json:"child-pid"`
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &first) != nil || first.Child == 0 {
		return r.spawnFailed(statusR, errors.New("bwrap made no namespaces"))
	}
	r.child = first.Child
	if err := limitProcess(r.child, r.sandbox.opt.Limits, true); err != nil {
		return r.spawnFailed(statusR, err)
	}
	if _, err := blockW.WriteString("x"); err != nil {
		return r.spawnFailed(statusR, err)
	}
	ch := make(chan bwrapStatus, 1)
	r.status = ch
	go func() {
		defer statusR.Close()
		var st bwrapStatus
		for lines.Scan() {
			var v struct {
				Exit *int `json:"exit-code"`
			}
			if json.Unmarshal(lines.Bytes(), &v) == nil && v.Exit != nil {
				st.exit = v.Exit
			}
		}
		ch <- st
	}()
	return nil
}

func (r *running) spawnFailed(statusR *os.File, err error) error {
	statusR.Close()
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()
	unregister(r.cmd.Process.Pid)
	r.closeReaders()
	if b, _ := r.stderr.Bytes(); len(b) > 0 {
		err = fmt.Errorf("%w: %s", err, lastLine(b))
	}
	return &SpawnError{What: "bwrap", Err: err, Way: bubblewrapWayOut()}
}

// gate is a shell that waits for a line before it becomes the command: time to set limits.
const gate = `read -r _ <&3 && exec 3<&- && exec "$@"`

// gated makes a command that starts behind the gate, and the file whose line opens it.
func gated(argv []string) (cmd *exec.Cmd, open func(l Limits) error, discard func(), err error) {
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd = exec.Command("/bin/sh", append([]string{"-c", gate, "sh"}, argv...)...)
	cmd.ExtraFiles = []*os.File{pr}
	discard = func() { pr.Close(); pw.Close() }
	open = func(l Limits) error {
		defer discard()
		if err := limitProcess(cmd.Process.Pid, l, false); err != nil {
			return err
		}
		_, err := pw.WriteString("\n")
		return err
	}
	return cmd, open, discard, nil
}

// startPlain starts an ordinary process.
func (r *running) startPlain() error {
	s := r.sandbox
	home := r.command.Home
	if home == "" {
		dir, err := os.MkdirTemp("", "stint-home-")
		if err != nil {
			return &SpawnError{What: r.command.Argv[0], Err: err}
		}
		r.home, home = dir, dir
	}
	fail := func(err error) error {
		os.RemoveAll(r.home)
		var spawn *SpawnError
		if errors.As(err, &spawn) {
			return err
		}
		return &SpawnError{What: r.command.Argv[0], Err: err}
	}
	cmd, open, discard, err := gated(r.command.Argv)
	if err != nil {
		return fail(err)
	}
	r.mark = newMark()
	r.cmd = cmd
	cmd.Dir = r.command.Workspace
	cmd.Env = append(append(s.Environ(), "HOME="+home, "PWD="+cmd.Dir, runMark+"="+r.mark), r.command.Env...)
	if err := r.start(); err != nil {
		discard()
		return fail(err)
	}
	if err := open(s.opt.Limits); err != nil {
		_ = cmd.Process.Kill() // behind the gate nothing has run yet
		_ = cmd.Wait()
		unregister(cmd.Process.Pid)
		r.closeReaders()
		return fail(err)
	}
	return nil
}

func newMark() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// wait waits for the end, or brings it about, and says how it came.
func (r *running) wait(ctx context.Context) (Exit, error) {
	s := r.sandbox
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	stop := make(chan struct{})
	over := make(chan string, 1)
	w := &watcher{limits: s.opt.Limits, dirs: []string{r.command.Workspace, r.command.Home}, list: r.list}
	go func() { over <- w.run(stop) }()
	var timeout <-chan time.Time
	if r.command.Timeout > 0 {
		t := time.NewTimer(r.command.Timeout - time.Since(r.began))
		defer t.Stop()
		timeout = t.C
	}
	exit := Exit{By: "self"}
	select {
	case <-done:
		done = nil
	case <-ctx.Done():
		exit.By = "stint"
	case <-timeout:
		exit.By, exit.Limit = "limit", "wall"
	case limit := <-over:
		exit.By, exit.Limit = "limit", limit
	}
	if done != nil {
		_ = r.cmd.Process.Kill() // under bubblewrap the namespace dies with bwrap
		if s.kind == KindNone {
			endFamily(r.cmd.Process.Pid, r.mark)
		}
		<-done
	}
	exit.Duration = time.Since(r.began)
	close(stop)
	if s.kind == KindNone {
		endFamily(r.cmd.Process.Pid, r.mark)
		os.RemoveAll(r.home)
	}
	unregister(r.cmd.Process.Pid)
	r.closeReaders()
	return r.exit(exit)
}

func (r *running) list() (string, []process) {
	if r.sandbox.kind == KindBubblewrap {
		return namespaceProcesses(r.child)
	}
	// Without the mark: reading every environment of the host five times a second would cost too much.
	return "/proc", family(r.cmd.Process.Pid, "", processes("/proc"))
}

// exit completes what is known about the end.
func (r *running) exit(e Exit) (Exit, error) {
	var cut bool
	e.Stdout, e.Truncated = r.stdout.Bytes()
	if r.stderr != r.stdout {
		e.Stderr, cut = r.stderr.Bytes()
		e.Truncated = e.Truncated || cut
	}
	e.Code, e.Signal = exitOf(r.cmd.ProcessState)
	if r.status == nil {
		if e.By == "self" && e.Signal == "SIGKILL" && oomKills() > r.oom {
			e.By, e.Limit = "oom", "memory"
		}
		return e, nil
	}
	st := <-r.status
	if e.By != "self" {
		e.Code, e.Signal = nil, "SIGKILL"
		return e, nil
	}
	if st.exit == nil {
		// bwrap ended before the command did: it could not set up the sandbox, could not start the command,
		// or somebody outside killed it.
		text := e.Stderr
		if r.stderr == r.stdout {
			text = e.Stdout
		}
		if e.Signal != "" {
			return e, &SpawnError{What: "bwrap", Err: fmt.Errorf("it was ended by %s", e.Signal)}
		}
		return e, &SpawnError{What: r.command.Argv[0], Err: errors.New(lastLine(text)), Way: bubblewrapWayOut()}
	}
	e.Code, e.Signal = st.exit, ""
	if *st.exit == 137 && oomKills() > r.oom {
		e.By, e.Limit = "oom", "memory"
	}
	return e, nil
}
