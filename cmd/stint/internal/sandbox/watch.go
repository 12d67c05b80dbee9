package sandbox

import (
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	watchEvery = 200 * time.Millisecond
	heldEvery  = time.Second
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
	held := time.NewTicker(heldEvery)
	defer held.Stop()
	disk := time.NewTicker(diskEvery)
	defer disk.Stop()
	var inFiles, deleted int64 // memory and disk behind open files that have no name
	for {
		select {
		case <-stop:
			return ""
		case <-tick.C:
			proc, ps := w.list()
			if len(ps) > w.limits.Processes {
				return "processes"
			}
			if memoryOver(proc, ps, w.limits.Memory-inFiles) {
				return "memory"
			}
		case <-held.C:
			proc, ps := w.list()
			if inFiles, deleted = heldFiles(proc, ps, w.dirs); deleted > w.limits.Disk {
				return "disk"
			}
		case <-disk.C:
			if DiskUsage(w.dirs...) > w.limits.Disk-deleted {
				return "disk"
			}
		}
	}
}

// memoryOver says whether processes together hold more than limit bytes: what is private to each, and their shares of
// what they share. The shares are asked for only if the whole would be over the limit, since that costs more.
func memoryOver(proc string, ps []process, limit int64) bool {
	var private, all int64
	for _, p := range ps {
		own, shared := residentMemory(proc, p.pid)
		private, all = private+own, all+own+shared
	}
	if private > limit || all <= limit {
		return private > limit
	}
	for _, p := range ps {
		private += sharedMemory(proc, p.pid)
	}
	return private > limit
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
