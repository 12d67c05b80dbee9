package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// noRules is the word that takes a run's own rules away.
const noRules = "none"

// rulesFile is where a run directory keeps the leaves and rules that were added to the codebook for it.
func rulesFile(d *logs.RunDir) string { return filepath.Join(d.VerdictsDir(), "rules.yaml") }

// readRules reads and checks a file of a user's leaves and rules.
func readRules(file string) ([]byte, *classify.Taxonomy, error) {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, nil, inputErrorf("name the file with your rules; `stint classify --codebook` shows what rules look like", "the rules %s cannot be read: %w", clean(file), err)
	case !st.Mode().IsRegular():
		return nil, nil, inputErrorf("name the file itself", "the rules %s are no file", clean(file))
	case st.Size() > classify.MaxUserRules:
		return nil, nil, inputErrorf("name the file with your rules", "%s has %d bytes, more than rules can have", clean(file), st.Size())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the rules %s: %w", file, err)
	}
	book, err := classify.ExtendCodebook(b)
	var wrong *classify.RulesError
	if errors.As(err, &wrong) {
		where := clean(file)
		if wrong.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, wrong.Line)
		}
		return nil, nil, inputErrorf("correct it and try again with `stint classify --rules "+shellQuote(file)+" --check`", "%s: %s", where, clean(wrong.Error()))
	}
	return b, book, err
}

// runBook is the codebook a run is classified with: the embedded one, and what was added for this run.
func runBook(d *logs.RunDir) (*classify.Taxonomy, error) {
	switch _, err := os.Lstat(rulesFile(d)); {
	case os.IsNotExist(err):
		return classify.Codebook(), nil
	case err != nil:
		return nil, fmt.Errorf("reading the rules of %s: %w", d.Root, err)
	}
	_, book, err := readRules(rulesFile(d))
	return book, err
}

// takeRules makes the rules of a file those of the run; the word none takes them away.
func takeRules(d *logs.RunDir, file string) error {
	if file == noRules {
		if err := os.Remove(rulesFile(d)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("taking the rules away: %w", err)
		}
		return nil
	}
	b, _, err := readRules(file)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(rulesFile(d)); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := os.MkdirAll(d.VerdictsDir(), 0o755); err != nil {
		return fmt.Errorf("keeping the rules: %w", err)
	}
	made := rulesFile(d) + ".tmp"
	defer os.Remove(made)
	if err := os.WriteFile(made, b, 0o644); err != nil {
		return fmt.Errorf("keeping the rules: %w", err)
	}
	return os.Rename(made, rulesFile(d))
}

// checkRules tests a file of rules: they hold to their own examples, or file and line say what is wrong.
func checkRules(e *env, file string) error {
	_, book, err := readRules(file)
	if err != nil {
		return err
	}
	leaves, examples := len(book.Leaves)-len(classify.Codebook().Leaves), 0
	for _, r := range book.Rules[len(book.Rules)-book.UserRules():] {
		examples += len(r.Positive) + len(r.Negative)
	}
	fmt.Fprintf(e.Stdout, "%s: %s and %s added to %s; %s hold\n", clean(file), plural2(leaves, "leaf", "leaves"), plural(book.UserRules(), "rule"),
		classify.Codebook().Name, plural(examples, "example"))
	return nil
}

func plural2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printCodebook prints the embedded codebook, and behind it what a file adds.
func printCodebook(w io.Writer, file string) error {
	text := classify.CodebookText()
	if file != "" && file != noRules {
		b, _, err := readRules(file)
		if err != nil {
			return err
		}
		text = append(append(text, "---\n# added\n"...), b...)
	}
	_, err := w.Write(text)
	return err
}

// leafList lists the leaves of the codebook for the help, by level.
func leafList() string {
	var b strings.Builder
	level := ""
	for i := range classify.Codebook().Leaves {
		l := &classify.Codebook().Leaves[i]
		_, name, _ := strings.Cut(l.ID, ".")
		if l.L1() != level {
			level = l.L1()
			fmt.Fprintf(&b, "\n%s: %s.\n", level, classify.Codebook().Levels[level])
		}
		fmt.Fprintf(&b, "  %-17s %s\n", name, l.Title)
	}
	return b.String()
}
