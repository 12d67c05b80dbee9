package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limitProcess sets the limits of a process that has not begun its work; children inherit them.
// RLIMIT_DATA, not RLIMIT_AS: it counts writable private memory, while Node and Go reserve far more
// addresses than they use. countProcesses sets RLIMIT_NPROC too, which is right only in a user namespace of
// its own, since elsewhere it counts all processes of the user.
func limitProcess(pid int, l Limits, countProcesses bool) error {
	type one struct {
		resource int
		value    uint64
	}
	limits := []one{{unix.RLIMIT_CORE, 0}}
	if l.Memory > 0 {
		limits = append(limits, one{unix.RLIMIT_DATA, uint64(l.Memory)})
	}
	if l.FileSize > 0 {
		limits = append(limits, one{unix.RLIMIT_FSIZE, uint64(l.FileSize)})
	}
	if l.CPU > 0 {
		limits = append(limits, one{unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second)})
	}
	if countProcesses && l.Processes > 0 {
		limits = append(limits, one{unix.RLIMIT_NPROC, uint64(l.Processes)})
	}
	// Should memory run out in spite of all limits, the kernel ends these first and not stint. Nobody is hurt where it
	// cannot be set.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	for _, x := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, x.resource, nil, &old); err != nil {
			return fmt.Errorf("reading a limit of process %d: %w", pid, err)
		}
		v := min(x.value, old.Max)
		if err := unix.Prlimit(pid, x.resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("limiting process %d: %w", pid, err)
		}
	}
	return nil
}

// SetSubreaper makes daemons that an agent leaves behind children of this process, so that they are found
// and ended by their process id. New calls it for the kind none.
func SetSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of orphaned processes: %w", err)
	}
	return nil
}

// Harden is called first by stint inside the grade sandbox: processes of the agent run there under the same
// user, so its memory, its open files and its executable are closed to them, and no descriptor is inherited.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing our memory to other processes: %w", err)
	}
	if err := keepDescriptors(); err != nil {
		return err
	}
	if os.Getpid() == 1 {
		return nil // orphans come to PID 1 anyway
	}
	return SetSubreaper()
}

// keepDescriptors makes sure that no file this process has, also one it was started with, reaches a command.
func keepDescriptors() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		for fd := 3; fd < 1024; fd++ { // kernels before 5.11
			unix.CloseOnExec(fd)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("closing our files to commands: %w", err)
	}
	return nil
}
