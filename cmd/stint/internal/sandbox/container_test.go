package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// container is a sandbox of the kind container. CI names an image with Python in STINT_TEST_IMAGE.
func container(t *testing.T, opt Options) *Sandbox {
	t.Helper()
	opt.Kind, opt.Image = KindContainer, os.Getenv("STINT_TEST_IMAGE")
	if opt.Image == "" {
		missing(t, "STINT_TEST_IMAGE names no image")
	}
	s, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContainer(t *testing.T) {
	s := container(t, Options{Runtimes: []string{"python3"}, Limits: Limits{Memory: 200 << 20, Processes: 40, FileSize: 1 << 20}})
	if f := s.Fingerprint(); !strings.Contains(f, s.opt.Image) || !strings.Contains(f, "python3-3.") || !strings.Contains(s.SpecSentence(), "Python 3.") {
		t.Errorf("fingerprint %q, sentence %q", f, s.SpecSentence())
	}
	for name, c := range map[string]struct {
		script, stdout, stderr string
		code                   int
	}{
		"streams":   {"echo out; echo err >&2; pwd; cd; pwd; exit 7", "out\n/workspace\n/home/agent\n", "err\n", 7},
		"files":     {"echo x > a; echo y > ~/b; cat a ~/b; touch /x 2>/dev/null || touch /usr/x 2>/dev/null || touch /etc/x 2>/dev/null || echo closed", "x\ny\nclosed\n", "", 0},
		"kernel":    {"(echo 1 > /proc/sys/vm/drop_caches) 2>/dev/null || echo refused; mount -t tmpfs x /mnt 2>/dev/null || echo refused", "refused\nrefused\n", "", 0},
		"itself":    {"ls -A /run/stint-start | wc -l; cat /proc/1/environ /proc/1/exe 2>/dev/null | wc -c; /proc/1/exe __grade 2>/dev/null || echo refused", "0\n0\nrefused\n", "", 0},
		"kill":      {"kill -9 1; (kill -9 -1); echo alive", "", "", -1},
		"network":   {`python3 -c 'import socket; print(sorted(n for _, n in socket.if_nameindex()))'`, "['lo']\n", "", 0},
		"file size": {"head -c 3000000 /dev/zero > big 2>/dev/null; wc -c < big", "1048576\n", "", 0},
		"missing":   {"exec no-such-program", "", "sh: 1: exec: no-such-program: not found\n", 127},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sh(t, s, c.script)
			if string(e.Stdout) != c.stdout || string(e.Stderr) != c.stderr || code(e) != c.code || e.By != "self" || c.code == -1 && e.Signal != "SIGKILL" {
				t.Errorf("got %+v, %q %q", e, e.Stdout, e.Stderr)
			}
		})
	}
	if e := sh(t, s, "echo a; echo b >&2; echo c; cat", func(c *Command) { c.Merge, c.Stdin = true, strings.NewReader("in") }); string(e.Stdout) != "a\nb\nc\nin" {
		t.Errorf("merged output %q", e.Stdout)
	}
	e, err := s.Run(t.Context(), Command{Argv: []string{"no-such-program"}, Workspace: t.TempDir()})
	if err != nil || code(e) != 127 || !strings.Contains(string(e.Stderr), "no-such-program") {
		t.Errorf("a missing program: %+v %q, %v", e, e.Stderr, err)
	}
	var spawn *SpawnError
	if _, err = s.Run(t.Context(), Command{Argv: []string{"true"}, Workspace: t.TempDir(), Binds: []Bind{{Host: "/no/such", Inside: "/x"}}}); !errors.As(err, &spawn) {
		t.Errorf("absent bind: %v", err)
	}
}

func TestContainerLimits(t *testing.T) {
	s := container(t, Options{Runtimes: []string{"python3"}, Limits: Limits{Memory: 200 << 20, Processes: 40, Disk: 30 << 20}})
	for name, c := range map[string]struct{ script, by, limit string }{
		"wall":      {"sleep 60", "limit", "wall"},
		"memory":    {"for i in 1 2 3; do python3 -c 'import time; x = bytearray(120 << 20); time.sleep(30)' & done; wait", "limit", "memory"},
		"processes": {"for i in $(seq 60); do sleep 30 & done; wait", "limit", "processes"},
		"disk":      {"for i in $(seq 9); do head -c 5000000 /dev/urandom > $i; done; sleep 30", "limit", "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sh(t, s, c.script, func(c *Command) {
				if name == "wall" {
					c.Timeout = 3 * time.Second
				}
			})
			if e.By != c.by || e.Limit != c.limit {
				t.Errorf("got %+v %q", e, e.Stderr)
			}
		})
	}
}

func TestContainerForwards(t *testing.T) {
	s := container(t, Options{Runtimes: []string{"python3"}})
	with := forwarded(t)
	e := sh(t, s, "python3 -c '"+ask+"' /a; setsid sleep 1000 >/dev/null 2>&1 & sleep 1; exit 7", with)
	if code(e) != 7 || string(e.Stdout) != "hello /a\n" || len(e.Left) != 1 || e.Left[0] != "sleep 1000" {
		t.Errorf("got %+v, %s%s", e, e.Stdout, e.Stderr)
	}
	c := Command{Argv: []string{"no-such-program"}, Workspace: t.TempDir()}
	with(&c)
	var spawn *SpawnError
	if _, err := s.Run(t.Context(), c); !errors.As(err, &spawn) || !spawn.Missing {
		t.Errorf("a missing program: %v", err)
	}
	// The grader is the first process, which nothing kills.
	dir := serverDir(t, "kill -9 1\nkill -9 -1 &\nexec python3 s.py", "200", envPort)
	e, err := s.Run(t.Context(), Command{Role: Grade, Argv: []string{s.StintPath(), "__grade"}, Workspace: dir, Timeout: time.Minute})
	if err != nil || e.Code == nil || !strings.Contains(string(e.Stdout), "pid 1 server ended") && !strings.Contains(string(e.Stdout), "exited: start.sh ended (SIGKILL)") {
		t.Errorf("grading: %+v %q %q, %v", e, e.Stdout, e.Stderr, err)
	}
}

// Killed itself, stint leaves no container.
func TestNoContainerOutlivesUs(t *testing.T) {
	container(t, Options{})
	outlived(t, KindContainer, "33", 3000)
}
