package logs

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
	"unicode/utf8"
)

// A line ends in ,"chain":"64 hex digits"} and a newline.
const (
	chainKey  = `,"chain":"`
	chainTail = len(chainKey) + 2*sha256.Size + len("\"}\n")
)

// chainOf is the SHA-256 over the previous line's chain (the episode id for the first line) and the
// bytes of this line before the comma that introduces the chain key.
func chainOf(prev string, line []byte) string {
	h := sha256.New()
	io.WriteString(h, prev)
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil))
}

// TornTail says what stands behind the last valid record of a journal: the rest of a write that a
// crash cut short. Nothing in it was acknowledged.
type TornTail struct {
	Line   int   // line number of its first byte, from 1
	Offset int64 // where it begins
	Bytes  int64
	Reason string
}

// CorruptError is a journal that is damaged before its tail: a line was changed, lost or reordered
// after it had been written. Line and Offset name the first bad line, Valid the number of good
// records before it.
type CorruptError struct {
	File   string
	Line   int
	Offset int64
	Valid  int
	Text   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("journal %s is damaged at line %d, byte %d: %s", e.File, e.Line, e.Offset, e.Text)
}

// Hint tells the way out.
func (e *CorruptError) Hint() string {
	if e.Valid == 0 {
		return "restore the file from a copy, or move the episode's folder away and run again: the episode then starts from its beginning"
	}
	return fmt.Sprintf("restore the file from a copy; or keep the %d records before the damage (cp %s %s.damaged; truncate -s %d %s) and run again: the episode goes on from there",
		e.Valid, e.File, e.File, e.Offset, e.File)
}

// ReadJournal reads a journal without changing it and verifies the chain. A torn tail is described,
// not repaired. A journal damaged before its tail gives the records before the damage and a
// *[CorruptError].
func ReadJournal(path string) (records []Record, torn *TornTail, err error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading journal: %w", err)
	}
	defer f.Close()
	_, torn, err = scanJournal(f, path, func(r Record, _ []byte) error {
		r.Data = bytes.Clone(r.Data)
		records = append(records, r)
		return nil
	})
	return records, torn, err
}

// JournalLength is the length in bytes of the records of a journal that hold together: a torn tail is left out. A journal
// that is not there has none.
func JournalLength(path string) (int64, error) {
	f, err := openRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading journal: %w", err)
	}
	defer f.Close()
	end, _, err := scanJournal(f, path, func(Record, []byte) error { return nil })
	return end, err
}

// openRegular opens a file for reading if it is a regular one and no symlink.
func openRegular(path string) (*os.File, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// Decode reads the data of a record into a T. Keys it does not know are ignored, so that a newer
// journal can be read.
func Decode[T any](r Record) (T, error) {
	var v T
	if err := json.Unmarshal(r.Data, &v); err != nil {
		return v, fmt.Errorf("decoding record %d (%s) at byte %d: %w", r.Seq, r.Type, r.Offset, err)
	}
	return v, nil
}

// scanJournal calls fn for every valid record in order, with the bytes of its line, which like the
// record's Data are valid only until fn returns; it returns the offset behind the last one.
// What follows it is a torn tail or, if it cannot be one, a *CorruptError.
func scanJournal(r io.Reader, name string, fn func(r Record, line []byte) error) (end int64, torn *TornTail, err error) {
	br := bufio.NewReaderSize(r, 256<<10)
	prev, seq, line := "", int64(0), 0
	for {
		raw, readErr := nextLine(br)
		if len(raw) == 0 && readErr == io.EOF {
			return end, nil, nil
		}
		if readErr != nil && readErr != io.EOF && !errors.Is(readErr, bufio.ErrTooLong) {
			return end, nil, fmt.Errorf("reading journal %s at byte %d: %w", name, end, readErr)
		}
		line++
		rec, reason := parseLine(raw, prev, seq)
		if reason != "" {
			bad := TornTail{Line: line, Offset: end, Bytes: int64(len(raw)), Reason: reason}
			return afterBadLine(br, name, raw, bad, int(seq))
		}
		rec.Offset, rec.Length = end, int64(len(raw))
		if err := fn(rec, raw); err != nil {
			return end, nil, err
		}
		end += int64(len(raw))
		prev, seq = rec.Chain, seq+1
	}
}

// readLine returns the next line with its newline, or bufio.ErrTooLong with the first MaxLine bytes.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := nextLine(br)
	return bytes.Clone(line), err
}

// nextLine is readLine for a line that is used no longer than until the next one is read.
func nextLine(br *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if err == nil && long == nil {
			return part, nil
		}
		long = append(long, part...)
		if len(long) > MaxLine {
			return long, bufio.ErrTooLong
		}
		if err != bufio.ErrBufferFull {
			return long, err
		}
	}
}

// parseLine checks one line against the chain so far. The reason is empty if it is good.
func parseLine(raw []byte, prev string, seq int64) (rec Record, reason string) {
	if len(raw) == 0 || raw[len(raw)-1] != '\n' {
		return rec, "the line has no end"
	}
	at := len(raw) - chainTail
	if at < 0 || !bytes.HasPrefix(raw[at:], []byte(chainKey)) || !bytes.HasSuffix(raw, []byte("\"}\n")) {
		return rec, "the line does not end with its chain"
	}
	if !utf8.Valid(raw) {
		return rec, "the line is not UTF-8"
	}
	rec, err := parseEnvelope(raw, at)
	if err != nil {
		return Record{}, "the line is not a record: " + err.Error()
	}
	if seq == 0 {
		prev = rec.Episode
	}
	switch {
	case chainOf(prev, raw[:at]) != rec.Chain:
		return Record{}, "the line's chain does not fit: it was changed, or a line before it is missing"
	case rec.V != RecordVersion:
		return Record{}, fmt.Sprintf("the record has version %d; this stint reads %d", rec.V, RecordVersion)
	case rec.Seq != seq:
		return Record{}, fmt.Sprintf("the record has number %d, expected %d", rec.Seq, seq)
	}
	return rec, ""
}

// syncedTypes are written with fsync, so when one of them is in a file everything before it had
// been on disk: a bad line before it is damage, not a crash.
var syncedTypes = map[string]bool{
	TypeEpisodeStart: true, TypeAttemptStart: true, TypeAgentExit: true, TypeSnapshot: true,
	TypeGradeEnd: true, TypeTurnEnd: true, TypeEpisodeEnd: true,
}

// afterBadLine tells a torn tail from damage. It is damage if a later line is a record that was
// synced, or if the bad line itself is a whole record and more lines follow: crashes cut lines or
// leave holes, they do not write other records.
func afterBadLine(br *bufio.Reader, name string, raw []byte, bad TornTail, valid int) (int64, *TornTail, error) {
	damage := func() (int64, *TornTail, error) {
		return bad.Offset, nil, &CorruptError{File: name, Line: bad.Line, Offset: bad.Offset, Valid: valid, Text: bad.Reason}
	}
	var head struct {
		V    int    `json:"v"`
		Type string `json:"type"`
	}
	isRecord := func(line []byte) bool {
		head.V, head.Type = 0, ""
		return len(line) > 0 && line[len(line)-1] == '\n' && json.Unmarshal(line, &head) == nil && head.Type != ""
	}
	whole := isRecord(raw)
	if whole && head.V > RecordVersion {
		return damage()
	}
	for {
		next, err := readLine(br)
		if len(next) > 0 {
			bad.Bytes += int64(len(next))
			if whole || isRecord(next) && syncedTypes[head.Type] {
				return damage()
			}
		}
		switch {
		case err == io.EOF:
			return bad.Offset, &bad, nil
		case errors.Is(err, bufio.ErrTooLong):
			// A gap longer than any line: go on behind it, its length counts.
		case err != nil:
			return bad.Offset, nil, fmt.Errorf("reading journal %s: %w", name, err)
		}
	}
}
