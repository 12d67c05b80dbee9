package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// killAtVar makes this test binary, started as stint, end itself by SIGKILL when the journals of the run
// have taken so many records.
const killAtVar = "STINT_TEST_KILL_AT"

// asStintVar makes this test binary behave as the command, whatever it is called.
const asStintVar = "STINT_TEST_AS_COMMAND"

// stepLimit bounds one command that a test starts.
const stepLimit = 2 * time.Minute

func TestMain(m *testing.M) {
	if code, ok := hidden(os.Args[1:], os.Stdin, os.Stdout); ok {
		os.Exit(code)
	}
	if text := os.Getenv(asNATSVar); text != "" {
		os.Exit(natsForTest(text))
	}
	if os.Getenv(asStintVar) != "" {
		os.Exit(stintForTest())
	}
	if filepath.Base(os.Args[0]) != "stint" { // a script's: its flags are not those of tests
		mostlyWaiting()
	}
	testscript.Main(m, map[string]func(){
		"stint": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// mostlyWaiting lets more tests run beside each other than there are processors: much of them is waiting, for servers,
// for limits of time, for programs that hang on purpose.
func mostlyWaiting() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
}

// stintForTest is the command with the test's hook in its journals.
func stintForTest() int {
	at, err := strconv.ParseInt(os.Getenv(killAtVar), 10, 64)
	if err != nil {
		return run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	var records atomic.Int64
	e := &env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now, Self: "stint", Stint: exe,
		testOnlyAfterAppend: func(int64) {
			if records.Add(1) == at {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // nothing more happens in this process
			}
		}}
	return e.execute(context.Background(), os.Args[1:])
}

// TestScripts runs the command as a user would: testdata/script/*.txt hold commands, files and what must be printed.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/.cache")
			return nil
		},
	})
}

// require returns the value of an environment variable that names a real component (a model, a Python with
// readers). Where the component is missing the test skips with the reason; under CI, which installs it, that is a failure.
func require(t *testing.T, variable, what string) string {
	t.Helper()
	v := strings.TrimSpace(os.Getenv(variable))
	if v != "" {
		return v
	}
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatalf("%s is not set: CI installs %s and must set it", variable, what)
	}
	t.Skipf("needs %s: set %s, or run .ci/run, which installs it", what, variable)
	return ""
}
