package study

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
)

// The test binary runs itself as a second process that holds the lock of a directory until its stdin ends,
// and as the server of a reference or simulated agent.
const holdLock = "STINT_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdLock); dir != "" {
		lock, err := acquireLock(dir, time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		io.Copy(io.Discard, os.Stdin)
		lock.release()
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "__serve" {
		os.Exit(harness.ServeMain(os.Args[2:], os.Getenv, os.Stdout))
	}
	os.Exit(m.Run())
}

// holderProcess starts the second process and waits until it holds the lock.
func holderProcess(t *testing.T, dir string) (cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdLock+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("the second process says %q (%v)", line, err)
	}
	return cmd, in
}

func TestLockNamesTheHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, stdin := holderProcess(t, dir)
	_, err := start(t, dir, small, &fakeLoop{}, RunOptions{})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error %v, want a *LockedError", err)
	}
	host, _ := os.Hostname()
	if locked.PID != cmd.Process.Pid || locked.Host != host || locked.ExitCode() != 2 || locked.Hint() == "" || locked.Started.Year() != 2026 {
		t.Errorf("%+v, want pid %d", locked, cmd.Process.Pid)
	}
	if _, err := os.Stat(filepath.Join(dir, "study.yaml")); !os.IsNotExist(err) {
		t.Error("a locked out run wrote to the directory")
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, dir, small, &fakeLoop{}, RunOptions{}); err != nil {
		t.Errorf("after the holder ended: %v", err)
	}
}

// kill -9 leaves the file, but not the lock.
func TestStaleLockIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, _ := holderProcess(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if b, err := os.ReadFile(filepath.Join(dir, "lock")); err != nil || len(b) == 0 {
		t.Fatalf("the killed process left no lock file: %q, %v", b, err)
	}
	lock, err := acquireLock(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	lock.release()
}
