package scenario

import (
	"fmt"
	"strings"
)

// The ways in which an agent learns of a change.
const (
	DeliveryDelta     = "delta"      // the change text only
	DeliveryDeltaFile = "delta+file" // the change text; SPEC.md holds the full specification
	DeliveryFull      = "full"       // the change text and the full specification in one
)

// buildRequest is the prompt of turn 0.
func buildRequest(delivery string, s *Schema, spec string) string {
	about := "a small organisation"
	if d := domainNamed(s.Domain); d != nil {
		about = d.about
	}
	intro := fmt.Sprintf("Build an HTTP service with a JSON interface for %s, in the current folder. ", about)
	ending := " Implement all of it. When you are done, the folder must hold everything that the service needs to start with `./start.sh`."
	if delivery == DeliveryDeltaFile {
		return intro + "The file SPEC.md in this folder holds the full specification; read it first." + ending + "\n\n" + strings.TrimSpace(startContract) + "\n"
	}
	return intro + "The full specification follows." + ending + "\n\n" + spec
}

// changeRequest is the prompt of a later turn.
func changeRequest(delivery, change, spec string) string {
	switch delivery {
	case DeliveryDelta:
		return change + "\nEverything else stays as it is.\n"
	case DeliveryFull:
		return change + "\nEverything else stays as it is. The full specification with this change:\n\n" + spec
	}
	return change + "\nEverything else stays as it is. SPEC.md in this folder holds the full specification with this change.\n"
}

// removes reports whether an operation takes a thing away with all its rules.
func removes(operation string) bool {
	switch operation {
	case "remove_field", "remove_entity", "remove_relation":
		return true
	}
	return false
}

// change writes what the agent is asked this turn: one sentence in natural words, then the exact rules.
func change(sentence string, st *Step, before *Schema) string {
	var b strings.Builder
	b.WriteString(sentence + "\n")
	if st.Operation.Name == "add_entity" {
		b.WriteByte('\n')
		st.Schema.specEntity(&b, &st.Schema.Entities[len(st.Schema.Entities)-1], "##")
		return b.String()
	}
	var rules []string
	for _, c := range st.Added {
		rules = append(rules, c.Text)
	}
	for _, c := range st.Changed {
		// The list of keys grows and shrinks with the fields; repeating it would bury the change itself.
		if c.Kind != KindExactKeys {
			rules = append(rules, c.Text)
		}
	}
	var ended []string
	for _, id := range st.Removed {
		// With a field or a collection, all its rules end; saying so once is enough.
		if c := before.Clause(id); c != nil && !removes(st.Operation.Name) {
			ended = append(ended, c.Text)
		}
	}
	if len(rules) > 0 {
		b.WriteString("\nThe exact rules:\n\n- " + strings.Join(rules, "\n- ") + "\n")
	}
	if len(ended) > 0 {
		b.WriteString("\nNo longer valid:\n\n- " + strings.Join(ended, "\n- ") + "\n")
	}
	return b.String()
}
