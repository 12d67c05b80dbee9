package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// TreeError says why a tree is not copied: what made it asked for more than a copy may take.
type TreeError struct{ Text string }

func (e *TreeError) Error() string { return e.Text }

// CheckTree says whether CopyTree may copy a folder. More than most bytes, holes in files included and each entry
// counted for at least 4 KiB, or folders nested deeper than 256, are a *TreeError.
func CheckTree(dir string, most int64) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("measuring the folder %s: %w", dir, err)
	}
	defer root.Close()
	return (&copier{most: most, left: most}).folder(root, nil, 0)
}

// CopyTree copies the folder src to dst, which is made if it is not there. Links are copied as links and never
// followed; sockets, devices and FIFOs are left out; permissions stay, without set-user-id and the like; what
// its owner may not read is made readable first. Nothing may change src meanwhile.
func CopyTree(src, dst string) error {
	err := copyTree(src, dst)
	if err != nil {
		return fmt.Errorf("copying the folder %s to %s: %w", src, dst, err)
	}
	return nil
}

func copyTree(src, dst string) error {
	info, err := os.Lstat(src)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", src)
	}
	if err == nil {
		err = os.MkdirAll(dst, 0o700)
	}
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := (&copier{}).folder(from, to, 0); err != nil {
		return err
	}
	return os.Chmod(dst, info.Mode().Perm()|0o700)
}

// copier copies between open folders: paths may be longer than the kernel takes. Without a folder to copy to it only
// measures.
type copier struct{ most, left int64 }

func (c *copier) folder(from, to *os.Root, level int) error {
	if level > maxLevels {
		return &TreeError{fmt.Sprintf("folders are nested deeper than %d", maxLevels)}
	}
	names, err := namesIn(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := from.Lstat(name)
		if err != nil {
			return err
		}
		if c.left -= max(info.Size(), entryCost); c.most > 0 && c.left < 0 {
			return &TreeError{fmt.Sprintf("more than %d bytes", c.most)}
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			err = c.below(from, to, name, mode.Perm(), level)
		case to == nil:
		case mode&fs.ModeSymlink != 0:
			var target string
			if target, err = from.Readlink(name); err == nil {
				err = to.Symlink(target, name)
			}
		case mode.IsRegular():
			err = copyFile(from, to, name, mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// namesIn lists an open folder.
func namesIn(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// below copies a folder. It gets its permissions last, so that a read-only one can be filled.
func (c *copier) below(from, to *os.Root, name string, perm fs.FileMode, level int) error {
	sub, err := from.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) {
		if err = from.Chmod(name, perm|0o500); err == nil {
			sub, err = from.OpenRoot(name)
		}
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if to == nil {
		return c.folder(sub, nil, level+1)
	}
	if err := to.Mkdir(name, 0o700); err != nil {
		return err
	}
	into, err := to.OpenRoot(name)
	if err != nil {
		return err
	}
	defer into.Close()
	if err := c.folder(sub, into, level+1); err != nil {
		return err
	}
	return to.Chmod(name, perm|0o700)
}

func copyFile(from, to *os.Root, name string, perm fs.FileMode) error {
	open := func() (*os.File, error) {
		return from.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	}
	in, err := open()
	if errors.Is(err, fs.ErrPermission) {
		if err := from.Chmod(name, perm|0o400); err != nil {
			return err
		}
		in, err = open()
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm|0o600)
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
