package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeFile is a harness whose npm package is a shell script that answers its probe with version.
func fakeFile(t *testing.T, version string) *File {
	t.Helper()
	f, err := ParseFile("fake.yaml", []byte(`
name: fake
version: `+version+`
protocol: chat
install: {npm: ["fake@`+version+`"]}
probe: {run: ["{{.Prefix}}/fake", --version]}
first: ["{{.Prefix}}/fake", "{{.Prompt}}"]
`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fakeNPM installs the script instead of asking a registry.
func fakeNPM(t *testing.T, script string) Installer {
	return Installer{
		Cache:    t.TempDir(),
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
		Run: func(cmd *exec.Cmd) ([]byte, error) {
			return nil, os.WriteFile(filepath.Join(cmd.Dir, "fake"), []byte("#!/bin/sh\n"+script+"\n"), 0o755)
		},
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	in, f := fakeNPM(t, "echo fake 1.2.3"), fakeFile(t, "1.2.3")
	var missing *InstallError
	if _, _, err := in.Find(f); !errors.As(err, &missing) || missing.Hint() != "stint harness install fake.yaml" || missing.ExitCode() != 2 {
		t.Errorf("before: %v", err)
	}
	// What an interrupted installation left is in the way of none.
	half := filepath.Join(in.Cache, "harness", "fake-1.2.3")
	for _, dir := range []string{half, half + ".new"} {
		if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var said []string
	runs := 0
	npm := in.Run
	in.Say = func(format string, args ...any) {
		mu.Lock()
		said = append(said, fmt.Sprintf(format, args...))
		mu.Unlock()
	}
	in.Run = func(cmd *exec.Cmd) ([]byte, error) {
		mu.Lock()
		runs++
		mu.Unlock()
		time.Sleep(300 * time.Millisecond)
		return npm(cmd)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if prefix, err := in.Install(t.Context(), f); err != nil || prefix != half {
				t.Errorf("%s, %v", prefix, err)
			}
		})
	}
	both.Wait()
	if runs != 1 || !strings.Contains(strings.Join(said, "\n"), "another stint ") {
		t.Errorf("%d installations: %q", runs, said)
	}
	if _, err := os.Stat(filepath.Join(half, "node_modules")); err == nil {
		t.Error("the half-finished installation was kept")
	}
	if prefix, _, err := in.Find(f); err != nil || prefix != half {
		t.Errorf("after: %s, %v", prefix, err)
	}
	// A program that was removed is installed again.
	if err := os.Remove(filepath.Join(half, "fake")); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(t.Context(), f); err != nil || runs != 2 {
		t.Errorf("a broken one: %v, %d installations", err, runs)
	}
	other := fakeFile(t, "1.2.3")
	other.Install.Node = true
	if _, _, err := in.Find(other); err == nil || !strings.Contains(err.Error(), "another version of its file") {
		t.Errorf("another file: %v", err)
	}
}

func TestInstallFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Installer)
		want   string
	}{
		"another version": {func(in *Installer) { *in = withScript(*in, "echo v2.0.0") }, `says that it is version "2.0.0", and its file pins 1.2.3`},
		"no version":      {func(in *Installer) { *in = withScript(*in, "echo hello") }, `with "hello", where no version is found`},
		"ends badly":      {func(in *Installer) { *in = withScript(*in, "echo oops >&2; exit 3") }, "exit status 3: oops"},
		"not there": {func(in *Installer) {
			in.Run = func(*exec.Cmd) ([]byte, error) { return nil, nil }
		}, "fake is missing"},
		"npm fails": {func(in *Installer) {
			in.Run = func(*exec.Cmd) ([]byte, error) {
				return []byte("npm error E404 not found"), errors.New("exit status 1")
			}
		}, "E404"},
		"no npm": {func(in *Installer) {
			in.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
		}, "needs npm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, f := fakeNPM(t, "echo 1.2.3"), fakeFile(t, "1.2.3")
			c.change(&in)
			_, err := in.Install(t.Context(), f)
			var ie *InstallError
			if !errors.As(err, &ie) || !strings.Contains(err.Error(), c.want) || ie.Hint() == "" {
				t.Errorf("got %v", err)
			}
			if _, _, err := in.Find(f); err == nil {
				t.Error("it counts as installed")
			}
			if _, err := os.Stat(filepath.Join(in.Cache, "harness", "fake-1.2.3.new")); err == nil {
				t.Error("a half-finished installation was left")
			}
		})
	}
}

func withScript(in Installer, script string) Installer {
	in.Run = func(cmd *exec.Cmd) ([]byte, error) {
		return nil, os.WriteFile(filepath.Join(cmd.Dir, "fake"), []byte("#!/bin/sh\n"+script+"\n"), 0o755)
	}
	return in
}
