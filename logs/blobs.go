package logs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxBlob is the size in bytes, uncompressed, up to which [Blobs.Get] hands out a blob.
const MaxBlob = 1 << 30

// Blobs is a store of immutable byte strings, addressed by the SHA-256 of their content and kept
// compressed: DIR/ab/cdef….zst. It is safe for concurrent use, by several processes too.
type Blobs struct {
	dir  string
	sync func(*os.File) error

	mu    sync.Mutex
	known map[string]bool // present for sure; spares a stat
	dirs  map[string]bool // fan-out folders that exist
}

// BlobError is a blob that is missing or damaged.
type BlobError struct {
	SHA, Path, Text string
	Err             error
}

func (e *BlobError) Error() string {
	return fmt.Sprintf("blob %s in %s: %s", short(e.SHA), e.Path, e.Text)
}

// Unwrap returns the cause, if there is one.
func (e *BlobError) Unwrap() error { return e.Err }

func short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	return sha
}

// OpenBlobs opens the store in folder dir, or creates it.
func OpenBlobs(dir string) (*Blobs, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening blob store: %w", err)
	}
	return &Blobs{dir: dir, sync: (*os.File).Sync, known: map[string]bool{}, dirs: map[string]bool{}}, nil
}

// Dir returns the folder of the store.
func (b *Blobs) Dir() string { return b.dir }

// Encoders and decoders are costly to make and safe to share for whole-buffer work.
var (
	sharedEncoder = sync.OnceValue(func() *zstd.Encoder {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(2))
		if err != nil {
			panic("logs: zstd encoder options: " + err.Error())
		}
		return enc
	})
	sharedDecoder = sync.OnceValue(func() *zstd.Decoder {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxBlob), zstd.WithDecoderConcurrency(2))
		if err != nil {
			panic("logs: zstd decoder options: " + err.Error())
		}
		return dec
	})
	streamEncoders = sync.Pool{New: func() any {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic("logs: zstd encoder options: " + err.Error())
		}
		return enc
	}}
)

// Put stores p and returns its hash. The content is on disk when Put returns.
func (b *Blobs) Put(p []byte) (sha string, err error) {
	sum := sha256.Sum256(p)
	sha = hex.EncodeToString(sum[:])
	if b.Has(sha) {
		return sha, nil
	}
	err = b.write(func(f *os.File) (string, error) {
		_, err := f.Write(sharedEncoder().EncodeAll(p, make([]byte, 0, len(p)/3+64)))
		return sha, err
	})
	if err != nil {
		return "", fmt.Errorf("storing blob %s: %w", short(sha), err)
	}
	return sha, nil
}

// PutReader stores what r yields, without holding it in memory, and returns its hash.
func (b *Blobs) PutReader(r io.Reader) (sha string, err error) {
	err = b.write(func(f *os.File) (string, error) {
		enc := streamEncoders.Get().(*zstd.Encoder)
		defer streamEncoders.Put(enc)
		enc.Reset(f)
		h := sha256.New()
		if _, err := io.Copy(enc, io.TeeReader(r, h)); err != nil {
			return "", errors.Join(err, enc.Close())
		}
		sha = hex.EncodeToString(h.Sum(nil))
		return sha, enc.Close()
	})
	if err != nil {
		return "", fmt.Errorf("storing a blob in %s: %w", b.dir, err)
	}
	return sha, nil
}

// write fills a temporary file beside its future place, syncs it and renames it, so that a blob is
// there whole or not at all. fill returns the hash that names the blob.
func (b *Blobs) write(fill func(*os.File) (string, error)) (err error) {
	f, err := os.CreateTemp(b.dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	sha, err := fill(f)
	if err != nil {
		return err
	}
	if b.Has(sha) {
		f.Close()
		os.Remove(f.Name())
		return nil
	}
	if err := b.sync(f); err != nil {
		return err
	}
	if err := f.Chmod(0o444); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	path := b.path(sha)
	if err := b.makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path), b.sync); err != nil {
		return err
	}
	b.remember(sha)
	return nil
}

func (b *Blobs) makeDir(dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dirs[dir] {
		return nil
	}
	if err := os.Mkdir(dir, 0o755); err == nil {
		if err := syncDir(b.dir, b.sync); err != nil {
			return err
		}
	} else if !os.IsExist(err) {
		return err
	}
	b.dirs[dir] = true
	return nil
}

func (b *Blobs) remember(sha string) {
	b.mu.Lock()
	b.known[sha] = true
	b.mu.Unlock()
}

func (b *Blobs) path(sha string) string {
	return filepath.Join(b.dir, sha[:2], sha[2:]+".zst")
}

// Has says whether the blob is in the store.
func (b *Blobs) Has(sha string) bool {
	if !isSHA(sha) {
		return false
	}
	b.mu.Lock()
	known := b.known[sha]
	b.mu.Unlock()
	if known {
		return true
	}
	if st, err := os.Lstat(b.path(sha)); err != nil || !st.Mode().IsRegular() {
		return false
	}
	b.remember(sha)
	return true
}

func isSHA(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// Get returns the content of a blob after checking its hash. The error is a *[BlobError].
func (b *Blobs) Get(sha string) ([]byte, error) {
	if !isSHA(sha) {
		return nil, &BlobError{SHA: sha, Path: b.dir, Text: "no SHA-256 in hex"}
	}
	path := b.path(sha)
	f, err := openRegular(path)
	if err != nil {
		text := "cannot be opened"
		if os.IsNotExist(err) {
			text = "is not in the store"
		}
		return nil, &BlobError{SHA: sha, Path: path, Text: text, Err: err}
	}
	defer f.Close()
	packed, err := io.ReadAll(io.LimitReader(f, MaxBlob+1))
	if err != nil {
		return nil, &BlobError{SHA: sha, Path: path, Text: "cannot be read: " + err.Error(), Err: err}
	}
	if len(packed) > MaxBlob {
		return nil, &BlobError{SHA: sha, Path: path, Text: fmt.Sprintf("is over the limit of %d bytes", MaxBlob)}
	}
	p, err := sharedDecoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, &BlobError{SHA: sha, Path: path, Text: "cannot be unpacked: " + err.Error(), Err: err}
	}
	if sum := sha256.Sum256(p); hex.EncodeToString(sum[:]) != sha {
		return nil, &BlobError{SHA: sha, Path: path, Text: "its content does not have the hash of its name"}
	}
	return p, nil
}

// WriteTo copies a blob to w without holding it in memory and checks its hash at the end, so on an
// error what was written must be thrown away.
func (b *Blobs) WriteTo(sha string, w io.Writer) (int64, error) {
	if !isSHA(sha) {
		return 0, &BlobError{SHA: sha, Path: b.dir, Text: "no SHA-256 in hex"}
	}
	path := b.path(sha)
	f, err := openRegular(path)
	if err != nil {
		return 0, &BlobError{SHA: sha, Path: path, Text: "cannot be opened: " + err.Error(), Err: err}
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() < 1<<20 {
		p, err := b.Get(sha)
		if err != nil {
			return 0, err
		}
		return io.Copy(w, bytes.NewReader(p))
	}
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlob))
	if err != nil {
		return 0, err
	}
	defer dec.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), dec)
	if err != nil {
		return n, fmt.Errorf("copying blob %s: %w", short(sha), err)
	}
	if hex.EncodeToString(h.Sum(nil)) != sha {
		return n, &BlobError{SHA: sha, Path: path, Text: "its content does not have the hash of its name"}
	}
	return n, nil
}
