package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CopyTree copies the folder src to dst, which is made if it is not there. Links are copied as links and never
// followed; sockets, devices and FIFOs are left out; permissions stay, without set-user-id and the like; what
// its owner may not read is made readable first. Nothing may change src meanwhile.
func CopyTree(src, dst string) error {
	// Folders get their permissions last, so that read-only ones can be filled.
	type mode struct {
		path string
		perm fs.FileMode
	}
	var folders []mode
	var walk func(from, to string, info fs.FileInfo) error
	walk = func(from, to string, info fs.FileInfo) error {
		perm := info.Mode().Perm()
		switch {
		case info.IsDir():
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			folders = append(folders, mode{to, perm})
			entries, err := readDir(from, perm)
			if err != nil {
				return err
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					return err
				}
				if err := walk(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), info); err != nil {
					return err
				}
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		case info.Mode().IsRegular():
			return copyFile(from, to, perm)
		}
		return nil
	}
	info, err := os.Lstat(src)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", src)
	}
	if err == nil {
		err = walk(src, dst, info)
	}
	for i := len(folders) - 1; err == nil && i >= 0; i-- {
		err = os.Chmod(folders[i].path, folders[i].perm|0o700)
	}
	if err != nil {
		return fmt.Errorf("copying the folder %s to %s: %w", src, dst, err)
	}
	return nil
}

func readDir(path string, perm fs.FileMode) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrPermission) {
		if err := os.Chmod(path, perm|0o500); err != nil {
			return nil, err
		}
		entries, err = os.ReadDir(path)
	}
	return entries, err
}

func copyFile(from, to string, perm fs.FileMode) error {
	open := func() (*os.File, error) {
		return os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	}
	in, err := open()
	if errors.Is(err, fs.ErrPermission) {
		if err := os.Chmod(from, perm|0o400); err != nil {
			return err
		}
		in, err = open()
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm|0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Chmod(perm | 0o600); err != nil { // the umask may have taken bits away
		out.Close()
		return err
	}
	return out.Close()
}
