package fleet

import (
	"archive/tar"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// inStudy are the files of a run directory that make a study: what a worker needs to run its episodes alike.
var inStudy = regexp.MustCompile(`^(study\.yaml|prices\.yaml|(harness|scenarios)(/[A-Za-z0-9_][A-Za-z0-9._-]*)+)$`)

// maxStudyFile bounds one file of an archive.
const maxStudyFile = 1 << 30

// packStudy writes the study of a run directory into an archive. The same study gives the same bytes.
func packStudy(root, archive string) (p Pack, err error) {
	f, err := os.Create(archive)
	if err != nil {
		return Pack{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t := tar.NewWriter(f)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if first, _, _ := strings.Cut(rel, "/"); rel != "." && first != "harness" && first != "scenarios" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !inStudy.MatchString(rel) {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: rel, Mode: 0o644, Size: int64(len(b)), Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = t.Write(b)
		return err
	})
	if err = errors.Join(err, t.Close()); err != nil {
		return Pack{}, fmt.Errorf("packing the study: %w", err)
	}
	return packOf(archive)
}

// unpackStudy writes the files of an archive into a new run directory.
func unpackStudy(archive, root string) error {
	err := eachFile(archive, inStudy, func(name string, r io.Reader) error {
		to := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	})
	var bad *archiveError
	if errors.As(err, &bad) {
		return &study.InputError{File: "the queue", Message: "its study cannot be unpacked: " + bad.text, Advice: "this is no study that stint offered"}
	}
	if err != nil {
		return fmt.Errorf("unpacking the study: %w", err)
	}
	return nil
}

// text is SHA:BYTES.
func (p Pack) text() string { return p.SHA + ":" + strconv.FormatInt(p.Bytes, 10) }

func packFromText(s string) (Pack, error) {
	sha, size, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if _, bad := hex.DecodeString(sha); !ok || err != nil || bad != nil || len(sha) != 64 {
		return Pack{}, fmt.Errorf("%q names no pack", s)
	}
	return Pack{SHA: sha, Bytes: n}, nil
}
