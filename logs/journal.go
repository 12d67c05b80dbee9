package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// JournalName is the name of the journal in the folder of its episode; TornName is where the bytes
// of a torn tail are kept.
const (
	JournalName = "journal.jsonl"
	TornName    = "journal.torn"
)

// MaxLine is the length in bytes a journal line may have, newline included. Append refuses a longer
// one before anything is written, and a reader stops at it.
const MaxLine = 64 << 20

// wallLayout is RFC 3339 in UTC with milliseconds.
const wallLayout = "2006-01-02T15:04:05.000Z07:00"

// JournalOptions injects what a journal needs from outside. The zero value is the default.
type JournalOptions struct {
	Now  func() time.Time     // nil = time.Now
	Sync func(*os.File) error // nil = (*os.File).Sync
	// AfterAppend runs after a record has reached the file (and the disk, if it was to be synced).
	// It is a test hook and may kill the process.
	AfterAppend func(seq int64)
}

// Journal appends records to the journal of one episode. It is not safe for concurrent use.
type Journal struct {
	file    *os.File
	path    string
	episode string
	opt     JournalOptions
	opened  time.Time
	seq     int64
	size    int64
	chain   string
	limit   int   // of a line; MaxLine but for tests
	broken  error // set when the file's state is unknown; every later Append returns it
}

// OpenJournal opens the journal of an episode in folder dir, or creates both. A torn tail, what a
// crash in the middle of a write leaves, is cut off and kept in journal.torn beside it. The valid
// records are returned. A journal that is damaged before its tail is left alone: the error is a
// *[CorruptError].
func OpenJournal(dir, episode string, opt JournalOptions) (*Journal, []Record, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Sync == nil {
		opt.Sync = (*os.File).Sync
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("creating the folder of episode %s: %w", episode, err)
	}
	path := filepath.Join(dir, JournalName)
	file, created, err := openForAppend(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening journal %s: %w", path, err)
	}
	j := &Journal{file: file, path: path, episode: episode, opt: opt, opened: opt.Now(), chain: episode, limit: MaxLine}
	records, err := j.recover(dir)
	if err == nil && created {
		err = syncDir(dir, opt.Sync)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return j, records, nil
}

// openForAppend opens path without following a symlink in its place.
func openForAppend(path string) (f *os.File, created bool, err error) {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, false, errors.New("not a regular file")
	} else if err != nil {
		created = true
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	return f, created, err
}

// recover reads what is there, cuts a torn tail and puts the journal behind the last valid record.
func (j *Journal) recover(dir string) ([]Record, error) {
	var records []Record
	end, torn, err := scanJournal(j.file, j.path, func(r Record, _ []byte) error {
		r.Data = bytes.Clone(r.Data)
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(records) > 0 {
		last := records[len(records)-1]
		if records[0].Episode != j.episode {
			return nil, &CorruptError{File: j.path, Line: 1, Offset: 0, Valid: 0,
				Text: fmt.Sprintf("it belongs to episode %s, not to %s", records[0].Episode, j.episode)}
		}
		j.seq, j.chain = last.Seq+1, last.Chain
	}
	if torn != nil {
		if err := j.cut(dir, end, torn); err != nil {
			return nil, fmt.Errorf("repairing journal %s: %w", j.path, err)
		}
	}
	j.size = end
	if _, err := j.file.Seek(end, 0); err != nil {
		return nil, fmt.Errorf("opening journal %s: %w", j.path, err)
	}
	return records, nil
}

// cut moves the bytes from offset end on to journal.torn and shortens the journal. The copy is on
// disk before the journal is shortened, so no crash can lose the bytes.
func (j *Journal) cut(dir string, end int64, torn *TornTail) error {
	keep, err := os.OpenFile(filepath.Join(dir, TornName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer keep.Close()
	if _, err := io.Copy(keep, io.NewSectionReader(j.file, end, torn.Bytes)); err != nil {
		return err
	}
	if err := j.opt.Sync(keep); err != nil {
		return err
	}
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	return j.opt.Sync(j.file)
}

// Path returns the journal's file name.
func (j *Journal) Path() string { return j.path }

// Append writes one record of type typ; turn and attempt may be nil, data is encoded as JSON. The
// line has left the process when Append returns; with sync it is on disk. After an error nothing of
// the record counts: the file is cut back, or if that is impossible too, the journal refuses every
// further record and the next OpenJournal repairs it.
func (j *Journal) Append(typ string, turn, attempt *int, data any, sync bool) error {
	if j.broken != nil {
		return j.broken
	}
	now := j.opt.Now()
	line, chain, err := j.encode(typ, turn, attempt, data, now)
	if err != nil {
		return fmt.Errorf("recording %s in %s: %w", typ, j.path, err)
	}
	if _, err := j.file.Write(line); err != nil {
		if back := j.rewind(); back != nil {
			j.broken = fmt.Errorf("journal %s is closed after a failed write: %w", j.path, err)
		}
		return fmt.Errorf("recording %s in %s: %w", typ, j.path, err)
	}
	if sync {
		// After a failed fsync the kernel may have dropped the pages, so nobody can say what is on disk.
		if err := j.opt.Sync(j.file); err != nil {
			j.broken = fmt.Errorf("journal %s is closed after a failed fsync: %w", j.path, err)
			return fmt.Errorf("syncing %s to %s: %w", typ, j.path, err)
		}
	}
	seq := j.seq
	j.seq, j.size, j.chain = j.seq+1, j.size+int64(len(line)), chain
	if j.opt.AfterAppend != nil {
		j.opt.AfterAppend(seq)
	}
	return nil
}

func (j *Journal) rewind() error {
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.file.Seek(j.size, 0)
	return err
}

// encode renders a line by hand, since the chain covers its exact bytes.
func (j *Journal) encode(typ string, turn, attempt *int, data any, now time.Time) (line []byte, chain string, err error) {
	body, err := marshal(data)
	if err != nil {
		return nil, "", err
	}
	name, err := marshal(typ)
	if err != nil {
		return nil, "", err
	}
	episode, err := marshal(j.episode)
	if err != nil {
		return nil, "", err
	}
	b := make([]byte, 0, len(body)+320)
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, RecordVersion, 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, j.seq, 10)
	b = append(b, `,"t_wall":"`...)
	b = now.UTC().AppendFormat(b, wallLayout)
	b = append(b, `","t_mono":`...)
	b = strconv.AppendFloat(b, math.Max(0, math.Round(now.Sub(j.opened).Seconds()*1e6)/1e6), 'f', -1, 64)
	b = append(b, `,"episode":`...)
	b = append(b, episode...)
	b = appendNumber(append(b, `,"turn":`...), turn)
	b = appendNumber(append(b, `,"attempt":`...), attempt)
	b = append(b, `,"type":`...)
	b = append(b, name...)
	b = append(b, `,"data":`...)
	b = append(b, body...)
	if len(b)+chainTail > j.limit {
		return nil, "", fmt.Errorf("record of %d bytes is over the limit of %d", len(b)+chainTail, j.limit)
	}
	chain = chainOf(j.chain, b)
	b = append(b, chainKey...)
	b = append(b, chain...)
	return append(b, '"', '}', '\n'), chain, nil
}

func appendNumber(b []byte, n *int) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*n), 10)
}

// marshal encodes without HTML escapes: journals are read by people too.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// Close syncs and closes the journal.
func (j *Journal) Close() error {
	err := j.opt.Sync(j.file)
	return errors.Join(err, j.file.Close())
}

func syncDir(dir string, sync func(*os.File) error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return sync(f)
}
