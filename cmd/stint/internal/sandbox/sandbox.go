package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The kinds of sandbox in Options.Kind.
const (
	KindAuto       = "auto"
	KindBubblewrap = "bubblewrap"
	KindNone       = "none"
	KindContainer  = "container"
)

// Where things are inside bubblewrap.
const (
	insideWorkspace = "/workspace"
	insideHome      = "/home/agent"
	insideTools     = "/opt/stint"
	insideBin       = insideTools + "/bin"
	insideStint     = insideTools + "/stint"
)

// Options says which sandbox is wanted. The zero value is auto with the default limits.
type Options struct {
	Kind string // auto (also ""), bubblewrap, none, container
	// Runtimes are the programs the agent may use: python3, node, go, or any command found on PATH.
	// Nil means those of python3 and node that this host has.
	Runtimes []string
	// Needs are runtimes that must be there even if the sandbox is trusted: what runs in it is written for them.
	Needs  []string
	Limits Limits
	Image  string // of a container, by digest: NAME@sha256:…
	// Trusted says that only the simulated and the reference harness run here: auto may fall back to
	// none, and stint itself is visible inside (their servers are stint).
	Trusted bool
	Stint   string // path of our executable; "" = os.Executable
	// Getenv and LookPath are the environment and PATH search; nil = those of the process.
	Getenv   func(string) string
	LookPath func(string) (string, error)
}

// Limits bounds one command together with all its processes. A zero field means the default.
type Limits struct {
	Memory    int64         // bytes over all processes; 0 = 4 GiB
	Processes int           // 0 = 512
	Disk      int64         // bytes of workspace and HOME; 0 = 2 GiB
	FileSize  int64         // bytes of one file; 0 = Disk
	CPU       time.Duration // of one process; 0 = none
}

func (l Limits) withDefaults() Limits {
	if l.Memory <= 0 {
		l.Memory = 4 << 30
	}
	if l.Processes <= 0 {
		l.Processes = 512
	}
	if l.Disk <= 0 {
		l.Disk = 2 << 30
	}
	if l.FileSize <= 0 {
		l.FileSize = l.Disk
	}
	return l
}

// forRole gives the grade sandbox a quarter more than what runs in it, and disk for the checkout and three worlds with
// a copy each: a server that takes too much must meet its own limit, where it is the server that fails, before the one
// around the grader.
func (l Limits) forRole(r Role) Limits {
	if r == Grade {
		l.Memory += l.Memory / 4
		l.Processes += l.Processes / 4
		l.Disk *= 5
	}
	return l
}

// Sandbox runs commands. It holds no open files and is safe for concurrent use.
type Sandbox struct {
	kind      string
	opt       Options
	bwrap     bwrapProgram
	container containerProgram
	runtimes  func() ([]runtimeFound, error) // resolved once
	inherit   bool                           // the environment is that of this process

	interpreters sync.Map // runtimeFound of Command.Interpreter, by path
}

// Inside is the sandbox this process already runs in, for stint in the Grade role: its commands are plain
// processes with the environment of this process.
func Inside(l Limits) *Sandbox {
	return &Sandbox{
		kind: KindNone, inherit: true, opt: Options{Kind: KindNone, Limits: l.withDefaults(), Trusted: true},
		runtimes: func() ([]runtimeFound, error) { return nil, nil },
	}
}

// Role says what a command is: the work of an agent, or our grading of it.
type Role int

// The two roles. Only Grade runs stint inside; there it is PID 1, which nothing in the namespace can kill.
const (
	Work Role = iota
	Grade
)

// Bind makes a host folder or file visible inside.
type Bind struct {
	Host, Inside string
	Writable     bool
}

// Command is one program run. Under none the paths are those of the host and Binds are ignored.
type Command struct {
	Role      Role
	Argv      []string // Argv[0] is looked up on the PATH inside; the path of stint is translated
	Workspace string   // host folder, the working folder of the command; /workspace inside bubblewrap
	Home      string   // host folder; /home/agent inside bubblewrap; "" = an empty temporary one
	Binds     []Bind
	Env       []string // KEY=VALUE, added to the minimal environment
	Stdin     io.Reader
	MaxOutput int64 // bytes kept of each stream, head and tail; 0 = 1 MiB
	Timeout   time.Duration
	Merge     bool // stdout and stderr interleaved in Stdout
	// Forward is the one way out of the sandbox, of the Work role; nil = none. Under none it is ignored: the caller
	// joins a port of the host with the socket by Relay.
	Forward *Forward
	// Interpreter is the host's Python that the command itself runs on, shown with its standard library but not on the
	// PATH; "" = none.
	Interpreter string
	// Grace is how long a command that is to end may take after SIGTERM before it is killed; 0 = it is killed at once.
	Grace time.Duration
	// Own says that the servers inside are stint itself, which is therefore visible. It holds the answers to every
	// suite, so agents and servers that are not ours never see it.
	Own bool
}

// Exit says how a command ended.
type Exit struct {
	Code *int // nil when a signal ended it (under bubblewrap a signal inside appears as Code 128+n)
	// Signal is the signal's name when the process was seen to end by one, and for our own kills.
	Signal string
	By     string // self, limit, stint (the context was cancelled), oom
	Limit  string // wall, memory, processes, disk; "" if none
	Stdout []byte
	Stderr []byte
	// Left names the processes that still ran when the command ended; known for commands with a Forward.
	Left []string
	// Truncated says that a marker line stands in a stream for bytes that were left out.
	Truncated bool
	Duration  time.Duration
}

// SpawnError says that the command could not be started: our fault or the host's, never the agent's.
type SpawnError struct {
	What string // what was tried
	Err  error
	Way  string // the way out; may be empty
	// Missing says that the sandbox stood, but the program is not in it.
	Missing bool
}

func (e *SpawnError) Error() string { return fmt.Sprintf("starting %s: %v", e.What, e.Err) }
func (e *SpawnError) Unwrap() error { return e.Err }

// Hint is the way out, or "".
func (e *SpawnError) Hint() string { return e.Way }

// UnavailableError says that the wanted kind of sandbox cannot be had on this host.
type UnavailableError struct {
	Kind   string
	Reason string
	Way    string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("sandbox %s does not work here: %s", e.Kind, e.Reason)
}

// Hint is the way out.
func (e *UnavailableError) Hint() string { return e.Way }

// ExitCode is 2: the study asks for something this host does not have.
func (e *UnavailableError) ExitCode() int { return 2 }

// New tries the wanted kind once and returns it. Its error has the way out as Hint.
func New(ctx context.Context, opt Options) (*Sandbox, error) {
	opt.Limits = opt.Limits.withDefaults()
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	if opt.LookPath == nil {
		opt.LookPath = exec.LookPath
	}
	if opt.Stint == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding our own executable: %w", err)
		}
		opt.Stint = exe
	}
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	s := &Sandbox{opt: opt}
	s.runtimes = sync.OnceValues(func() ([]runtimeFound, error) {
		return findRuntimes(context.WithoutCancel(ctx), opt)
	})
	switch opt.Kind {
	case "", KindAuto:
		err := s.tryBubblewrap(ctx)
		if err == nil || !opt.Trusted || ctx.Err() != nil {
			return s, err
		}
		s.kind = KindNone
		endLeftovers()
		return s, errors.Join(SetSubreaper(), s.needed())
	case KindBubblewrap:
		return s, s.tryBubblewrap(ctx)
	case KindNone:
		s.kind = KindNone
		if err := SetSubreaper(); err != nil {
			return nil, err
		}
		endLeftovers()
		return s, s.needed()
	case KindContainer:
		s.runtimes = sync.OnceValues(func() ([]runtimeFound, error) { return s.containerRuntimes(context.WithoutCancel(ctx)) })
		return s, s.tryContainer(ctx)
	}
	return nil, &UnavailableError{opt.Kind, "there is no such kind", "the kinds are auto, bubblewrap, container and none"}
}

// needed says which runtime is missing that what runs here cannot do without.
func (s *Sandbox) needed() error {
	if s.opt.Trusted && len(s.opt.Needs) == 0 {
		return nil
	}
	_, err := s.runtimes()
	return err
}

func (s *Sandbox) tryBubblewrap(ctx context.Context) error {
	prog, err := findBubblewrap(ctx, s.opt)
	if err != nil {
		return err
	}
	if _, err := s.runtimes(); err != nil {
		return err
	}
	s.bwrap, s.kind = prog, KindBubblewrap
	if err := s.probe(ctx, 20*time.Second); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &UnavailableError{KindBubblewrap, err.Error(), bubblewrapWayOut()}
	}
	return nil
}

// probe runs the shortest command there is.
func (s *Sandbox) probe(ctx context.Context, timeout time.Duration) error {
	exit, err := s.runEmpty(ctx, timeout, "true")
	if err == nil && (exit.Code == nil || *exit.Code != 0) {
		err = fmt.Errorf("its probe ended badly: %s", lastLine(exit.Stderr))
	}
	return err
}

// runEmpty runs a command in an empty workspace, which is removed.
func (s *Sandbox) runEmpty(ctx context.Context, timeout time.Duration, argv ...string) (Exit, error) {
	dir, err := os.MkdirTemp("", "stint-probe-")
	if err != nil {
		return Exit{}, fmt.Errorf("making a folder for the sandbox probe: %w", err)
	}
	defer os.RemoveAll(dir)
	return s.Run(ctx, Command{Argv: argv, Workspace: dir, Timeout: timeout})
}

// Kind is bubblewrap, container or none.
func (s *Sandbox) Kind() string { return s.kind }

// Fingerprint names the exact versions of the sandbox's program and of its runtimes, for example
// "bwrap-0.8.0 node-20.20.2 python3-3.11.7". Runtimes that cannot be probed are left out.
func (s *Sandbox) Fingerprint() string {
	var parts []string
	if s.kind == KindBubblewrap {
		parts = append(parts, "bwrap-"+s.bwrap.version)
	}
	if s.kind == KindContainer {
		parts = append(parts, s.container.name+"-"+s.container.version, s.container.image)
	}
	found, _ := s.runtimes() // New has reported the error unless the sandbox is trusted
	for _, r := range found {
		parts = append(parts, r.name+"-"+r.version)
	}
	return strings.Join(parts, " ")
}

// SpecSentence is the toolchain sentence of SPEC.md: what the agent and its server may use.
func (s *Sandbox) SpecSentence() string {
	var names []string
	found, _ := s.runtimes()
	for _, r := range found {
		names = append(names, r.label())
	}
	network := "There is no network."
	if s.kind == KindNone {
		network = "Do not use the network."
	}
	const rest = " Anything else must be in this folder."
	if len(names) == 0 {
		return "Available: a POSIX shell. " + network + rest
	}
	lib := "its standard library"
	if len(names) > 1 {
		lib = "their standard libraries"
	}
	return "Available: " + strings.Join(names, ", ") + ", " + lib + ". " + network + rest
}

// WorkspacePath is where a command sees the workspace with this host path.
func (s *Sandbox) WorkspacePath(host string) string {
	if s.kind != KindNone {
		return insideWorkspace
	}
	return host
}

// HomePath is where a command sees the HOME with this host path.
func (s *Sandbox) HomePath(host string) string {
	if s.kind != KindNone {
		return insideHome
	}
	return host
}

// StintPath is where a command of a trusted sandbox finds stint. In a sandbox that is not trusted only
// the Grade role can run it, as Argv[0], and no path leads to it inside.
func (s *Sandbox) StintPath() string {
	if s.kind != KindNone {
		return insideStint
	}
	return s.opt.Stint
}

// Environ is the minimal environment of every command, without HOME.
func (s *Sandbox) Environ() []string {
	if s.inherit {
		return inherited()
	}
	env := []string{
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb", "USER=agent", "LOGNAME=agent", "CI=1", "NO_COLOR=1",
		"PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=", "NODE_PATH=",
	}
	if s.kind == KindBubblewrap {
		return append(env, "PATH="+insideBin+":/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp", "SHELL=/bin/sh")
	}
	if s.kind == KindContainer {
		return append(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/tmp", "SHELL=/bin/sh")
	}
	return append(env, "PATH="+s.hostPath(), "TMPDIR="+os.TempDir(), "SHELL=/bin/sh")
}

// inherited is the part of this process's environment that a minimal environment has.
func inherited() []string {
	var env []string
	for _, k := range []string{"PATH", "LANG", "LC_ALL", "TZ", "TERM", "USER", "LOGNAME", "CI", "NO_COLOR", "PYTHONNOUSERSITE",
		"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "NODE_PATH", "TMPDIR", "SHELL", "STINT"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// hostPath puts the folders of the found runtimes before the usual ones, so that the same programs
// answer to the same names as in bubblewrap.
func (s *Sandbox) hostPath() string {
	var dirs []string
	if !s.opt.Trusted || len(s.opt.Needs) > 0 {
		found, _ := s.runtimes()
		for _, r := range found {
			dirs = append(dirs, filepath.Dir(r.path))
		}
	}
	dirs = append(dirs, "/usr/local/bin", "/usr/bin", "/bin")
	seen := map[string]bool{}
	var out []string
	for _, d := range dirs {
		if !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	return strings.Join(out, ":")
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// Limits are the limits of every command, defaults filled in.
func (s *Sandbox) Limits() Limits { return s.opt.Limits }
