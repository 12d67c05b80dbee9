package logs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// parquetFile is a Parquet file whose every column chunk arrow v17 can be trusted to read.
type parquetFile struct {
	path string
	f    *os.File
	r    *file.Reader
}

// brokenParquet is what a panic of the Parquet reader says: its answer to some broken files.
const brokenParquet = "broken Parquet"

// catchPanic turns a panic of arrow v17 into an error that begins with what.
func catchPanic(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v", what, p)
	}
}

// readable are the encodings arrow v17 decodes; above all BYTE_STREAM_SPLIT is missing.
var readable = []parquet.Encoding{
	parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLE, parquet.Encodings.RLEDict, parquet.Encodings.BitPacked,
	parquet.Encodings.DeltaByteArray, parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray,
}

// openParquet opens a file and looks at codec and encodings before anything is read: arrow v17
// returns no rows and no error for a column in BYTE_STREAM_SPLIT.
func openParquet(path string) (p *parquetFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			err = &TableError{File: path, Text: err.Error(), Way: "write the file again with the tool it came from, for example in DuckDB: COPY (FROM 'in.parquet') TO 'out.parquet' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v1)"}
		}
	}()
	defer catchPanic(brokenParquet, &err)
	useCodec()
	r, err := file.NewParquetReader(f)
	if err != nil {
		return nil, fmt.Errorf("no Parquet file: %w", err)
	}
	p = &parquetFile{path: path, f: f, r: r}
	rows := int64(0)
	for g := range r.NumRowGroups() {
		meta := r.RowGroup(g).MetaData()
		rows += meta.NumRows()
		for c := range meta.NumColumns() {
			chunk, err := meta.ColumnChunk(c)
			if err != nil {
				return nil, err
			}
			for _, e := range chunk.Encodings() {
				if !slices.Contains(readable, e) {
					return nil, fmt.Errorf("column %s has the encoding %s, which cannot be read here", chunk.PathInSchema(), e)
				}
			}
			switch chunk.Compression() {
			case compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd:
			default:
				return nil, fmt.Errorf("column %s is compressed with %s, which cannot be read here", chunk.PathInSchema(), chunk.Compression())
			}
		}
	}
	if rows != r.NumRows() {
		return nil, fmt.Errorf("its row groups hold %d rows, the file says %d", rows, r.NumRows())
	}
	return p, nil
}

func (p *parquetFile) close() { p.f.Close() }

// columnIndex returns the number of a leaf column, -1 if there is none of that path.
func (p *parquetFile) columnIndex(path string) int {
	s := p.r.MetaData().Schema
	for i := range s.NumColumns() {
		if s.Column(i).Path() == path {
			return i
		}
	}
	return -1
}

// columnChunk is one column of one row group. Only the slice of its type is used.
type columnChunk struct {
	ints   []int64
	floats []float64
	bools  []bool
	texts  []string
	defs   []int16 // nil if no value can be null
	reps   []int16 // nil if the column is no list
	maxDef int16
	values int // present ones
}

// len is the number of rows of a flat column.
func (ch *columnChunk) len() int {
	if ch.maxDef > 0 {
		return len(ch.defs)
	}
	return ch.values
}

func (ch *columnChunk) null(i int) bool { return ch.maxDef > 0 && ch.defs[i] < ch.maxDef }

// read decodes a column of a row group. Counts that differ from the file's own are an error, since a
// column that ends early is how broken encodings show.
func (p *parquetFile) read(group, col int) (ch *columnChunk, err error) {
	defer catchPanic(brokenParquet, &err)
	rg := p.r.RowGroup(group)
	r, err := rg.Column(col)
	if err != nil {
		return nil, err
	}
	d := r.Descriptor()
	ch = &columnChunk{maxDef: d.MaxDefinitionLevel()}
	if err := ch.readAll(r, d); err != nil {
		return nil, err
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	meta, err := rg.MetaData().ColumnChunk(col)
	if err != nil {
		return nil, err
	}
	levels := ch.len()
	if int64(levels) != meta.NumValues() || d.MaxRepetitionLevel() == 0 && int64(levels) != rg.NumRows() {
		return nil, fmt.Errorf("it holds %d values, the file says %d in %d rows", levels, meta.NumValues(), rg.NumRows())
	}
	return ch, nil
}

// batch is how many values are decoded at a time.
const batch = 1 << 13

func (ch *columnChunk) readAll(r file.ColumnChunkReader, d *schema.Column) error {
	defs, reps := make([]int16, batch), make([]int16, batch)
	if d.MaxDefinitionLevel() == 0 {
		defs = nil
	}
	if d.MaxRepetitionLevel() == 0 {
		reps = nil
	}
	next, err := ch.decoder(r, d)
	if err != nil {
		return err
	}
	for r.HasNext() {
		total, read, err := next(defs, reps)
		if err != nil {
			return err
		}
		if total == 0 {
			break
		}
		ch.values += read
		if defs != nil {
			ch.defs = append(ch.defs, defs[:total]...)
		}
		if reps != nil {
			ch.reps = append(ch.reps, reps[:total]...)
		}
	}
	return nil
}

// decoder returns what decodes the next batch of a column into the slice of its type.
func (ch *columnChunk) decoder(r file.ColumnChunkReader, d *schema.Column) (func(defs, reps []int16) (int64, int, error), error) {
	unsigned := isUnsigned(d)
	switch r := r.(type) {
	case *file.ByteArrayColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v parquet.ByteArray) { ch.texts = append(ch.texts, string(v)) }), nil
	case *file.Int64ColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v int64) { ch.ints = append(ch.ints, v) }), nil
	case *file.Int32ColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v int32) {
			if unsigned {
				ch.ints = append(ch.ints, int64(uint32(v)))
				return
			}
			ch.ints = append(ch.ints, int64(v))
		}), nil
	case *file.Float64ColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v float64) { ch.floats = append(ch.floats, v) }), nil
	case *file.Float32ColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v float32) { ch.floats = append(ch.floats, float64(v)) }), nil
	case *file.BooleanColumnChunkReader:
		return decodeWith(r.ReadBatch, func(v bool) { ch.bools = append(ch.bools, v) }), nil
	}
	return nil, fmt.Errorf("its type %s cannot be read here; cast it to text or double", d.PhysicalType())
}

func decodeWith[V any](readBatch func(int64, []V, []int16, []int16) (int64, int, error), keep func(V)) func(defs, reps []int16) (int64, int, error) {
	values := make([]V, batch)
	return func(defs, reps []int16) (int64, int, error) {
		total, read, err := readBatch(batch, values, defs, reps)
		for _, v := range values[:read] {
			keep(v)
		}
		return total, read, err
	}
}

func isUnsigned(d *schema.Column) bool {
	switch t := d.LogicalType().(type) {
	case schema.IntLogicalType:
		return !t.IsSigned()
	case *schema.IntLogicalType:
		return !t.IsSigned()
	}
	return false
}

// decimalScale is the number of decimal places of a column of decimals; 0 for every other column.
func decimalScale(d *schema.Column) int32 {
	switch t := d.LogicalType().(type) {
	case schema.DecimalLogicalType:
		return t.Scale()
	case *schema.DecimalLogicalType:
		return t.Scale()
	}
	return 0
}

// flatColumns lists the columns of a file that are neither nested nor lists, with their numbers.
func (p *parquetFile) flatColumns() (names []string, at []int) {
	s := p.r.MetaData().Schema
	for i := range s.NumColumns() {
		if c := s.Column(i); c.MaxRepetitionLevel() == 0 && c.MaxDefinitionLevel() <= 1 && len(c.ColumnPath()) == 1 {
			names, at = append(names, c.Name()), append(at, i)
		}
	}
	return names, at
}

// cells renders a flat column as text, null as "".
func (p *parquetFile) cells(group, col int) ([]string, error) {
	d := p.r.MetaData().Schema.Column(col)
	scale := decimalScale(d)
	ch, err := p.read(group, col)
	if err != nil {
		return nil, err
	}
	if scale != 0 && ch.ints == nil && ch.values > 0 {
		return nil, errors.New("it holds decimals of more than 18 digits; cast it to double")
	}
	unsigned := isUnsigned(d)
	out := make([]string, ch.len())
	k := 0
	for i := range out {
		if ch.null(i) {
			continue
		}
		switch {
		case ch.texts != nil:
			out[i] = ch.texts[k]
		case scale != 0:
			out[i] = floatCell(float64(ch.ints[k]) / math.Pow10(int(scale)))
		case ch.ints != nil && unsigned:
			out[i] = strconv.FormatUint(uint64(ch.ints[k]), 10)
		case ch.ints != nil:
			out[i] = strconv.FormatInt(ch.ints[k], 10)
		case ch.floats != nil:
			out[i] = floatCell(ch.floats[k])
		case ch.bools != nil:
			out[i] = "0"
			if ch.bools[k] {
				out[i] = "1"
			}
		}
		k++
	}
	return out, nil
}

// floatCell writes whole numbers without an exponent, since repeats may be stored as doubles.
func floatCell(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
