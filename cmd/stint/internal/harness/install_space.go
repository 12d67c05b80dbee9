package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"syscall"

	"golang.org/x/sys/unix"
)

// spaceWords are how npm, pip and the system say that a disk is full.
var spaceWords = regexp.MustCompile(`ENOSPC|EDQUOT|(?i)no space left on device|disk quota exceeded`)

// freeMB is the room that an ordinary user has in a folder, in megabytes; ok is false where that cannot be said.
func freeMB(dir string) (mb int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize / 1_000_000, true
}

// room refuses to begin an installation that cannot end.
func (in Installer) room(f *File, dir string) error {
	free, ok := freeMB(dir)
	if !ok || f.Install.Megabytes <= 0 || free >= int64(f.Install.Megabytes) {
		return nil
	}
	return &InstallError{f.Name, fmt.Sprintf("takes %d MB, and %s has room for %d", f.Install.Megabytes, dir, free), spaceWay(), false}
}

func spaceWay() string {
	return "make room there, or set STINT_CACHE to a folder on a larger disk; then run the same command again"
}

// explain gives an error of an installation its way out, where the disk or its rights are the cause.
func (in Installer) explain(f *File, dir string, err error) error {
	var step *InstallError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.As(err, &step) && spaceWords.MatchString(step.Text):
		text := "was not installed: there is no space left in " + filepath.Dir(dir)
		if f.Install.Megabytes > 0 {
			text += fmt.Sprintf("; it takes %d MB", f.Install.Megabytes)
		}
		return &InstallError{f.Name, text, spaceWay(), false}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &InstallError{f.Name, fmt.Sprintf("was not installed: %s cannot be written: %v", filepath.Dir(dir), err), "set STINT_CACHE to a folder of yours", false}
	}
	return err
}
