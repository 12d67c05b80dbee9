package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of what an agent may send.
const (
	maxRequest   = 32 << 20 // bytes of a body
	maxHeader    = 64 << 10
	maxInFlight  = 16 // requests of one attempt; more wait
	maxSockPath  = 100
	headerWithin = 30 * time.Second
	idleWithin   = 10 * time.Minute
)

// ProxyOptions configures a Proxy. The zero value serves in a temporary folder.
type ProxyOptions struct {
	// Dir is the folder that holds the socket and nothing else, so that it can be bound into a sandbox. It
	// is made if missing. "" = a temporary folder, removed by Close; it also serves where the path would
	// be too long for a socket.
	Dir string
	Now func() time.Time // nil = time.Now
}

// Proxy is where agents outside stint reach their models: an HTTP server on a unix socket, one per run. The
// token of an [Attempt] is the API key; nothing else says whose request it is, and the real key never comes
// near the agent. It is safe for concurrent use.
type Proxy struct {
	opt    ProxyOptions
	socket string
	remove string // folder to remove at the end
	server *http.Server
	served chan struct{}
	wire   *http.Transport

	mu       sync.Mutex
	attempts map[[sha256.Size]byte]*Attempt // by the hash of the token: looking one up tells nothing of others
	refused  atomic.Int64
}

// NewProxy starts serving.
func NewProxy(opt ProxyOptions) (*Proxy, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	p := &Proxy{opt: opt, served: make(chan struct{}), attempts: map[[sha256.Size]byte]*Attempt{}}
	dir, err := filepath.Abs(opt.Dir)
	if opt.Dir == "" || err != nil || len(dir) > maxSockPath-len("/gw.sock") {
		if dir, err = os.MkdirTemp("", "stint-gw-"); err != nil {
			return nil, fmt.Errorf("making the folder of the gateway's socket: %w", err)
		}
		p.remove = dir
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the gateway's socket: %w", err)
	}
	p.socket = filepath.Join(dir, "gw.sock")
	listener, err := listen(p.socket)
	if err != nil {
		return nil, err
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		p.wire = t.Clone()
	} else {
		p.wire = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	p.wire.MaxIdleConns, p.wire.MaxIdleConnsPerHost = 256, 128
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: headerWithin, MaxHeaderBytes: maxHeader, IdleTimeout: idleWithin, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(listener) // ends with Close
	}()
	return p, nil
}

// listen takes over a socket that an ended process left.
func listen(socket string) (net.Listener, error) {
	addr := &net.UnixAddr{Name: socket, Net: "unix"}
	l, err := net.ListenUnix("unix", addr)
	if err == nil {
		return bound(l, maxConns), nil
	}
	if conn, derr := net.DialTimeout("unix", socket, time.Second); derr == nil {
		conn.Close()
		return nil, fmt.Errorf("serving the gateway at %s: another one is serving there", socket)
	}
	if info, serr := os.Lstat(socket); serr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("serving the gateway at %s: %w", socket, err)
	}
	if err := os.Remove(socket); err != nil {
		return nil, fmt.Errorf("removing the socket that an earlier gateway left: %w", err)
	}
	if l, err = net.ListenUnix("unix", addr); err != nil {
		return nil, fmt.Errorf("serving the gateway at %s: %w", socket, err)
	}
	return bound(l, maxConns), nil
}

// Socket is the path of the socket, short enough for any system, alone in its folder.
func (p *Proxy) Socket() string { return p.socket }

// Refused is how many requests came without a token that is known.
func (p *Proxy) Refused() int { return int(p.refused.Load()) }

// Close ends the attempts that are open, and the server.
func (p *Proxy) Close() error {
	p.mu.Lock()
	var open []*Attempt
	for _, a := range p.attempts {
		open = append(open, a)
	}
	p.mu.Unlock()
	for _, a := range open {
		a.Close()
	}
	err := p.server.Close()
	<-p.served
	p.wire.CloseIdleConnections()
	_ = os.Remove(p.socket) // the server has done so already
	if p.remove != "" {
		err = errors.Join(err, os.RemoveAll(p.remove))
	}
	if err != nil {
		return fmt.Errorf("closing the gateway: %w", err)
	}
	return nil
}

// Open lets one attempt in. The attempt must be closed.
func (p *Proxy) Open(o Options) (*Attempt, error) {
	if o.Now == nil {
		o.Now = p.opt.Now
	}
	if o.HTTP == nil {
		o.HTTP = p.wire
	}
	u, err := newUpstream(o)
	if err != nil {
		return nil, err
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, fmt.Errorf("making the token of an attempt: %w", err)
	}
	a := &Attempt{upstream: u, proxy: p, token: "stint-" + hex.EncodeToString(secret[:]), stopped: make(chan struct{}), slots: make(chan struct{}, maxInFlight), known: map[string]bool{}}
	a.ctx, a.end = context.WithCancelCause(context.Background())
	u.opt.Recorder.hide(a.token)
	p.mu.Lock()
	p.attempts[sha256.Sum256([]byte(a.token))] = a
	p.mu.Unlock()
	return a, nil
}

// forget refuses a token from now on.
func (p *Proxy) forget(a *Attempt) {
	p.mu.Lock()
	delete(p.attempts, sha256.Sum256([]byte(a.token)))
	p.mu.Unlock()
}

// find returns the attempt of a request, counted as in flight; nil if nobody is known by its key.
func (p *Proxy) find(r *http.Request) *Attempt {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range []string{r.Header.Get("X-Api-Key"), strings.TrimSpace(bearer)} {
		if a := p.attempts[sha256.Sum256([]byte(key))]; a != nil {
			a.flight.Add(1)
			return a
		}
	}
	return nil
}

// dialects are the protocols that agents may speak.
var dialects = [...]dialect{chat{}, responses{}, anthropic{}}

// ServeHTTP answers one request of an agent.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	var d dialect = chat{}
	known := false
	for _, c := range dialects {
		if strings.HasPrefix(path, c.path()) {
			d, known = c, c.path() == path
		}
	}
	a := p.find(r)
	if a == nil {
		p.refused.Add(1)
		answerError(w, d, http.StatusUnauthorized, "this key is not the key of a running attempt")
		return
	}
	defer a.flight.Done()
	// Close must not wait for an agent that neither sends nor reads any more.
	conn := http.NewResponseController(w)
	defer context.AfterFunc(a.ctx, func() {
		past := time.Unix(1, 0)
		_ = errors.Join(conn.SetReadDeadline(past), conn.SetWriteDeadline(past)) // then the connection is closed
	})()
	switch {
	case path == "/models" && r.Method == http.MethodGet:
		a.models(w)
		return
	case !known:
		a.opt.Recorder.Event("refused", map[string]any{"status": http.StatusNotFound, "path": clip(r.URL.Path)})
		answerError(w, d, http.StatusNotFound, "the gateway serves no "+clip(r.Method+" "+r.URL.Path))
		return
	case a.opt.Model.API != "" && a.opt.Model.API != d.name():
		a.opt.Recorder.Event("refused", map[string]any{"status": http.StatusNotFound, "path": clip(r.URL.Path)})
		answerError(w, d, http.StatusNotFound, fmt.Sprintf("the model of this attempt speaks %s, not %s", a.opt.Model.API, d.name()))
		return
	case r.Method != http.MethodPost:
		answerError(w, d, http.StatusMethodNotAllowed, "use POST")
		return
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		answerError(w, d, http.StatusUnsupportedMediaType, "send the request without compression")
		return
	}
	select { // before the body is read: what is in memory is bounded too
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-a.ctx.Done():
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		status, text := http.StatusBadRequest, "the request broke off"
		if errors.As(err, new(*http.MaxBytesError)) {
			status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes", maxRequest)
		}
		a.opt.Recorder.Event("refused", map[string]any{"status": status, "path": path, "message": text})
		answerError(w, d, status, text)
		return
	}
	a.serve(w, r, d, body)
}

// models lists the one model there is, under the names by which the agent may know it.
func (a *Attempt) models(w http.ResponseWriter) {
	m := a.opt.Model
	var data []any
	for i, id := range []string{m.id(), m.Name} {
		if id != "" && (i == 0 || id != m.id()) {
			data = append(data, map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "stint"})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data}) // an agent that left is its own concern
}

func answerError(w http.ResponseWriter, d dialect, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(d.errorBody(status, text)) // an agent that left is its own concern
}

// clip bounds what an agent wrote where it is quoted.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}
