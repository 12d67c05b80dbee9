package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runMark is the environment variable that names the run a process belongs to. It survives setsid and a
// double fork; a process that clears it is still found while its parents live.
const runMark = "STINT_RUN"

// process is one line of /proc.
type process struct {
	pid, ppid, session int
	zombie             bool
}

// processes lists a /proc folder; errors of processes that end meanwhile are skipped.
func processes(proc string) []process {
	dir, err := os.Open(proc)
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(proc + "/" + name + "/stat")
		if err != nil {
			continue
		}
		// The command name in parentheses may hold anything, also ") "; the fields start after the last one.
		i := bytes.LastIndexByte(stat, ')')
		if i < 0 {
			continue
		}
		f := strings.Fields(string(stat[i+1:]))
		if len(f) < 4 {
			continue
		}
		p := process{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
		p.ppid, _ = strconv.Atoi(f[1])
		p.session, _ = strconv.Atoi(f[3])
		out = append(out, p)
	}
	return out
}

// residentMemory is what a process has in memory: for itself, and in pages that it may share with others.
func residentMemory(proc string, pid int) (private, shared int64) {
	b, err := os.ReadFile(proc + "/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0, 0
	}
	resident, _ := strconv.ParseInt(f[1], 10, 64)
	shared, _ = strconv.ParseInt(f[2], 10, 64)
	page := int64(os.Getpagesize())
	return max(0, resident-shared) * page, shared * page
}

// sharedMemory is a process's share of memory that no file on a disk stands behind: anonymous mappings and segments
// that several processes may use. No limit of a process counts it.
func sharedMemory(proc string, pid int) int64 {
	b, err := os.ReadFile(proc + "/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Pss_Shmem:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// family is the set of processes of one run outside a namespace: the leader, its descendants, its session
// and the orphans that carry its mark ("" = do not look for any). Orphans come to us when we are their reaper.
func family(leader int, mark string, all []process) []process {
	want := []byte("\x00" + runMark + "=" + mark + "\x00")
	in := map[int]bool{leader: true}
	self, reaper := os.Getpid(), isReaper()
	for _, p := range all {
		if p.pid == self || p.zombie && p.ppid != self {
			continue
		}
		orphan := mark != "" && (!reaper || p.ppid == self && !registered(p.pid))
		if p.session == leader || orphan && carries(p.pid, want) {
			in[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && in[p.ppid] && p.pid != self {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] {
			out = append(out, p)
		}
	}
	return out
}

func isReaper() bool {
	var v int
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&v)), 0, 0, 0)
	return os.Getpid() == 1 || err == nil && v == 1
}

func carries(pid int, want []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append(append([]byte{0}, env...), 0), want)
}

// started holds the leaders that somebody waits for, so that ending orphans never reaps one of them.
var started = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

func register(pid int) {
	started.Lock()
	defer started.Unlock()
	started.pids[pid] = true
}

func unregister(pid int) {
	started.Lock()
	defer started.Unlock()
	delete(started.pids, pid)
}

func registered(pid int) bool {
	started.Lock()
	defer started.Unlock()
	return started.pids[pid]
}

// endFamily kills what is left of a run whose leader has ended or shall end, by process id, until nothing of
// it lives (at most a second), and reaps orphans that came to us. It returns how many processes it had to kill.
func endFamily(leader int, mark string) int {
	killed := map[int]bool{}
	for round := 0; round < 200; round++ {
		alive := false
		for _, p := range family(leader, mark, processes("/proc")) {
			if p.zombie {
				if p.ppid == os.Getpid() && !registered(p.pid) {
					reap(p.pid)
				}
				continue
			}
			alive = true
			killed[p.pid] = true
			_ = unix.Kill(p.pid, unix.SIGKILL) // ended meanwhile: nothing to do
		}
		if !alive {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if os.Getpid() == 1 {
		reapStrangers()
	}
	delete(killed, leader)
	return len(killed)
}

// reapStrangers collects every ended child of PID 1 that nobody waits for.
func reapStrangers() {
	for _, p := range processes("/proc") {
		if p.zombie && p.ppid == 1 && !registered(p.pid) {
			reap(p.pid)
		}
	}
}

func reap(pid int) {
	var status unix.WaitStatus
	_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil) // already reaped: nothing to do
}

// exitOf splits a finished process into code and signal.
func exitOf(state *os.ProcessState) (code *int, signal string) {
	if state == nil {
		return nil, ""
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return nil, unix.SignalName(ws.Signal())
	}
	c := state.ExitCode()
	return &c, ""
}
