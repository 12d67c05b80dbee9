package logs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// lineReader reads lines of any length within bounded memory.
type lineReader struct {
	r   *bufio.Reader
	max int // of a line that is kept

	offset int64 // of the next line
	line   rawLine
	long   []byte
	err    error
}

// rawLine is a line with its place. Of one that is longer than the reader keeps, data is its beginning.
type rawLine struct {
	data   []byte // valid until the next line, newline included
	offset int64
	length int64
	sha    string
	torn   bool // it has no newline: the file ends within it, or is just written so
}

// cut says whether the line was too long to be kept.
func (l *rawLine) cut() bool { return int64(len(l.data)) < l.length }

// keptOfCut is how much of a line that is too long stays.
const keptOfCut = 4 << 10

// next reads a line; false at the end, or when the file cannot be read any more.
func (l *lineReader) next() bool {
	l.long = l.long[:0]
	l.line = rawLine{offset: l.offset}
	sum := sha256.New()
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		l.line.length += int64(len(part))
		sum.Write(part)
		switch whole := err != bufio.ErrBufferFull; {
		case whole && len(l.long) == 0 && len(part) <= l.max:
			l.line.data = part
		case l.line.length <= int64(l.max):
			l.long = append(l.long, part...)
		case len(l.long) > keptOfCut:
			l.long = l.long[:keptOfCut:keptOfCut]
		case len(l.long) == 0:
			l.long = append(l.long, part[:min(len(part), keptOfCut)]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			l.err = err
		}
		if l.line.data == nil {
			l.line.data = l.long
		}
		l.line.torn = err != nil
		l.line.sha = hex.EncodeToString(sum.Sum(nil))
		return l.line.length > 0
	}
}

// inputLines hands the lines of a file on, with the place set. Lines that are too long come cut.
func (b *eventBuilder) inputLines(f *inputFile, yield func(int, []byte) bool) bool {
	b.place(f.path, 0, nil)
	u, err := f.open()
	if err != nil {
		b.unreadable(0, "it cannot be read: %s", plainError(err))
		return true
	}
	defer u.Close()
	l := lineReader{r: u.Reader, max: b.maxLine()}
	n := 0
	for l.next() {
		n++
		b.at, b.sha, b.torn = Place{File: f.path, Offset: l.line.offset, Length: l.line.length}, l.line.sha, l.line.torn
		data := l.line.data
		if l.line.offset == 0 {
			data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		}
		if b.stopped() || !yield(n, data) {
			return false
		}
	}
	b.torn = false
	if l.err != nil {
		b.at, b.sha = Place{File: f.path, Offset: l.offset}, ""
		b.unreadable(n+1, "reading stopped here: %s", plainError(l.err))
	}
	return true
}
