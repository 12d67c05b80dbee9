package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ContainedVerb is the hidden verb under which stint is the first process of a container.
const ContainedVerb = "__contained"

// goOn is what we say to the first process of a container when the command may begin.
const goOn = 'g'

// ContainedMain is the hidden verb `stint __contained apart|merged PORT SOCKET COMMAND...`. It says that the container is
// up, removes the way to itself, and when it is told so it runs the command, like [InitMain]. It ends, and the
// container with it, when whoever started it is gone. A command that is stint itself is run in this process, by verb.
func ContainedMain(args []string, verb func(args []string) int) int {
	conn, err := contained()
	if err == nil && len(args) < 4 {
		err = fmt.Errorf("it takes four arguments")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "stint: in the container: %v\n", err)
		return initFault
	}
	if args[0] == "merged" {
		if err := unix.Dup2(1, 2); err != nil {
			fmt.Fprintf(os.Stderr, "stint: in the container: %v\n", err)
			return initFault
		}
	}
	go func() {
		for { // until the other end closes
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				os.Exit(initFault)
			}
		}
	}()
	if args[3] == insideStint {
		return verb(args[4:])
	}
	port, err := strconv.Atoi(args[1])
	if err == nil && port != 0 {
		err = forward(port, args[2])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "stint: in the container: %v\n", err)
		return initFault
	}
	return report(supervise(args[3:]), conn)
}

// contained tells who started the container that it is up, and waits for the word to go on.
func contained() (*net.UnixConn, error) {
	if err := Harden(); err != nil {
		return nil, err
	}
	socket := insideStart + "/" + startSocket
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	for _, f := range []string{socket, insideStart + "/" + startBinary} {
		if err := os.Remove(f); err != nil {
			return nil, err
		}
	}
	b := make([]byte, 1)
	if _, err := conn.Read(b); err != nil || b[0] != goOn {
		return nil, fmt.Errorf("nobody says to go on: %v", err)
	}
	return conn, nil
}

// report hands the report on and makes an exit code of it.
func report(r initReport, to io.Writer) int {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = to.Write(b)
	}
	if err != nil {
		return initFault
	}
	switch {
	case r.Failed != "":
		fmt.Fprintf(os.Stderr, "stint: %s\n", r.Failed)
		return 127
	case r.Code != nil:
		return *r.Code
	}
	return 128 + int(unix.SignalNum(r.Signal))
}
