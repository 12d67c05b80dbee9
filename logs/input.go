package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is read of foreign files. A document is held in memory while it is read, a file of lines is not.
const (
	maxForeignLine     = 16 << 20 // longer lines are reported with their place and hash, and not read
	maxForeignDocument = 64 << 20
	maxUnpackedBase    = 1 << 30 // a packed file may unpack to this and maxUnpackRatio times its size
	maxUnpackRatio     = 1000
	maxInputFiles      = 500_000
)

// inputFile is a file that was named or found.
type inputFile struct {
	path  string // slash-separated as rows name it: what the user typed, and the way from there
	name  string // the way from the folder that was named, or the file's own name: what ids are made from
	place string // where fsys has it
	fsys  fileSystem
	run   bool // it is the folder of a study
	size  int64
	first []byte // its first bytes, by which copies are known
	claim
}

// fileSystem opens files for an input.
type fileSystem interface {
	open(place string) (fs.File, error)
	regular(place string) bool
}

// osFiles are the files of the machine. A link is followed only if the user named it.
type osFiles struct{}

func (osFiles) open(place string) (fs.File, error) { return os.Open(place) }

func (osFiles) regular(place string) bool {
	st, err := os.Lstat(place)
	return err == nil && st.Mode().IsRegular()
}

// givenFiles are the files of an fs.FS.
type givenFiles struct{ fs.FS }

func (g givenFiles) open(place string) (fs.File, error) { return g.Open(place) }

func (g givenFiles) regular(place string) bool {
	st, err := fs.Stat(g.FS, place)
	return err == nil && st.Mode().IsRegular()
}

// InputError is a path that cannot be read.
type InputError struct {
	Path, Text, Way string
}

func (e *InputError) Error() string { return e.Path + ": " + e.Text }

// Hint tells the way out.
func (e *InputError) Hint() string { return e.Way }

// ExitCode is 2: the input is wrong.
func (e *InputError) ExitCode() int { return 2 }

// findInputs lists the files behind a path: a file, a folder with all below it, a pattern. Links inside of folders are not
// followed, and .git, node_modules and folders of tables are left out. Of a folder the files come in the order of their names.
func findInputs(p string) (files []inputFile, err error) {
	found := []string{p}
	st, err := os.Stat(p)
	if os.IsNotExist(err) && strings.ContainsAny(p, "*?[") {
		if found, err = filepath.Glob(p); err != nil {
			return nil, &InputError{Path: p, Text: "the pattern cannot be read: " + err.Error(), Way: "quote a name that holds [ or ], or list the files"}
		}
		if len(found) == 0 {
			return nil, &InputError{Path: p, Text: "no file fits the pattern", Way: "look with ls what there is"}
		}
	} else if err != nil {
		return nil, &InputError{Path: p, Text: plainError(err), Way: "name files or folders that are there, or - for standard input"}
	} else if !st.IsDir() && !st.Mode().IsRegular() {
		return nil, &InputError{Path: p, Text: "it is neither a file nor a folder", Way: "to read a pipe, give it as standard input and name it -"}
	}
	for _, root := range found {
		if files, err = walkInput(files, root); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// walkInput appends the files of one path.
func walkInput(files []inputFile, root string) ([]inputFile, error) {
	add := func(place, name string, run bool) error {
		if len(files) >= maxInputFiles {
			return &InputError{Path: root, Text: fmt.Sprintf("there are more than %d files", maxInputFiles), Way: "name the folders that hold logs, a part at a time"}
		}
		files = append(files, inputFile{path: filepath.ToSlash(filepath.Clean(place)), name: filepath.ToSlash(name), place: place, fsys: osFiles{}, run: run})
		return nil
	}
	if st, err := os.Stat(root); err != nil || !st.IsDir() {
		if err != nil {
			return nil, &InputError{Path: root, Text: plainError(err)}
		}
		err = add(root, filepath.Base(root), false) // on its own: it changes files
		return files, err
	}
	top, err := filepath.EvalSymlinks(root) // a link that was named is followed, one below it is not
	if err != nil {
		return nil, &InputError{Path: root, Text: plainError(err)}
	}
	err = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return &InputError{Path: p, Text: plainError(err), Way: "make it readable, or name the folders beside it"}
		}
		run := d.IsDir() && isRunDir(p)
		switch {
		case run, d.Type().IsRegular():
		case d.IsDir() && (isTablesDir(p) || slices.Contains([]string{".git", "node_modules"}, d.Name()) && p != top):
			return fs.SkipDir
		default:
			return nil
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		err = add(filepath.Join(root, rel), rel, run)
		if run {
			err = cmp.Or(err, fs.SkipDir)
		}
		return err
	})
	return files, err
}

// isRunDir says whether a folder is that of a study.
func isRunDir(dir string) bool {
	d := &RunDir{Root: dir}
	study, err := os.Lstat(d.StudyFile())
	if err != nil || !study.Mode().IsRegular() {
		return false
	}
	episodes, err := os.Lstat(d.EpisodesDir())
	return err == nil && episodes.IsDir()
}

// isTablesDir says whether a folder holds tables, which are no logs.
func isTablesDir(dir string) bool {
	for _, name := range []string{"episodes", "events"} {
		if _, err := os.Lstat(filepath.Join(dir, name+".parquet")); err != nil {
			return false
		}
	}
	return true
}

// givenInputs lists the files of an fs.FS.
func givenInputs(fsys fs.FS) ([]inputFile, error) {
	var files []inputFile
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, inputFile{path: p, name: p, place: p, fsys: givenFiles{fsys}})
		}
		return err
	})
	return files, err
}

// plainError is an error without the path that a message already names.
func plainError(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// unpackedFile reads a file, unpacked if it is packed with gzip or zstd.
type unpackedFile struct {
	*bufio.Reader
	file   fs.File
	packed bool
}

func (u *unpackedFile) Close() error { return u.file.Close() }

// open opens the file. Offsets count in what comes out: in the unpacked bytes.
func (f *inputFile) open() (*unpackedFile, error) {
	file, err := f.fsys.open(f.place)
	if err != nil {
		return nil, err
	}
	u := &unpackedFile{Reader: bufio.NewReaderSize(file, 256<<10), file: file}
	magic, err := u.Peek(4)
	if err != nil && err != io.EOF {
		file.Close()
		return nil, err
	}
	stream, err := unpack(u.Reader, magic)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("it cannot be unpacked: %w", err)
	}
	if stream != nil {
		most := int64(maxUnpackedBase)
		if st, err := file.Stat(); err == nil {
			most += maxUnpackRatio * st.Size()
		}
		u.Reader, u.packed = bufio.NewReaderSize(&unpackLimit{r: stream, left: most, most: most}, 256<<10), true
	}
	return u, nil
}

// unpackLimit ends a packed file that unpacks to far more than files do.
type unpackLimit struct {
	r          io.Reader
	left, most int64
}

func (l *unpackLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("it unpacks to more than %d bytes, %d times what a packed log of its size holds; the rest is not read", l.most, maxUnpackRatio)
	}
	return n, err
}

// head reads the beginning of the file.
func (f *inputFile) head() (*head, error) {
	u, err := f.open()
	if err != nil {
		return nil, err
	}
	defer u.Close()
	most := headBytes
	if b, _ := u.Peek(headBytes); len(b) == headBytes && bytes.IndexByte(b, '\n') < 0 {
		most = longHeadBytes // the first line is long; a document without line breaks is no different here
	}
	b := make([]byte, most+1)
	n, err := io.ReadFull(u, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	name := f.name
	if u.packed {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	}
	h := newHead(name, b[:min(n, most)], n <= most)
	if st, err := u.file.Stat(); err == nil {
		h.size = st.Size()
	}
	return h, nil
}

// data reads a document into memory. An error says that it is too long or cannot be read; what was read comes with it.
func (f *inputFile) data() ([]byte, error) {
	u, err := f.open()
	if err != nil {
		return nil, err
	}
	defer u.Close()
	var b bytes.Buffer
	if st, err := u.file.Stat(); err == nil && !u.packed {
		b.Grow(int(min(st.Size(), maxForeignDocument)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(u, maxForeignDocument+1))
	switch {
	case err != nil:
		return b.Bytes(), err
	case n > maxForeignDocument:
		return nil, fmt.Errorf("it is longer than %d bytes", maxForeignDocument)
	}
	return b.Bytes(), nil
}

// randomFile is a file that is read at any place, such as a ZIP archive or Parquet.
type randomFile struct {
	io.ReaderAt
	name  string // of its temporary file, "" if it has none
	size  int64
	close func()
}

// random opens the file for reading at any place. One that is packed, or that its file system reads in order only, is
// copied to a temporary file first.
func (f *inputFile) random() (*randomFile, error) {
	u, err := f.open()
	if err != nil {
		return nil, err
	}
	if at, ok := u.file.(io.ReaderAt); ok && !u.packed {
		st, err := u.file.Stat()
		if err != nil {
			u.Close()
			return nil, err
		}
		return &randomFile{ReaderAt: at, size: st.Size(), close: func() { u.Close() }}, nil
	}
	defer u.Close()
	return spool(u)
}

// spool copies a stream into a temporary file, which is gone when it is closed.
func spool(r io.Reader) (*randomFile, error) {
	tmp, err := os.CreateTemp("", "stint-*.tmp")
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(tmp, r)
	drop := func() {
		tmp.Close()
		os.Remove(tmp.Name())
	}
	if err != nil {
		drop()
		return nil, err
	}
	return &randomFile{tmp, tmp.Name(), size, drop}, nil
}

// logInput are the files of one log.
type logInput struct {
	format Format
	files  []inputFile // sorted by path
	same   int         // how many logs before this one have the same name
}

// part is the first file that is this part; nil if there is none.
func (in *logInput) part(name string) *inputFile {
	for i := range in.files {
		if in.files[i].part == name {
			return &in.files[i]
		}
	}
	return nil
}
