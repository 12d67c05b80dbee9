package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// cellSource yields the rows of an outcome file as text.
type cellSource interface {
	// header names the columns.
	header() []string
	// choose says which columns are wanted; row returns them in this order. nil means all.
	choose(columns []int)
	// row returns the next row and its line, io.EOF at the end. The slice is valid until the next call.
	row() (cells []string, line int, err error)
	close()
}

// maxOutcomeBytes bounds what a packed outcome file may unpack to.
const maxOutcomeBytes = 8 << 30

// openCells opens an outcome file by its content, not its name: Parquet and packed files by their
// first bytes, JSON lines by an opening brace, else text with the separator its header uses.
func openCells(path string) (src cellSource, guesses []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading outcomes: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, nil, &OutcomeError{File: path, Text: "it is a folder", Way: "name a file, or a run directory that holds study.yaml"}
	}
	br := bufio.NewReaderSize(f, 256<<10)
	magic, _ := br.Peek(4)
	if string(magic) == "PAR1" {
		f.Close()
		src, err := openParquetCells(path)
		return src, nil, err
	}
	unpacked, err := unpack(br, magic)
	if err != nil {
		return nil, nil, &OutcomeError{File: path, Text: "cannot be unpacked: " + err.Error()}
	}
	if unpacked != nil {
		br = bufio.NewReaderSize(&limited{r: unpacked, left: maxOutcomeBytes}, 256<<10)
	}
	if bom, _ := br.Peek(3); string(bom) == "\xef\xbb\xbf" {
		br.Discard(3)
	}
	head, _ := br.Peek(br.Size())
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, nil, &OutcomeError{File: path, Text: "it is empty", Way: "an outcome file has a header line and one line per run: config,scenario,value"}
	case bytes.IndexByte(head, 0) >= 0:
		return nil, nil, &OutcomeError{File: path, Text: "it is neither text nor Parquet", Way: "give CSV, TSV, JSON lines or Parquet, packed with gzip or zstd if you like"}
	case text[0] == '{':
		src, err = openJSONCells(path, f, br)
	case text[0] == '[':
		return nil, nil, &OutcomeError{File: path, Text: "it is one JSON array", Way: "write one object per line, for example: jq -c '.[]' FILE"}
	default:
		var sep rune
		if sep, guesses, err = separator(path, head); err == nil {
			src, err = openTextCells(path, f, br, sep)
		}
	}
	return src, guesses, err
}

// unpack returns the reader of a packed stream, nil if it is not packed.
func unpack(br *bufio.Reader, magic []byte) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(br)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlob))
	}
	return nil, nil
}

// limited reports a packed file that unpacks to too much, where io.LimitReader would end in silence.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, fmt.Errorf("it unpacks to more than %d bytes", int64(maxOutcomeBytes))
	}
	return n, err
}

func separator(path string, head []byte) (sep rune, guesses []string, err error) {
	line := string(head[:lineEnd(head)])
	name := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".zst")
	switch {
	case strings.HasSuffix(name, ".tsv") || strings.Contains(line, "\t"):
		return '\t', nil, nil
	case strings.Contains(line, ","):
		return ',', nil, nil
	case strings.Contains(line, ";"):
		return ';', []string{"separator = semicolon (guessed)"}, nil
	}
	return 0, nil, &OutcomeError{File: path, Line: 1, Text: fmt.Sprintf("its first line %q has one column only", clip(strings.TrimSpace(line), 60)),
		Way: "an outcome file has a header line and one line per run: config,scenario,value"}
}

// clip shortens text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// textCells reads CSV and TSV.
type textCells struct {
	path string
	f    *os.File
	r    *csv.Reader
	head []string
	want []int
	out  []string
}

func openTextCells(path string, f *os.File, br *bufio.Reader, sep rune) (cellSource, error) {
	r := csv.NewReader(br)
	r.Comma, r.ReuseRecord, r.LazyQuotes = sep, true, sep == '\t'
	r.FieldsPerRecord = 0 // as many as the header
	head, err := r.Read()
	t := &textCells{path: path, f: f, r: r}
	if err != nil {
		return nil, t.wrap(err)
	}
	t.head = make([]string, len(head))
	for i, name := range head {
		t.head[i] = strings.TrimSpace(name)
	}
	return t, nil
}

func (t *textCells) header() []string { return t.head }

func (t *textCells) choose(columns []int) { t.want, t.out = columns, make([]string, len(columns)) }

func (t *textCells) row() ([]string, int, error) {
	rec, err := t.r.Read()
	if err != nil {
		return nil, 0, t.wrap(err)
	}
	line, _ := t.r.FieldPos(0)
	if t.want == nil {
		return rec, line, nil
	}
	for i, c := range t.want {
		t.out[i] = rec[c]
	}
	return t.out, line, nil
}

func (t *textCells) wrap(err error) error {
	var parse *csv.ParseError
	switch {
	case err == io.EOF:
		return io.EOF
	case errors.As(err, &parse) && errors.Is(err, csv.ErrFieldCount):
		return &OutcomeError{File: t.path, Line: parse.Line, Text: fmt.Sprintf("the line does not have the %d fields of the header", len(t.head)),
			Way: "quote fields that hold the separator: \"a,b\""}
	case errors.As(err, &parse):
		return &OutcomeError{File: t.path, Line: parse.Line, Text: parse.Err.Error(), Way: "write a quote inside a quoted field twice"}
	}
	return &OutcomeError{File: t.path, Text: "cannot be read: " + err.Error()}
}

// rest estimates how many times as much as was read is still to come; 0 if it cannot tell.
func (t *textCells) rest() float64 {
	st, err := t.f.Stat()
	read := t.r.InputOffset()
	if err != nil || read <= 0 || st.Size() <= read {
		return 0
	}
	return float64(st.Size()-read) / float64(read)
}

func (t *textCells) close() { t.f.Close() }

// jsonCells reads JSON lines. The columns are the keys of the first object; the other objects may
// leave some out.
type jsonCells struct {
	path  string
	f     io.Closer
	br    *bufio.Reader
	line  int
	names []string
	want  []int
	first map[string]json.RawMessage
	out   []string
}

func openJSONCells(path string, f io.Closer, br *bufio.Reader) (cellSource, error) {
	j := &jsonCells{path: path, f: f, br: br}
	first, err := j.object()
	if err != nil {
		return nil, err
	}
	j.first = first
	for name := range first {
		j.names = append(j.names, name)
	}
	sort.Strings(j.names)
	return j, nil
}

func (j *jsonCells) header() []string { return j.names }

func (j *jsonCells) choose(columns []int) { j.want = columns }

func (j *jsonCells) close() { j.f.Close() }

func (j *jsonCells) object() (map[string]json.RawMessage, error) {
	for {
		raw, err := readLine(j.br)
		if len(raw) > 0 {
			j.line++
		}
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, &OutcomeError{File: j.path, Line: j.line, Text: fmt.Sprintf("the line is longer than %d bytes", MaxLine)}
		}
		if err != nil && err != io.EOF {
			return nil, &OutcomeError{File: j.path, Line: j.line, Text: "cannot be read: " + err.Error()}
		}
		if len(bytes.TrimSpace(raw)) > 0 {
			var obj map[string]json.RawMessage
			if err := json.Unmarshal(raw, &obj); err != nil {
				return nil, &OutcomeError{File: j.path, Line: j.line, Text: "no JSON object: " + err.Error(), Way: "write one object per line"}
			}
			return obj, nil
		}
		if err == io.EOF {
			return nil, io.EOF
		}
	}
}

func (j *jsonCells) row() ([]string, int, error) {
	obj := j.first
	j.first = nil
	if obj == nil {
		var err error
		if obj, err = j.object(); err != nil {
			return nil, 0, err
		}
	}
	j.out = j.out[:0]
	for _, c := range j.want {
		j.out = append(j.out, jsonCell(obj[j.names[c]]))
	}
	return j.out, j.line, nil
}

// jsonCell renders a value as a cell: text without quotes, null and nothing as "", booleans as 0 and 1.
func jsonCell(raw json.RawMessage) string {
	switch s := string(raw); {
	case s == "null":
		return ""
	case s == "true":
		return "1"
	case s == "false":
		return "0"
	case strings.HasPrefix(s, `"`):
		if err := json.Unmarshal(raw, &s); err == nil {
			return s
		}
	}
	return string(raw)
}

// parquetCells reads the flat columns of a Parquet file.
type parquetCells struct {
	p     *parquetFile
	names []string
	at    []int
	want  []int
	group int
	cols  [][]string
	n, i  int
	line  int
	out   []string
}

func openParquetCells(path string) (cellSource, error) {
	p, err := openParquet(path)
	if err != nil {
		return nil, err
	}
	c := &parquetCells{p: p}
	c.names, c.at = p.flatColumns()
	if len(c.names) == 0 {
		p.close()
		return nil, &OutcomeError{File: path, Text: "it has no flat column"}
	}
	return c, nil
}

func (c *parquetCells) header() []string { return c.names }

func (c *parquetCells) choose(columns []int) { c.want, c.out = columns, make([]string, len(columns)) }

func (c *parquetCells) close() { c.p.close() }

func (c *parquetCells) row() ([]string, int, error) {
	for c.i == c.n {
		if c.group == c.p.r.NumRowGroups() {
			return nil, 0, io.EOF
		}
		c.cols, c.n, c.i = nil, int(c.p.r.RowGroup(c.group).NumRows()), 0
		for _, w := range c.want {
			cells, err := c.p.cells(c.group, c.at[w])
			if err != nil {
				return nil, 0, &OutcomeError{File: c.p.path, Column: c.names[w], Text: err.Error(), Way: "write the file again with this column as text or double"}
			}
			c.cols = append(c.cols, cells)
		}
		c.group++
	}
	for k, col := range c.cols {
		c.out[k] = col[c.i]
	}
	c.i++
	c.line++
	return c.out, c.line, nil
}
