package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Exit codes, as interface.md of the manual lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitInput       = 2
	exitGate        = 3
	exitIncomplete  = 4
	exitInterrupted = 130
)

// env is everything a verb takes from the process it runs in. Verbs touch the process only through it,
// so a test can run the whole command in its own process.
type env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	Self   string // how the user started stint: what to type before a verb
	Stint  string // path of this executable, for the processes stint starts itself

	Quiet   bool
	Verbose bool
	NoColor bool

	// testOnlyAfterAppend is called after every journal record; tests end the process in it.
	testOnlyAfterAppend func(seq int64)
	// testOnlyJudgeWait is the first waiting time of a judge; 0 = the real one.
	testOnlyJudgeWait time.Duration
}

// say writes one line of progress or complaint to stderr.
func (e *env) say(format string, args ...any) {
	fmt.Fprintf(e.Stderr, "stint: "+format+"\n", args...)
}

// next names the next useful command on stderr, as the user would type it.
func (e *env) next(format string, args ...any) {
	if e.Quiet {
		return
	}
	fmt.Fprintf(e.Stderr, "next: %s %s\n", e.Self, fmt.Sprintf(format, args...))
}

// terminal reports whether stderr is a terminal on which a line may be redrawn.
func (e *env) terminal() bool {
	f, ok := e.Stderr.(*os.File)
	return ok && !e.Quiet && term.IsTerminal(int(f.Fd())) && e.Getenv("TERM") != "dumb"
}

// width is the width of the terminal results go to, or 100 where there is none.
func (e *env) width() int {
	if f, ok := e.Stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			return min(w, 100)
		}
	}
	return 100
}

// printJSON writes a result as indented JSON.
func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// exitError carries the exit code of an ending that is no failure of stint.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }
func (e *exitError) ExitCode() int { return e.code }
func (e *exitError) Hint() string  { return e.hint }

// inputErrorf makes an error of usage or input (exit code 2) with a way out.
func inputErrorf(hint, format string, args ...any) error {
	return &exitError{code: exitInput, err: fmt.Errorf(format, args...), hint: hint}
}

// exitCode maps an error to the exit code of interface.md: an error that knows its code says so itself.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitFailed
}

// complain prints an error in two lines: what is wrong, and the way out.
func (e *env) complain(err error) {
	fmt.Fprintf(e.Stderr, "stint: %v\n", err)
	hint := hintOf(err)
	if hint == "" && diskFull(err) {
		hint = "what was written before is whole: free some space, then run the same command again"
	}
	if hint == "" {
		return
	}
	e.hint(hint)
}

// hint prints a way out.
func (e *env) hint(text string) {
	for line := range strings.Lines(e.asTyped(text)) {
		fmt.Fprintf(e.Stderr, "hint: %s\n", strings.TrimRight(line, "\n"))
	}
}

// hintOf is the way out that an error names; "" if it names none.
func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// stintCommand is a command line of stint as the packages below write it: stint and one of the verbs.
var stintCommand = regexp.MustCompile("(^|[ `'])stint (demo|init|run|ls|ingest|compare|report|curve|power|reproduce|digest|doctor|classify|explain|audit|model-sim|harness|scenario|export|view|shard|worker|collect|control)\\b")

// asTyped has the commands of a hint begin as the user would type them.
func (e *env) asTyped(hint string) string {
	return stintCommand.ReplaceAllString(hint, "${1}"+e.Self+" ${2}")
}

// diskFull reports whether there was no room for what was to be written.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// selfName guesses how the user started this program: "go run ./cmd/stint" builds
// /tmp/go-buildN/b001/exe/stint, which nobody would type.
func selfName(exe string) string {
	if exe = filepath.ToSlash(exe); strings.Contains(exe, "/go-build") && strings.Contains(exe, "/exe/") {
		return "go run ./cmd/stint"
	}
	return "stint"
}
