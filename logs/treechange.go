package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// TreeFile is a file or a link as a snapshot holds it.
type TreeFile struct {
	SHA        string // blob; "" for a link
	Bytes      int64
	Executable bool
	Link       string // target of a link
}

// TreeChange is a file that two snapshots do not hold alike. Nil is a file that is not there.
type TreeChange struct {
	Path          string // slash-separated, from the root of the snapshot
	Before, After *TreeFile
}

var errTooManyChanges = errors.New("too many changes")

// TreeChanges lists what differs between two snapshots outside dependency folders, without opening a file, in the order
// of folders and names: at most so many, and whether there are more. oldTree may be "".
func TreeChanges(b *Blobs, oldTree, newTree string, most int) (changes []TreeChange, more bool, err error) {
	w := treeWalk{blobs: b, links: true, differ: func(name string, old, now treeEntry) error {
		if len(changes) == most {
			return errTooManyChanges
		}
		changes = append(changes, TreeChange{Path: name, Before: old.file(), After: now.file()})
		return nil
	}}
	err = w.folders(oldTree, newTree, "", 0)
	if errors.Is(err, errTooManyChanges) {
		return changes, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("comparing snapshots %s and %s: %w", short(oldTree), short(newTree), err)
	}
	return changes, false, nil
}

// file is what an entry holds; nil for an entry that is not there.
func (e treeEntry) file() *TreeFile {
	if e.kind == 0 {
		return nil
	}
	return &TreeFile{SHA: e.sha, Bytes: e.bytes, Executable: e.kind == executableFile, Link: e.target}
}

// EpisodeBlobs opens the store of an episode for reading; nil if it has none. Nothing is created.
func EpisodeBlobs(d *RunDir, episode string) *Blobs {
	if !isEpisodeID(episode) {
		return nil
	}
	return existingBlobs(d, episode)
}

// Beginning returns the first bytes of a blob, at most so many, without unpacking the rest. Its hash is checked only if
// that is all of it.
func (b *Blobs) Beginning(sha string, most int64) ([]byte, error) {
	if !isSHA(sha) {
		return nil, &BlobError{SHA: sha, Path: b.dir, Text: "no SHA-256 in hex"}
	}
	path := b.path(sha)
	f, err := openSource(path, path, func() (io.ReadCloser, error) { return openRegular(path) })
	if err != nil {
		return nil, &BlobError{SHA: sha, Path: path, Text: "cannot be opened", Err: err}
	}
	defer f.Close()
	p, err := f.Range(0, int(most)+1)
	if err != nil {
		return nil, &BlobError{SHA: sha, Path: path, Text: err.Error(), Err: err}
	}
	if int64(len(p)) > most {
		return p[:most], nil
	}
	if sum := sha256.Sum256(p); hex.EncodeToString(sum[:]) != sha {
		return nil, &BlobError{SHA: sha, Path: path, Text: "its content does not have the hash of its name"}
	}
	return p, nil
}
