package gateway

import (
	"net"
	"sync"
	"syscall"
)

// maxConns is how many connections one process may have open. In a sandbox that is the process that forwards for
// all of it: an agent that opens connections by the thousand takes none from the agents beside it.
const maxConns = 256

// boundListener closes connections over the bound of their process at once.
type boundListener struct {
	*net.UnixListener
	max int

	mu   sync.Mutex
	open map[int32]int // connections by process id
}

func bound(l *net.UnixListener, most int) *boundListener {
	return &boundListener{UnixListener: l, max: most, open: map[int32]int{}}
}

// Accept waits for a connection that is within its bound.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		pid := peer(c)
		l.mu.Lock()
		full := l.open[pid] >= l.max
		if !full {
			l.open[pid]++
		}
		l.mu.Unlock()
		if !full {
			return &boundConn{UnixConn: c, gone: func() { l.release(pid) }}, nil
		}
		c.Close()
	}
}

func (l *boundListener) release(pid int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[pid]--; l.open[pid] == 0 {
		delete(l.open, pid)
	}
}

// peer is the process at the other end; 0 where the system does not say.
func peer(c *net.UnixConn) int32 {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var pid int32
	_ = raw.Control(func(fd uintptr) { // a connection that is closed already has no process
		if u, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = u.Pid
		}
	})
	return pid
}

type boundConn struct {
	*net.UnixConn
	once sync.Once
	gone func()
}

// Close closes the connection and gives its place back.
func (c *boundConn) Close() error {
	c.once.Do(c.gone)
	return c.UnixConn.Close()
}
