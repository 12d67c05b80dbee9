package sandbox

import (
	"os"
	"strconv"
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
	leader := process{pid: p.cmd.Process.Pid}
	for _, port := range listening([]process{leader}) {
		if port == p.port {
			return true
		}
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(leader.pid)); err != nil {
		return false
	}
	for _, port := range listening(family(leader.pid, p.mark, processes("/proc"))) {
		if port == p.port {
			return true
		}
	}
	return false
}
