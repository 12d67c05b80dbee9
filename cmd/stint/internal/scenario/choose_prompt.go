package scenario

import (
	"fmt"
	"strings"
)

// recentTurns is how many of the turns before are told.
const recentTurns = 12

// prompt shows the service, what changed lately and what may be chosen.
func (t *turnChoice) prompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Turn %d of %d.\n\nThe service now:\n", t.turn, t.opt.Changes)
	for i := range t.before.Entities {
		t.before.summary(&b, &t.before.Entities[i])
	}
	for _, a := range t.before.Analytics {
		of := ""
		if measure := t.before.fieldName(a.Measure); measure != "" {
			of = " of " + measure
		}
		fmt.Fprintf(&b, "- figure %s: %s%s over %s\n", a.Name, a.Kind, of, t.before.nameOf(a.Entity))
	}
	b.WriteString("\nWhat came before, the latest last:\n")
	for _, st := range t.done[max(0, len(t.done)-recentTurns):] {
		fmt.Fprintf(&b, "- turn %d: %s\n", st.Turn, st.Operation.Title)
	}
	b.WriteString("\nPossible changes:\n")
	for i, op := range t.listed {
		fmt.Fprintf(&b, "%s: %s (%s)", listedAs(i), op.Title, human(op.Name))
		if name, ok := namable(op); ok {
			fmt.Fprintf(&b, "; the name %s may be chosen", name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// summary writes an entity on one line.
func (s *Schema) summary(b *strings.Builder, e *Entity) {
	fmt.Fprintf(b, "- %s (/%s):", e.Name, e.Plural)
	for i := range e.Fields {
		f := &e.Fields[i]
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %s %s", f.Name, f.Type)
		if f.Type == Ref {
			fmt.Fprintf(b, " to %s", s.nameOf(f.Target))
		}
		for _, x := range []struct {
			is   bool
			word string
		}{{f.Required, "required"}, {f.Unique, "unique"}, {f.Immutable, "immutable"}, {f.State, "state"}, {f.Computed != nil, "computed"}} {
			if x.is {
				b.WriteString(" " + x.word)
			}
		}
	}
	for _, c := range e.Commands() {
		fmt.Fprintf(b, "; command %s", c.Name)
	}
	b.WriteByte('\n')
}

func (s *Schema) nameOf(entity string) string {
	if e := s.Entity(entity); e != nil {
		return e.Name
	}
	return entity
}
