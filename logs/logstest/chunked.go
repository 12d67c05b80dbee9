package logstest

import (
	"io/fs"
	"strings"
	"testing/fstest"
)

// deep is a line that is nested deeper than anything that means something.
var deep = strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n"

// chunkedFS gives fewer bytes in a read than were asked for, and cannot be read but in order.
type chunkedFS struct {
	fstest.MapFS
	chunk func([]byte) []byte
}

func (c chunkedFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		return dir, nil
	}
	return chunkedFile{f, c.chunk}, nil
}

type chunkedFile struct {
	fs.File
	chunk func([]byte) []byte
}

func (f chunkedFile) Read(p []byte) (int, error) { return f.File.Read(f.chunk(p)) }
