package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Between the choice of a port and the server's listen another server can be given the same port. The one that comes
// second ends, but the first would answer its polls: two worlds would share one store. Inside this process no
// port is given twice; against other processes readiness asks whose socket answers.

// portSet is the ports that this process has given to servers which have not been stopped.
type portSet struct {
	mu    sync.Mutex
	ports map[int]bool
}

var givenPorts = portSet{ports: map[int]bool{}}

// take reports whether the port was free to give, and marks it.
func (s *portSet) take(port int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ports[port] {
		return false
	}
	s.ports[port] = true
	return true
}

func (s *portSet) giveBack(port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ports, port)
}

// ownGrace is how long an answer from a socket that no process of the server seems to hold is not believed. A
// server that cannot listen ends sooner; one that hides its processes is believed then.
const ownGrace = time.Second

// owns tells whether a process of the server listens on its port. start.sh itself is asked first: it has mostly
// become the server.
func (p *ServerProcess) owns() bool {
	leader := p.cmd.Process.Pid
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		inode := listener(file, p.port)
		if inode == "" {
			continue
		}
		if holds(leader, inode) {
			return true
		}
		for _, q := range family(leader, p.mark, processes("/proc")) {
			if holds(q.pid, inode) {
				return true
			}
		}
	}
	return false
}

// listener is the inode of the socket that listens on a port, or "". The kernel lists such sockets first and makes the
// rest of the list, for which it walks through a large table, only as it is read: so little is read at once.
func listener(file string, port int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	const oneLine = 160
	want := fmt.Sprintf(":%04X", port)
	r := bufio.NewReaderSize(f, oneLine)
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil {
			return ""
		}
		fields := strings.Fields(line)
		if first || len(fields) < 10 {
			continue
		}
		if fields[3] != listenState {
			return ""
		}
		if strings.HasSuffix(fields[1], want) {
			return fields[9]
		}
	}
}

// holds tells whether a process has a socket open, as far as /proc tells.
func holds(pid int, inode string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if link, err := os.Readlink(dir + "/" + e.Name()); err == nil && link == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
