package sandbox

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was given twice", port)
		}
		seen[port] = true
	}
	for port := range seen {
		givenPorts.giveBack(port)
	}
}

// Another program's server on the same port is not taken for the one that was started.
func TestForeignServerIsNotOurs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	dir := t.TempDir()
	// It fails as a server does whose port is taken.
	script := "#!/bin/sh\nsleep 0.2\necho bind: address already in use\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "start.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	p, err := spawnServer(ServerSpec{Dir: dir, DataDir: dir}, []string{"./start.sh"}, port)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(context.Background())
	if err := p.waitReady(context.Background(), 0); err == nil {
		t.Error("the answer of another server on port " + strconv.Itoa(port) + " was taken for its own")
	}
}

func TestOwns(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := &ServerProcess{cmd: &exec.Cmd{Process: self}, port: l.Addr().(*net.TCPAddr).Port}
	if !p.owns() {
		t.Error("the process that listens does not own its port")
	}
	p.port++
	if p.owns() {
		t.Error("a process owns a port on which it does not listen")
	}
}
