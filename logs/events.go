package logs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// What is read of a raw log: blobs and lines over these sizes are refused, and of a log with more
// lines the middle is left out.
const (
	maxLogBlob   = 64<<20 + 64<<10 // the recorder's own bound, and its line about what it dropped
	maxEventBlob = 8 << 20
	maxLogLine   = 4 << 20
	maxLogLines  = 50_000
)

// EventUnreadable is a place of a log that could not be read; its text says why.
const EventUnreadable = "unreadable"

// ChannelOther is the channel of records of a kind that this stint does not know: not trusted.
const ChannelOther = "other"

// eventBuilder collects the events of one attempt.
type eventBuilder struct {
	row      *AttemptRow
	dir      string // of the episode's blobs, relative to the run directory
	blobs    *Blobs // nil if there is no store
	events   []EventRow
	problems []Problem
	whole    bool // texts are not shortened

	// Of a log that is no attempt of stint's: limits are wider, and the events leave in portions.
	sink  *rowSink
	base  int    // events that have left
	start int    // number of the attempt's first event
	raw   []byte // the record that is being read
	usage string // in it, if its decoder has found that
	torn  bool   // its line has no end

	// Of the line that is being read.
	via string
	at  Place
	sha string

	time  *time.Time
	calls proxiedCalls // of an agent outside stint
}

// place says where the next events come from.
func (b *eventBuilder) place(file string, offset int64, raw []byte) {
	sum := sha256.Sum256(raw)
	b.at, b.sha = Place{File: file, Offset: offset, Length: int64(len(raw))}, hex.EncodeToString(sum[:])
}

func (b *eventBuilder) add(e EventRow) {
	if b.sink != nil {
		b.sink.begun()
	}
	e.Episode, e.Turn, e.Attempt, e.AttemptOffset = b.row.Episode, b.row.Turn, b.row.Attempt, b.row.Offset
	e.Seq, e.Via, e.Place, e.SHA256, e.Time = b.next()-b.start, b.via, b.at, b.sha, b.time
	e.Text = b.shorten(e.Kind, e.Text)
	for _, s := range []**string{&e.Tool, &e.CallID} {
		if *s != nil {
			short := clip(preview(**s), 200)
			*s = &short
		}
	}
	b.events = append(b.events, e)
	if b.sink != nil {
		b.sink.hold()
	}
}

// eventAt is an event by its number, to be changed; one that has left already takes no change.
func (b *eventBuilder) eventAt(seq int) *EventRow {
	if i := seq - b.base; i >= 0 && i < len(b.events) {
		return &b.events[i]
	}
	return &EventRow{}
}

// next is the number of the next event.
func (b *eventBuilder) next() int { return b.base + len(b.events) }

// unreadable notes what could not be read, as a problem and as an event.
func (b *eventBuilder) unreadable(line int, format string, args ...any) {
	p := Problem{File: b.at.File, Line: line, Offset: b.at.Offset, Text: fmt.Sprintf(format, args...)}
	if b.sink != nil {
		b.sink.bad(p)
		if b.sink.explicit && b.sink.episode == nil {
			return // it belongs to no episode
		}
	} else {
		b.problems = append(b.problems, p)
	}
	b.add(EventRow{Actor: "system", Channel: ChannelSystem, Kind: EventUnreadable, Text: p.Text})
}

// blobFile is the path of a blob, slash-separated from the run directory.
func (b *eventBuilder) blobFile(sha string) string {
	return path.Join(b.dir, sha[:2], sha[2:]+".zst")
}

// log reads the raw log of the agent.
func (b *eventBuilder) log(ref LogRef) {
	if ref.Reader == "" {
		return
	}
	var lineEvents func([]byte) error
	b.via = ViaReader
	read := programReaderOf(ref.Reader)
	switch {
	case ref.Reader == gatewayReader:
		b.via, lineEvents = ViaGateway, b.gatewayEvents
	case ref.Reader == simulatedReader:
		lineEvents = b.trajectoryEvents
	case read == nil:
		b.unreadable(0, "the agent's log needs the reader %q, which this stint does not have", clip(ref.Reader, 40))
		return
	}
	if ref.Blob == "" {
		return
	}
	if b.blobs == nil {
		b.unreadable(0, "the agent's log is missing: the episode has no blobs")
		return
	}
	content, err := b.blobs.getMax(ref.Blob, maxLogBlob)
	if err != nil {
		b.unreadable(0, "the agent's log: %v", err)
		return
	}
	b.time = nil
	file := b.blobFile(ref.Blob)
	if read != nil {
		b.program(read, file, content)
		return
	}
	count := bytes.Count(content, []byte{'\n'})
	var offset int64
	for line := 1; len(content) > 0; line++ {
		raw := content
		if end := bytes.IndexByte(content, '\n'); end >= 0 {
			raw = content[:end+1]
		}
		content = content[len(raw):]
		if count > maxLogLines && line > maxLogLines/2 && line <= count-maxLogLines/2 {
			if line == maxLogLines/2+1 {
				b.place(file, offset, nil)
				b.unreadable(line, "the log has %d lines; %d of them are not read", count, count-maxLogLines)
			}
			offset += int64(len(raw))
			continue
		}
		b.place(file, offset, raw)
		offset += int64(len(raw))
		switch {
		case len(bytes.TrimSpace(raw)) == 0:
		case len(raw) > maxLogLine:
			b.unreadable(line, "the line is longer than %d bytes", maxLogLine)
		default:
			if err := lineEvents(raw); err != nil {
				b.unreadable(line, "the line is no event: %s", clip(err.Error(), 200))
			}
		}
	}
}

// journalLine is a record with the hash of its bytes.
type journalLine struct {
	Record
	sha string
}

// attemptEvents turns the records of one attempt, and the agent's log they name, into events.
func attemptEvents(row *AttemptRow, blobs *Blobs, lines []journalLine) ([]EventRow, []Problem) {
	return newEventBuilder(row, blobs).ofAttempt(lines)
}

func newEventBuilder(row *AttemptRow, blobs *Blobs) *eventBuilder {
	return &eventBuilder{row: row, dir: path.Join(path.Dir(row.File), "blobs"), blobs: blobs}
}

func (b *eventBuilder) ofAttempt(lines []journalLine) ([]EventRow, []Problem) {
	for i, l := range lines {
		if l.Type != TypeAgentExit {
			continue
		}
		if v, err := Decode[AgentExit](l.Record); err == nil {
			b.journalLine(&lines[i])
			if v.Gateway != nil {
				b.log(*v.Gateway)
			}
			b.log(v.Log)
		}
	}
	for i := range lines {
		b.lifecycle(&lines[i])
	}
	return b.events, b.problems
}

func (b *eventBuilder) journalLine(l *journalLine) {
	b.via, b.time = ViaJournal, wallTime(l.TWall)
	b.at, b.sha = Place{File: b.row.File, Offset: l.Offset, Length: l.Length}, l.sha
}

// wallTime is nil for a text that is no time.
func wallTime(s string) *time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil
	}
	t = t.UTC()
	return &t
}

// AttemptEvents reads the events of one attempt, as they stand in the table of events. What cannot be
// read of its log is an event of kind [EventUnreadable]; the error is for a journal that cannot be
// read at the place of the row.
func AttemptEvents(d *RunDir, a *AttemptRow) ([]EventRow, error) {
	lines, err := attemptLines(d, a)
	if err != nil {
		return nil, fmt.Errorf("reading the events of %s@%d: %w", a.Episode, a.Turn, err)
	}
	events, _ := attemptEvents(a, existingBlobs(d, a.Episode), lines)
	return events, nil
}

// existingBlobs opens the store of an episode; nil if it has none. Nothing is created.
func existingBlobs(d *RunDir, episode string) *Blobs {
	return existingStore(filepath.Join(d.EpisodeDir(episode), "blobs"))
}

func existingStore(dir string) *Blobs {
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
		return nil
	}
	b, err := OpenBlobs(dir)
	if err != nil {
		return nil
	}
	return b
}

// attemptLines reads the records of one attempt from the offset of its first one on. The chain is
// followed from there.
func attemptLines(d *RunDir, a *AttemptRow) ([]journalLine, error) {
	if !isEpisodeID(a.Episode) || a.File != path.Join("episodes", a.Episode, JournalName) {
		return nil, fmt.Errorf("%q is not the journal of episode %q", clip(a.File, 80), clip(a.Episode, 40))
	}
	f, err := openRegular(filepath.Join(d.EpisodeDir(a.Episode), JournalName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(a.Offset, io.SeekStart); err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(f, 64<<10)
	var own attemptRecords
	offset, prev, seq := a.Offset, "", int64(-1)
	for {
		raw, err := readLine(br)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("journal at byte %d: %w", offset, err)
		}
		var rec Record
		if seq < 0 {
			at := len(raw) - chainTail
			if at < 0 {
				return nil, fmt.Errorf("byte %d of the journal is not the start of an attempt; the tables are older than it", offset)
			}
			if rec, err = parseEnvelope(raw, at); err != nil || rec.Type != TypeAttemptStart {
				return nil, fmt.Errorf("byte %d of the journal is not the start of an attempt; the tables are older than it", offset)
			}
			seq = rec.Seq
		} else {
			var reason string
			if rec, reason = parseLine(raw, prev, seq); reason != "" {
				return own.lines, nil // the end, or a tail that reading the run has already complained about
			}
		}
		rec.Offset, rec.Length = offset, int64(len(raw))
		offset, prev, seq = offset+rec.Length, rec.Chain, seq+1
		if rec.Type == TypeAttemptStart && rec.Offset > a.Offset || rec.Type == TypeTurnEnd || rec.Type == TypeTurnStart || rec.Type == TypeEpisodeEnd {
			return own.lines, nil
		}
		own.keep(rec, raw)
	}
}

// attemptRecords are the records of an attempt that become events.
type attemptRecords struct{ lines []journalLine }

// keep looks at a record and the bytes of its line. A grading that starts again makes the one before it
// void.
func (a *attemptRecords) keep(r Record, line []byte) {
	switch r.Type {
	case TypeAgentExit, TypeBuild, TypeServerReady, TypeServerExit, TypeSuiteEnd, TypeGradeEnd, TypeVoid:
		sum := sha256.Sum256(line)
		r.Data = bytes.Clone(r.Data) // the line is valid only now
		a.lines = append(a.lines, journalLine{Record: r, sha: hex.EncodeToString(sum[:])})
	case TypeSnapshot, TypeResume:
		n := 0
		for n < len(a.lines) && a.lines[n].Type == TypeAgentExit {
			n++
		}
		a.lines = a.lines[:n]
	}
}

// logDecoder refuses to unpack more than the largest log, whatever a blob claims to hold.
var logDecoder = sync.OnceValue(func() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxLogBlob), zstd.WithDecoderConcurrency(2))
	if err != nil {
		panic("logs: zstd decoder options: " + err.Error())
	}
	return dec
})

// getMax is Get for a blob of at most so many bytes, which is no more than maxLogBlob.
func (b *Blobs) getMax(sha string, most int64) ([]byte, error) {
	if !isSHA(sha) {
		return nil, &BlobError{SHA: sha, Path: b.dir, Text: "no SHA-256 in hex"}
	}
	path := b.path(sha)
	fail := func(text string, err error) ([]byte, error) {
		return nil, &BlobError{SHA: sha, Path: path, Text: text, Err: err}
	}
	f, err := openRegular(path)
	if os.IsNotExist(err) {
		return fail("is not in the store", err)
	}
	if err != nil {
		return fail("cannot be opened", err)
	}
	defer f.Close()
	var packed bytes.Buffer
	if st, err := f.Stat(); err == nil && st.Size() <= most {
		packed.Grow(int(st.Size()) + bytes.MinRead)
	}
	if _, err := packed.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return fail("cannot be read: "+err.Error(), err)
	}
	p, err := logDecoder().DecodeAll(packed.Bytes(), nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded), int64(packed.Len()) > most, int64(len(p)) > most:
		return fail(fmt.Sprintf("is over %d bytes, the limit for logs", most), err)
	case err != nil:
		return fail("cannot be unpacked: "+err.Error(), err)
	}
	if sum := sha256.Sum256(p); hex.EncodeToString(sum[:]) != sha {
		return fail("its content does not have the hash of its name", nil)
	}
	return p, nil
}
