package sandbox

import (
	"os"
	"sort"
	"strconv"
	"strings"
)

// listenState is the state of a listening socket in /proc/net/tcp.
const listenState = "0A"

// listening is the sorted list of TCP ports on which any of the processes listens, as far as /proc tells.
func listening(ps []process) []int {
	ports := map[string]int{} // by socket inode
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listenState {
				continue
			}
			if port, err := strconv.ParseUint(f[1][strings.LastIndexByte(f[1], ':')+1:], 16, 16); err == nil {
				ports[f[9]] = int(port)
			}
		}
	}
	found := map[int]bool{}
	for _, p := range ps {
		dir := "/proc/" + strconv.Itoa(p.pid) + "/fd"
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			link, err := os.Readlink(dir + "/" + e.Name())
			if err != nil {
				continue
			}
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				if port, ok := ports[strings.TrimSuffix(inode, "]")]; ok {
					found[port] = true
				}
			}
		}
	}
	var out []int
	for p := range found {
		out = append(out, p)
	}
	sort.Ints(out)
	return out
}

func joinInts(ns []int) string {
	var s []string
	for _, n := range ns {
		s = append(s, strconv.Itoa(n))
	}
	return strings.Join(s, ", ")
}
