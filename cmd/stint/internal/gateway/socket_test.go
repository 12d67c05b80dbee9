package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProxySocket(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "gw") // the name of a test's own folder may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	dir := filepath.Join(short, "gw")
	p, err := NewProxy(ProxyOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if p.Socket() != filepath.Join(dir, "gw.sock") {
		t.Errorf("socket %s", p.Socket())
	}
	if _, err := NewProxy(ProxyOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another one") {
		t.Errorf("a second one: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(p.Socket()); err == nil {
		t.Error("the socket is still there")
	}
	// A socket that nobody serves any more.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if p, err = NewProxy(ProxyOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(p.Socket(), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewProxy(ProxyOptions{Dir: dir}); err == nil {
		t.Error("a file was replaced")
	}
	// A path too long for a socket.
	if p, err = NewProxy(ProxyOptions{Dir: filepath.Join(dir, strings.Repeat("x", 120))}); err != nil {
		t.Fatal(err)
	}
	if len(p.Socket()) > maxSockPath {
		t.Errorf("socket %s", p.Socket())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(p.Socket())); err == nil {
		t.Error("the temporary folder is still there")
	}
	if _, err := p.Open(Options{Model: Model{Name: "m", URL: "ftp://x"}}); !errors.As(err, new(*SetupError)) {
		t.Errorf("got %v", err)
	}
}

// TestProxyHostile has agents that send without end, never read and open connections by the hundred: the gateway
// stays up for the others, and closing an attempt does not wait for them.
func TestProxyHostile(t *testing.T) {
	t.Parallel()
	long := whole(fmt.Sprintf(`{"role":"assistant","content":%q}`, strings.Repeat("x", 8<<20)), "stop")
	url, _ := endpoint(t, say(200, long))
	p := proxy(t)
	dial := func() net.Conn {
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	a := open(t, p, Options{Model: Model{URL: url}})
	head := "POST " + chatPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + a.Token() + "\r\n"
	for range 3 * maxInFlight { // half a body each, for ever
		fmt.Fprintf(dial(), "%sContent-Length: 1000\r\n\r\n{", head)
	}
	b := open(t, p, Options{Model: Model{URL: url}})
	fmt.Fprintf(dial(), "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", chatPath, b.Token(), len(streamRequest), streamRequest) // and no word is read
	for b.State().Answers == 0 {
		time.Sleep(time.Millisecond)
	}
	other := open(t, p, Options{Model: Model{URL: url}})
	if status, _, _, err := post(t, p, other.Token(), chatPath, streamRequest); status != 200 || err != nil {
		t.Errorf("an agent beside it: %d %v", status, err)
	}
	began := time.Now()
	a.Close()
	b.Close()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("closing took %v", took)
	}
	deep := `{"messages":[` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `],"tools":` + strings.Repeat(`{"a":`, 1<<18) + "1" + strings.Repeat("}", 1<<18) + `}`
	many := `{"messages":[` + strings.Repeat("{},", 1<<20) + `{}]}`
	keys := `{` + strings.Repeat(`"k":1,`, 1<<20) + `"model":1}`
	for _, body := range []string{deep, many, keys, `{"messages":` + strings.Repeat("[", 1<<20)} {
		if status, _, _, err := post(t, p, other.Token(), chatPath, body); err != nil || status != 200 && status != 400 {
			t.Errorf("%.20s: %d %v", body, status, err)
		}
	}
}

func TestConnectionBound(t *testing.T) {
	dir := t.TempDir()
	raw, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l := bound(raw, 2)
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	var conns []net.Conn
	for range 3 {
		c, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if _, err := conns[2].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the third connection: %v", err)
	}
	(<-accepted).Close()
	c, err := net.Dial("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	conns = append(conns, c)
	<-accepted
	<-accepted // the place of the first went to the fourth
	for _, c := range conns {
		c.Close()
	}
}
