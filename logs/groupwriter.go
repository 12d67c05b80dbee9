package logs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// groupWriter writes a Parquet file whose row groups are encoded beside each other: each as a file of its own in
// memory, whose group then moves into the real one. What comes out depends on the row groups alone.
type groupWriter struct {
	out     *bufio.Writer
	cols    []column
	at      int64 // bytes written
	meta    *metadata.FileMetaData
	pending []chan encodedGroup // in the order of the file
}

type encodedGroup struct {
	file []byte
	err  error
}

const parquetMagic = "PAR1"

func newGroupWriter(out *bufio.Writer, cols []column) *groupWriter {
	useCodec()
	return &groupWriter{out: out, cols: cols}
}

// add lets encode make the next row group.
func (g *groupWriter) add(encode func() ([]byte, error)) error {
	if len(g.pending) >= runtime.GOMAXPROCS(0) {
		if err := g.flush(); err != nil {
			return err
		}
	}
	done := make(chan encodedGroup, 1)
	g.pending = append(g.pending, done)
	go func() {
		b, err := encode()
		done <- encodedGroup{b, err}
	}()
	return nil
}

// flush writes the oldest row group that is under way.
func (g *groupWriter) flush() error {
	e := <-g.pending[0]
	g.pending = g.pending[1:]
	if e.err != nil {
		return e.err
	}
	meta, body, err := takeApart(e.file)
	if err != nil {
		return err
	}
	if g.meta == nil {
		if err := g.write([]byte(parquetMagic)); err != nil {
			return err
		}
		g.meta = meta
	} else if err := g.meta.AppendRowGroups(meta); err != nil {
		return err
	}
	groups := g.meta.RowGroups
	moved, by := groups[len(groups)-1], g.at-int64(len(parquetMagic))
	ordinal := int16(min(len(groups)-1, 1<<15-1))
	move := func(at *int64) {
		if at != nil {
			*at += by
		}
	}
	moved.Ordinal = &ordinal
	move(moved.FileOffset)
	for _, c := range moved.Columns {
		move(&c.FileOffset)
		move(&c.MetaData.DataPageOffset)
		move(c.MetaData.DictionaryPageOffset)
		move(c.MetaData.IndexPageOffset)
	}
	return g.write(body)
}

// takeApart splits a Parquet file of one row group into what it says about itself and the row group.
func takeApart(b []byte) (*metadata.FileMetaData, []byte, error) {
	const tail = 4 + len(parquetMagic)
	if len(b) < len(parquetMagic)+tail {
		return nil, nil, errors.New("parquet: an encoded row group is too short")
	}
	end := len(b) - tail
	n := int(binary.LittleEndian.Uint32(b[end:]))
	if n > end-len(parquetMagic) {
		return nil, nil, errors.New("parquet: an encoded row group has no footer")
	}
	meta, err := metadata.NewFileMetaData(b[end-n:end], nil)
	if err != nil {
		return nil, nil, err
	}
	if len(meta.RowGroups) != 1 {
		return nil, nil, fmt.Errorf("parquet: %d row groups came of one", len(meta.RowGroups))
	}
	return meta, b[len(parquetMagic) : end-n], nil
}

func (g *groupWriter) write(b []byte) error {
	n, err := g.out.Write(b)
	g.at += int64(n)
	return err
}

// close writes what is under way and the footer.
func (g *groupWriter) close() error {
	for len(g.pending) > 0 {
		if err := g.flush(); err != nil {
			return err
		}
	}
	if g.meta == nil { // no rows at all
		b, err := encodeGroup(g.cols, []struct{}(nil))
		if err != nil {
			return err
		}
		return g.write(b)
	}
	n, err := g.meta.WriteTo(g.out, nil)
	if err != nil {
		return err
	}
	return g.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), parquetMagic...))
}

// wait lets what is under way come to its end, after an error.
func (g *groupWriter) wait() {
	for _, done := range g.pending {
		<-done
	}
	g.pending = nil
}
