package logs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"
	"time"
)

// maxDepth bounds how deep folders may be nested in a snapshot.
const maxDepth = 128

// The default limits of a snapshot.
const (
	DefaultSnapshotBytes = 500_000_000
	DefaultSnapshotFiles = 100_000
)

// SnapshotOptions bounds a snapshot. The zero value is the default.
type SnapshotOptions struct {
	MaxBytes int64 // 0 = 500 MB
	MaxFiles int   // 0 = 100,000; folders and links count too
	// Exclude leaves entries out: patterns of path.Match over the slash-separated path from the
	// root, for example ".cache" or ".config/*/auth.json". A folder that matches is left out whole.
	Exclude []string
	Cache   *SnapshotCache // nil = every file is read
}

// Snapshot names a state of a folder.
type Snapshot struct {
	Tree    string // blob of the root folder
	Files   int
	Bytes   int64
	LOC     int64    // non-blank lines of text files outside dependency folders
	Skipped []string // sockets, devices and FIFOs that were left out, quoted; at most 100
}

// TooLargeError is a folder over the limits of a snapshot.
type TooLargeError struct {
	Dir      string
	Files    int
	Bytes    int64
	MaxFiles int
	MaxBytes int64
	TooDeep  bool
	Largest  []string // the largest folders, for example `node_modules (412.0 MB, 38211 files)`
}

func (e *TooLargeError) Error() string {
	s := fmt.Sprintf("%s is too large for a snapshot: %.1f MB in %d files (limits %.1f MB, %d files)",
		e.Dir, float64(e.Bytes)/1e6, e.Files, float64(e.MaxBytes)/1e6, e.MaxFiles)
	if e.TooDeep {
		s = fmt.Sprintf("%s cannot be snapshotted: folders are nested deeper than %d", e.Dir, maxDepth)
	}
	if len(e.Largest) > 0 {
		s += "; largest: " + strings.Join(e.Largest, ", ")
	}
	return s
}

// SnapshotCache remembers the files of one folder, so that a snapshot reads again only what size,
// mtime, ctime or inode show to have changed. The zero value is ready. It belongs to one folder and
// one store and is not safe for concurrent use.
type SnapshotCache struct {
	blobs *Blobs
	files map[string]cachedFile
}

type fileStamp struct {
	size         int64
	mtime, ctime int64
	inode, dev   uint64
}

type cachedFile struct {
	stamp fileStamp
	sha   string
	lines int64
}

// racy is how old a file's times must be for its stamp to be trusted: within one tick of the file
// system's clock a second write would not show.
const racy = 20 * time.Millisecond

// TakeSnapshot stores everything in folder dir, de-duplicated by content. Symlinks are kept as links
// and never followed; the executable bit is kept, owners, times and other modes are not. Over the
// limits the error is a *[TooLargeError] and nothing is stored.
func TakeSnapshot(b *Blobs, dir string, opt SnapshotOptions) (Snapshot, error) {
	if opt.MaxBytes == 0 {
		opt.MaxBytes = DefaultSnapshotBytes
	}
	if opt.MaxFiles == 0 {
		opt.MaxFiles = DefaultSnapshotFiles
	}
	for _, pattern := range opt.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return Snapshot{}, fmt.Errorf("pattern %q of files to leave out: %w", pattern, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of %s: %w", dir, err)
	}
	defer root.Close()
	s := snapshotter{blobs: b, dir: dir, opt: opt, fresh: map[string]cachedFile{}, trusted: time.Now().Add(-racy).UnixNano()}
	if opt.Cache != nil && opt.Cache.blobs == b {
		s.cached = opt.Cache.files
	}
	top, err := s.list(root, "", 0)
	if err == nil {
		err = s.checkSize(top)
	}
	if err != nil {
		return Snapshot{}, err
	}
	e, loc, err := s.store(root, top, "")
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of %s: %w", dir, err)
	}
	if opt.Cache != nil {
		opt.Cache.blobs, opt.Cache.files = b, s.fresh
	}
	return Snapshot{Tree: e.sha, Files: e.files, Bytes: e.bytes, LOC: loc, Skipped: s.skipped}, nil
}

type snapshotter struct {
	blobs   *Blobs
	dir     string
	opt     SnapshotOptions
	cached  map[string]cachedFile
	fresh   map[string]cachedFile
	trusted int64
	skipped []string
	entries int
	bytes   int64
	tooDeep bool
}

// listed is one entry of a folder before anything is read.
type listed struct {
	name    string
	kind    entryKind
	stamp   fileStamp
	entries []listed // of a folder
	files   int      // in all
	bytes   int64
}

// countLimit bounds how far past the limits a folder is still counted, to name what is large in it.
const countLimit = 10

// list walks a folder by names and sizes alone, so that a folder over the limits costs no reading.
func (s *snapshotter) list(root *os.Root, rel string, depth int) (listed, error) {
	d := listed{kind: folder}
	if depth > maxDepth {
		s.tooDeep = true
		return d, nil
	}
	names, err := readNames(root)
	if err != nil {
		return d, fmt.Errorf("listing %q of %s: %w", rel, s.dir, err)
	}
	for _, name := range names {
		at := path.Join(rel, name)
		if s.excluded(at) || s.entries > countLimit*s.opt.MaxFiles {
			continue
		}
		st, err := root.Lstat(name)
		if err != nil {
			return d, fmt.Errorf("snapshot of %s: %w", s.dir, err)
		}
		e := listed{name: name, stamp: stampOf(st)}
		switch mode := st.Mode(); {
		case mode.IsDir():
			sub, err := openFolder(root, name)
			if err != nil {
				return d, fmt.Errorf("opening %q of %s: %w", at, s.dir, err)
			}
			e, err = s.list(sub, at, depth+1)
			sub.Close()
			if err != nil {
				return d, err
			}
			e.name = name
		case mode&fs.ModeSymlink != 0:
			e.kind = symlink
		case mode.IsRegular():
			e.kind, e.files, e.bytes = plainFile, 1, st.Size()
			if mode&0o111 != 0 {
				e.kind = executableFile
			}
			s.bytes += st.Size()
		default:
			if len(s.skipped) < 100 {
				s.skipped = append(s.skipped, fmt.Sprintf("%q", at))
			}
			continue
		}
		s.entries++
		d.files, d.bytes = d.files+e.files, d.bytes+e.bytes
		d.entries = append(d.entries, e)
	}
	return d, nil
}

func (s *snapshotter) excluded(rel string) bool {
	for _, pattern := range s.opt.Exclude {
		if ok, _ := path.Match(pattern, rel); ok {
			return true
		}
	}
	return false
}

// readNames lists a folder in byte order.
func readNames(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}

// openFolder opens a folder even if its owner has taken the right to do so from himself.
func openFolder(root *os.Root, name string) (*os.Root, error) {
	sub, err := root.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) {
		if err := root.Chmod(name, 0o700); err != nil {
			return nil, err
		}
		return root.OpenRoot(name)
	}
	return sub, err
}

func (s *snapshotter) checkSize(top listed) error {
	if s.entries <= s.opt.MaxFiles && s.bytes <= s.opt.MaxBytes && !s.tooDeep {
		return nil
	}
	return &TooLargeError{Dir: s.dir, Files: s.entries, Bytes: s.bytes, MaxFiles: s.opt.MaxFiles, MaxBytes: s.opt.MaxBytes,
		TooDeep: s.tooDeep, Largest: largest(top, 3)}
}

// largest names the n largest folders; a folder that holds more than half of its parent stands for it.
func largest(top listed, n int) []string {
	type candidate struct {
		path string
		d    listed
	}
	var all []candidate
	var visit func(at string, d listed)
	visit = func(at string, d listed) {
		for _, e := range d.entries {
			if e.kind != folder || e.files == 0 {
				continue
			}
			where := path.Join(at, e.name)
			heavy := false
			for _, sub := range e.entries {
				heavy = heavy || sub.kind == folder && 2*sub.bytes > e.bytes && 2*sub.files > e.files
			}
			if heavy {
				visit(where, e)
				continue
			}
			all = append(all, candidate{where, e})
		}
	}
	visit("", top)
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].d.bytes != all[j].d.bytes {
			return all[i].d.bytes > all[j].d.bytes
		}
		return all[i].d.files > all[j].d.files
	})
	var names []string
	for _, c := range all[:min(n, len(all))] {
		names = append(names, fmt.Sprintf("%q (%.1f MB, %d files)", c.path, float64(c.d.bytes)/1e6, c.d.files))
	}
	return names
}

// store writes a folder and all below it; loc leaves dependency folders out, the entry's lines too.
func (s *snapshotter) store(root *os.Root, d listed, rel string) (e treeEntry, loc int64, err error) {
	entries := make([]treeEntry, 0, len(d.entries))
	sum := treeEntry{kind: folder, name: d.name}
	for _, l := range d.entries {
		var c treeEntry
		at := path.Join(rel, l.name)
		switch l.kind {
		case folder:
			sub, err := openFolder(root, l.name)
			if err != nil {
				return e, 0, err
			}
			var below int64
			c, below, err = s.store(sub, l, at)
			sub.Close()
			if err != nil {
				return e, 0, err
			}
			if !dependencyFolders[l.name] {
				loc += below
			}
			sum.files += c.files
		case symlink:
			target, err := root.Readlink(l.name)
			if err != nil {
				return e, 0, err
			}
			c = treeEntry{kind: symlink, name: l.name, target: target}
		default:
			if c, err = s.storeFile(root, l, at); err != nil {
				return e, 0, err
			}
			loc += c.lines
			sum.files++
		}
		sum.bytes += c.bytes
		entries = append(entries, c)
	}
	sum.lines = loc
	sum.sha, err = s.blobs.Put(encodeTree(entries))
	return sum, loc, err
}

func (s *snapshotter) storeFile(root *os.Root, l listed, at string) (treeEntry, error) {
	e := treeEntry{kind: l.kind, name: l.name, bytes: l.bytes}
	if c, ok := s.cached[at]; ok && c.stamp == l.stamp {
		e.sha, e.lines = c.sha, c.lines
		s.fresh[at] = c
		return e, nil
	}
	f, err := openFile(root, l.name)
	if err != nil {
		return e, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return e, err
	} else if !st.Mode().IsRegular() {
		return e, fmt.Errorf("%q changed while it was read", at)
	}
	if l.bytes > maxText {
		n := &counter{r: io.LimitReader(f, s.opt.MaxBytes)}
		e.sha, err = s.blobs.PutReader(n)
		e.bytes = n.n
	} else {
		var p []byte
		if p, err = io.ReadAll(io.LimitReader(f, maxText)); err != nil {
			return e, err
		}
		e.bytes, e.lines = int64(len(p)), countLines(p)
		e.sha, err = s.blobs.Put(p)
	}
	if err == nil && l.stamp.mtime < s.trusted && l.stamp.ctime < s.trusted {
		s.fresh[at] = cachedFile{stamp: l.stamp, sha: e.sha, lines: e.lines}
	}
	return e, err
}

// openFile opens a file for reading without waiting for a FIFO that has taken its place.
func openFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) {
		if err := root.Chmod(name, 0o600); err != nil {
			return nil, err
		}
		return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	}
	return f, err
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// TreeSHA returns the hash a snapshot of an empty folder has.
func TreeSHA() string {
	sum := sha256.Sum256(encodeTree(nil))
	return hex.EncodeToString(sum[:])
}

// restoredTime is the one time every restored file gets, so that no build tool sees a difference
// between two restores.
var restoredTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// RestoreSnapshot makes folder dir hold exactly what the snapshot holds; dir is made if it does not
// exist, and emptied first. Nothing outside dir is touched, whatever links are in it.
func RestoreSnapshot(b *Blobs, tree, dir string) error {
	if err := restore(b, tree, dir); err != nil {
		return fmt.Errorf("restoring snapshot %s to %s: %w", short(tree), dir, err)
	}
	return nil
}

func restore(b *Blobs, tree, dir string) error {
	// The tree is read before anything is deleted, so a wrong hash does no harm.
	if _, err := b.Get(tree); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := empty(root, 0); err != nil {
		return err
	}
	return restoreFolder(b, tree, root, 0)
}

// empty removes everything in a folder, also below folders whose owner may not enter them.
func empty(root *os.Root, depth int) error {
	names, err := readNames(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := root.RemoveAll(name)
		if errors.Is(err, fs.ErrPermission) && depth < maxDepth {
			sub, openErr := openFolder(root, name)
			if openErr != nil {
				return openErr
			}
			err = errors.Join(root.Chmod(name, 0o700), empty(sub, depth+1))
			sub.Close()
			if err == nil {
				err = root.Remove(name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func restoreFolder(b *Blobs, tree string, root *os.Root, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("folders are nested deeper than %d", maxDepth)
	}
	p, err := b.Get(tree)
	if err != nil {
		return err
	}
	entries, err := decodeTree(p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := restoreEntry(b, e, root, depth); err != nil {
			return fmt.Errorf("%q: %w", e.name, err)
		}
	}
	return root.Chtimes(".", restoredTime, restoredTime)
}

func restoreEntry(b *Blobs, e treeEntry, root *os.Root, depth int) error {
	switch e.kind {
	case symlink:
		return root.Symlink(e.target, e.name)
	case folder:
		if err := root.Mkdir(e.name, 0o755); err != nil {
			return err
		}
		sub, err := root.OpenRoot(e.name)
		if err != nil {
			return err
		}
		defer sub.Close()
		return restoreFolder(b, e.sha, sub, depth+1)
	}
	mode := fs.FileMode(0o644)
	if e.kind == executableFile {
		mode = 0o755
	}
	f, err := root.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if e.bytes <= maxText {
		var p []byte
		if p, err = b.Get(e.sha); err == nil {
			_, err = io.Copy(f, bytes.NewReader(p))
		}
	} else {
		_, err = b.WriteTo(e.sha, f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Chtimes(e.name, restoredTime, restoredTime)
}
