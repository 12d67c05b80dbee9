package logs

import "fmt"

// FileChange is a text file that two snapshots do not hold alike. A file that is not there, is no text or is too large
// has nil in its place.
type FileChange struct {
	Path          string // slash-separated, from the root of the snapshot
	Before, After []byte
}

// ChangedFiles returns the text files outside dependency folders that differ between two snapshots, in the order of
// their folders and names; oldTree may be "". Files over most bytes, and those that are no text, are counted only.
func ChangedFiles(b *Blobs, oldTree, newTree string, most int64) (changes []FileChange, others int, err error) {
	read := func(e treeEntry) ([]byte, error) {
		if e.sha == "" || e.bytes > most {
			return nil, nil
		}
		p, err := b.Get(e.sha)
		if err != nil || !isText(p) {
			return nil, err
		}
		return p, nil
	}
	w := treeWalk{blobs: b, differ: func(name string, old, now treeEntry) error {
		before, err := read(old)
		if err != nil {
			return err
		}
		after, err := read(now)
		if err != nil {
			return err
		}
		if before == nil && after == nil || old.sha != "" && before == nil || now.sha != "" && after == nil {
			others++
			return nil
		}
		changes = append(changes, FileChange{Path: name, Before: before, After: after})
		return nil
	}}
	if err := w.folders(oldTree, newTree, "", 0); err != nil {
		return nil, 0, fmt.Errorf("comparing snapshots %s and %s: %w", short(oldTree), short(newTree), err)
	}
	return changes, others, nil
}
