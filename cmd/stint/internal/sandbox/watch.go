package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	watchEvery = 200 * time.Millisecond
	diskEvery  = 5 * time.Second
)

// watcher measures a running command against the limits that no rlimit covers.
type watcher struct {
	limits Limits
	dirs   []string
	// list returns the processes of the command and the proc folder they are listed in.
	list func() (proc string, ps []process)
}

// run returns the name of the first limit that is passed, or "" when stop is closed.
func (w *watcher) run(stop <-chan struct{}) string {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	disk := time.NewTicker(diskEvery)
	defer disk.Stop()
	for {
		select {
		case <-stop:
			return ""
		case <-tick.C:
			proc, ps := w.list()
			if len(ps) > w.limits.Processes {
				return "processes"
			}
			var sum int64
			for _, p := range ps {
				sum += privateMemory(proc, p.pid)
			}
			if sum > w.limits.Memory {
				return "memory"
			}
		case <-disk.C:
			if DiskUsage(w.dirs...) > w.limits.Disk {
				return "disk"
			}
		}
	}
}

// namespaceProcesses lists the PID namespace of the sandbox's first process through its own /proc. Until the
// sandbox has mounted that, the list is empty.
func namespaceProcesses(child int) (string, []process) {
	proc := "/proc/" + strconv.Itoa(child) + "/root/proc"
	// "self" resolves only for a reader that is in the namespace: then this is still the host's /proc.
	if _, err := os.Readlink(proc + "/self"); err == nil {
		return proc, nil
	}
	return proc, processes(proc)
}

// DiskUsage is the space that the files under dirs take, in bytes, links not followed. What cannot be read
// is left out.
func DiskUsage(dirs ...string) int64 {
	var sum int64
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					sum += st.Blocks * 512
				}
			}
			return nil
		})
	}
	return sum
}

// oomKills is the kernel's count of processes it ended for want of memory, -1 if it does not say.
func oomKills() int64 {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			v, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				return -1
			}
			return v
		}
	}
	return -1
}
