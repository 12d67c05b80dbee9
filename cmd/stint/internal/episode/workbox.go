package episode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// workbox is the scratch folder of an episode: workspace, HOME, checkouts of the grader, and a mark that
// says whose attempt the files are. Nothing in it is needed to resume: everything comes back from snapshots.
type workbox struct {
	root      string
	workspace string
	home      string
	boot      string

	at    snapshot // what workspace and HOME hold
	known bool     // at is true; false while an agent works and after a start

	workspaceCache, homeCache logs.SnapshotCache
}

func openWorkbox(root, boot string) (*workbox, error) {
	w := &workbox{root: root, workspace: filepath.Join(root, "workspace"), home: filepath.Join(root, "home"), boot: boot}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("creating the scratch folder %s: %w", root, err)
	}
	// Checkouts of a grading that was interrupted.
	if err := removeAll(w.grading()); err != nil {
		return nil, err
	}
	return w, nil
}

// grading is the folder for the grader's checkouts.
func (w *workbox) grading() string { return filepath.Join(w.root, "grade") }

func (w *workbox) markFile() string { return filepath.Join(w.root, "attempt") }

// mark notes that workspace and HOME are now the attempt's with this token.
func (w *workbox) mark(token string) error {
	w.known = false
	if err := os.WriteFile(w.markFile(), []byte(token+"\n"+w.boot), 0o644); err != nil {
		return fmt.Errorf("marking the scratch folder: %w", err)
	}
	return nil
}

// holds says whether workspace and HOME are what the attempt with this token left, written since the
// machine was started: what was written before a crash of the machine may be torn.
func (w *workbox) holds(token string) bool {
	b, err := os.ReadFile(w.markFile())
	if err != nil || token == "" || string(b) != token+"\n"+w.boot {
		return false
	}
	for _, dir := range []string{w.workspace, w.home} {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

func (w *workbox) leftFile() string { return filepath.Join(w.root, "left") }

// leave notes that the process leaves the episode in order. If it cannot be noted, the process seems to have died,
// which does no harm once.
func (w *workbox) leave() { _ = os.WriteFile(w.leftFile(), nil, 0o644) }

// left says whether the process before left in order, and forgets it.
func (w *workbox) left() bool { return os.Remove(w.leftFile()) == nil }

// restore makes workspace and HOME hold a snapshot, if they do not already.
func (w *workbox) restore(blobs *logs.Blobs, to snapshot) error {
	if w.known && w.at == to {
		return nil
	}
	w.known = false
	for _, part := range []struct{ dir, tree string }{{w.workspace, to.tree}, {w.home, to.home}} {
		if err := renew(part.dir); err != nil {
			return err
		}
		if part.tree == "" {
			continue
		}
		if err := restoreTree(blobs, part.tree, part.dir); err != nil {
			return err
		}
	}
	w.workspaceCache, w.homeCache = logs.SnapshotCache{}, logs.SnapshotCache{}
	w.at, w.known = to, true
	return nil
}

// renew replaces a folder by an empty one. It is moved away first: a process that a killed run left behind
// goes on writing to the old one.
func renew(dir string) error {
	old := dir + ".old"
	if err := removeAll(old); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("emptying %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("emptying %s: %w", dir, err)
	}
	return removeAll(old)
}

// removeAll removes a tree, whatever an agent made of it.
func removeAll(dir string) error { return sandbox.RemoveTree(dir) }

// mend makes workspace and HOME folders again that we may enter, whatever the agent made of them: without a
// sandbox it can delete them, replace them by a link or take away the rights.
func (w *workbox) mend() error {
	for _, dir := range []string{w.workspace, w.home} {
		st, err := os.Lstat(dir)
		if err == nil && st.IsDir() {
			if st.Mode().Perm()&0o700 == 0o700 {
				continue
			}
			err = os.Chmod(dir, 0o755)
		} else if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = renew(dir)
		}
		if err != nil {
			return fmt.Errorf("opening what the agent left: %w", err)
		}
	}
	return nil
}

// close removes the whole scratch folder.
func (w *workbox) close() error { return removeAll(w.root) }

// specName is the file that holds the full current specification.
const specName = "SPEC.md"

// writeSpec puts the specification into the workspace. Whatever the agent made of the name before, a link or
// a folder, is replaced and never followed.
func (w *workbox) writeSpec(text string) error {
	root, err := os.OpenRoot(w.workspace)
	if err != nil {
		return fmt.Errorf("writing %s: %w", specName, err)
	}
	defer root.Close()
	if err := sandbox.RemoveIn(root, specName); err != nil {
		return fmt.Errorf("replacing %s: %w", specName, err)
	}
	f, err := root.OpenFile(specName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing %s: %w", specName, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", specName, err)
	}
	w.known = false
	return nil
}

// withToolchain adds the sentence on the toolchain to a specification.
func withToolchain(spec, sentence string) string {
	if sentence == "" {
		return spec
	}
	return strings.TrimRight(spec, "\n") + "\n\n" + sentence + "\n"
}
