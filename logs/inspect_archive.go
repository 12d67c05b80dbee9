package logs

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// zipZstd is the method of members that are packed with Zstandard.
const zipZstd = 93

// openArchive reads the directory of a ZIP archive.
func openArchive(at io.ReaderAt, size int64) (*zip.Reader, error) {
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	z.RegisterDecompressor(zipZstd, func(r io.Reader) io.ReadCloser {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxForeignDocument))
		if err != nil {
			return failedReader{err}
		}
		return d.IOReadCloser()
	})
	return z, nil
}

type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
func (f failedReader) Close() error             { return nil }

// archive reads a log whose samples are members of a ZIP archive. A log that is not finished has no header; its journal
// begins with one.
func (r *inspectReader) archive() {
	r.place(r.input.path, 0, nil)
	f, err := r.input.random()
	if err != nil {
		r.unreadable(0, "the archive: %s", plainError(err))
		return
	}
	defer f.close()
	z, err := openArchive(f, f.size)
	if err != nil {
		r.unreadable(0, "the archive: %s; it was cut, or is still being written", plainError(err))
		return
	}
	members := map[string]*zip.File{} // of two of one name the later one is the newer
	for _, m := range z.File {
		members[m.Name] = m
	}
	left := maxUnpackedBase + maxUnpackRatio*f.size
	for _, name := range []string{"header.json", "_journal/start.json"} {
		if m := members[name]; m != nil && r.archiveHeader(m, &left) {
			break
		}
	}
	names := sortedKeys(members)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "samples/") || !strings.HasSuffix(n, ".json") })
	for _, name := range names {
		if r.stopped() {
			return
		}
		r.endEpisode()
		file := r.input.path + "!" + name
		data, err := readMember(members[name], &left)
		if err != nil {
			r.place(file, 0, nil)
			r.unreadable(0, "the sample: %v", err)
			continue
		}
		r.readSample(file, 0, data, finiteJSON(data))
	}
	r.endEpisode()
	r.place(r.input.path, 0, nil)
	r.noSamples()
}

func (r *inspectReader) archiveHeader(m *zip.File, left *int64) bool {
	r.place(r.input.path+"!"+m.Name, 0, nil)
	data, err := readMember(m, left)
	if err != nil {
		r.unreadable(0, "the header: %v", err)
		return false
	}
	if err := json.Unmarshal(finiteJSON(data), &r.header); err != nil {
		r.unreadable(0, "the header: %s", clip(err.Error(), 200))
		return false
	}
	return true
}

// readMember unpacks a member. left is what the members of the archive may still unpack to.
func readMember(m *zip.File, left *int64) ([]byte, error) {
	limit := min(*left, maxForeignDocument)
	if int64(m.UncompressedSize64) > limit || m.UncompressedSize64 > maxForeignDocument {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	rc, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	data, err := io.ReadAll(io.LimitReader(rc, limit+1))
	*left -= int64(len(data))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("it unpacks to more than %d bytes", limit)
	}
	return data, nil
}

// finiteJSON replaces the numbers that JSON does not have but Python writes (NaN, Infinity) by something of the same
// length that stands for no number. The data are returned as they are if there is none.
func finiteJSON(data []byte) []byte {
	if json.Valid(data) {
		return data
	}
	out, quoted := slices.Clone(data), false
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '"':
			quoted = !quoted
		case quoted && out[i] == '\\':
			i++
		case quoted:
		case bytes.HasPrefix(out[i:], []byte("-Infinity")):
			i += copy(out[i:], "null     ") - 1
		case bytes.HasPrefix(out[i:], []byte("Infinity")):
			i += copy(out[i:], "null    ") - 1
		case bytes.HasPrefix(out[i:], []byte("NaN")):
			i += copy(out[i:], `"" `) - 1
		}
	}
	return out
}
