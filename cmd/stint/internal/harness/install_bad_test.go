package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pipFile is a harness from pins, whose program is the interpreter of its own environment.
func pipFile(t *testing.T, pins string) *File {
	t.Helper()
	f, err := ParseFile("snake.yaml", []byte(`
name: snake
version: 3.12.9
protocol: chat
install: {python: "3.12", pip: "`+pins+`"}
probe: {run: ["{{.Prefix}}/bin/python", -V]}
first: ["{{.Prefix}}/bin/python", "{{.Prompt}}"]
`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// scriptAt writes an executable script and returns its path.
func scriptAt(t *testing.T, path, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// interpreter is a program that says what a Python of that version says, and makes environments of itself.
func interpreter(t *testing.T, path, version, lacks string) string {
	t.Helper()
	minor := version[:strings.LastIndex(version, ".")]
	return scriptAt(t, path, fmt.Sprintf(`case "$*" in
-V) echo Python %[2]s ;;
*"-m venv"*) mkdir -p "$4/bin" && ln -s %[4]q "$4/bin/python" ;;
*"-m pip"*) ;;
*) printf '%%s\t%%s\t%%s\t%%s\n' %[1]s %[2]s %[4]q %[3]q ;;
esac`, minor, version, lacks, path))
}

// machine is a computer with some programs, known by name on PATH, and a HOME.
func machine(t *testing.T, home string, onPath map[string]string) Installer {
	return Installer{
		Cache: t.TempDir(),
		Getenv: func(k string) string {
			if k == "HOME" {
				return home
			}
			return ""
		},
		LookPath: func(name string) (string, error) {
			if p := onPath[name]; p != "" {
				return p, nil
			}
			return "", exec.ErrNotFound
		},
		Glob: func(pattern string) []string {
			if !strings.HasPrefix(pattern, home) {
				return nil
			}
			found, _ := filepath.Glob(pattern)
			return found
		},
	}
}

// TestInterpreters: one of the wrong version is passed over for one that is right, wherever that lies.
func TestInterpreters(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]string{
		"on PATH": "bin/python3.12", "of pyenv": ".pyenv/versions/3.12.9/bin/python3.12", "of uv": ".local/share/uv/python/cpython-3.12.9-linux-x86_64-gnu/bin/python3.12",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			right := interpreter(t, filepath.Join(home, where), "3.12.9", "")
			on := map[string]string{
				"python3":    interpreter(t, filepath.Join(home, "other/python3"), "3.11.7", ""),
				"python3.12": scriptAt(t, filepath.Join(home, "shims/python3.12"), "echo 'pyenv: python3.12: command not found' >&2; exit 127"),
			}
			if name == "on PATH" {
				on["python3.12"] = right
			}
			in, f := machine(t, home, on), pipFile(t, "pins==1")
			if _, err := in.Install(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			if _, python, err := in.Find(f); err != nil || python != right {
				t.Errorf("installed with %s, %v", python, err)
			}
		})
	}
}

// TestNoPython says what was found instead, and which tool or package of this machine provides the right one.
func TestNoPython(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tools map[string]string // name → script
		lacks string            // of a Python 3.12 that is there
		want  string
		way   string
	}{
		"nothing":       {nil, "", "needs Python 3.12; looked at python3.12 and python3 on PATH, in /usr/local/bin, /usr/bin, ", "`python3 -m pip install --user uv` and `python3 -m uv python install 3.12` provide it"},
		"uv":            {map[string]string{"uv": "exit 0"}, "", "", "`uv python install 3.12` provides it"},
		"pyenv":         {map[string]string{"pyenv": "exit 0"}, "", "", "`pyenv install 3.12` provides it"},
		"a package":     {map[string]string{"apt-cache": "exit 0"}, "", "", "`apt-get install python3.12 python3.12-venv` provides it"},
		"no package":    {map[string]string{"apt-cache": "exit 100", "dnf": "exit 0"}, "", "", "`dnf install python3.12` provides it"},
		"another":       {map[string]string{"python3": ""}, "", "python3 (3.11.7)", "uv"},
		"no venv":       {map[string]string{"apt-cache": "exit 0"}, "ensurepip", "(3.12.9 without its module ensurepip)", "`apt-get install python3.12-venv`"},
		"does not run":  {map[string]string{"python3.12": "echo 'bad interpreter' >&2; exit 126"}, "", "python3.12 (which does not run: bad interpreter)", ""},
		"no Python 3":   {map[string]string{"python3": "echo hello"}, "", "python3 (no Python 3)", ""},
		"several tools": {map[string]string{"uv": "exit 0", "pyenv": "exit 0"}, "", "", "`uv python install 3.12` or `pyenv install 3.12`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			on := map[string]string{}
			for tool, script := range c.tools {
				if on[tool] = scriptAt(t, filepath.Join(home, "bin", tool), script); script == "" {
					interpreter(t, on[tool], "3.11.7", "")
				}
			}
			if c.lacks != "" {
				on["python3.12"] = interpreter(t, filepath.Join(home, "bin/python3.12"), "3.12.9", c.lacks)
			}
			in := machine(t, home, on)
			_, err := in.Install(t.Context(), pipFile(t, "pins==1"))
			var ie *InstallError
			if !errors.As(err, &ie) || !strings.Contains(ie.Error(), c.want) || !strings.Contains(ie.Hint(), c.way) {
				t.Errorf("got %v; way %q", err, ie.Hint())
			}
			if left, _ := os.ReadDir(in.Cache); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestInstallHeals: what is in the cache and of no use is installed again, with a word on why.
func TestInstallHeals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, home, prefix string)
		pins  string
		want  string
	}{
		"other pins":          {func(*testing.T, string, string) {}, "pins==2", "was installed by another version of its file"},
		"interpreter is gone": {func(t *testing.T, home, _ string) { os.Rename(home+"/bin", home+"/moved") }, "pins==1", "is not there"},
		"half the mark": {func(t *testing.T, _, prefix string) {
			os.WriteFile(filepath.Join(prefix, installedMark), []byte(`{"name": "sn`), 0o644)
		}, "pins==1", "is not installed"},
		"the mark is gone":       {func(t *testing.T, _, prefix string) { os.Remove(filepath.Join(prefix, installedMark)) }, "pins==1", "is not installed"},
		"a file of that name":    {func(t *testing.T, _, prefix string) { os.RemoveAll(prefix); os.WriteFile(prefix, nil, 0o644) }, "pins==1", "is not installed"},
		"a program that is gone": {func(t *testing.T, _, prefix string) { os.RemoveAll(filepath.Join(prefix, "bin")) }, "pins==1", "is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			on := map[string]string{"python3.12": interpreter(t, filepath.Join(home, "bin/python3.12"), "3.12.9", "")}
			in := machine(t, home, on)
			var said []string
			in.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
			prefix, err := in.Install(t.Context(), pipFile(t, "pins==1"))
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(t, home, prefix)
			f := pipFile(t, c.pins)
			if err := in.Check(t.Context(), f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a run is told %v", err)
			}
			on["python3.12"] = interpreter(t, filepath.Join(home, "again/python3.12"), "3.12.9", "")
			if _, err := in.Install(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			if err := in.Check(t.Context(), f); err != nil {
				t.Error(err)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, "it is installed again") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// TestInstallInUse: nobody installs other pins over a program that a run uses, and a run waits for an installation.
func TestInstallInUse(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in := machine(t, home, map[string]string{"python3.12": interpreter(t, filepath.Join(home, "bin/python3.12"), "3.12.9", "")})
	var mu sync.Mutex
	var said []string
	in.Say = func(format string, args ...any) {
		mu.Lock()
		said = append(said, fmt.Sprintf(format, args...))
		mu.Unlock()
	}
	first, second := pipFile(t, "pins==1"), pipFile(t, "pins==2")
	if _, err := in.Install(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	release, err := in.Use(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(t.Context(), first); err != nil { // what works is no matter for waiting
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := in.Install(short, second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("installed over what is in use: %v", err)
	}
	if err := in.Check(t.Context(), first); err != nil {
		t.Errorf("what is in use was touched: %v", err)
	}
	release()
	if _, err := in.Install(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(strings.Join(said, "\n"), "another stint installs or uses snake 3.12.9; waiting for it") {
		t.Errorf("said %q", said)
	}
}

// TestInstallFromTwoProcesses: the lock is the system's, so a process that was killed in the middle leaves none.
func TestInstallFromTwoProcesses(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in := machine(t, home, map[string]string{"python3.12": interpreter(t, filepath.Join(home, "bin/python3.12"), "3.12.9", "")})
	f := pipFile(t, "pins==1")
	prefix, err := in.Prefix(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(prefix), 0o755); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("flock", prefix+lockSuffix, "sh", "-c", "echo locked; exec sleep 60")
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-holder.Process.Pid, syscall.SIGKILL); holder.Wait() })
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	waits := make(chan string, 1)
	in.Say = func(format string, args ...any) {
		select {
		case waits <- fmt.Sprintf(format, args...):
		default:
		}
	}
	done := make(chan error, 1)
	go func() { _, err := in.Install(t.Context(), f); done <- err }()
	if words := <-waits; !strings.Contains(words, "waiting for it") {
		t.Errorf("said %q", words)
	}
	if err := syscall.Kill(-holder.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestInstallWithoutSpace: a full disk and a quota are named as such, and nothing half-finished stays.
func TestInstallWithoutSpace(t *testing.T) {
	t.Parallel()
	says := func(text string) func(*testing.T, *Installer, *File) {
		return func(_ *testing.T, in *Installer, _ *File) {
			in.Run = func(*exec.Cmd) ([]byte, error) {
				return []byte(text + strings.Repeat(" and more", 200)), errors.New("exit status 228")
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *Installer, *File)
		want   string
	}{
		"npm says so":   {says("npm error code ENOSPC\nnpm error nospc ENOSPC: no space left on device, write"), "there is no space left in "},
		"pip says so":   {says("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"), "there is no space left in "},
		"a quota":       {says("OSError: [Errno 122] Disk quota exceeded"), "there is no space left in "},
		"known before":  {func(_ *testing.T, _ *Installer, f *File) { f.Install.Megabytes = 1 << 40 }, "takes 1099511627776 MB, and "},
		"not ours":      {func(t *testing.T, in *Installer, _ *File) { in.Cache = filepath.Join(notADirectory(t), "x") }, "not a directory"},
		"a small tmpfs": {fullDisk, "there is no space left in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, f := fakeNPM(t, "echo fake 1.2.3"), fakeFile(t, "1.2.3")
			c.change(t, &in, f)
			_, err := in.Install(t.Context(), f)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			var ie *InstallError
			if name != "not ours" && (!errors.As(err, &ie) || !strings.Contains(ie.Hint(), "STINT_CACHE")) {
				t.Errorf("no way out: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(in.Cache, "harness", "*.new")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, _, err := in.Find(f); err == nil {
				t.Error("it counts as installed")
			}
		})
	}
}

func notADirectory(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// fullDisk puts the cache on a file system of one megabyte, where a package of two is unpacked by a program of its own.
func fullDisk(t *testing.T, in *Installer, _ *File) {
	if err := syscall.Mount("tmpfs", in.Cache, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("STINT_REQUIRE") != "" && os.Getuid() == 0 {
			t.Fatalf("mounting a small file system: %v", err)
		}
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	cache := in.Cache
	t.Cleanup(func() {
		if err := syscall.Unmount(cache, 0); err != nil {
			t.Error(err)
		}
	})
	in.Run = func(cmd *exec.Cmd) ([]byte, error) {
		unpack := exec.Command("sh", "-c", "head -c 2000000 /dev/zero >fake")
		unpack.Dir = cmd.Dir
		return unpack.CombinedOutput()
	}
}

// TestStubs: a package that is empty, says nothing or is another one is not taken for the program.
func TestStubs(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"says nothing":   "exit 0",
		"is a notice":    "echo 'this package has moved'; exit 1",
		"older inside":   "echo fake 1.0.0",
		"newer inside":   "echo fake 1.52.0",
		"a longer name":  "echo fake 1.2.3.4",
		"is interactive": "echo 'Name?'; read x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, f := fakeNPM(t, script), fakeFile(t, "1.2.3")
			_, err := in.Install(t.Context(), f)
			var ie *InstallError
			if !errors.As(err, &ie) || ie.Hint() == "" {
				t.Errorf("got %v", err)
			}
			if _, _, err := in.Find(f); err == nil {
				t.Error("it counts as installed")
			}
		})
	}
}
