package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

//go:embed reproduce.sh
var reproduceFunctions string

// maxShown bounds the checks that are printed without --check.
const maxShown = 10

// rowidFunction takes the id from an answer with what every system has.
const rowidFunction = `rowid() { tr -d '\r\n' | tr '{},' '\n\n\n' | sed -n 's/^[[:space:]]*"id"[[:space:]]*:[[:space:]]*\(-\{0,1\}[0-9][0-9]*\)\(\.0*\)\{0,1\}[[:space:]]*$/\1/p' | sed 1q; }`

// choose finds the check to show, or the most telling one.
func (a *attempt) choose(check string) (*suite.Failure, error) {
	list := a.carriedOut()
	if check == "" {
		if len(list) == 0 {
			return nil, nil
		}
		return list[0], nil
	}
	for _, f := range list {
		if f.ID == check {
			return f, nil
		}
	}
	for i := range a.graded.Result.Failures {
		if f := &a.graded.Result.Failures[i]; f.ID == check {
			return nil, inputErrorf(a.failedChecks(), "check %s of %s was never reached (%s)", clean(check), a.id(), clean(a.reason))
		}
	}
	if slices.ContainsFunc(a.suite.Checks, func(c suite.Check) bool { return c.ID == check }) {
		return nil, inputErrorf(a.failedChecks(), "check %s of %s passed", clean(check), a.id())
	}
	return nil, inputErrorf(a.failedChecks(), "%s has no check %s", a.id(), clean(check))
}

// failedChecks names the checks that can be shown.
func (a *attempt) failedChecks() string {
	list := a.carriedOut()
	if len(list) == 0 {
		return "no check of this attempt was carried out: leave --check out"
	}
	var ids []string
	for _, f := range list[:min(len(list), 12)] {
		ids = append(ids, clean(f.ID))
	}
	if more := len(list) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return "the failed checks: " + strings.Join(ids, ", ")
}

// print writes what a person can paste: everything but the requests is a comment, so the whole is a shell text.
func (a *attempt) print(e *env, check, again string) error {
	chosen, err := a.choose(check)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	a.heading(&b)
	fmt.Fprintf(&b, "# start its server:  %s %s --serve\n", e.Self, again)
	if chosen == nil {
		a.printEnd(&b)
		_, err := e.Stdout.Write(b.Bytes())
		return err
	}
	fmt.Fprintf(&b, "# as a script:       %s %s --check %s --script\n", e.Self, again, shellQuote(clean(chosen.ID)))
	b.WriteString("# Every sequence below is for a freshly started server.\nBASE=http://127.0.0.1:8123 # as --serve prints it\n" + rowidFunction + "\n")
	list := a.carriedOut()
	if check != "" {
		list = []*suite.Failure{chosen}
	}
	for _, f := range list[:min(len(list), maxShown)] {
		if err := a.printCheck(&b, f, e.Self+" "+again); err != nil {
			return err
		}
	}
	if more := len(list) - maxShown; more > 0 {
		var ids []string
		for _, f := range list[maxShown:] {
			ids = append(ids, clean(f.ID))
		}
		fmt.Fprintf(&b, "\n# %d more (--check ID shows one): %s\n", more, strings.Join(ids, " "))
	}
	if n := a.graded.Result.Failed - len(a.carriedOut()); n > 0 {
		fmt.Fprintf(&b, "\n# %d checks were never reached\n", n)
	}
	_, err = e.Stdout.Write(b.Bytes())
	return err
}

func (a *attempt) heading(w io.Writer) {
	s := a.start
	fmt.Fprintf(w, "# %s: %s/%s#%d, turn %d, attempt %d: %s", a.id(), clean(s.Config), clean(s.Scenario.ID), s.Repeat, a.turn, a.number, a.outcome())
	if r := a.graded.Result; r.Runs > 0 {
		fmt.Fprintf(w, ", %d of %d checks", r.Failed, r.Checks)
	}
	fmt.Fprintln(w)
	if d := a.graded.Result.Detail; d != "" {
		fmt.Fprintf(w, "# %s\n", clean(d))
	}
}

// printEnd shows why no check was carried out: the end of the build or of the servers.
func (a *attempt) printEnd(w io.Writer) {
	if b := a.graded.Build; b != nil && b.Exit != nil && *b.Exit != 0 {
		fmt.Fprintf(w, "# build.sh ended with exit code %d; its output ended with\n", *b.Exit)
		printLog(w, b.Log)
	}
	for _, s := range a.graded.Result.Servers {
		if s.Kind != "exit" {
			continue
		}
		fmt.Fprintf(w, "# no server in world %s: %s", clean(s.World), clean(s.Reason))
		if s.End != nil && s.End.Exit != nil {
			fmt.Fprintf(w, ", exit code %d", *s.End.Exit)
		}
		fmt.Fprintln(w)
		if s.End != nil {
			printLog(w, s.End.Log)
		}
		return // the other worlds tell the same
	}
}

// printLog prints the last lines of hostile output as comments.
func printLog(w io.Writer, log string) {
	const most = 20
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	for _, line := range lines {
		if r := []rune(line); len(r) > 300 {
			line = string(r[:300]) + "…"
		}
		if line = strings.TrimRight(line, "\r"); line != "" {
			fmt.Fprintf(w, "#   | %s\n", clean(line))
		}
	}
}

// about describes a check in comments.
func (a *attempt) about(w io.Writer, f *suite.Failure) {
	fmt.Fprintf(w, "# %s: %s\n", clean(f.ID), clean(f.Title))
	for _, id := range f.Clauses {
		if c := a.suite.Clause(id); c != nil {
			since := fmt.Sprintf("since turn %d", c.Introduced)
			if c.Changed > c.Introduced {
				since += fmt.Sprintf(", changed in turn %d", c.Changed)
			}
			fmt.Fprintf(w, "#   %s (%s): %s\n", clean(id), since, clean(c.Text))
		}
	}
}

func (a *attempt) printCheck(w io.Writer, f *suite.Failure, again string) error {
	seq, err := a.sequence(f)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	a.about(w, f)
	switch {
	case f.Confirmed != nil && !*f.Confirmed:
		fmt.Fprintf(w, "# Alone it passed. It failed after %d requests of earlier checks, which %s --check %s --script sends first.\n", seq.earlier, again, shellQuote(clean(f.ID)))
	case seq.earlier > 0:
		fmt.Fprintf(w, "# It was not tried alone. If it passes: %s --check %s --script first sends the %d requests of the checks before it.\n", again, shellQuote(clean(f.ID)), seq.earlier)
	}
	for _, s := range seq.before[:len(seq.before)-seq.earlier] {
		line, err := s.curl(false)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, line)
	}
	for i, s := range seq.own[:seq.at+1] {
		line, err := s.curl(i == seq.at)
		if err != nil {
			return err
		}
		if i == seq.at && strings.HasPrefix(f.Exchanges[i].Error, notSent) {
			line = "# not sent, because a row that it needs was not made: " + line
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "# expected: %s\n# actual:   %s\n", clean(f.Expected), clean(f.Actual))
	return nil
}

// notSent begins the error of an exchange that could not take place.
const notSent = "not sent"

// printScript writes one check as a script that starts nothing.
func (a *attempt) printScript(e *env, check, again string) error {
	f, err := a.choose(check)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("#!/bin/sh\n")
	a.heading(&b)
	if f != nil {
		a.about(&b, f)
		fmt.Fprintf(&b, "# expected: %s\n# actual:   %s\n", clean(f.Expected), clean(f.Actual))
	}
	fmt.Fprintf(&b, "# BASE is where the server answers, freshly started by: %s %s --serve\n", e.Self, again)
	b.WriteString(reproduceFunctions)
	if f == nil {
		b.WriteString("\n# In the study no server could be asked anything.\nsend GET /health\nif right 200; then echo \"passes here: GET /health is answered\"; exit 0; fi\n" +
			"say \"reproduced: GET /health: $why\"\nexit 1\n")
	} else {
		seq, err := a.sequence(f)
		if err != nil {
			return err
		}
		if err := seq.script(&b); err != nil {
			return err
		}
	}
	_, err = e.Stdout.Write(b.Bytes())
	return err
}

// script writes the requests of a sequence and what is to be concluded from the answers.
func (s *sequence) script(w io.Writer) error {
	var vars []string
	for _, sh := range append(slices.Clone(s.before), s.own...) {
		if sh.into != "" && !slices.Contains(vars, sh.into) {
			vars = append(vars, sh.into)
		}
	}
	fmt.Fprintln(w, "\nsend GET /health\nif [ \"$status\" = 000 ]; then echo \"nothing answers at $BASE\" >&2; exit 3; fi")
	for _, v := range vars {
		fmt.Fprintf(w, "%s=''\n", v)
	}
	if len(s.before) > 0 {
		fmt.Fprintln(w, "\n# What the server was sent before the check.")
	}
	for i := range s.before {
		sh := &s.before[i]
		line, err := sh.send()
		if err != nil {
			return err
		}
		if needs := sh.needed(); len(needs) > 0 {
			line = "have" + words(needs) + " && " + line
		}
		if sh.into != "" {
			line += fmt.Sprintf(" && [ \"$status\" = %d ] && %s=$(rowid <\"$tmp/body\")", sh.step.Status, sh.into)
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\n# The check.")
	for i := range s.own {
		if err := s.step(w, i); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "echo 'passes here: every answer is as expected'")
	return nil
}

// step writes one request of the check itself.
func (s *sequence) step(w io.Writer, i int) error {
	sh := &s.own[i]
	send, err := sh.send()
	if err != nil {
		return err
	}
	right, err := sh.right()
	if err != nil {
		return err
	}
	failed, missing := "otherwise", "cannot"
	if i == s.at {
		x := s.failure.Exchanges[i]
		failed = fmt.Sprintf("recorded %03d", x.Status)
		if strings.HasPrefix(x.Error, notSent) {
			missing = "unsent"
		}
		fmt.Fprintln(w, "# This one failed.")
	}
	if needs := sh.needed(); len(needs) > 0 {
		fmt.Fprintf(w, "have%s || %s %s\n", words(needs), missing, shellQuote(sh.step.Method+" "+sh.step.Target()))
	}
	fmt.Fprintln(w, send)
	if sh.into != "" { // taken before the bodies are compared: the expectation may name the id
		fmt.Fprintf(w, "right %d || %s\n%s=$(rowid <\"$tmp/body\")\nnewid \"$%s\"%s || %s\n", sh.step.Status, failed, sh.into, sh.into, sh.above(), failed)
	}
	fmt.Fprintf(w, "%s || %s\n", right, failed)
	return nil
}

// above is the variable of the id that the new one must exceed, if there is one.
func (s *shot) above() string {
	v := s.vars[s.step.Above]
	if s.step.Above == "" || v == "" {
		return ""
	}
	return ` ${` + v + `:+"$` + v + `"}`
}

func words(vars []string) string {
	var b strings.Builder
	for _, v := range vars {
		if v == "" {
			b.WriteString(" ''")
			continue
		}
		b.WriteString(` "$` + v + `"`)
	}
	return b.String()
}
