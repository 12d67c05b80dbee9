package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
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
	r := &running{sandbox: s, command: c, limits: s.opt.Limits.forRole(c.Role), stdout: newStream(c.MaxOutput), stderr: newStream(c.MaxOutput)}
	if c.Merge {
		r.stderr = r.stdout
	}
	switch s.kind {
	case KindBubblewrap:
		err = r.startBubblewrap()
	case KindContainer:
		err = r.startContainer()
	default:
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
	limits         Limits
	cmd            *exec.Cmd
	began          time.Time
	mark           string // under none
	home           string // temporary HOME under none; removed at the end
	stdout, stderr *stream
	copies         sync.WaitGroup
	readers        []*os.File
	status         <-chan status // what is said of the command's end in a namespace, by bwrap or the first process
	child          int           // first process of the namespace
	done           chan error    // the end of cmd, where somebody waits for it already
	name           string        // of the container
	folder         string        // of the container's start, on the host
	conn           *net.UnixConn // to the container's first process
	oom            int64
}

// status is how a command ended, other than what the program that started it says by its own end.
type status struct {
	exit   *int        // nil: bwrap did not say
	report *initReport // nil: there is none
}

// maxReport bounds what the first process may say.
const maxReport = 1 << 20

// readReport reads until the first process has gone.
func readReport(f io.ReadCloser) *initReport {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReport))
	var r initReport
	if err != nil || json.Unmarshal(b, &r) != nil {
		return nil
	}
	return &r
}

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

// ownSession starts a process in a session of its own that ends with us, also when we are killed. The signal
// comes when the thread that started it ends; Go keeps its threads, except of goroutines that lock theirs.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// start starts r.cmd in a session of its own, away from the terminal and its Ctrl-C.
func (r *running) start() error {
	closeWriters, err := r.pipes()
	defer closeWriters()
	if err == nil {
		r.cmd.Stdin = r.command.Stdin
		r.cmd.WaitDelay = 2 * time.Second // for a Stdin that does not end
		r.cmd.SysProcAttr = ownSession()
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

// talk is how we and a starting bwrap agree on each step.
type talk struct {
	list                         fdList // bwrap's ends and files
	statusR, readyR              *os.File
	reportR                      *os.File // nil without a Forward
	statusW, readyW              *os.File
	blockR, gateR, blockW, gateW *os.File
}

// newTalk makes the pipes, in the order of bwrapFDs.
func (r *running) newTalk() (t *talk, fds bwrapFDs, err error) {
	t = &talk{}
	for _, p := range []struct{ r, w **os.File }{{&t.statusR, &t.statusW}, {&t.blockR, &t.blockW}, {&t.gateR, &t.gateW}, {&t.readyR, &t.readyW}} {
		if *p.r, *p.w, err = os.Pipe(); err != nil {
			return t, fds, fmt.Errorf("making a pipe: %w", err)
		}
	}
	fds.status, fds.block = t.list.add(t.statusW), t.list.add(t.blockR)
	fds.ready, fds.gate = t.list.add(t.readyW), t.list.add(t.gateR)
	for _, f := range etcFiles {
		fd, err := t.list.addText(f.text)
		if err != nil {
			return t, fds, err
		}
		fds.etc = append(fds.etc, fd)
	}
	if f := r.command.Forward; f != nil {
		var w *os.File
		if t.reportR, w, err = os.Pipe(); err != nil {
			return t, fds, fmt.Errorf("making a pipe: %w", err)
		}
		fds.report = t.list.add(w)
	}
	if (r.command.Role == Grade || r.command.Forward != nil) && !r.sandbox.opt.Trusted && !r.command.Own {
		exe, err := os.Open(r.sandbox.opt.Stint)
		if err != nil {
			return t, fds, err
		}
		fds.stint = t.list.add(exe)
	}
	return t, fds, nil
}

// close closes everything but statusR, which the reader of the status closes.
func (t *talk) close() {
	t.list.close()
	for _, f := range []*os.File{t.readyR, t.blockW, t.gateW, t.statusW, t.readyW, t.blockR, t.gateR, t.reportR} {
		f.Close() // closing twice, or nil after a failure, does nothing
	}
}

// startBubblewrap starts bwrap, learns the namespace's first process, limits it, waits until the sandbox is
// complete, and lets the command begin.
func (r *running) startBubblewrap() error {
	s := r.sandbox
	t, fds, err := r.newTalk()
	defer t.close()
	var args []string
	if err == nil {
		args, err = s.bwrapArgs(r.command, fds)
	}
	if err != nil {
		t.statusR.Close()
		return &SpawnError{What: "bwrap", Err: err}
	}
	r.cmd = exec.Command(s.bwrap.path, args...)
	r.cmd.Env = []string{}
	r.cmd.Dir = "/"
	r.cmd.ExtraFiles = t.list.files
	if err := r.start(); err != nil {
		t.statusR.Close()
		return err
	}
	t.list.close() // bwrap's ends, so that ours end with it
	lines := bufio.NewScanner(t.statusR)
	if err := r.letGo(t, lines); err != nil {
		t.statusR.Close()
		return r.spawnFailed(err)
	}
	ch := make(chan status, 1)
	r.status = ch
	reportR := t.reportR
	t.reportR = nil
	go func() {
		defer t.statusR.Close()
		var st status
		if reportR != nil {
			st.report = readReport(reportR)
		}
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

// letGo takes the sandbox through its steps.
func (r *running) letGo(t *talk, status *bufio.Scanner) error {
	var first struct {
		Child int `json:"child-pid"`
	}
	if !status.Scan() || json.Unmarshal(status.Bytes(), &first) != nil || first.Child == 0 {
		return errors.New("bwrap made no namespaces")
	}
	r.child = first.Child
	if err := limitProcess(r.child, r.limits, true); err != nil {
		return err
	}
	if _, err := t.blockW.WriteString("x"); err != nil {
		return fmt.Errorf("letting bwrap go on: %w", err)
	}
	if _, err := t.readyR.Read(make([]byte, 1)); err != nil {
		return errors.New("bwrap could not set up the sandbox")
	}
	if _, err := t.gateW.WriteString("\n"); err != nil {
		return fmt.Errorf("letting the command begin: %w", err)
	}
	return nil
}

func (r *running) spawnFailed(err error) error {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()
	unregister(r.cmd.Process.Pid)
	r.closeReaders()
	if b, _ := r.stderr.Bytes(); len(b) > 0 { // also when the streams are one
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
	if err := open(r.limits); err != nil {
		_ = cmd.Process.Kill() // behind the gate nothing has run yet
		_ = cmd.Wait()
		unregister(cmd.Process.Pid)
		r.closeReaders()
		return fail(err)
	}
	return nil
}

// wait waits for the end, or brings it about, and says how it came.
func (r *running) wait(ctx context.Context) (Exit, error) {
	s := r.sandbox
	done := r.done
	if done == nil {
		done = make(chan error, 1)
		go func() { done <- r.cmd.Wait() }()
	}
	stop := make(chan struct{})
	over := make(chan string, 1)
	w := &watcher{limits: r.limits, dirs: []string{r.command.Workspace, r.command.Home, r.folder}, list: r.list}
	for _, b := range r.command.Binds {
		if b.Writable {
			w.dirs = append(w.dirs, b.Host)
		}
	}
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
	if done != nil && r.gentle(done) {
		done = nil
	}
	switch {
	case done == nil:
	case s.kind == KindContainer:
		r.endContainer(done)
	default:
		_ = r.cmd.Process.Kill() // under bubblewrap the namespace dies with bwrap
		if s.kind == KindNone {
			endFamily(r.cmd.Process.Pid, r.mark)
		}
		<-done
	}
	exit.Duration = time.Since(r.began)
	close(stop)
	switch s.kind {
	case KindNone:
		endFamily(r.cmd.Process.Pid, r.mark)
		os.RemoveAll(r.home)
	case KindContainer:
		_ = RemoveTree(r.folder) // what stays is in the folder for temporary files
	}
	unregister(r.cmd.Process.Pid)
	r.closeReaders()
	return r.exit(exit)
}

// gentle asks the command to end, and reports whether it did within its grace.
func (r *running) gentle(done <-chan error) bool {
	if r.command.Grace <= 0 {
		return false
	}
	to := -r.cmd.Process.Pid // its session
	if r.child != 0 {
		to = r.child // the first process of the namespace passes it on; bwrap itself would not
	}
	_ = unix.Kill(to, unix.SIGTERM) // ended meanwhile: nothing to do
	t := time.NewTimer(r.command.Grace)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (r *running) list() (string, []process) {
	if r.sandbox.kind != KindNone {
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
	if r.sandbox.kind == KindContainer {
		r.conn.Close()
		st.exit = e.Code
	}
	if st.report != nil {
		e.Left = st.report.Left
	}
	if e.By != "self" {
		e.Code, e.Signal = nil, "SIGKILL"
		if st.report != nil {
			e.Code, e.Signal = st.report.Code, st.report.Signal
		}
		return e, nil
	}
	if st.exit == nil {
		// Somebody outside killed the program that started it.
		return e, &SpawnError{What: filepath.Base(r.cmd.Path), Err: fmt.Errorf("it ended before the command did (%s)", e.Signal)}
	}
	e.Code, e.Signal = st.exit, ""
	if *st.exit == 137 && oomKills() > r.oom {
		e.By, e.Limit = "oom", "memory"
	}
	switch said := st.report; {
	case said == nil && r.command.Forward != nil && e.By == "self":
		return e, &SpawnError{What: r.command.Argv[0], Err: fmt.Errorf("the first process of the sandbox ended without a word (exit code %d): %s", *st.exit, r.stderr.Lines(1, 500))}
	case said == nil:
	case said.Failed == "":
		e.Code, e.Signal = said.Code, said.Signal
	case r.command.Forward != nil:
		return e, &SpawnError{What: r.command.Argv[0], Err: errors.New(said.Failed), Missing: true}
	default:
		code := 127
		e.Code = &code
	}
	return e, nil
}
