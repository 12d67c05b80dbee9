package logs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"runtime"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// blockBytes is how much is read at a time and decoded by one core.
const blockBytes = 1 << 20

// lineDecoder makes something of a line that is a JSON object. It keeps nothing of raw.
type lineDecoder func(raw []byte, isUTF8 bool) (any, error)

// newDecoder makes a decoder for the lines of a block. Several are at work at once, each on one core.
type newDecoder func() lineDecoder

// decodedLine is a line with what a decoder made of it.
type decodedLine struct {
	rawLine
	blank   bool // nothing but space
	object  bool // it begins as a JSON object
	utf8    bool
	twice   bool // an object of it has a key twice
	decoded any
	err     error
}

// lineBlock is a portion of a file: whole lines, or one that is longer than lines may be.
type lineBlock struct {
	data   []byte
	offset int64
	cut    *rawLine
	lines  []decodedLine
	done   chan struct{}
}

// decodeLines reads lines on one core, decodes them on all and hands them on in their order. It ends when yield says so.
// A line that is longer than most is cut and not decoded.
func decodeLines(r io.Reader, most int, decode newDecoder, yield func(*decodedLine) bool) (offset int64, err error) {
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan *lineBlock, workers), make(chan *lineBlock, workers+1)
	free, stop := make(chan []byte, 2*workers+4), make(chan struct{})
	s := &blockSplitter{r: r, most: most, free: free}
	var all sync.WaitGroup
	all.Go(func() {
		defer close(todo)
		defer close(order)
		for {
			b := s.next()
			if b == nil {
				return
			}
			for _, to := range []chan *lineBlock{todo, order} {
				select {
				case to <- b:
				case <-stop:
					return
				}
			}
		}
	})
	for range workers {
		all.Go(func() {
			for b := range todo {
				b.decode(most, decode)
				close(b.done)
			}
		})
	}
	defer all.Wait()
	defer close(stop)
	for b := range order {
		<-b.done
		for i := range b.lines {
			if !yield(&b.lines[i]) {
				return b.lines[i].offset, nil
			}
		}
		if cap(b.data) <= 2*blockBytes {
			select {
			case free <- b.data[:0]:
			default:
			}
		}
	}
	return s.offset, s.err
}

// decode fills the lines of a block.
func (b *lineBlock) decode(most int, newDecoder newDecoder) {
	if b.cut != nil {
		b.lines = []decodedLine{{rawLine: *b.cut, object: true, utf8: utf8.Valid(b.cut.data)}}
		return
	}
	count := 1 + bytes.Count(b.data, []byte("\n"))
	b.lines = make([]decodedLine, 0, count)
	sums := make([]byte, 0, count*hex.EncodedLen(sha256.Size))
	decode := newDecoder.make()
	rest, offset := b.data, b.offset
	for len(rest) > 0 {
		n := bytes.IndexByte(rest, '\n') + 1
		torn := n == 0
		if torn {
			n = len(rest)
		}
		sum, from := sha256.Sum256(rest[:n]), len(sums)
		sums = hex.AppendEncode(sums, sum[:])
		l := decodedLine{rawLine: rawLine{data: rest[:n:n], offset: offset, length: int64(n), sha: unsafe.String(&sums[from], len(sums)-from), torn: torn}}
		if offset == 0 {
			l.data = bytes.TrimPrefix(l.data, []byte("\xef\xbb\xbf"))
		}
		l.look(most, decode)
		b.lines = append(b.lines, l)
		rest, offset = rest[n:], offset+int64(n)
	}
}

// make is nil if nothing is to be decoded.
func (n newDecoder) make() lineDecoder {
	if n == nil {
		return nil
	}
	return n()
}

// look says what kind of line it is, and decodes an object that is not too long.
func (l *decodedLine) look(most int, decode lineDecoder) {
	trimmed := bytes.TrimSpace(l.data)
	l.blank, l.utf8 = len(trimmed) == 0, utf8.Valid(l.data)
	l.object = !l.blank && trimmed[0] == '{'
	if l.object && decode != nil && len(l.data) <= most {
		l.decoded, l.err = decode(l.data, l.utf8)
	}
	if seen, ok := l.decoded.(keyWitness); ok && seen.keyNews().known {
		l.twice = seen.keyNews().twice
	} else if l.object && len(l.data) <= most {
		l.twice = repeatsKey(l.data)
	}
}

// blockSplitter cuts a file into blocks.
type blockSplitter struct {
	r      io.Reader
	most   int
	free   chan []byte
	carry  []byte // read already: the beginning of the next block
	offset int64  // of the next block
	end    bool
	err    error // other than the end of the file
}

// next is the next block, nil at the end.
func (s *blockSplitter) next() *lineBlock {
	var buf []byte
	select {
	case buf = <-s.free:
	default:
		buf = make([]byte, 0, blockBytes)
	}
	buf = append(buf, s.carry...)
	s.carry = s.carry[:0]
	searched := 0
	for {
		buf = s.fill(buf)
		if i := bytes.LastIndexByte(buf[searched:], '\n'); i >= 0 && !s.end {
			i += searched + 1
			s.carry = append(s.carry, buf[i:]...)
			return s.block(buf[:i])
		}
		if s.end {
			if len(buf) == 0 {
				return nil
			}
			if len(buf) > s.most && bytes.IndexByte(buf, '\n') < 0 {
				return s.skipLine(buf)
			}
			return s.block(buf)
		}
		if len(buf) > s.most {
			return s.skipLine(buf)
		}
		searched = len(buf)
		buf = append(make([]byte, 0, 2*cap(buf)), buf...)
	}
}

// fill reads until the room is used up or the file ends.
func (s *blockSplitter) fill(buf []byte) []byte {
	n, err := io.ReadFull(s.r, buf[len(buf):cap(buf)])
	if err != nil {
		s.end = true
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			s.err = err
		}
	}
	return buf[:len(buf)+n]
}

func (s *blockSplitter) block(data []byte) *lineBlock {
	b := &lineBlock{data: data, offset: s.offset, done: make(chan struct{})}
	s.offset += int64(len(data))
	return b
}

// skipLine reads over a line that is too long, of which buf is the beginning.
func (s *blockSplitter) skipLine(buf []byte) *lineBlock {
	b := s.block(nil)
	line := &rawLine{data: bytes.Clone(buf[:min(len(buf), keptOfCut)]), offset: s.offset}
	b.cut = line
	sum := sha256.New()
	for {
		n := bytes.IndexByte(buf, '\n') + 1
		if n > 0 {
			s.carry = append(s.carry, buf[n:]...)
			buf = buf[:n]
		}
		sum.Write(buf)
		line.length += int64(len(buf))
		if n > 0 || s.end {
			line.torn = n == 0
			break
		}
		buf = s.fill(make([]byte, 0, blockBytes))
	}
	s.offset += line.length
	line.sha = hex.EncodeToString(sum.Sum(nil))
	return b
}
