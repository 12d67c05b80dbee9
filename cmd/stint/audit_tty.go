package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

func newAuditTTYCmd(e *env) *cobra.Command {
	var who labeller
	cmd := &cobra.Command{
		Use:   "tty DIR",
		Short: "Label the sample in a terminal",
		Long: `tty shows the items of the sample one by one, as serve does, and reads one command a line:
the number or name of a label, c (cannot tell), ? (definitions), /WORDS (search the whole
log), m ID PASSAGE (mark evidence), note TEXT, n (skip), p (back), q (end). Every label is
written at once; the same command goes on with the first item without a label of yours.`,
		Example: "  echo q | " + e.Self + " audit tty runs/demo --name ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(); err != nil {
				return err
			}
			if who.name == "" && !who.settle {
				return inputErrorf("add --name NAME", "whoever labels needs a name")
			}
			_, a, err := openAudit(e, args[0])
			if err != nil {
				return err
			}
			s := &auditSession{e: e, a: a, person: who.name}
			if who.settle {
				s.person = logs.Adjudicated
			}
			if err := s.run(cmd.Context()); err != nil {
				return err
			}
			e.next("audit report %s", shellQuote(args[0]))
			return nil
		},
	}
	who.add(cmd)
	return cmd
}

// auditSession is one person labelling in a terminal.
type auditSession struct {
	e      *env
	a      *classify.Auditor
	person string
	marks  []classify.AuditMark
	at     int
	shown  time.Time
	quotes []classify.AuditQuote
	note   string
}

// run shows items and reads commands until the person ends it.
func (s *auditSession) run(ctx context.Context) error {
	var err error
	if s.marks, err = s.a.Marks(s.person); err != nil {
		return err
	}
	s.at = slices.IndexFunc(s.marks, func(m classify.AuditMark) bool { return m.Label == "" })
	w := s.e.Stdout
	if len(s.marks) == 0 || s.at < 0 {
		fmt.Fprintln(w, map[bool]string{true: "no item is disputed", false: "every item has a label of yours"}[s.person == logs.Adjudicated && len(s.marks) == 0])
		return nil
	}
	lines, stop := readLines(s.e.Stdin), ctx.Done()
	show := true
	for s.at < len(s.marks) {
		if show {
			if err := s.show(); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "label, c, ?, /words, m, note, n, p, q> ")
		select {
		case <-stop:
			fmt.Fprintln(w)
			return ctx.Err()
		case line, ok := <-lines:
			if !ok {
				fmt.Fprintln(w)
				return nil
			}
			done := false
			if show, done, err = s.command(strings.TrimSpace(line)); err != nil {
				return err
			}
			if done {
				return nil
			}
		}
	}
	fmt.Fprintln(w, "that was the last item")
	return nil
}

// readLines hands out lines, so that an interrupt need not wait for one.
func readLines(r io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			out <- sc.Text()
		}
	}()
	return out
}

// show prints the item.
func (s *auditSession) show() error {
	w, m := s.e.Stdout, s.marks[s.at]
	v, err := s.a.View(m.Item)
	if err != nil {
		return err
	}
	s.shown, s.quotes, s.note = s.e.Now(), nil, m.Note
	fmt.Fprintf(w, "\n── item %d of %d", s.at+1, len(s.marks))
	if m.Label != "" {
		fmt.Fprintf(w, ", labelled %s", clean(m.Label))
	}
	fmt.Fprintln(w)
	for _, t := range v.Texts {
		trust := ""
		if !t.Trusted {
			trust = ", the agent may have written this"
		}
		fmt.Fprintf(w, "\n[%s] %s%s\n", clean(t.ID), clean(t.Channel), trust)
		for line := range strings.Lines(t.Text) {
			fmt.Fprintf(w, "  %s\n", clean(strings.TrimRight(line, "\r\n")))
		}
	}
	if len(v.Omitted) > 0 {
		fmt.Fprintf(w, "\nnot shown: %s\n", clean(strings.Join(v.Omitted, ", ")))
	}
	fmt.Fprintf(w, "\n%s in the whole log\n", plural(v.Log, "event"))
	if s.person == logs.Adjudicated {
		labels, err := s.a.Originals(m.Item)
		if err != nil {
			return err
		}
		for i := range labels {
			fmt.Fprintf(w, "somebody said %s %s\n", clean(labels[i].Label()), clean(labels[i].Note))
		}
	}
	for i, l := range s.a.Book.Choices() {
		fmt.Fprintf(w, "%3d %-24s %s\n", i+1, l.ID, l.Title)
	}
	return nil
}

// command does what one line says. show is whether the item is to be shown (again, or the next one).
func (s *auditSession) command(line string) (show, done bool, err error) {
	w := s.e.Stdout
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		return false, false, nil
	case line == "q":
		return false, true, nil
	case line == "n":
		s.at++
		return true, false, nil
	case line == "p":
		s.at = max(0, s.at-1)
		return true, false, nil
	case line == "?":
		for i, l := range s.a.Book.Choices() {
			fmt.Fprintf(w, "%3d %s: %s\n    includes: %s\n    not: %s\n    sign: %s\n", i+1, l.ID, l.Definition, l.Includes, l.Excludes, l.Signature)
		}
		return false, false, nil
	case strings.HasPrefix(line, "/"):
		return false, false, s.search(line[1:])
	case word == "m":
		id, quote, _ := strings.Cut(rest, " ")
		s.quotes = append(s.quotes, classify.AuditQuote{ID: id, Quote: quote})
		return false, false, nil
	case word == "note":
		s.note = rest
		return false, false, nil
	case line == "c":
		line = classify.CannotTell
	}
	if n, err := strconv.Atoi(line); err == nil {
		labels := s.a.Book.Choices()
		if n < 1 || n > len(labels) {
			fmt.Fprintf(w, "labels have the numbers 1 to %d\n", len(labels))
			return false, false, nil
		}
		line = labels[n-1].ID
	}
	if line != classify.CannotTell && s.a.Book.Leaf(line) == nil && (line == "unknown" || s.a.Book.Levels[line] == "") {
		fmt.Fprintf(w, "%s is no label and no command\n", clean(line))
		return false, false, nil
	}
	l, err := s.a.Label(s.person, classify.AuditChoice{Item: s.marks[s.at].Item, Label: line, Quotes: s.quotes, Note: s.note, Seconds: s.e.Now().Sub(s.shown).Seconds()}, s.e.Now())
	if err != nil {
		if l != nil {
			return false, false, err // it could not be written
		}
		fmt.Fprintf(w, "%s\n", clean(err.Error()))
		s.quotes = nil
		return false, false, nil
	}
	s.marks[s.at].Label, s.marks[s.at].Note = line, s.note
	s.at++
	return true, false, nil
}

// search prints the events that hold the words.
func (s *auditSession) search(words string) error {
	l, err := s.a.Log(s.marks[s.at].Item, words, 0)
	if err != nil {
		return err
	}
	w := s.e.Stdout
	for _, ev := range l.Events {
		fmt.Fprintf(w, "e%d %s %s %s\n", ev.Seq, clean(ev.Channel), clean(ev.Kind), clean(ev.Tool))
		for line := range strings.Lines(ev.Text) {
			fmt.Fprintf(w, "  %s\n", clean(strings.TrimRight(line, "\r\n")))
		}
	}
	fmt.Fprintf(w, "%s found, %d shown\n", plural(l.Found, "event"), len(l.Events))
	return nil
}
