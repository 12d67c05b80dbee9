package fleet

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// parcel is what has been handed in of an episode's folder: every pack holds the blobs that are new since the one
// before, the next piece of the journal, and the file of planted faults of a simulated agent.
type parcel struct {
	Packs   []Pack `json:"packs,omitempty"`
	Journal int64  `json:"journal,omitempty"` // bytes of the journal in the packs
}

// sender hands an episode's folder in, piece by piece.
type sender struct {
	store   store
	dir     string          // of the episode
	scratch string          // a folder for packs on their way
	sent    map[string]bool // files that the packs hold
	parcel  parcel
}

// journalPiece names the pieces of the journal in a pack; their order is that of the packs.
const journalPiece = "journal"

// inPack are the names that a pack may hold.
var inPack = regexp.MustCompile(`^(journal|truth|blobs/[0-9a-f]{2}/[0-9a-f]{62}\.zst)$`)

// send hands in what is new. A pack that was not confirmed counts as not sent.
func (s *sender) send(ctx context.Context) error {
	f, err := os.CreateTemp(s.scratch, "pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	fresh, journal, err := s.write(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("packing the episode in %s: %w", s.dir, err)
	}
	if journal == s.parcel.Journal && len(fresh) == 0 {
		return nil
	}
	p, err := packOf(f.Name())
	if err != nil {
		return err
	}
	if err := s.store.put(ctx, p, f.Name()); err != nil {
		return err
	}
	s.parcel = parcel{Packs: append(s.parcel.Packs[:len(s.parcel.Packs):len(s.parcel.Packs)], p), Journal: journal}
	for _, name := range fresh {
		s.sent[name] = true
	}
	return nil
}

// write fills a pack with the files that were not sent yet. The journal is measured first: what it names is there.
func (s *sender) write(ctx context.Context, to io.Writer) (fresh []string, journal int64, err error) {
	t := tar.NewWriter(to)
	journal, err = logs.JournalLength(filepath.Join(s.dir, logs.JournalName))
	if err != nil {
		return nil, 0, err
	}
	err = filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if s.sent[rel] || !inPack.MatchString(rel) {
			return nil // there already, or on its way into the store
		}
		fresh = append(fresh, rel)
		return s.add(ctx, t, rel, 0, -1)
	})
	if err != nil {
		return nil, 0, err
	}
	if st, err := os.Lstat(filepath.Join(s.dir, truthName)); err == nil && st.Mode().IsRegular() {
		if err := s.add(ctx, t, truthName, 0, st.Size()); err != nil {
			return nil, 0, err
		}
	}
	if journal > s.parcel.Journal {
		if err := s.add(ctx, t, journalPiece, s.parcel.Journal, journal-s.parcel.Journal); err != nil {
			return nil, 0, err
		}
	}
	return fresh, journal, t.Close()
}

// add puts n bytes of a file into a pack; -1 = all of them.
func (s *sender) add(ctx context.Context, t *tar.Writer, name string, from, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file := name
	if name == journalPiece {
		file = logs.JournalName
	}
	f, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	defer f.Close()
	if n < 0 {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		n = st.Size()
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: n, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(t, io.NewSectionReader(f, from, n))
	return err
}

// restore builds the folder of an episode from what was handed in. Nothing in it was checked beyond names, sizes and
// hashes of the packs: chain and blobs are the reader's to verify.
func restore(ctx context.Context, st store, p parcel, dir, scratch string) (*sender, error) {
	s := &sender{store: st, dir: dir, scratch: scratch, sent: map[string]bool{}, parcel: p}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if len(p.Packs) == 0 {
		return s, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "blobs"), 0o755); err != nil {
		return nil, err
	}
	for _, pack := range p.Packs {
		if err := s.unpack(ctx, pack); err != nil {
			return nil, err
		}
	}
	length, err := logs.JournalLength(filepath.Join(dir, logs.JournalName))
	if err == nil && length != p.Journal {
		err = &DamagedError{p.Packs[len(p.Packs)-1], fmt.Sprintf("the journal has %d bytes that hold together, %d were handed in", length, p.Journal)}
	}
	return s, err
}

// unpack fetches one pack and adds it to the folder.
func (s *sender) unpack(ctx context.Context, p Pack) error {
	f, err := os.CreateTemp(s.scratch, "pack-*")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	if err := s.store.get(ctx, p, f.Name()); err != nil {
		return err
	}
	err = eachFile(f.Name(), inPack, func(name string, r io.Reader) error {
		if err := s.place(name, r); err != nil {
			return err
		}
		if strings.HasPrefix(name, "blobs/") {
			s.sent[name] = true
		}
		return nil
	})
	var bad *archiveError
	if errors.As(err, &bad) {
		return &DamagedError{p, bad.text}
	}
	return err
}

// archiveError is an archive that nobody here has made.
type archiveError struct{ text string }

func (e *archiveError) Error() string { return e.text }

// eachFile calls use for every file of an archive. Names that it may not hold, and what is no file, are an archiveError.
func eachFile(archive string, names *regexp.Regexp, use func(name string, r io.Reader) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &archiveError{err.Error()}
		}
		if h.Typeflag != tar.TypeReg || !names.MatchString(h.Name) || path.Clean(h.Name) != h.Name || h.Size > maxStudyFile {
			return &archiveError{fmt.Sprintf("it holds %q, which is never packed", h.Name)}
		}
		if err := use(h.Name, t); err != nil {
			return err
		}
	}
}

// place writes one file of a pack; a piece of the journal goes behind the pieces before it.
func (s *sender) place(name string, r io.Reader) error {
	how := os.O_TRUNC
	if name == journalPiece {
		name, how = logs.JournalName, os.O_APPEND
	}
	to := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
