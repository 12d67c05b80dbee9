package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// HostSpec says which snapshot to serve to a person who wants to look at a failure.
type HostSpec struct {
	Blobs    *logs.Blobs
	Tree     string // snapshot
	Work     string // scratch folder that does not exist; removed at the end
	Sandbox  *sandbox.Sandbox
	Own      bool // the agent is one of ours, whose servers are stint itself
	Limits   sandbox.Limits
	Listener *net.TCPListener          // on loopback; what arrives is passed on to the server; closed at the end
	Ready    func(ready time.Duration) // called once, when the server answers; nil = nobody asks
	Timeout  time.Duration             // until /health answers; 0 = as in grading
}

// HostEnd is how a hosted server ended. Reason is empty when the context ended it.
type HostEnd struct {
	Reason string       `json:"reason,omitempty"` // build, exited, or the reason of a start that failed
	Detail string       `json:"detail,omitempty"` // one line
	Log    string       `json:"log,omitempty"`    // last lines of the server's output; hostile text
	Build  *BuildResult `json:"build,omitempty"`
}

// hostRequest is what the process inside the sandbox is told.
type hostRequest struct {
	Checkout string         `json:"checkout"`
	Scratch  string         `json:"scratch"`
	Stint    string         `json:"stint,omitempty"`
	Timeout  time.Duration  `json:"timeout,omitempty"`
	Limits   sandbox.Limits `json:"limits"`
}

// Host restores a snapshot, builds it, starts its server as the grader does and passes connections on to it
// until the context or the server ends. Under bubblewrap the server has no network: the process that stands
// beside it inherits the listener, so nothing else leads in or out. The error is our own fault.
func Host(ctx context.Context, spec HostSpec) (end *HostEnd, err error) {
	defer spec.Listener.Close()
	checkout, scratch := filepath.Join(spec.Work, "checkout"), filepath.Join(spec.Work, "scratch")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return nil, fmt.Errorf("creating a scratch folder: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(spec.Work)) }()
	if err := restoreTree(spec.Blobs, spec.Tree, checkout); err != nil {
		return nil, err
	}
	req := hostRequest{Checkout: checkout, Scratch: scratch, Timeout: spec.Timeout, Limits: spec.Limits}
	if spec.Own {
		req.Stint = spec.Sandbox.StintPath()
	}
	if spec.Sandbox.Kind() == sandbox.KindNone {
		return host(ctx, req, &grader{box: spec.Sandbox, env: spec.Sandbox.Environ()}, spec.Listener, spec.Ready)
	}
	return hostInSandbox(ctx, spec, req)
}

func hostInSandbox(ctx context.Context, spec HostSpec, req hostRequest) (*HostEnd, error) {
	scratch, checkout := req.Scratch, req.Checkout
	req.Checkout, req.Scratch = spec.Sandbox.WorkspacePath(checkout), scratchInside
	arg, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encoding the host's request: %w", err)
	}
	file, err := spec.Listener.File()
	if err != nil {
		return nil, fmt.Errorf("handing the listener on: %w", err)
	}
	defer file.Close()
	base := "http://" + spec.Listener.Addr().String()
	spec.Listener.Close() // only the process inside accepts
	watch, stop := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() { whenHealthy(watch, base, spec.Ready) })
	defer waiting.Wait()
	defer stop()
	exit, err := spec.Sandbox.Run(ctx, sandbox.Command{
		Role: sandbox.Grade, Argv: []string{spec.Sandbox.StintPath(), "__host", string(arg)}, Workspace: checkout,
		Binds: []sandbox.Bind{{Host: scratch, Inside: scratchInside, Writable: true}}, Stdin: file, Own: spec.Own,
	})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return &HostEnd{}, nil
	}
	if exit.By != "self" {
		return &HostEnd{Reason: "limit", Detail: "the sandbox was ended at a limit: " + exitWord(exit)}, nil
	}
	var end HostEnd
	if exit.Code == nil || *exit.Code != 0 || json.Unmarshal(exit.Stdout, &end) != nil {
		return nil, fmt.Errorf("the process beside the server ended badly (%s): %s", exitWord(exit), lastLine(exit.Stderr))
	}
	return &end, nil
}

// whenHealthy calls ready as soon as /health answers through base. The connection waits until the process
// inside accepts, which it does when the server is ready.
func whenHealthy(ctx context.Context, base string, ready func(time.Duration)) {
	began := time.Now()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", nil)
		if err != nil {
			return
		}
		resp, err := client.Do(req)
		if err == nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the status is all that counts
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				if ready != nil {
					ready(time.Since(began))
				}
				return
			}
		}
		_ = sleep(ctx, 50*time.Millisecond)
	}
}

// HostMain is the hidden verb `stint __host REQUEST`: it serves the checkout of a sandbox through the listener
// that it inherits as stdin, and prints a HostEnd. It returns the exit code.
func HostMain(args []string, stdin io.Reader, stdout io.Writer) int {
	ctx, stop := untilSignalled()
	defer stop()
	if err := hostStream(ctx, args, stdin, stdout); err != nil {
		fmt.Fprintf(os.Stderr, "stint: serving: %v\n", err)
		return 1
	}
	return 0
}

func hostStream(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if err := sandbox.Harden(); err != nil {
		return err
	}
	file, ok := stdin.(*os.File)
	if !ok || len(args) != 1 {
		return errors.New("it takes a request as its argument and a listener as stdin")
	}
	var req hostRequest
	if err := json.Unmarshal([]byte(args[0]), &req); err != nil {
		return fmt.Errorf("decoding the request: %w", err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("taking over the listener: %w", err)
	}
	defer l.Close()
	box, err := sandbox.New(ctx, sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Limits: req.Limits})
	if err != nil {
		return err
	}
	end, err := host(ctx, req, &grader{box: box, env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}}, l, nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(end)
}

// host builds, starts and passes connections on, in this process.
func host(ctx context.Context, req hostRequest, g *grader, l net.Listener, ready func(time.Duration)) (*HostEnd, error) {
	g.req = GradeRequest{Suite: &suite.Suite{}, Checkout: req.Checkout, Scratch: req.Scratch, Stint: req.Stint, ReadyTimeout: req.Timeout, Limits: req.Limits}
	var graded GradeResult
	if err := g.build(ctx, &graded); err != nil {
		if ctx.Err() != nil {
			return &HostEnd{}, nil
		}
		return nil, err
	}
	if r := graded.Result; r != nil {
		return &HostEnd{Reason: r.Reason, Detail: r.Detail, Log: graded.Build.Log, Build: graded.Build}, nil
	}
	srv, took, err := g.start(ctx, "host")
	var se *suite.StartError
	switch {
	case ctx.Err() != nil:
		if err == nil {
			srv.Stop(context.WithoutCancel(ctx))
		}
		return &HostEnd{}, nil
	case errors.As(err, &se) && !se.Ours:
		return &HostEnd{Reason: se.Reason, Detail: oneLine(se.Detail), Log: se.Log, Build: graded.Build}, nil
	case err != nil:
		return nil, err
	}
	if ready != nil {
		ready(took)
	}
	end := &HostEnd{Build: graded.Build}
	if detail, ended := relay(ctx, l, srv); ended {
		end.Reason, end.Detail = sandbox.ReasonExited, "the server ended by itself: "+detail
	}
	end.Log = srv.Stop(context.WithoutCancel(ctx)).Log
	return end, nil
}

// maxRelayed bounds the connections passed on at a time.
const maxRelayed = 64

// relay passes connections on until ctx or the server ends.
func relay(ctx context.Context, l net.Listener, srv suite.Server) (detail string, ended bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { l.Close() })
	address := srv.BaseURL()
	if u, err := url.Parse(address); err == nil {
		address = u.Host
	}
	go func() {
		slots := make(chan struct{}, maxRelayed)
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed: relay has returned
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				passOn(ctx, in, address)
			}()
		}
	}()
	for ctx.Err() == nil {
		if ended, detail := srv.Exited(); ended {
			return detail, true
		}
		_ = sleep(ctx, 20*time.Millisecond)
	}
	return "", false
}

// passOn joins one connection with one to the server.
func passOn(ctx context.Context, in net.Conn, address string) {
	defer in.Close()
	var dialer net.Dialer
	out, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return // the client sees a closed connection, as it would from the server
	}
	defer out.Close()
	defer context.AfterFunc(ctx, func() { in.Close(); out.Close() })()
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(out, in) // a broken connection ends both directions
		_ = out.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(in, out)
	in.Close()
	there.Wait()
}
