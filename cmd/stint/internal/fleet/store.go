package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Pack names what a worker has handed in, by the SHA-256 of its bytes.
type Pack struct {
	SHA   string `json:"sha"`
	Bytes int64  `json:"bytes"`
}

// maxPack bounds one pack that is read.
const maxPack = 4 << 30

// store keeps packs where all hosts of a fleet find them.
type store interface {
	// put keeps the file under its hash; one that is there is not sent again.
	put(ctx context.Context, p Pack, path string) error
	// get writes a pack to a file and checks its hash.
	get(ctx context.Context, p Pack, path string) error
}

// storeOf is where the packs of a study are.
func (l *link) storeOf(t *Terms) store {
	if t.Blobs != "" {
		return folderStore(filepath.Join(t.Blobs, l.key))
	}
	return &objectStore{l.packs}
}

// packOf names a file.
func packOf(path string) (Pack, error) {
	f, err := os.Open(path)
	if err != nil {
		return Pack{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return Pack{SHA: hex.EncodeToString(h.Sum(nil)), Bytes: n}, err
}

// receive copies a pack into a file and refuses one that is not what it is called.
func receive(p Pack, r io.Reader, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if p.Bytes < 0 || p.Bytes > maxPack {
		return &DamagedError{p, fmt.Sprintf("its size is given as %d bytes", p.Bytes)}
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, p.Bytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("receiving the pack %.12s: %w", p.SHA, err)
	case n != p.Bytes || hex.EncodeToString(h.Sum(nil)) != p.SHA:
		return &DamagedError{p, "its bytes do not have the hash of its name"}
	}
	return nil
}

// DamagedError is a pack that is missing or not what it is called.
type DamagedError struct {
	Pack
	Text string
}

func (e *DamagedError) Error() string { return fmt.Sprintf("pack %.12s: %s", e.SHA, e.Text) }

// objectStore keeps packs in the queue.
type objectStore struct{ jetstream.ObjectStore }

// wait bounds one try to send or fetch a pack: 256 kB a second are taken for slow.
func (p Pack) wait() time.Duration {
	return 5*time.Second + time.Duration(p.Bytes)*time.Second/(256<<10)
}

func (s *objectStore) put(ctx context.Context, p Pack, path string) error {
	ctx, cancel := context.WithTimeout(ctx, p.wait())
	defer cancel()
	if info, err := s.GetInfo(ctx, p.SHA); err == nil && info.Size == uint64(p.Bytes) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := s.Put(ctx, jetstream.ObjectMeta{Name: p.SHA}, f); err != nil {
		return fmt.Errorf("handing in the pack %.12s of %d bytes: %w", p.SHA, p.Bytes, err)
	}
	return nil
}

func (s *objectStore) get(ctx context.Context, p Pack, path string) error {
	if p.Bytes < 0 || p.Bytes > maxPack {
		return &DamagedError{p, fmt.Sprintf("its size is given as %d bytes", p.Bytes)}
	}
	ctx, cancel := context.WithTimeout(ctx, p.wait())
	defer cancel()
	r, err := s.Get(ctx, p.SHA)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return &DamagedError{p, "is not in the queue's store"}
	}
	if err != nil {
		return fmt.Errorf("fetching the pack %.12s: %w", p.SHA, err)
	}
	defer r.Close()
	return receive(p, r, path)
}

// folderStore keeps packs in a folder that all hosts see.
type folderStore string

func (s folderStore) path(p Pack) string { return filepath.Join(string(s), p.SHA[:2], p.SHA[2:]) }

func (s folderStore) put(_ context.Context, p Pack, path string) error {
	to := s.path(p)
	if st, err := os.Lstat(to); err == nil && st.Size() == p.Bytes {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("handing in a pack: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	coming, err := os.CreateTemp(filepath.Dir(to), ".coming-*")
	if err != nil {
		return fmt.Errorf("handing in a pack: %w", err)
	}
	defer os.Remove(coming.Name())
	_, err = io.Copy(coming, f)
	if err = errors.Join(err, coming.Sync(), coming.Close()); err != nil {
		return fmt.Errorf("handing in the pack %.12s of %d bytes: %w", p.SHA, p.Bytes, err)
	}
	return os.Rename(coming.Name(), to)
}

func (s folderStore) get(_ context.Context, p Pack, path string) error {
	if len(p.SHA) != 2*sha256.Size {
		return &DamagedError{p, "its name is no SHA-256"}
	}
	f, err := os.Open(s.path(p))
	if err != nil {
		return &DamagedError{p, "is not in " + string(s)}
	}
	defer f.Close()
	return receive(p, f, path)
}
