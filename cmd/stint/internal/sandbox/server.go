package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultReady  = 20 * time.Second
	defaultLogMax = 5 << 20
	portTries     = 3
	termGrace     = 2 * time.Second
	logLines      = 200
	logBytes      = 64 << 10 // of the last lines
)

// ServerSpec says which server to start. The start contract: ./start.sh in Dir, with PORT and DATA_DIR in the
// environment, stays in the foreground, listens on loopback and answers GET /health with 200.
type ServerSpec struct {
	Dir     string // holds start.sh
	DataDir string // fresh and empty
	Home    string // HOME of the server; "" = DataDir
	// Env is added to the minimal part of this process's environment and wins over it. Under none it is
	// Sandbox.Environ.
	Env          []string
	ReadyTimeout time.Duration // 0 = 20 s
	LogMax       int           // bytes of output kept, head and tail; 0 = 5 MiB
	Limits       Limits        // all zero: none is set here
}

// The reasons of a ServerError.
const (
	ReasonExited         = "exited"          // start.sh ended before the server was ready
	ReasonStartTimeout   = "start_timeout"   // nothing accepted a connection on PORT
	ReasonStartUnhealthy = "start_unhealthy" // connections were accepted, /health never answered 200
	ReasonNoStartSh      = "no_start_sh"
	ReasonSpawn          = "spawn" // ours: no process, or no free port
)

// ServerError says why a server never became ready.
type ServerError struct {
	Reason string
	Exit   *int
	Signal string
	Log    string // last 200 lines of its output
	Detail string // one line
	Ours   bool   // spawn or port failed: not the agent's fault
}

func (e *ServerError) Error() string { return "starting the server: " + e.Reason + ": " + e.Detail }

// ServerProcess is a started server. Its methods are safe for concurrent use.
type ServerProcess struct {
	cmd    *exec.Cmd
	mark   string
	port   int
	host   string // 127.0.0.1 or [::1]
	log    *stream
	reader *os.File
	copied sync.WaitGroup
	done   chan struct{} // closed when start.sh has ended
	began  time.Time
	once   sync.Once
	code   *int
	signal string
	over   atomic.Value // string: the limit for which we killed it
}

// StartServer starts ./start.sh as a process of this process, in its own session, and waits until it is
// healthy; the duration is how long that took. The error is a *ServerError, or the context's.
func StartServer(ctx context.Context, spec ServerSpec) (*ServerProcess, time.Duration, error) {
	st, err := os.Stat(filepath.Join(spec.Dir, "start.sh"))
	if err != nil || !st.Mode().IsRegular() {
		return nil, 0, &ServerError{Reason: ReasonNoStartSh, Detail: "there is no file start.sh in the workspace"}
	}
	argv := []string{"./start.sh"}
	if st.Mode()&0o111 == 0 {
		argv = []string{"/bin/sh", "./start.sh"}
	}
	var last *ServerError
	held := false // somebody else was seen to hold the port
	for range portTries {
		port, err := freePort()
		if err != nil {
			return nil, 0, &ServerError{Reason: ReasonSpawn, Ours: true, Detail: err.Error()}
		}
		p, err := patiently(ctx, func() (*ServerProcess, error) { return spawnServer(spec, argv, port) })
		if err != nil {
			givenPorts.giveBack(port)
			return nil, 0, &ServerError{Reason: ReasonSpawn, Ours: true, Detail: err.Error()}
		}
		err = p.waitReady(ctx, spec.ReadyTimeout)
		took := time.Since(p.began)
		if err == nil {
			return p, took, nil
		}
		p.Stop(context.WithoutCancel(ctx))
		if !errors.As(err, &last) {
			return nil, took, err
		}
		if last.Reason != ReasonExited || took > time.Second || !addressInUse(last.Log) {
			return nil, took, last
		}
		held = taken(port)
	}
	if !held { // a server that fights with itself on every port is the agent's
		return nil, 0, last
	}
	last.Reason, last.Ours = ReasonSpawn, true
	last.Detail = fmt.Sprintf("other programs took the port %d times in a row", portTries)
	return nil, 0, last
}

// patiently starts a process again for a few seconds when there is no room for one: another server of the same agent
// may fork without end, until its own limit ends it, and must not turn its failure into ours.
func patiently(ctx context.Context, spawn func() (*ServerProcess, error)) (*ServerProcess, error) {
	const tries, pause = 40, 100 * time.Millisecond
	for n := 1; ; n++ {
		p, err := spawn()
		if !errors.Is(err, syscall.EAGAIN) || n == tries || ctx.Err() != nil {
			return p, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// lowestPort is the first port that a server may be given; the well-known and registered ones below are often taken.
const lowestPort = 12000

// freePort finds a port that nobody listens on, below the range from which the kernel takes the ports of
// outgoing connections: the runner opens thousands, and one of them could hold the port before the server
// does (even the poll for readiness, which may be given the very port it asks for as its own).
func freePort() (int, error) {
	end := ephemeralFrom()
	for range 50 {
		port := lowestPort + rand.IntN(end-lowestPort)
		if !givenPorts.take(port) {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
		givenPorts.giveBack(port)
	}
	return 0, fmt.Errorf("finding a free port: 50 ports between %d and %d are all taken", lowestPort, end)
}

// ephemeralFrom is the first port of outgoing connections, or Linux's default where the kernel does not say
// or leaves no room below.
func ephemeralFrom() int {
	const usual = 32768
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	var low, high int
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil || low < lowestPort+1000 {
		return usual
	}
	return low
}

func addressInUse(log string) bool {
	log = strings.ToLower(log)
	return strings.Contains(log, "eaddrinuse") || strings.Contains(log, "address already in use") || strings.Contains(log, "address in use")
}

// taken tells whether the port really is held by somebody; a server that fights with itself is the agent's.
func taken(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return true
	}
	l.Close()
	return false
}

func spawnServer(spec ServerSpec, argv []string, port int) (*ServerProcess, error) {
	cmd, open, discard, err := gated(argv)
	if err != nil {
		return nil, err
	}
	home := spec.Home
	if home == "" {
		home = spec.DataDir
	}
	logMax := spec.LogMax
	if logMax <= 0 {
		logMax = defaultLogMax
	}
	p := &ServerProcess{cmd: cmd, mark: newMark(), port: port, host: "127.0.0.1", log: newStream(int64(logMax)), done: make(chan struct{})}
	cmd.Dir = spec.Dir
	cmd.Env = append(inherited(), spec.Env...)
	cmd.Env = append(cmd.Env, "HOME="+home, "PWD="+spec.Dir, "DATA_DIR="+spec.DataDir, "PORT="+strconv.Itoa(port), runMark+"="+p.mark)
	cmd.SysProcAttr = ownSession()
	pr, pw, err := os.Pipe()
	if err != nil {
		discard()
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stdout, cmd.Stderr = pw, pw
	p.began = time.Now()
	err = cmd.Start()
	pw.Close()
	if err != nil {
		discard()
		pr.Close()
		return nil, fmt.Errorf("starting start.sh: %w", err)
	}
	register(cmd.Process.Pid)
	p.reader = pr
	p.copied.Go(func() { _, _ = io.Copy(p.log, pr) }) // ends when the pipe does
	go func() {
		_ = cmd.Wait() // the state is read below
		p.code, p.signal = exitOf(cmd.ProcessState)
		close(p.done)
	}()
	if err := open(spec.Limits); err != nil {
		p.Stop(context.Background())
		return nil, err
	}
	if spec.Limits.Memory > 0 || spec.Limits.Processes > 0 || spec.Limits.Disk > 0 {
		go p.watch(spec.Limits.withDefaults(), []string{spec.Dir, spec.DataDir, spec.Home})
	}
	return p, nil
}

// watch ends the server when all its processes together, or its folders, pass a limit.
func (p *ServerProcess) watch(l Limits, dirs []string) {
	w := &watcher{limits: l, dirs: dirs, list: func() (string, []process) {
		return "/proc", family(p.cmd.Process.Pid, "", processes("/proc"))
	}}
	if limit := w.run(p.done); limit != "" {
		p.over.Store(limit)
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) // Stop ends what is in other groups
	}
}

// waitReady polls /health, every 5 ms at first, then less often, up to every 100 ms.
func (p *ServerProcess) waitReady(ctx context.Context, limit time.Duration) error {
	if limit <= 0 {
		limit = defaultReady
	}
	client := &http.Client{
		Timeout:       2 * time.Second,
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	accepted, seen := false, ""
	for pause := 5 * time.Millisecond; ; pause = min(pause*3/2, 100*time.Millisecond) {
		for _, host := range []string{"127.0.0.1", "[::1]"} {
			status, err := health(ctx, client, host, p.port)
			if err == nil && status == http.StatusOK && (p.owns() || time.Since(p.began) > ownGrace) {
				p.host = host
				return nil
			}
			if err == nil {
				accepted, seen = true, fmt.Sprintf("GET /health answered %d", status)
			} else if !errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil && !errors.Is(err, syscall.EADDRNOTAVAIL) {
				accepted, seen = true, "GET /health got no answer"
			}
		}
		select {
		case <-p.done:
			p.drain()
			return p.failed(ReasonExited, "start.sh ended ("+p.ended()+") before the server was ready")
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			if accepted {
				return p.failed(ReasonStartUnhealthy, fmt.Sprintf("%s within %s", seen, limit))
			}
			detail := fmt.Sprintf("nothing listened on PORT within %s", limit) // its number differs every time
			if ports := listening(family(p.cmd.Process.Pid, p.mark, processes("/proc"))); len(ports) > 0 {
				detail += fmt.Sprintf("; the server listens on port %s instead", joinInts(ports))
			}
			return p.failed(ReasonStartTimeout, detail)
		case <-time.After(pause):
		}
	}
}

func health(ctx context.Context, client *http.Client, host string, port int) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+":"+strconv.Itoa(port)+"/health", nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the status is all that counts
	return resp.StatusCode, nil
}

func (p *ServerProcess) failed(reason, detail string) *ServerError {
	e := &ServerError{Reason: reason, Detail: detail, Log: p.Log()}
	select {
	case <-p.done:
		e.Exit, e.Signal = p.code, p.signal
	default:
	}
	return e
}

// ended describes the end of start.sh; done must be closed.
func (p *ServerProcess) ended() string {
	if limit, ok := p.over.Load().(string); ok {
		return "killed: over the limit on " + limit
	}
	if p.signal != "" {
		return p.signal
	}
	return "exit code " + strconv.Itoa(*p.code)
}

// BaseURL is where the server answers, without a slash at the end.
func (p *ServerProcess) BaseURL() string { return "http://" + p.host + ":" + strconv.Itoa(p.port) }

// Exited tells whether start.sh has ended by itself, and how.
func (p *ServerProcess) Exited() (bool, string) {
	select {
	case <-p.done:
		return true, p.ended()
	default:
		return false, ""
	}
}

// Log is the last 200 lines of stdout and stderr, as they came.
func (p *ServerProcess) Log() string { return p.log.Lines(logLines, logBytes) }

// Stop ends the server: TERM to its process group, KILL after 2 s (at once when ctx is cancelled), then
// whatever it left behind. It returns how start.sh ended and the last lines of its output. Later calls return
// the same.
func (p *ServerProcess) Stop(ctx context.Context) (code *int, signal, log string) {
	p.once.Do(func() {
		pid := p.cmd.Process.Pid
		select {
		case <-p.done:
		default:
			_ = unix.Kill(-pid, unix.SIGTERM) // ended meanwhile: nothing to do
			timer := time.NewTimer(termGrace)
			defer timer.Stop()
			select {
			case <-p.done:
			case <-timer.C:
			case <-ctx.Done():
			}
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		endFamily(pid, p.mark)
		<-p.done
		unregister(pid)
		givenPorts.giveBack(p.port)
		p.drain()
		p.reader.Close()
	})
	return p.code, p.signal, p.Log()
}

// drain waits until the output that was written is in the log; a process that escaped may hold the pipe.
func (p *ServerProcess) drain() {
	_ = p.reader.SetReadDeadline(time.Now().Add(time.Second / 2))
	p.copied.Wait()
}
