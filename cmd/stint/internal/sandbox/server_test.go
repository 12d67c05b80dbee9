package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const pythonServer = `import http.server, os, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(STATUS); self.end_headers()
    def log_message(self, *a): pass
print("data in " + os.environ["DATA_DIR"], flush=True)
http.server.HTTPServer(("127.0.0.1", PORT), H).serve_forever()
`

func serverDir(t *testing.T, start, status, port string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		missing(t, "python3 is not installed")
	}
	dir := t.TempDir()
	py := strings.NewReplacer("STATUS", status, "PORT", port).Replace(pythonServer)
	for name, text := range map[string]string{"start.sh": "#!/bin/sh\n" + start, "s.py": py} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const envPort = `int(os.environ["PORT"])`

func TestServer(t *testing.T) {
	t.Parallel()
	dir, data := serverDir(t, "sleep 300 &\nexec python3 s.py", "200", envPort), t.TempDir()
	p, took, err := StartServer(t.Context(), ServerSpec{Dir: dir, DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if took <= 0 || took > 10*time.Second {
		t.Errorf("ready after %v", took)
	}
	resp, err := http.Get(p.BaseURL() + "/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if ended, how := p.Exited(); ended {
		t.Errorf("ended: %s", how)
	}
	code, signal, log := p.Stop(context.Background())
	if code != nil || signal != "SIGTERM" || log != "data in "+data {
		t.Errorf("stop: %v %s %q", code, signal, log)
	}
	if ps := family(p.cmd.Process.Pid, p.mark, processes("/proc")); len(ps) != 0 {
		t.Errorf("left behind: %v", ps)
	}
	if _, err := http.Get(p.BaseURL() + "/health"); err == nil {
		t.Error("the server answers after its end")
	}
}

func TestServerOverItsLimits(t *testing.T) {
	t.Parallel()
	hog := "for i in 1 2 3; do python3 -c 'import time; time.sleep(3); b = bytearray(100 << 20); time.sleep(60)' & done\n"
	dir := serverDir(t, hog+"exec python3 s.py", "200", envPort)
	p, _, err := StartServer(t.Context(), ServerSpec{Dir: dir, DataDir: t.TempDir(), Limits: Limits{Memory: 200 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(context.Background())
	for range 600 {
		if ended, how := p.Exited(); ended {
			if how != "killed: over the limit on memory" {
				t.Errorf("ended: %s", how)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the server lives on")
}

// What a server writes counts against it, wherever in its folders it lies.
func TestServerOverItsDisk(t *testing.T) {
	t.Parallel()
	fill := "for i in 1 2 3; do head -c 4000000 /dev/zero >\"$DATA_DIR/$i\"; done\n"
	dir := serverDir(t, fill+"exec python3 s.py", "200", envPort)
	p, _, err := StartServer(t.Context(), ServerSpec{Dir: dir, DataDir: t.TempDir(), Limits: Limits{Disk: 10 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(context.Background())
	for range 600 {
		if ended, how := p.Exited(); ended {
			if how != "killed: over the limit on disk" {
				t.Errorf("ended: %s", how)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the server lives on")
}

// While there is no room for a process, starting one is tried again.
func TestPatiently(t *testing.T) {
	t.Parallel()
	n := 0
	want := &ServerProcess{}
	p, err := patiently(t.Context(), func() (*ServerProcess, error) {
		if n++; n < 3 {
			return nil, fmt.Errorf("starting start.sh: %w", &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN})
		}
		return want, nil
	})
	if p != want || err != nil || n != 3 {
		t.Errorf("after %d tries: %v", n, err)
	}
	if _, err = patiently(t.Context(), func() (*ServerProcess, error) { n++; return nil, syscall.ENOENT }); err != syscall.ENOENT || n != 4 {
		t.Errorf("another error was tried again: %d, %v", n, err)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start, status, port    string
		reason, detail, logged string
	}{
		"exits":             {"echo no module; exit 3", "200", envPort, ReasonExited, "exit code 3", "no module"},
		"killed":            {"kill -9 $$", "200", envPort, ReasonExited, "SIGKILL", ""},
		"daemonises":        {"setsid python3 s.py >/dev/null 2>&1 & exit 0", "503", envPort, ReasonExited, "exit code 0", ""},
		"never listens":     {"sleep 30", "200", envPort, ReasonStartTimeout, "nothing listened", ""},
		"listens elsewhere": {"exec python3 s.py", "200", "48123", ReasonStartTimeout, "listens on port 48123 instead", "data in"},
		"unhealthy":         {"exec python3 s.py", "503", envPort, ReasonStartUnhealthy, "answered 503", ""},
		"fights itself":     {"echo Error: listen EADDRINUSE; exit 1", "200", envPort, ReasonExited, "exit code 1", "EADDRINUSE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := serverDir(t, c.start, c.status, c.port)
			_, _, err := StartServer(t.Context(), ServerSpec{Dir: dir, DataDir: t.TempDir(), ReadyTimeout: 1500 * time.Millisecond})
			var se *ServerError
			if !errors.As(err, &se) {
				t.Fatalf("got error %v", err)
			}
			if se.Reason != c.reason || se.Ours || !strings.Contains(se.Detail, c.detail) || !strings.Contains(se.Log, c.logged) {
				t.Errorf("got %+v", se)
			}
		})
	}
	_, _, err := StartServer(t.Context(), ServerSpec{Dir: t.TempDir(), DataDir: t.TempDir()})
	var se *ServerError
	if !errors.As(err, &se) || se.Reason != ReasonNoStartSh {
		t.Errorf("empty folder: %v", err)
	}
}

// A server in the grade sandbox kills everything it sees and looks into the grader; the grader lives and
// keeps its secrets.
func TestGraderSurvivesTheServer(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{Runtimes: []string{"python3"}})
	dir := serverDir(t, `
cat /proc/1/environ >/dev/null 2>&1 && echo environment read
cat /proc/1/fd/0 /proc/1/mem >/dev/null 2>&1 && echo files read
readlink /proc/1/fd/1 >/dev/null 2>&1 && echo links read
head -c 1 /proc/1/exe >/dev/null 2>&1 && echo program read
ls /opt/stint | grep -v bin
kill -9 1
kill -9 -1 &
exec python3 s.py`, "200", envPort)
	// The shell that runs kill -9 -1 may kill the server too; then the start fails, which is the server's fault.
	e, err := s.Run(t.Context(), Command{Role: Grade, Argv: []string{s.StintPath(), "__grade"}, Workspace: dir, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	out := string(e.Stdout)
	if e.By != "self" || e.Code == nil || strings.Contains(out, " read\n") || strings.Contains(out, "stint\n") || !strings.Contains(out, "pid 1 server ended") && !strings.Contains(out, "exited: start.sh ended (SIGKILL)") {
		t.Errorf("by %s\n%s\n%s", e.By, out, e.Stderr)
	}
}

func TestCopyTree(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	outside := filepath.Join(t.TempDir(), "outside")
	for path, mode := range map[string]os.FileMode{filepath.Join(src, "a/b/run.sh"): 0o755, filepath.Join(src, "locked"): 0, outside: 0o600} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", filepath.Join(src, "fifo")).Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(src, "a/b"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, dir := range []string{src, dst} {
			_ = os.Chmod(filepath.Join(dir, "a/b"), 0o755) // else the folder cannot be removed
		}
	})
	if err := CopyTree(src, dst); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dst, "a/b/run.sh")); err != nil || string(b) != filepath.Join(src, "a/b/run.sh") {
		t.Errorf("run.sh: %q %v", b, err)
	}
	if st, err := os.Stat(filepath.Join(dst, "a/b/run.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("mode %v %v", st, err)
	}
	if target, err := os.Readlink(filepath.Join(dst, "link")); err != nil || target != outside {
		t.Errorf("link to %q %v", target, err)
	}
	if _, err := os.Lstat(filepath.Join(dst, "fifo")); err == nil {
		t.Error("a FIFO was copied")
	}
	if err := os.Symlink(src, filepath.Join(t.TempDir(), "x")); err != nil {
		t.Fatal(err)
	}
	if err := CopyTree(filepath.Join(src, "link"), filepath.Join(t.TempDir(), "y")); err == nil {
		t.Error("a link was followed as source")
	}
}

func TestStreamKeepsHeadAndTail(t *testing.T) {
	s := newStream(10)
	for _, part := range []string{"abc", "defgh", "ijk", "lmnopqrstuvw", "xyz"} {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	b, cut := s.Bytes()
	if want := "abcde\n[... 16 bytes left out ...]\nvwxyz"; string(b) != want || !cut {
		t.Errorf("got %q, want %q", b, want)
	}
	s = newStream(10)
	s.Write([]byte("0123456789"))
	if b, cut := s.Bytes(); string(b) != "0123456789" || cut {
		t.Errorf("exactly full: %q %v", b, cut)
	}
	s = newStream(100)
	s.Write([]byte("a\nb\nc\n"))
	if got := s.Lines(2, 100); got != "b\nc" {
		t.Errorf("last lines %q", got)
	}
}
