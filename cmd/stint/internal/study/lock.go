package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// LockedError says that another stint works in the run directory.
type LockedError struct {
	Dir     string
	PID     int    // 0 if the holder has not written it yet
	Host    string // of the holder
	Started time.Time
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another stint run", e.Dir)
	}
	return fmt.Sprintf("%s is in use by the stint run with pid %d on %s, started %s", e.Dir, e.PID, e.Host, e.Started.Format(time.DateTime))
}

// Hint returns the way out.
func (e *LockedError) Hint() string {
	return "wait until it ends, interrupt it (it can be resumed), or give this run another directory with -o"
}

// ExitCode returns 2.
func (e *LockedError) ExitCode() int { return 2 }

// holder is what the lock file says.
type holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// dirLock holds a run directory for this process. The kernel gives the lock up when the process ends, however
// it ends, so a run that was killed leaves nothing to clean up; the content of the file only names the holder.
type dirLock struct{ file *os.File }

// lockTries bounds the race with a holder that removes its lock file at the same moment.
const lockTries = 100

// acquireLock takes the lock of a run directory, or returns a *LockedError that names who has it.
func acquireLock(dir string, now time.Time) (*dirLock, error) {
	path := filepath.Join(dir, "lock")
	for range lockTries {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
		if err != nil {
			return nil, fmt.Errorf("locking the run directory: %w", err)
		}
		err = flock(f)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			defer f.Close()
			return nil, lockedBy(dir, f)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking the run directory: %w", err)
		}
		if !sameFile(f, path) {
			f.Close() // its holder removed the file between our opening and locking it
			continue
		}
		host, _ := os.Hostname()
		b, err := json.Marshal(holder{PID: os.Getpid(), Host: host, Started: now.UTC().Truncate(time.Second)})
		if err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			_, err = f.WriteAt(append(b, '\n'), 0)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("writing the lock of the run directory: %w", err)
		}
		return &dirLock{f}, nil
	}
	return nil, &LockedError{Dir: dir}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sameFile reports whether path still leads to the open file.
func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// lockedBy reads who holds a lock file.
func lockedBy(dir string, f *os.File) *LockedError {
	e := &LockedError{Dir: dir}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	var h holder
	if err == nil && json.Unmarshal(b, &h) == nil {
		e.PID, e.Host, e.Started = h.PID, h.Host, h.Started
	}
	return e
}

// release gives the lock up and removes its file, in this order of effect: the file goes while the lock is
// still held, so nobody can lock a name that is about to vanish without noticing it.
func (l *dirLock) release() {
	os.Remove(l.file.Name())
	l.file.Close()
}
