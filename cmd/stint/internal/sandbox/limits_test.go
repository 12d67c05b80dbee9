package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What no limit of a process counts is counted all the same: shared memory, files in memory, deleted files.
func TestLimitsOnWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, Options{Runtimes: []string{"python3"}, Limits: Limits{Memory: 200 << 20, Disk: 60 << 20}})
	for name, c := range map[string]struct{ script, limit string }{
		"shared mapping": {`import mmap
m = mmap.mmap(-1, 400 << 20)
for i in range(0, 400 << 20, 4096): m[i] = 1`, "memory"},
		"shared by two": {`import mmap
m = mmap.mmap(-1, 250 << 20)
os.fork()
for i in range(0, 250 << 20, 4096): m[i] = 1`, "memory"},
		"file in memory": {`for n in range(8):
    fd = os.memfd_create("x")
    for i in range(50): os.write(fd, bytes(1 << 20))`, "memory"},
		"deleted file": {`files = []
for n in range(4):
    files.append(open("x", "wb", buffering=0)); os.unlink("x")
    for i in range(40): files[-1].write(os.urandom(1 << 20))`, "disk"},
		"empty files":                {`for n in range(16000): open(str(n), "w").close()`, "disk"},
		"below what a path can name": {`for n in range(600): os.mkdir("d"); os.chdir("d")`, "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sh(t, s, "cat > /tmp/t.py <<'E'\nimport os, time\n"+c.script+"\nprint('done', flush=True)\ntime.sleep(30)\nE\npython3 /tmp/t.py", removed(t))
			if e.By != "limit" || e.Limit != c.limit {
				t.Errorf("got %+v %q %q, want the limit on %s", e, e.Stdout, e.Stderr, c.limit)
			}
		})
	}
	// What is within the limits stays so, however many look at it.
	e := sh(t, s, `python3 -c 'import mmap, os, time
m = mmap.mmap(-1, 100 << 20)
for i in range(0, 100 << 20, 4096): m[i] = 1
for n in range(4):
    if os.fork() == 0:
        sum(m[i] for i in range(0, 100 << 20, 4096)); time.sleep(2); os._exit(0)
for n in range(4): os.wait()
print("shared")'`)
	if string(e.Stdout) != "shared\n" || e.By != "self" {
		t.Errorf("100 MiB seen by five processes: %+v %q", e, e.Stderr)
	}
}

// removed gives a command a workspace that is removed by RemoveTree: the test's own way cannot.
func removed(t *testing.T) func(*Command) {
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := RemoveTree(dir); err != nil {
			t.Error(err)
		}
	})
	return func(c *Command) { c.Workspace = dir }
}

func TestDiskUsage(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", n)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a", 100_000)
	one := DiskUsage(dir)
	if one < 100_000 || one > 120_000 {
		t.Errorf("100,000 bytes take %d", one)
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(dir, "usr")); err != nil {
		t.Fatal(err)
	}
	if n := DiskUsage(dir, "", filepath.Join(dir, "absent")); n != one+entryCost {
		t.Errorf("a second name and a link make %d of %d", n, one)
	}
	if err := os.Truncate(filepath.Join(dir, "a"), 10<<30); err != nil {
		t.Fatal(err)
	}
	if n := DiskUsage(dir); n != one+entryCost {
		t.Errorf("10 GB that were not written take %d", n)
	}
	for i := range 5 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint("d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("d0/x", 50_000)
	before := DiskUsage(dir)
	if err := os.Chmod(filepath.Join(dir, "d0"), 0o300); err != nil {
		t.Fatal(err)
	}
	if n := DiskUsage(dir); n != before {
		t.Errorf("in a folder that nobody may list: %d, want %d", n, before)
	}
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", maxLevels+5)), 0o755); err != nil {
		t.Fatal(err)
	}
	if n := DiskUsage(dir); n != math.MaxInt64 {
		t.Errorf("nested beyond measure: %d", n)
	}
}

func TestRemoveTree(t *testing.T) {
	top := t.TempDir()
	dir, outside := filepath.Join(top, "tree"), filepath.Join(top, "outside")
	for _, d := range []string{"a/b", strings.Repeat("d/", 500), "stint-removes-1/x", "locked/in"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a/fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"locked/in", "locked"} {
		if err := os.Chmod(filepath.Join(dir, d), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveTree(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(top); err != nil || len(left) != 1 || left[0].Name() != "outside" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Errorf("a tree that is not there: %v", err)
	}
	if err := os.Symlink(outside, dir); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a link was followed")
	}
}
