package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Without a sandbox the processes of a stint that was killed live on: only the first of a command ends with it. They would
// hold ports and write on. So each carries in its mark who started it, and the next stint ends those whose starter is gone.

// newMark names a run: the starter, and a random part.
func newMark() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return starter() + "." + hex.EncodeToString(b)
}

// starter names this process: its PID namespace, its number, and when it began, since numbers are used again.
var starter = sync.OnceValue(func() string {
	pid := os.Getpid()
	return namespaceOf() + "." + strconv.Itoa(pid) + "." + beganAt(pid)
})

// namespaceOf is the number of our PID namespace.
func namespaceOf() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
}

// beganAt is the start of a living process in the kernel's ticks, "" if there is none.
func beganAt(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}

// abandoned says whether a mark's starter was in our PID namespace and is gone.
func abandoned(mark string) bool {
	part := strings.Split(mark, ".")
	if len(part) != 4 || part[0] != namespaceOf() {
		return false
	}
	pid, err := strconv.Atoi(part[1])
	return err == nil && pid > 0 && part[2] != "" && beganAt(pid) != part[2]
}

// endLeftovers kills, by process id, what stints that are gone left running, and what descends from it. It
// returns how many processes it had to kill.
func endLeftovers() int {
	killed := map[int]bool{}
	for range 100 {
		all, left := processes("/proc"), map[int]bool{}
		for _, p := range all {
			if !p.zombie && p.pid != os.Getpid() && abandoned(markOf(p.pid)) {
				left[p.pid] = true
			}
		}
		if len(left) == 0 {
			break
		}
		for grown := true; grown; {
			grown = false
			for _, p := range all {
				if left[p.ppid] && !left[p.pid] && !p.zombie && p.pid != os.Getpid() {
					left[p.pid], grown = true, true
				}
			}
		}
		for pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // ended meanwhile: nothing to do
			killed[pid] = true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return len(killed)
}

// markOf is the mark in a process's environment, "" if it has none or is not ours to read.
func markOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(v, []byte(runMark+"=")); ok {
			return string(mark)
		}
	}
	return ""
}
