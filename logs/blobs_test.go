package logs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestBlobs(t *testing.T) {
	b := openBlobs(t)
	for _, p := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abc\n"), 1<<19)} {
		sha, err := b.Put(p)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := b.PutReader(bytes.NewReader(p))
		if err != nil || streamed != sha {
			t.Fatalf("streamed %s, put %s (%v)", streamed, sha, err)
		}
		fresh, err := OpenBlobs(b.Dir())
		if err != nil || !fresh.Has(sha) {
			t.Fatalf("a new store does not have %s (%v)", sha, err)
		}
		got, err := fresh.Get(sha)
		if err != nil || !bytes.Equal(got, p) {
			t.Fatalf("%d bytes came back for %d (%v)", len(got), len(p), err)
		}
		var w bytes.Buffer
		if n, err := fresh.WriteTo(sha, &w); err != nil || n != int64(len(p)) || !bytes.Equal(w.Bytes(), p) {
			t.Fatalf("WriteTo gave %d bytes (%v)", n, err)
		}
	}
	// The hash is that of `printf x | sha256sum`.
	const x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	if !b.Has(x) {
		t.Error("x is not stored under its SHA-256")
	}
	if st, err := os.Stat(filepath.Join(b.Dir(), "2d", x[2:]+".zst")); err != nil || st.Size() == 0 {
		t.Errorf("x is not in 2d/: %v", err)
	}
	if leftovers, _ := filepath.Glob(filepath.Join(b.Dir(), ".tmp-*")); len(leftovers) > 0 {
		t.Errorf("temporary files stayed: %v", leftovers)
	}
}

func TestBlobsStreamLarge(t *testing.T) {
	b := openBlobs(t)
	// Larger than what WriteTo takes in one piece, and not compressible to less than that.
	p := make([]byte, 3<<20)
	state := uint32(1)
	for i := range p {
		state = state*1664525 + 1013904223
		p[i] = byte(state >> 24)
	}
	sha, err := b.PutReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	if _, err := b.WriteTo(sha, &w); err != nil || !bytes.Equal(w.Bytes(), p) {
		t.Errorf("%d bytes came back (%v)", w.Len(), err)
	}
}

func TestBlobsRefuseDamage(t *testing.T) {
	b := openBlobs(t)
	sha, err := b.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.Put([]byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	path := b.path(sha)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *BlobError
	for what, packed := range map[string][]byte{"swapped": readFile(t, b.path(other)), "cut": readFile(t, path)[:5], "empty": nil} {
		if err := os.WriteFile(path, packed, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Get(sha); !errors.As(err, &bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"", "../../etc/passwd", strings.Repeat("g", 64), strings.Repeat("0", 64)} {
		if _, err := b.Get(name); !errors.As(err, &bad) || b.Has(name) {
			t.Errorf("Get(%q): %v", name, err)
		}
	}
}

func TestBlobsConcurrently(t *testing.T) {
	b := openBlobs(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				p := fmt.Appendf(nil, "blob %d", i)
				sha, err := b.Put(p)
				if err != nil {
					t.Error(w, err)
					return
				}
				if got, err := b.Get(sha); err != nil || !bytes.Equal(got, p) {
					t.Error(w, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestBlobsDiskFull(t *testing.T) {
	b := openBlobs(t)
	b.sync = func(*os.File) error { return syscall.ENOSPC }
	sha, err := b.Put([]byte("content"))
	if !errors.Is(err, syscall.ENOSPC) || sha != "" {
		t.Fatalf("%q, %v", sha, err)
	}
	var files []string
	filepath.WalkDir(b.Dir(), func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if len(files) > 0 {
		t.Errorf("a failed Put left %v", files)
	}
}

func BenchmarkBlobPut(b *testing.B) {
	store, n := openBlobs(b), 0
	for b.Loop() {
		n++
		if _, err := store.Put(fmt.Appendf(nil, "%d %s", n, strings.Repeat("line of a log\n", 300))); err != nil {
			b.Fatal(err)
		}
	}
}
