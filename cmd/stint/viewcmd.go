package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
	"github.com/stint-bench/stint/report/view"
)

func newViewCmd(e *env) *cobra.Command {
	var addr, name string
	cmd := &cobra.Command{
		Use:   "view DIR",
		Short: "Look through a study in a browser on this machine: heat map to evidence, also while it runs",
		Long: `view serves pages about a run directory, a folder of ingested tables, or a folder of several of
these: the heat map of configurations and scenarios, episodes, turns, attempts, failing checks
with the difference marked, verdicts with the way to them, two configurations side by side, and
the audit page where a sample was drawn. Pages of a study that is running follow it. They are
served on this machine only, under an address with a random token; nothing is written but the
labels of the audit page. Press ? in a page for its keys; Ctrl-C ends it.`,
		Example: "  " + e.Self + " view runs/demo",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			who := labeller{name: name}
			if err := who.check(); err != nil {
				return err
			}
			return viewDir(cmd.Context(), e, args[0], addr, who)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "`ADDRESS` on this machine to listen on")
	cmd.Flags().StringVar(&name, "name", "", "`NAME` that the audit page proposes for whoever labels")
	return cmd
}

func viewDir(ctx context.Context, e *env, dir, addr string, who labeller) error {
	l, err := listenHere(addr)
	if err != nil {
		return err
	}
	defer l.Close()
	token, err := newToken()
	if err != nil {
		return err
	}
	s, err := view.New(view.Options{Dir: dir, Token: token, Hosts: report.LoopbackHosts(l.Addr()), Book: runBook, Audit: auditPages(e, token, l.Addr(), who)})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "http://%s/%s/\n", l.Addr(), token)
	e.say("open this address in a browser; Ctrl-C ends the pages")
	return serveUntil(ctx, l, s, "the pages")
}

// auditPages opens the audit page of a study when it is asked for.
func auditPages(e *env, token string, addr net.Addr, who labeller) func(*logs.RunDir) (http.Handler, error) {
	return func(d *logs.RunDir) (http.Handler, error) {
		_, a, err := openAudit(e, d.Root)
		if err != nil {
			return nil, err
		}
		return &report.AuditPage{Auditor: a, Token: token, Hosts: report.LoopbackHosts(addr), Person: who.name, Settle: who.settle, Now: e.Now}, nil
	}
}

// listenHere listens on an address that only this machine reaches.
func listenHere(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, inputErrorf("--addr 127.0.0.1:0; from afar: ssh -L", "%q is no address of this machine alone", clean(addr))
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, inputErrorf("--addr 127.0.0.1:0 takes a free port", "listening on %s: %w", clean(addr), err)
	}
	return l, nil
}

// newToken draws the first element of an address that nobody can guess.
func newToken() (string, error) {
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("drawing the token: %w", err)
	}
	return hex.EncodeToString(secret[:]), nil
}

// serveUntil serves until the context ends; what is being written then is written.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler, what string) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving %s: %w", what, err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ending %s: %w", what, err)
	}
	return nil
}
