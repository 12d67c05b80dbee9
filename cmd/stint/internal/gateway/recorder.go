package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stint-bench/stint/logs"
)

// Reader is the name under which the log of a Recorder is read again.
const Reader = "stint-gateway"

// The bounds of a record: one event's fields stay inline up to inlineMax, go to a blob above and lose their
// middle over eventMax; a log over logMax loses its middle, as every raw agent log does.
const (
	inlineMax = 256 << 10
	eventMax  = 1 << 20
	logMax    = 64 << 20
)

// Recorder collects the events of one attempt as JSON Lines: what went to the model and came back, and what
// the loop around it saw. Keys are redacted. It is safe for concurrent use.
type Recorder struct {
	blobs *logs.Blobs
	now   func() time.Time
	max   int // bytes of the log

	mu      sync.Mutex
	seq     int
	head    bytes.Buffer
	tail    [][]byte // lines after the head is full
	tailLen int
	left    int // bytes of lines dropped between head and tail
	secrets []string
}

// NewRecorder makes an empty record. Large bodies go to blobs; with nil they are cut.
func NewRecorder(blobs *logs.Blobs) *Recorder {
	return &Recorder{blobs: blobs, now: time.Now, max: logMax}
}

// hide makes sure that this key never stands in the record.
func (r *Recorder) hide(secret string) {
	if r == nil || len(secret) < 4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}

// Event adds one line: {"seq", "time", "kind", …fields}. Fields is a struct or map that encodes as a JSON
// object; what cannot be encoded becomes the text of the error. A nil Recorder drops everything.
func (r *Recorder) Event(kind string, fields any) { r.record(kind, fields) }

// record adds a line and returns its number; -1 for a nil Recorder.
func (r *Recorder) record(kind string, fields any) (seq int) {
	if r == nil {
		return -1
	}
	body, err := json.Marshal(fields)
	if err != nil || len(body) < 2 || body[0] != '{' {
		body, _ = json.Marshal(map[string]string{"unencodable": fmt.Sprint(err)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var text string
	if len(body) > inlineMax {
		text = r.outline(body)
	} else {
		text = r.redact(string(body))
	}
	var line bytes.Buffer
	fmt.Fprintf(&line, `{"seq":%d,"time":%q,"kind":%q`, r.seq, r.now().UTC().Format("2006-01-02T15:04:05.000Z"), kind)
	seq = r.seq
	r.seq++
	if text != "{}" {
		line.WriteByte(',')
	}
	line.WriteString(text[1:])
	line.WriteByte('\n')
	r.add(line.Bytes())
	return seq
}

// hidden is a body for the agent, without the model's key.
func hidden(body []byte, key string) []byte {
	if key == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte(key), []byte("[redacted]"))
}

func (r *Recorder) redact(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	return logs.Redact(s)
}

// outline puts a large event aside and keeps where it is and how it begins. Over eventMax its middle is lost,
// and the rest is no JSON any more.
func (r *Recorder) outline(body []byte) string {
	out := struct {
		Blob    string `json:"blob,omitempty"`
		Bytes   int    `json:"bytes"`
		Left    int    `json:"bytes_left_out,omitempty"`
		Preview string `json:"preview"`
	}{Bytes: len(body)}
	if len(body) > eventMax {
		out.Left = len(body) - eventMax
		body = fmt.Appendf(bytes.Clone(body[:eventMax/2]), "\n[... %d bytes left out ...]\n%s", out.Left, body[len(body)-eventMax/2:])
	}
	text := r.redact(strings.ToValidUTF8(string(body), "\uFFFD"))
	out.Preview = strings.ToValidUTF8(text[:2048], "")
	if r.blobs != nil {
		if sha, err := r.blobs.Put([]byte(text)); err == nil { // a full disk shows when the log itself is stored
			out.Blob = sha
		}
	}
	return string(encode(out))
}

func (r *Recorder) add(line []byte) {
	if len(r.tail) == 0 && r.head.Len()+len(line) <= r.max/2 {
		r.head.Write(line)
		return
	}
	r.tail = append(r.tail, line)
	r.tailLen += len(line)
	for r.tailLen > r.max/2 {
		r.left += len(r.tail[0])
		r.tailLen -= len(r.tail[0])
		r.tail = r.tail[1:]
	}
}

// Bytes returns the lines so far. Where lines were dropped, a line of kind "left_out" says how many bytes.
func (r *Recorder) Bytes() []byte {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := bytes.Clone(r.head.Bytes())
	if r.left > 0 {
		out = fmt.Appendf(out, "{\"kind\":\"left_out\",\"bytes\":%d}\n", r.left)
	}
	for _, line := range r.tail {
		out = append(out, line...)
	}
	return out
}
