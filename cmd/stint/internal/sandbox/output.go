package sandbox

import (
	"bytes"
	"fmt"
	"sync"
)

const defaultMaxOutput = 1 << 20

// stream keeps the head and the tail of what is written to it, at most limit bytes, and counts the rest.
// It is safe for concurrent use.
type stream struct {
	mu    sync.Mutex
	limit int64
	head  []byte
	tail  []byte // ring of limit/2 bytes
	next  int    // where the ring goes on once it is full
	total int64
}

func newStream(limit int64) *stream {
	if limit <= 0 {
		limit = defaultMaxOutput
	}
	return &stream{limit: limit}
}

// Write never fails.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	s.total += int64(n)
	headMax, tailMax := int((s.limit+1)/2), int(s.limit/2)
	if room := headMax - len(s.head); room > 0 {
		k := min(room, len(p))
		s.head = append(s.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > tailMax {
		p = p[len(p)-tailMax:]
	}
	if room := tailMax - len(s.tail); room > 0 && len(p) > 0 {
		k := min(room, len(p))
		s.tail = append(s.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 && tailMax > 0 {
		k := copy(s.tail[s.next:], p)
		s.next = (s.next + k) % tailMax
		p = p[k:]
	}
	return n, nil
}

// Bytes returns what was kept. When bytes are missing a marker line stands in their place.
func (s *stream) Bytes() (b []byte, truncated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := append(append([]byte(nil), s.tail[s.next:]...), s.tail[:s.next]...)
	left := s.total - int64(len(s.head)) - int64(len(tail))
	if left == 0 {
		return append(append([]byte(nil), s.head...), tail...), false
	}
	var out bytes.Buffer
	out.Write(s.head)
	if len(s.head) > 0 && s.head[len(s.head)-1] != '\n' {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "[... %d bytes left out ...]\n", left)
	out.Write(tail)
	return out.Bytes(), true
}

// Lines returns the last n lines of what was kept, at most max bytes.
func (s *stream) Lines(n, max int) string {
	b, _ := s.Bytes()
	b = bytes.TrimRight(b, "\n")
	at := len(b)
	for range n {
		i := bytes.LastIndexByte(b[:at], '\n')
		if i < 0 {
			at = 0
			break
		}
		at = i
	}
	b = bytes.TrimLeft(b[at:], "\n")
	if len(b) > max {
		b = b[len(b)-max:]
	}
	return string(b)
}
