package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Forward gives a command of the Work role one way out: what it sends to a port on its loopback goes to a unix
// socket outside. Stint itself is then the first process inside, which nothing in the namespace can kill or look
// into, and it reports how the command ended and what it left running.
type Forward struct {
	Port   int    // on 127.0.0.1 inside
	Socket string // host path; its folder is bound, so that a socket made anew is found
}

// insideGateway is where the socket's folder lies inside.
const insideGateway = "/run/stint"

// InitVerb is the hidden verb under which stint is the first process of a sandbox.
const InitVerb = "__init"

// initReport is what the first process says about the command, on a pipe that no other process has.
type initReport struct {
	Code   *int     `json:"code,omitempty"`   // nil: a signal ended it
	Signal string   `json:"signal,omitempty"` // SIGKILL
	Failed string   `json:"failed,omitempty"` // the command could not be started
	Left   []string `json:"left,omitempty"`   // command lines of what was still running
}

const (
	initFault   = 125             // exit code of the first process for faults of its own
	initLinger  = time.Second     // how long the command's group may take to end after its leader
	maxLeft     = 20              // processes named in a report
	maxLeftName = 200             // bytes of a command line in a report
	relayIdle   = 5 * time.Second // for the rest of an answer after one side has closed
)

// InitMain is the hidden verb `stint __init PORT SOCKET FD COMMAND...`: it forwards the port, runs the command, reaps
// what it leaves and reports to the descriptor. It returns the exit code: that of the command, 128+n for a signal.
func InitMain(args []string) int {
	err := Harden()
	var port, fd int
	if err == nil {
		port, fd, err = initArgs(args)
	}
	if err == nil {
		err = forward(port, args[1])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "stint: %v\n", err)
		return initFault
	}
	return report(supervise(args[3:]), os.NewFile(uintptr(fd), "report"))
}

// forward makes a port of the loopback the way to a socket.
func forward(port int, socket string) error {
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("forwarding the gateway: %w", err)
	}
	go Relay(l, socket)
	return nil
}

func initArgs(args []string) (port, fd int, err error) {
	if len(args) < 4 {
		return 0, 0, errors.New("the first process of a sandbox takes a port, a socket, a descriptor and a command")
	}
	if port, err = strconv.Atoi(args[0]); err == nil {
		fd, err = strconv.Atoi(args[2])
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading the arguments of the first process: %w", err)
	}
	return port, fd, nil
}

// supervise runs a command in a session of its own, passes requests to end on to it, and reaps every orphan.
func supervise(argv []string) initReport {
	// Every signal is taken, so that none sent from inside harms the first process.
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return initReport{Failed: fmt.Sprintf("%s is not there: %v", argv[0], err)}
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return initReport{Failed: fmt.Sprintf("%s does not start: %v", argv[0], err)}
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP {
				_ = syscall.Kill(-pid, s.(syscall.Signal)) // ended meanwhile: nothing to do
			}
		}
	}()
	var ws syscall.WaitStatus
	for {
		// The one waiter: a second one could take the command's status away.
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if got == pid || err == syscall.ECHILD {
			break
		}
	}
	r := initReport{}
	if ws.Signaled() {
		r.Signal = unix.SignalName(ws.Signal())
	} else {
		code := ws.ExitStatus()
		r.Code = &code
	}
	for began := time.Now(); time.Since(began) < initLinger && syscall.Kill(-pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		for {
			if got, _ := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); got <= 0 {
				break
			}
		}
	}
	r.Left = leftRunning()
	return r
}

// leftRunning names the other processes of this namespace.
func leftRunning() []string {
	var left []string
	for _, p := range processes("/proc") {
		if p.zombie || p.pid == os.Getpid() {
			continue
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if err != nil {
			continue
		}
		name := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
		if len(name) > maxLeftName {
			name = name[:maxLeftName] + "…"
		}
		if left = append(left, strings.ToValidUTF8(name, "\uFFFD")); len(left) == maxLeft {
			break
		}
	}
	return left
}

// Relay joins every connection to l with one to a unix socket, until l is closed. An end of stream is passed on in
// both directions; a broken connection breaks the other.
func Relay(l net.Listener, socket string) {
	for {
		in, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors: the agent's doing, and it may pass
			continue
		}
		go relayOne(in, socket)
	}
}

func relayOne(in net.Conn, socket string) {
	defer in.Close()
	out, err := net.Dial("unix", socket)
	if err != nil {
		return // the client sees a closed connection
	}
	defer out.Close()
	var up sync.WaitGroup
	up.Go(func() {
		_, err := io.Copy(out, in)
		if err != nil {
			out.Close()
			return
		}
		_ = out.(*net.UnixConn).CloseWrite() // the gateway has gone: the other copy ends too
	})
	_, err = io.Copy(in, out)
	if err != nil {
		_ = in.(*net.TCPConn).SetLinger(0) // a reset, not an orderly end
	} else {
		_ = in.(*net.TCPConn).CloseWrite()
		_ = in.SetReadDeadline(time.Now().Add(relayIdle))
	}
	if err != nil {
		in.Close()
	}
	up.Wait()
}
