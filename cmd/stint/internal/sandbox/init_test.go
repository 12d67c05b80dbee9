package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gatewaySocket serves handler on a unix socket in a folder of its own.
func gatewaySocket(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "gw.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: handler}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return socket
}

// forwarded gives a command a port that answers "hello" with the bytes of the request's body.
func forwarded(t *testing.T) func(*Command) {
	socket := gatewaySocket(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "short")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "hello %s", r.URL.Path)
	})
	return func(c *Command) { c.Forward = &Forward{Port: 4000, Socket: socket} }
}

const ask = `import urllib.request as u, sys
print(u.urlopen("http://127.0.0.1:4000" + sys.argv[1]).read().decode())`

func TestForward(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{Runtimes: []string{"python3"}})
	with := forwarded(t)
	e := sh(t, s, "python3 -c '"+ask+"' /a; python3 -c '"+ask+"' /b; exit 7", with)
	if code(e) != 7 || e.By != "self" || string(e.Stdout) != "hello /a\nhello /b\n" {
		t.Errorf("got %+v, %s%s", e, e.Stdout, e.Stderr)
	}
	e = sh(t, s, "python3 -c '"+ask+"' /cut", with)
	if code(e) != 1 || !strings.Contains(string(e.Stderr), "IncompleteRead") {
		t.Errorf("a cut answer: %+v, %s", e, e.Stderr)
	}
	// Nothing else leads out.
	e = sh(t, s, `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'; ls /sys/class/net 2>/dev/null; ls `+insideGateway, with)
	if !strings.Contains(string(e.Stderr), "unreachable") || strings.TrimSpace(string(e.Stdout)) != "gw.sock" {
		t.Errorf("another way out: %s%s", e.Stdout, e.Stderr)
	}
}

func TestFirstProcessIsClosed(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{Runtimes: []string{"python3"}})
	e := sh(t, s, `head -c 60 /proc/1/cmdline | tr '\0\n' '  '; echo
for f in exe environ mem maps root cwd; do (cat /proc/1/$f || ls /proc/1/$f/) >/dev/null 2>&1 && echo "open: $f"; done
for f in /proc/1/fd/* /proc/1/map_files/*; do cat $f >/dev/null 2>&1 && echo "open: $f"; done
/proc/1/exe version 2>/dev/null && echo "ran it"
ls -l /proc/1/fd/ 2>&1 | head -1
ls -l /proc/self/fd | wc -l
find / -name 'sandbox.test*' -not -path '/proc/*' 2>/dev/null
for s in HUP INT QUIT ILL ABRT BUS FPE SEGV PIPE ALRM USR1 USR2 STOP TSTP KILL; do [ $s = HUP ] || [ $s = INT ] || kill -$s 1; done
sleep 0.2
python3 -c '`+ask+`' /alive`, forwarded(t))
	out := string(e.Stdout)
	for _, bad := range []string{"open: ", "ran it", "sandbox.test\n"} {
		if strings.Contains(strings.SplitN(out, "\n", 2)[1], bad) {
			t.Errorf("inside saw %q:\n%s", bad, out)
		}
	}
	if !strings.Contains(out, InitVerb) || !strings.Contains(out, "hello /alive") || !strings.Contains(out, "Permission denied") || code(e) != 0 {
		t.Errorf("exit %d, %s%s", code(e), out, e.Stderr)
	}
}

func TestFirstProcessReports(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{})
	with := forwarded(t)
	e := sh(t, s, "kill -9 $$", with)
	if e.Code != nil || e.Signal != "SIGKILL" || e.By != "self" {
		t.Errorf("its own signal: %+v", e)
	}
	e = sh(t, s, "sh -c 'kill -9 -1'; echo alive", with)
	if e.Code != nil || e.Signal != "SIGKILL" || e.By != "self" || len(e.Left) != 0 {
		t.Errorf("kill everything: %+v", e)
	}
	e = sh(t, s, "setsid sleep 1000 >/dev/null 2>&1 & sleep 0.1; exit 0", with)
	if code(e) != 0 || len(e.Left) != 1 || strings.TrimPrefix(e.Left[0], "setsid ") != "sleep 1000" { // a slow machine has not come to it
		t.Errorf("a daemon: %+v", e)
	}
	// A process that holds the output is no reason to wait.
	began := time.Now()
	e = sh(t, s, "setsid sleep 1000 & sleep 0.1; echo done", with)
	if string(e.Stdout) != "done\n" || time.Since(began) > 10*time.Second || len(e.Left) != 1 {
		t.Errorf("output held open: %+v after %v", e, time.Since(began))
	}
	_, err := s.Run(t.Context(), Command{Argv: []string{"no-such-program"}, Workspace: t.TempDir(), Forward: &Forward{4000, "/tmp/none/s"}})
	if err == nil {
		t.Error("a socket whose folder is missing was accepted")
	}
	c := Command{Argv: []string{"no-such-program"}, Workspace: t.TempDir()}
	with(&c)
	var spawn *SpawnError
	if _, err := s.Run(t.Context(), c); !errors.As(err, &spawn) || !spawn.Missing || !strings.Contains(err.Error(), "no-such-program is not there") {
		t.Errorf("a missing program: %v", err)
	}
}

func TestGentleStop(t *testing.T) {
	t.Parallel()
	both(t, Options{}, func(t *testing.T, s *Sandbox) {
		with := forwarded(t)
		gentle := func(c *Command) { with(c); c.Grace, c.Timeout = 5*time.Second, 700*time.Millisecond }
		began := time.Now()
		e := sh(t, s, "trap 'echo bye; exit 9' TERM; while :; do sleep 0.05; done", gentle)
		if string(e.Stdout) != "bye\n" || e.By != "limit" || e.Limit != "wall" || time.Since(began) > 4*time.Second {
			t.Errorf("a command that listens: %+v, %q", e, e.Stdout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		c := Command{Argv: []string{"sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"}, Workspace: t.TempDir(), Grace: 300 * time.Millisecond}
		with(&c)
		e, err := s.Run(ctx, c)
		if err != nil || e.By != "stint" {
			t.Errorf("a command that does not listen: %+v, %v", e, err)
		}
	})
}
