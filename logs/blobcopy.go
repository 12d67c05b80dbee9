package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Adopt verifies every blob of the store in folder from, which may be missing, and puts it into b: by a hard link where
// the file system allows it, else as a copy. It does not change the other store. The error of a damaged blob is a
// *[BlobError]; blobs that came before it are in b.
func (b *Blobs) Adopt(ctx context.Context, from string) error {
	src := &Blobs{dir: from, known: map[string]bool{}}
	folders, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the blob store: %w", err)
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 {
			continue // what a crash left of a blob that was not whole
		}
		files, err := os.ReadDir(filepath.Join(from, folder.Name()))
		if err != nil {
			return fmt.Errorf("reading the blob store: %w", err)
		}
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return err
			}
			name, isBlob := strings.CutSuffix(f.Name(), ".zst")
			if sha := folder.Name() + name; isBlob && isSHA(sha) && !b.Has(sha) {
				if err := b.adopt(src, sha); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// adopt takes one blob over.
func (b *Blobs) adopt(src *Blobs, sha string) error {
	if _, err := src.WriteTo(sha, io.Discard); err != nil {
		var bad *BlobError
		if !errors.As(err, &bad) {
			err = &BlobError{SHA: sha, Path: src.path(sha), Text: "cannot be unpacked: " + err.Error(), Err: err}
		}
		return err
	}
	if err := b.makeDir(filepath.Dir(b.path(sha))); err != nil {
		return err
	}
	if err := os.Link(src.path(sha), b.path(sha)); err == nil {
		b.remember(sha)
		return nil
	}
	f, err := openRegular(src.path(sha))
	if err != nil {
		return &BlobError{SHA: sha, Path: src.path(sha), Text: "cannot be opened", Err: err}
	}
	defer f.Close()
	err = b.write(func(to *os.File) (string, error) {
		_, err := io.Copy(to, f)
		return sha, err
	})
	if err != nil {
		return fmt.Errorf("storing blob %s: %w", short(sha), err)
	}
	return nil
}

// named are the blobs that the data of a record may name, by the keys of all types of records.
type named struct {
	Suite     struct{ SHA string }  `json:"suite"`
	ChangeSHA string                `json:"change_sha"`
	SpecSHA   string                `json:"spec_sha"`
	Base      string                `json:"base"` // snapshot
	PromptSHA string                `json:"prompt_sha"`
	Log       struct{ Blob string } `json:"log"`
	Gateway   struct{ Blob string } `json:"gateway"`
	Tree      string                `json:"tree"`     // snapshot
	HomeSHA   string                `json:"home_sha"` // snapshot
	LogBlob   string                `json:"log_blob"`
	Blob      string                `json:"blob"`
	Result    string                `json:"result"`
	SHA       string                `json:"sha"`
}

// HasAllOf says whether the store has every blob that the records name, and of a snapshot every folder and file. The
// error is a *[BlobError] of the first that is missing.
func (b *Blobs) HasAllOf(records []Record) error {
	seen := map[string]bool{}
	for _, r := range records {
		if r.Type == TypeEpisodeStart || r.Type == TypeResume || r.Type == TypeEpisodeEnd || r.Type == TypeUsage {
			continue
		}
		d, err := Decode[named](r)
		if err != nil {
			return err
		}
		for _, sha := range []string{d.Suite.SHA, d.ChangeSHA, d.SpecSHA, d.PromptSHA, d.Log.Blob, d.Gateway.Blob, d.LogBlob, d.Blob, d.Result, d.SHA} {
			if sha != "" && !b.Has(sha) {
				return &BlobError{SHA: sha, Path: b.dir, Text: fmt.Sprintf("is not in the store, but record %d (%s) names it", r.Seq, r.Type)}
			}
		}
		for _, tree := range []string{d.Base, d.Tree, d.HomeSHA} {
			if err := b.hasTree(tree, seen, 0); err != nil {
				return fmt.Errorf("snapshot of record %d: %w", r.Seq, err)
			}
		}
	}
	return nil
}

// hasTree looks for everything below a folder of a snapshot that was not seen before.
func (b *Blobs) hasTree(tree string, seen map[string]bool, depth int) error {
	if tree == "" || seen[tree] {
		return nil
	}
	seen[tree] = true
	if depth > maxDepth {
		return fmt.Errorf("folders are nested deeper than %d", maxDepth)
	}
	p, err := b.Get(tree)
	if err != nil {
		return err
	}
	entries, err := decodeTree(p)
	if err != nil {
		return &BlobError{SHA: tree, Path: b.dir, Text: err.Error(), Err: err}
	}
	for _, e := range entries {
		switch {
		case e.kind == folder:
			if err := b.hasTree(e.sha, seen, depth+1); err != nil {
				return err
			}
		case e.isFile() && !b.Has(e.sha):
			return &BlobError{SHA: e.sha, Path: b.dir, Text: fmt.Sprintf("is not in the store, but a snapshot has it as %q", e.name)}
		}
	}
	return nil
}
