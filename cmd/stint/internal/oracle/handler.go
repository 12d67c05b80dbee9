package oracle

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// MaxBody is the largest request body that Handler reads.
const MaxBody = 1 << 20

// Handler serves an interpreter over HTTP. Requests are answered one at a time; a body over MaxBody is
// answered with 413.
func Handler(s *scenario.Schema, faults ...Fault) http.Handler {
	return &handler{interp: New(s, faults...)}
}

type handler struct {
	mu     sync.Mutex
	interp *Interp
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil {
		// The client went away in the middle of its body; nobody reads the answer.
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(body) > MaxBody {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	status, out := h.answer(Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Body: body})
	if out == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	w.WriteHeader(status)
	// A failed write means that the client went away.
	_, _ = w.Write(out)
}

// answer handles and renders under the lock, since bodies share the store.
func (h *handler) answer(r Request) (status int, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	res := h.interp.Handle(r)
	if res.Body == nil {
		return res.Status, nil
	}
	out, err := json.Marshal(res.Body)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return res.Status, out
}
