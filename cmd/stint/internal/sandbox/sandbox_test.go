package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary play stint inside the grade sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__grade" {
		os.Exit(gradeInside())
	}
	if len(os.Args) > 1 && os.Args[1] == InitVerb {
		os.Exit(InitMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == ContainedVerb {
		os.Exit(ContainedMain(os.Args[2:], func(args []string) int { return gradeInside() }))
	}
	if len(os.Args) > 3 && os.Args[1] == "__hold" {
		s, err := New(context.Background(), Options{Kind: os.Args[2], Trusted: true, Image: os.Getenv("STINT_TEST_IMAGE")})
		if err == nil {
			_, err = s.Run(context.Background(), Command{Argv: []string{"sleep", os.Args[3]}, Workspace: os.TempDir()})
		}
		fmt.Println("ended", err)
		os.Exit(1)
	}
	if err := SetSubreaper(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// gradeInside starts the server of the workspace, lets it attack us, and tells what is left.
func gradeInside() int {
	if err := Harden(); err != nil {
		fmt.Println("harden:", err)
		return 1
	}
	data, err := os.MkdirTemp("", "data")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, _, err := StartServer(context.Background(), ServerSpec{Dir: "/workspace", DataDir: data, ReadyTimeout: 5 * time.Second})
	if err != nil {
		var se *ServerError
		errors.As(err, &se)
		fmt.Println("server:", err, se.Log)
		return 1
	}
	time.Sleep(200 * time.Millisecond)
	ended, how := p.Exited()
	fmt.Println("pid", os.Getpid(), "server ended", ended, how)
	_, _, log := p.Stop(context.Background())
	fmt.Println(log)
	return 0
}

// missing skips a test whose real component is not here; CI, which installs it, sets STINT_REQUIRE, and there it
// is a failure.
func missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

func bubblewrap(t testing.TB, opt Options) *Sandbox {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bubblewrap is not installed")
	}
	opt.Kind = KindBubblewrap
	s, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plain(t testing.TB, opt Options) *Sandbox {
	t.Helper()
	opt.Kind, opt.Trusted = KindNone, true
	s, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// both runs a test in each kind of sandbox.
func both(t *testing.T, opt Options, f func(t *testing.T, s *Sandbox)) {
	t.Run("bubblewrap", func(t *testing.T) { t.Parallel(); f(t, bubblewrap(t, opt)) })
	t.Run("none", func(t *testing.T) { t.Parallel(); f(t, plain(t, opt)) })
}

func sh(t testing.TB, s *Sandbox, script string, more ...func(*Command)) Exit {
	t.Helper()
	c := Command{Argv: []string{"sh", "-c", script}, Workspace: t.TempDir(), Home: t.TempDir(), Timeout: 30 * time.Second}
	for _, f := range more {
		f(&c)
	}
	e, err := s.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func code(e Exit) int {
	if e.Code == nil {
		return -1
	}
	return *e.Code
}

func TestExit(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		e := sh(t, s, "echo out; echo err >&2; pwd; cd; pwd; exit 7")
		if code(e) != 7 || e.By != "self" || string(e.Stderr) != "err\n" || e.Truncated {
			t.Errorf("got %+v, stderr %q", e, e.Stderr)
		}
		lines := strings.Fields(string(e.Stdout))
		if len(lines) != 3 || lines[0] != "out" {
			t.Fatalf("stdout %q", e.Stdout)
		}
		if s.Kind() == KindBubblewrap && (lines[1] != "/workspace" || lines[2] != "/home/agent") {
			t.Errorf("folders %q", lines)
		}
		e = sh(t, s, "echo a; echo b >&2; echo c", func(c *Command) { c.Merge = true })
		if string(e.Stdout) != "a\nb\nc\n" || e.Stderr != nil {
			t.Errorf("merged output %q, %q", e.Stdout, e.Stderr)
		}
		e = sh(t, s, "cat", func(c *Command) { c.Stdin = strings.NewReader("hello") })
		if string(e.Stdout) != "hello" {
			t.Errorf("stdin came back as %q", e.Stdout)
		}
		if e = sh(t, s, "cat"); len(e.Stdout) != 0 || code(e) != 0 {
			t.Errorf("empty stdin: %+v", e)
		}
	})
}

func TestMissingProgram(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		e, err := s.Run(t.Context(), Command{Argv: []string{"no-such-program"}, Workspace: t.TempDir()})
		if err != nil || code(e) != 127 || !strings.Contains(string(e.Stderr), "no-such-program") {
			t.Errorf("got %+v %q, %v", e, e.Stderr, err)
		}
	})
	s := bubblewrap(t, Options{})
	var spawn *SpawnError
	_, err := s.Run(t.Context(), Command{Argv: []string{"true"}, Workspace: filepath.Join(t.TempDir(), "absent")})
	if !errors.As(err, &spawn) {
		t.Errorf("absent workspace: got error %v", err)
	}
	_, err = s.Run(t.Context(), Command{Argv: []string{"true"}, Workspace: t.TempDir(), Binds: []Bind{{Host: "/no/such/folder", Inside: "/x"}}})
	if !errors.As(err, &spawn) || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("absent bind: got error %v", err)
	}
}

func TestTimeoutCancelAndOutput(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		e := sh(t, s, "echo begun; sleep 60", func(c *Command) { c.Timeout = 300 * time.Millisecond })
		if e.By != "limit" || e.Limit != "wall" || e.Code != nil || string(e.Stdout) != "begun\n" || e.Duration > 10*time.Second {
			t.Errorf("timeout: %+v", e)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		e, err := s.Run(ctx, Command{Argv: []string{"sleep", "60"}, Workspace: t.TempDir()})
		if err != nil || e.By != "stint" || e.Code != nil {
			t.Errorf("cancel: %+v, %v", e, err)
		}
		e = sh(t, s, "seq 1 100000", func(c *Command) { c.MaxOutput = 100 })
		if !e.Truncated || !strings.HasPrefix(string(e.Stdout), "1\n2\n") || !strings.HasSuffix(string(e.Stdout), "\n100000\n") ||
			!strings.Contains(string(e.Stdout), "\n[... 588795 bytes left out ...]\n") || len(e.Stdout) > 150 {
			t.Errorf("truncated output %q", e.Stdout)
		}
	})
}

// A daemon that left its session and holds the output must neither delay the end nor outlive it.
func TestDaemonEndsWithTheCommand(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		mark := fmt.Sprintf("31.%d", time.Now().UnixNano())
		e := sh(t, s, "setsid sh -c 'setsid sleep "+mark+" & sleep "+mark+"' & sleep 0.2; echo done")
		if code(e) != 0 || string(e.Stdout) != "done\n" || e.Duration > 5*time.Second {
			t.Errorf("got %+v %q", e, e.Stdout)
		}
		for _, p := range processes("/proc") {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); strings.Contains(string(b), mark) && !p.zombie {
				t.Errorf("process %d lives on: %q", p.pid, b)
			}
		}
	})
}

// Killed itself, stint leaves nothing running.
func TestNothingOutlivesUs(t *testing.T) {
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		outlived(t, s.Kind(), "32", 500)
	})
}

// outlived kills a stint while a command runs in a sandbox of a kind, and fails if that goes on. Seconds make the
// command's name; the looks are a hundredth of a second apart.
func outlived(t *testing.T, kind, seconds string, looks int) {
	t.Helper()
	mark := fmt.Sprintf("%s.%d", seconds, time.Now().UnixNano())
	cmd := exec.Command(os.Args[0], "__hold", kind, mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		for _, p := range processes("/proc") {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); string(b) == "sleep\x00"+mark+"\x00" && !p.zombie {
				return true
			}
		}
		return false
	}
	wait := func(want bool) bool {
		for range looks {
			if running() == want {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	}
	begun := wait(true)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !begun || !wait(false) {
		t.Errorf("begun %v, still running %v", begun, running())
	}
}

func TestBubblewrapHidesTheHost(t *testing.T) {
	s := bubblewrap(t, Options{})
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STINT_TEST_KEY", "sk-very-secret")
	for _, c := range []struct{ name, script, want string }{
		{"shadow", "cat /etc/shadow 2>&1", "No such file"},
		{"users", "wc -l < /etc/passwd; id -un", "3\nagent\n"},
		{"environment", "env | grep -c very-secret", "0\n"},
		{"hidden file", "cat " + secret + " 2>&1", "No such file"},
		{"home of the host", "ls -A " + home + "/.ssh " + home + "/.bashrc 2>&1 | grep -vc 'cannot access'", "0\n"},
		{"root is read-only", "touch /x 2>&1; touch /etc/x 2>&1; touch /usr/x 2>&1", "Read-only file system"},
		{"devices and hidden folders are read-only", "for d in /dev /usr/local /root /opt/stint /home; do touch $d/x 2>/dev/null && echo $d; done; true", ""},
		{"no inherited file", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "},
		{"kernel settings", "echo 1 > /proc/sys/vm/drop_caches && echo written; true", ""},
		{"few processes", "ls -d /proc/[0-9]* | wc -l | sed 's/^[1-5]$/few/'", "few\n"},
		{"host name", "cat /proc/sys/kernel/hostname", "sandbox\n"},
		{"temporary folder", "echo x > /tmp/x && cat /tmp/x", "x\n"},
		{"no terminal", "(: < /dev/tty) 2>/dev/null || echo none", "none\n"},
		{"no new namespaces", "unshare -Ur true 2>/dev/null || echo refused", "refused\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := sh(t, s, c.script)
			if got := string(e.Stdout); got != c.want && (c.want == "" || !strings.Contains(got, c.want) || strings.HasSuffix(c.want, "\n") || strings.HasSuffix(c.want, " ")) {
				t.Errorf("%s printed %q %q, want %q", c.script, got, e.Stderr, c.want)
			}
		})
	}
}

func TestBubblewrapHasNoNetwork(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{Runtimes: []string{"python3"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := sh(t, s, fmt.Sprintf(`cat > t.py <<'E'
import socket
s = socket.socket()
for addr in (("127.0.0.1", %d), ("192.0.2.1", 80)):
    try:
        socket.create_connection(addr, 3)
        print("connected")
    except OSError as e:
        print(type(e).__name__)
print(sorted(n for _, n in socket.if_nameindex()))
l = socket.create_server(("127.0.0.1", 0)); socket.create_connection(l.getsockname(), 3); print("loopback works")
E
python3 t.py`, l.Addr().(*net.TCPAddr).Port))
	want := "ConnectionRefusedError\nOSError\n['lo']\nloopback works\n"
	if string(e.Stdout) != want {
		t.Errorf("got %q %q, want %q", e.Stdout, e.Stderr, want)
	}
}

// The command may kill everything it sees; that is itself and nothing of ours.
func TestKillEverythingInside(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{})
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	e := sh(t, s, "kill -9 -1; kill -9 1; sleep 0.1")
	if code(e) != 137 && code(e) != 0 || e.By != "self" {
		t.Errorf("got %+v", e)
	}
	if err := unix.Kill(bystander.Process.Pid, 0); err != nil {
		t.Errorf("a process outside died: %v", err)
	}
	_ = bystander.Process.Kill()
	_ = bystander.Wait()
}

func TestLimits(t *testing.T) {
	opt := Options{Runtimes: []string{"python3"}, Limits: Limits{Memory: 256 << 20, Processes: 40, FileSize: 1 << 20}}
	hog := `import time
blocks = []
for i in range(%d):
    blocks.append(bytearray(10 << 20))
print("held", flush=True)
time.sleep(20)
`
	py := func(script string) string { return "cat > t.py <<'E'\n" + script + "\nE\npython3 t.py" }
	both(t, opt, func(t *testing.T, s *Sandbox) {
		if e := sh(t, s, py(fmt.Sprintf(hog, 60))); code(e) != 1 || !strings.Contains(string(e.Stderr), "MemoryError") {
			t.Errorf("one process over the limit: %+v %q", e, e.Stderr)
		}
		e := sh(t, s, py(fmt.Sprintf(hog, 12))+" & python3 t.py & python3 t.py & wait")
		if e.By != "limit" || e.Limit != "memory" {
			t.Errorf("three processes over the limit: %+v %q", e, e.Stderr)
		}
		e = sh(t, s, "head -c 3000000 /dev/zero > big; wc -c < big")
		if got := strings.TrimSpace(string(e.Stdout)); got != "1048576" {
			t.Errorf("a file grew to %s bytes; %q", got, e.Stderr)
		}
		e = sh(t, s, "for i in $(seq 80); do sleep 20 & done; wait")
		refused := strings.Contains(strings.ToLower(string(e.Stderr)), "fork")
		if !refused && (e.By != "limit" || e.Limit != "processes") {
			t.Errorf("too many processes: %+v %q", e, e.Stderr)
		}
	})
}

func TestRuntimesShowOnlyStandardLibraries(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{})
	found, err := s.runtimes()
	if err != nil || len(found) == 0 {
		missing(t, "neither python3 nor node on this host")
	}
	for _, r := range found {
		script := `python3 -c 'import sys, json, ssl, sqlite3, http.server, site; print("%d.%d.%d" % sys.version_info[:3])
try:
    import pip; print("pip is visible")
except ImportError: pass
import os; print([d for p in sys.path if p.endswith("-packages") and os.path.isdir(p) for d in os.listdir(p)])'`
		want := r.version + "\n[]\n"
		if r.name == "node" {
			script = `node -e 'const p = require("module").globalPaths.concat(["/usr/lib/node_modules"]);
const fs = require("fs"); require("http");
console.log(process.versions.node); console.log(p.filter(d => fs.existsSync(d) && fs.readdirSync(d).length).length)'`
			want = r.version + "\n0\n"
		}
		if e := sh(t, s, script); string(e.Stdout) != want {
			t.Errorf("%s: got %q %q, want %q", r.name, e.Stdout, e.Stderr, want)
		}
		if !strings.Contains(s.Fingerprint(), r.name+"-"+r.version) || !strings.Contains(s.SpecSentence(), r.label()) {
			t.Errorf("fingerprint %q, sentence %q", s.Fingerprint(), s.SpecSentence())
		}
	}
}

func TestUnavailable(t *testing.T) {
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Kind: KindContainer}, "not named by its digest"},
		{Options{Kind: KindContainer, Image: "debian:12"}, "not named by its digest"},
		{Options{Kind: KindContainer, Image: "x@sha256:" + strings.Repeat("0", 64), LookPath: none}, "podman is not installed; docker is not installed"},
		{Options{Kind: "chroot"}, "there is no such kind"},
		{Options{Kind: KindAuto, LookPath: none}, "bwrap is not installed"},
		{Options{Kind: KindNone, Runtimes: []string{"python3"}, LookPath: none}, "runtime python3"},
	} {
		_, err := New(t.Context(), c.opt)
		var u *UnavailableError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), c.want) || u.Hint() == "" || u.ExitCode() != 2 {
			t.Errorf("%+v: got %v", c.opt, err)
		}
	}
	s, err := New(t.Context(), Options{Kind: KindAuto, LookPath: none, Trusted: true})
	if err != nil || s.Kind() != KindNone {
		t.Errorf("a trusted sandbox does not fall back to none: %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	s := bubblewrap(b, Options{})
	p := plain(b, Options{})
	for _, c := range []struct {
		name string
		s    *Sandbox
	}{{"bubblewrap", s}, {"none", p}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				if _, err := c.s.Run(b.Context(), Command{Argv: []string{"true"}, Workspace: dir, Home: dir}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// stint installed among the host's programs is not there for agents, and the grader is started all the same.
func TestInstalledStintIsHidden(t *testing.T) {
	t.Parallel()
	const installed = "/usr/bin/env" // stands for stint
	s := bubblewrap(t, Options{Runtimes: []string{}, Stint: installed})
	dir := t.TempDir()
	exit, err := s.Run(t.Context(), Command{Argv: []string{"sh", "-c", "cat " + installed + " | wc -c; " + installed + " true || echo refused"}, Workspace: dir})
	if err != nil || strings.Fields(string(exit.Stdout))[0] != "0" || !strings.Contains(string(exit.Stdout), "refused") {
		t.Errorf("an agent sees %q (%v)", exit.Stdout, err)
	}
	for _, own := range []bool{false, true} {
		exit, err = s.Run(t.Context(), Command{Role: Grade, Argv: []string{installed, "echo", "graded"}, Workspace: dir, Own: own})
		if err != nil || string(exit.Stdout) != "graded\n" {
			t.Errorf("own %v: the grader said %q %q (%v)", own, exit.Stdout, exit.Stderr, err)
		}
	}
}
