package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeLevels is how deep RemoveTree goes down before it moves a folder up: each level takes a descriptor.
const removeLevels = 64

// RemoveTree removes dir and everything in it. Links are not followed. Unlike os.RemoveAll it gets into folders whose
// owner may not enter them, and it needs no more descriptors however deep folders are nested. A folder that does not
// exist is no error.
func RemoveTree(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = RemoveIn(parent, filepath.Base(dir))
		parent.Close()
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}

// RemoveIn is RemoveTree for an entry of an open folder; name has no slash.
func RemoveIn(parent *os.Root, name string) error {
	st, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return parent.Remove(name)
	}
	top, err := enter(parent, name)
	if err != nil {
		return err
	}
	defer top.Close()
	up, err := top.Open(".")
	if err != nil {
		return err
	}
	defer up.Close()
	r := remover{up: up}
	// A folder that was moved up is found by the next round.
	for r.moved = true; r.moved; {
		r.moved = false
		if err := r.empty(top, 0); err != nil {
			return err
		}
	}
	return parent.Remove(name)
}

// remover empties one tree; what lies too deep is moved to its top first.
type remover struct {
	up    *os.File
	next  int
	moved bool
}

func (r *remover) empty(root *os.Root, level int) error {
	names, err := namesIn(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := root.Remove(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		st, serr := root.Lstat(name)
		if serr != nil || !st.IsDir() {
			return err
		}
		if level == removeLevels {
			if err := r.raise(root, name); err != nil {
				return err
			}
			continue
		}
		sub, err := enter(root, name)
		if err != nil {
			return err
		}
		err = r.empty(sub, level+1)
		sub.Close()
		if err == nil {
			err = root.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// raise moves a folder to the top of the tree, under a name that is free.
func (r *remover) raise(root *os.Root, name string) error {
	from, err := root.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	if os.Geteuid() != 0 {
		if err := root.Chmod(name, 0o700); err != nil { // its own entry ".." changes
			return err
		}
	}
	for {
		r.next++
		to := "stint-removes-" + strconv.Itoa(r.next)
		err := unix.Renameat2(int(from.Fd()), name, int(r.up.Fd()), to, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		r.moved = r.moved || err == nil
		return err
	}
}

// enter opens a folder, with the rights to change it.
func enter(parent *os.Root, name string) (*os.Root, error) {
	st, err := parent.Lstat(name)
	if err == nil && st.Mode().Perm()&0o700 != 0o700 {
		err = parent.Chmod(name, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return parent.OpenRoot(name)
}
