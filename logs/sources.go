package logs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Sources opens the files that rows point into, see [Place], and nothing else: of a run directory its journals, blobs
// and verdicts; of tables of other logs the files that were read. Links are not followed. It is safe for concurrent use.
type Sources struct {
	root    string
	foreign bool
	from    []string // where relative names of foreign files may count from

	mu    sync.Mutex
	known map[string]bool // foreign: what files.json names
}

// SourceError is a file that rows point into and that is not to be had.
type SourceError struct {
	File, Text string
	Gone       bool // it is not there any more
}

func (e *SourceError) Error() string { return fmt.Sprintf("source %s: %s", clip(e.File, 300), e.Text) }

// RunSources opens the files of a run directory.
func RunSources(d *RunDir) *Sources { return &Sources{root: d.Root} }

// LogSources opens the files that a folder of tables was made of; files.json in it names them. Relative names count
// from the first of the folders where there is such a file.
func LogSources(tables string, from ...string) *Sources {
	return &Sources{root: tables, foreign: true, from: from}
}

// Open opens a file by the name that rows give it. One that is packed is unpacked: offsets count in what comes out.
func (s *Sources) Open(file string) (*SourceFile, error) {
	if s.foreign {
		return s.openForeign(file)
	}
	if !isRunFile(file) {
		return nil, &SourceError{File: file, Text: "it is none of the files that rows of a run point into"}
	}
	full := filepath.Join(s.root, filepath.FromSlash(file))
	if err := noLinks(s.root, file); err != nil {
		return nil, sourceError(file, err)
	}
	return openSource(file, full, func() (io.ReadCloser, error) {
		root, err := os.OpenRoot(s.root)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.Open(filepath.FromSlash(file))
	})
}

// isRunFile says whether rows of a run directory can point into a file. What is sealed is none of them.
func isRunFile(file string) bool {
	part := strings.Split(file, "/")
	switch {
	case len(part) == 2 && part[0] == "verdicts":
		return slices.Contains(verdictFiles, part[1])
	case len(part) == 3 && part[0] == "episodes" && isEpisodeID(part[1]):
		return part[2] == JournalName
	case len(part) == 5 && part[0] == "episodes" && isEpisodeID(part[1]) && part[2] == "blobs":
		rest, ok := strings.CutSuffix(part[4], ".zst")
		return ok && len(part[3]) == 2 && isSHA(part[3]+rest)
	}
	return false
}

// noLinks refuses a path below a folder of which a part is a link.
func noLinks(root, file string) error {
	at := root
	for _, part := range strings.Split(file, "/") {
		at = filepath.Join(at, part)
		st, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if st.Mode()&fs.ModeSymlink != 0 {
			return errors.New("there is a link in its path, and links are not followed")
		}
	}
	return nil
}

func sourceError(file string, err error) error {
	if os.IsNotExist(err) {
		return &SourceError{File: file, Text: "it is not there any more", Gone: true}
	}
	return &SourceError{File: file, Text: plainError(err)}
}

// openForeign opens a file of another program, or a member of an archive ("FILE!MEMBER").
func (s *Sources) openForeign(file string) (*SourceFile, error) {
	known, err := s.files()
	if err != nil {
		return nil, err
	}
	name, member := file, ""
	if !known[name] {
		if i := strings.LastIndex(file, "!"); i > 0 {
			name, member = file[:i], file[i+1:]
		}
	}
	below := 0 // bytes of the name that lead to a run, of which links are not followed
	if !known[name] {
		if below = runAbove(known, file); below == 0 {
			return nil, &SourceError{File: file, Text: "it is none of the files that these tables were made of"}
		}
		name, member = file, ""
	}
	places := []string{name}
	if !filepath.IsAbs(filepath.FromSlash(name)) {
		places = places[:0]
		for _, dir := range s.from {
			places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	for _, at := range places {
		st, err := os.Lstat(at)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return nil, sourceError(file, err)
		case !st.Mode().IsRegular():
			return nil, &SourceError{File: file, Text: "it is a link or no file at all now"}
		}
		if below > 0 {
			rest := name[below+1:]
			if err := noLinks(strings.TrimSuffix(at, string(filepath.Separator)+filepath.FromSlash(rest)), rest); err != nil {
				return nil, sourceError(file, err)
			}
		}
		if member != "" {
			return openMember(file, at, member)
		}
		return openSource(file, at, func() (io.ReadCloser, error) { return os.Open(at) })
	}
	return nil, &SourceError{File: file, Text: "it is not there any more", Gone: true}
}

// runAbove finds the run directory, or the folder of a journal, that tables were made of and in which a file is one that
// rows can point into: the length of its name, 0 for none.
func runAbove(known map[string]bool, file string) int {
	if path.Clean(file) != file {
		return 0
	}
	for i := len(file) - 1; i > 0; i-- {
		if file[i] != '/' {
			continue
		}
		rest := file[i+1:]
		if known[file[:i]] && isRunFile(rest) {
			return i
		}
		if known[file[:i]+"/"+JournalName] && strings.HasPrefix(rest, "blobs/") && isRunFile("episodes/000000000000/"+rest) {
			return i
		}
	}
	return 0
}

// maxFilesJSON bounds the list of the files that tables were made of.
const maxFilesJSON = 256 << 20

// files are the names of the files that tables were made of.
func (s *Sources) files() (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return s.known, nil
	}
	f, err := openRegular(filepath.Join(s.root, "files.json"))
	if err != nil {
		return nil, sourceError("files.json", err)
	}
	defer f.Close()
	var list struct {
		Files []struct {
			Path string `json:"path"`
		} `json:"files"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxFilesJSON)).Decode(&list); err != nil {
		return nil, &SourceError{File: "files.json", Text: err.Error()}
	}
	s.known = map[string]bool{}
	for _, e := range list.Files {
		s.known[e.Path] = true
	}
	return s.known, nil
}

// openMember unpacks a member of an archive into memory.
func openMember(file, at, member string) (*SourceFile, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, sourceError(file, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, sourceError(file, err)
	}
	z, err := openArchive(f, st.Size())
	if err != nil {
		return nil, sourceError(file, err)
	}
	for i := len(z.File) - 1; i >= 0; i-- { // of two of one name the later one is the newer
		if z.File[i].Name != member {
			continue
		}
		left := maxUnpackedBase + maxUnpackRatio*st.Size()
		data, err := readMember(z.File[i], &left)
		if err != nil {
			return nil, sourceError(file, err)
		}
		return &SourceFile{Name: path.Base(file), whole: data}, nil
	}
	return nil, &SourceError{File: file, Text: "the archive has no such member any more", Gone: true}
}

// A SourceFile reads ranges of a file that rows point into. Ranges that come in the order of the file are read in one
// pass. It is not safe for concurrent use.
type SourceFile struct {
	Name string

	whole []byte      // of a member of an archive
	plain io.ReaderAt // of a file that is not packed
	size  int64       // of the file as it lies there

	open   func() (io.ReadCloser, error) // of one that is packed
	stream *bufio.Reader
	at     int64 // where the stream stands
	closes []func()
}

func openSource(file, full string, open func() (io.ReadCloser, error)) (*SourceFile, error) {
	if st, err := os.Lstat(full); err == nil && !st.Mode().IsRegular() {
		return nil, &SourceError{File: file, Text: "it is no regular file"}
	}
	s := &SourceFile{Name: path.Base(file), open: open}
	f, err := open()
	if err != nil {
		return nil, sourceError(file, err)
	}
	s.closes = append(s.closes, func() { f.Close() })
	if known, ok := f.(*os.File); ok {
		if st, err := known.Stat(); err == nil {
			s.size = st.Size()
		}
		magic := make([]byte, 4)
		n, _ := known.ReadAt(magic, 0)
		if !isPacked(magic[:n]) {
			s.plain = known
			return s, nil
		}
	}
	return s, nil
}

// isPacked says whether the first bytes of a file are those of gzip or Zstandard.
func isPacked(magic []byte) bool {
	return len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b || len(magic) >= 4 && string(magic) == "\x28\xb5\x2f\xfd"
}

// Close closes the file.
func (s *SourceFile) Close() {
	s.rewind()
	for _, f := range s.closes {
		f()
	}
}

// rewind closes the stream that is being unpacked.
func (s *SourceFile) rewind() {
	if len(s.closes) > 1 {
		for _, f := range s.closes[1:] {
			f()
		}
		s.closes = s.closes[:1]
	}
	s.stream, s.at = nil, 0
}

// Range reads at most so many bytes from an offset on; fewer only at the end of the file.
func (s *SourceFile) Range(offset int64, most int) ([]byte, error) {
	switch {
	case offset < 0 || most < 0:
		return nil, &SourceError{File: s.Name, Text: "a range begins before the file"}
	case s.plain != nil:
		p := make([]byte, max(min(int64(most), s.size-offset), 0))
		n, err := s.plain.ReadAt(p, offset)
		if err == io.EOF {
			err = nil
		}
		return p[:n], err
	case s.open == nil:
		offset = min(offset, int64(len(s.whole)))
		return s.whole[offset:min(offset+int64(most), int64(len(s.whole)))], nil
	}
	if s.stream == nil || offset < s.at {
		if err := s.begin(); err != nil {
			return nil, sourceError(s.Name, err)
		}
	}
	n, err := io.CopyN(io.Discard, s.stream, offset-s.at)
	s.at += n
	if err == io.EOF {
		return nil, nil
	}
	var p []byte
	if err == nil {
		p, err = io.ReadAll(io.LimitReader(s.stream, int64(most)))
		s.at += int64(len(p))
	}
	if err != nil {
		return p, &SourceError{File: s.Name, Text: "it cannot be unpacked: " + plainError(err)}
	}
	return p, nil
}

// begin unpacks the file from its beginning.
func (s *SourceFile) begin() error {
	s.rewind()
	f, err := s.open()
	if err != nil {
		return err
	}
	s.closes = append(s.closes, func() { f.Close() })
	br := bufio.NewReaderSize(f, 64<<10)
	magic, _ := br.Peek(4)
	stream, err := unpack(br, magic)
	if err != nil {
		return err
	}
	if d, ok := stream.(*zstd.Decoder); ok {
		s.closes = append(s.closes, d.Close)
	}
	most := maxUnpackedBase + maxUnpackRatio*s.size
	s.stream = bufio.NewReaderSize(&unpackLimit{r: stream, left: most, most: most}, 64<<10)
	return nil
}
