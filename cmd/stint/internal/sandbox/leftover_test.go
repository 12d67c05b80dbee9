package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLeftoversOfAKilledStint starts a process as a stint that is then killed would leave it, another that belongs to this
// process, and one with the mark of another namespace: only the first is ended.
func TestLeftoversOfAKilledStint(t *testing.T) {
	if beganAt(os.Getpid()) == "" || abandoned(newMark()) {
		t.Fatalf("this process counts as gone: %q", newMark())
	}
	start := func(mark string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", "env -i sleep 60 & echo $!; wait")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), runMark + "=" + mark}
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // its child runs
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			cmd.Wait()
		})
		return cmd
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead := namespaceOf() + "." + strconv.Itoa(gone.Process.Pid) + ".1.00"
	left, own, other := start(dead), start(newMark()), start(strings.Replace(dead, namespaceOf(), "1", 1))
	if n := endLeftovers(); n != 2 { // the shell and its child, which has no mark
		t.Errorf("%d processes were ended, want 2", n)
	}
	done := make(chan error, 1)
	go func() { done <- left.Wait() }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("the leftover lives on")
	}
	for _, c := range []*exec.Cmd{own, other} {
		if beganAt(c.Process.Pid) == "" {
			t.Errorf("process %d with %s was ended", c.Process.Pid, markOf(c.Process.Pid))
		}
	}
}
