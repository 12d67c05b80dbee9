package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event of a stream.
const maxEvent = 16 << 20

// errLongEvent says that an event of a stream is longer than maxEvent.
var errLongEvent = fmt.Errorf("an event of the stream is longer than %d bytes", maxEvent)

// sseEvent is one event of a stream of server-sent events.
type sseEvent struct {
	name string // of an "event:" line
	data []byte // of the "data:" lines; nil for a comment
	raw  []byte // as it came, with the empty line that ends it
}

// sseReader cuts a stream into events.
type sseReader struct {
	r    *bufio.Reader
	read int // bytes so far
}

func newSSEReader(r io.Reader) *sseReader { return &sseReader{r: bufio.NewReaderSize(r, 32<<10)} }

// next returns the next event, comments included. At the end of the stream it is io.EOF; a last event without
// its empty line is an event all the same.
func (s *sseReader) next() (sseEvent, error) {
	var e sseEvent
	for {
		line, err := s.r.ReadSlice('\n')
		s.read += len(line)
		e.raw = append(e.raw, line...)
		start := len(e.raw) - len(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(e.raw) <= maxEvent {
			line, err = s.r.ReadSlice('\n')
			s.read += len(line)
			e.raw = append(e.raw, line...)
		}
		if len(e.raw) > maxEvent {
			return e, errLongEvent
		}
		text := bytes.TrimRight(e.raw[start:], "\r\n")
		if len(text) > 0 {
			e.field(text)
		}
		switch {
		case err != nil && len(bytes.TrimSpace(e.raw)) == 0:
			return e, err
		case err != nil && !errors.Is(err, io.EOF):
			return e, err
		case err != nil:
			e.raw = append(e.raw, '\n', '\n')
			return e, nil
		case len(text) == 0 && len(e.raw) > 2:
			return e, nil
		case len(text) == 0:
			e.raw = e.raw[:0] // an empty line before the event
		}
	}
}

func (e *sseEvent) field(line []byte) {
	key, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(key) {
	case "event":
		e.name = string(value)
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		if e.data == nil {
			e.data = []byte{}
		}
	}
}

// sseBytes writes an event again whose data was changed.
func sseBytes(name string, data []byte) []byte {
	var out []byte
	if name != "" {
		out = fmt.Appendf(out, "event: %s\n", name)
	}
	return fmt.Appendf(out, "data: %s\n\n", data)
}
