package classify

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/stint-bench/stint/logs"
)

// The states that a line of the ledger can tell.
const (
	entryProfile = "profile" // how an endpoint wants to be asked
	entryCall    = "call"    // a request is about to be sent; what it can take is reserved
	entryAnswer  = "answer"  // a reply is here and kept
	entryLost    = "lost"    // no reply came
	entryDone    = "done"    // an attempt is finished with, and its row written
)

// entry is one line of the ledger: one change of state.
type entry struct {
	Type      string   `json:"type"`
	Annotator string   `json:"annotator,omitempty"`
	Item      string   `json:"item,omitempty"`   // EPISODE@TURN.ATTEMPT
	Inputs    string   `json:"inputs,omitempty"` // hash of what the judge is asked about
	Step      string   `json:"step,omitempty"`
	Key       string   `json:"key,omitempty"` // of the request
	Try       int      `json:"n,omitempty"`   // calls are numbered; of an attempt that is done, how often it was asked again
	Packet    int      `json:"packet_tokens,omitempty"`
	Tokens    int64    `json:"tokens,omitempty"` // reserved, or taken
	USD       *float64 `json:"usd,omitempty"`    // null = unknown
	Bytes     int      `json:"bytes,omitempty"`  // of the request
	Input     int64    `json:"input_tokens,omitempty"`
	Reply     string   `json:"reply,omitempty"` // hash of the kept reply
	Class     string   `json:"class,omitempty"`
	Message   string   `json:"message,omitempty"`
	Outcome   string   `json:"outcome,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Endpoint  string   `json:"endpoint,omitempty"`
	Profile   *profile `json:"profile,omitempty"`
}

// ledger is what was asked of a judge and paid for, kept beside the verdicts. Every line is on the disk before what it
// announces happens, so that nothing is paid for twice and no ceiling is passed, however a pass ends.
type ledger struct {
	dir     string
	file    *os.File
	lock    *os.File
	onWrite func() // told after every line; for tests

	mu      sync.Mutex
	answers map[string]entry // annotator, item, inputs, step → the answer
	packets map[string]int   // annotator, item, inputs → budget of the packet
	done    map[string]entry // annotator, item → how it ended
	profile map[string]profile
	open    map[string]entry // key, try → calls that nothing came of
	spent   spending
	ratio   float64 // tokens per byte, the most that was seen
}

// spending is what calls took.
type spending struct {
	Calls  int64
	Tokens int64
	USD    float64
}

// maxLedgerLine bounds a line.
const maxLedgerLine = 1 << 20

// openLedger opens the ledger of a run directory, or begins it. It belongs to one process at a time.
func openLedger(dir string, onWrite func()) (*ledger, error) {
	if err := os.MkdirAll(filepath.Join(dir, "replies"), 0o755); err != nil {
		return nil, fmt.Errorf("making the judge's folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the judge's folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &JudgeError{Text: fmt.Sprintf("%s is in use by another judge", dir), Way: "wait until it ends, or interrupt it: it can be resumed", Code: 2}
		}
		return nil, fmt.Errorf("locking the judge's folder: %w", err)
	}
	l := &ledger{dir: dir, lock: lock, onWrite: onWrite, answers: map[string]entry{}, packets: map[string]int{}, done: map[string]entry{}, profile: map[string]profile{}, open: map[string]entry{}}
	if l.file, err = openAppend(filepath.Join(dir, "ledger.jsonl"), l.read); err != nil {
		lock.Close()
		return nil, err
	}
	for _, c := range l.open { // sent before a pass was killed: nobody knows what they took
		l.spent.add(c.Tokens, c.USD)
	}
	return l, nil
}

func (s *spending) add(tokens int64, usd *float64) {
	s.Tokens += tokens
	if usd != nil {
		s.USD += *usd
	}
}

// openAppend opens a file of lines to append to. Its lines go through read first; a torn last line is cut off.
func openAppend(path string, read func(line []byte) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	fail := func(err error) (*os.File, error) {
		f.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	br := bufio.NewReaderSize(f, 64<<10)
	var whole int64
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if err == io.EOF {
			break // what is left has no end: it was being written when stint was killed
		}
		if err != nil {
			return fail(err)
		}
		whole += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := read(line); err != nil {
			return fail(fmt.Errorf("line %d: %w", n, err))
		}
	}
	if err := f.Truncate(whole); err != nil {
		return fail(err)
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return fail(err)
	}
	return f, nil
}

func (l *ledger) read(line []byte) error {
	var e entry
	if len(line) > maxLedgerLine {
		return errors.New("the line is too long")
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("the line is no entry of a ledger: %w", err)
	}
	l.take(e)
	return nil
}

func (e *entry) itemKey() string { return e.Annotator + "\x00" + e.Item }

func (e *entry) stepKey() string {
	return e.Annotator + "\x00" + e.Item + "\x00" + e.Inputs + "\x00" + e.Step
}

func (e *entry) tryKey() string { return fmt.Sprintf("%s\x00%d", e.Key, e.Try) }

// take brings the state up to date with a line.
func (l *ledger) take(e entry) {
	switch e.Type {
	case entryProfile:
		if e.Profile != nil {
			l.profile[e.Annotator+"\x00"+e.Endpoint] = *e.Profile
		}
	case entryCall:
		l.open[e.tryKey()] = e
		l.spent.Calls++
		if k := e.itemKey() + "\x00" + e.Inputs; l.packets[k] == 0 {
			l.packets[k] = e.Packet
		}
	case entryAnswer:
		delete(l.open, e.tryKey())
		l.answers[e.stepKey()] = e
		l.spent.add(e.Tokens, e.USD)
		if e.Bytes > 0 && e.Input > 0 {
			l.ratio = max(l.ratio, float64(e.Input)/float64(e.Bytes))
		}
	case entryLost:
		delete(l.open, e.tryKey())
		l.spent.add(e.Tokens, e.USD)
	case entryDone:
		l.done[e.itemKey()] = e
	}
}

// write appends a line and waits until it is on the disk.
func (l *ledger) write(e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(e)
}

// append is write for a caller that holds the lock.
func (l *ledger) append(e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding an entry of the ledger: %w", err)
	}
	if _, err := l.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	l.take(e)
	if l.onWrite != nil {
		l.onWrite()
	}
	return nil
}

func (l *ledger) close() error {
	return errors.Join(l.file.Close(), l.lock.Close())
}

func (l *ledger) replyPath(key string) string {
	return filepath.Join(l.dir, "replies", key[:2], key+".json")
}

// keep stores a reply under the key of its request and returns the hash of its bytes. It appears whole or not at all.
func (l *ledger) keep(key string, r *reply) (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding a reply: %w", err)
	}
	path := l.replyPath(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("keeping a reply: %w", err)
	}
	sum := sha256.Sum256(b)
	sha := hex.EncodeToString(sum[:])
	f, err := os.CreateTemp(filepath.Dir(path), ".reply-*")
	if err != nil {
		return "", fmt.Errorf("keeping a reply: %w", err)
	}
	_, err = f.Write(append([]byte(sha+"\n"), b...))
	if err = errors.Join(err, f.Sync(), f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("keeping a reply: %w", err)
	}
	return sha, nil
}

// kept returns the reply to a request, if it is there and has the hash it was kept with; want is the ledger's, or "".
func (l *ledger) kept(key, want string) *reply {
	if len(key) != 64 {
		return nil
	}
	path := l.replyPath(key)
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() || st.Size() > 80<<20 {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	sha, body, found := bytes.Cut(b, []byte("\n"))
	sum := sha256.Sum256(body)
	if !found || hex.EncodeToString(sum[:]) != string(sha) || want != "" && want != string(sha) {
		return nil // a miss, as if it were not there
	}
	var r reply
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	return &r
}

// answered returns the answer to a step of an attempt if it was paid for before.
func (l *ledger) answered(e entry) (*reply, bool) {
	l.mu.Lock()
	a, ok := l.answers[e.stepKey()]
	l.mu.Unlock()
	if !ok {
		return nil, false
	}
	r := l.kept(a.Key, a.Reply)
	return r, r != nil
}

// verdictFile appends rows to judge.jsonl.
type verdictFile struct {
	mu   sync.Mutex
	file *os.File
	rows map[string]string // annotator, item → the newest line
}

func openVerdicts(d *logs.RunDir) (*verdictFile, error) {
	v := &verdictFile{rows: map[string]string{}}
	var err error
	v.file, err = openAppend(filepath.Join(d.VerdictsDir(), "judge.jsonl"), func(line []byte) error {
		var row logs.VerdictRow
		if json.Unmarshal(line, &row) == nil { // others are reported where the tables are made
			v.rows[row.Annotator+"\x00"+itemName(row.Key())] = string(bytes.TrimSpace(line))
		}
		return nil
	})
	return v, err
}

// put appends a row, unless the newest of its annotator and attempt says the same.
func (v *verdictFile) put(row *logs.VerdictRow) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(row); err != nil {
		return fmt.Errorf("encoding a verdict: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	k, line := row.Annotator+"\x00"+itemName(row.Key()), string(bytes.TrimSpace(buf.Bytes()))
	if v.rows[k] == line {
		return nil
	}
	if _, err := v.file.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("writing a verdict: %w", err)
	}
	if err := v.file.Sync(); err != nil {
		return fmt.Errorf("writing a verdict: %w", err)
	}
	v.rows[k] = line
	return nil
}

// has returns the newest line of an annotator about an attempt.
func (v *verdictFile) has(annotator, item string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	line, ok := v.rows[annotator+"\x00"+item]
	return line, ok
}

func itemName(k logs.VerdictKey) string { return fmt.Sprintf("%s@%d.%d", k.Episode, k.Turn, k.Attempt) }
