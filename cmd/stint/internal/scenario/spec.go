package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// spec renders SPEC.md: everything that the service has to do at this turn. Rules with a clause stand under
// the clause's id; the conventions say what holds for all collections alike.
func (s *Schema) spec() string {
	var b strings.Builder
	about := "a small organisation"
	if d := domainNamed(s.Domain); d != nil {
		about = d.about
	}
	fmt.Fprintf(&b, "# HTTP service for %s\n\n", about)
	b.WriteString("The service keeps collections of objects and offers them as JSON over HTTP. This file is the full specification.\n\n")
	b.WriteString(startContract)
	fmt.Fprintf(&b, "- %s\n\n", numbered(s.ClauseOf(KindHealth, API)))
	b.WriteString(conventionsText)
	fmt.Fprintf(&b, "- %s\n", numbered(s.ClauseOf(KindErrorFormat, API)))
	for i := range s.Entities {
		b.WriteByte('\n')
		s.specEntity(&b, &s.Entities[i], "##")
	}
	if len(s.Analytics) > 0 {
		b.WriteString("\n## Analytics\n\nFigures are computed from the rows that exist at the time of the request.\n\n")
		for i := range s.Analytics {
			fmt.Fprintf(&b, "- %s\n", numbered(s.ClauseOf(KindAnalytics, s.Analytics[i].UID)))
		}
	}
	if len(s.Tombstones) > 0 {
		b.WriteString("\n## Former names\n\n")
		for i := range s.Tombstones {
			fmt.Fprintf(&b, "- %s\n", numbered(s.ClauseOf(KindGone, s.Tombstones[i].UID)))
		}
	}
	return b.String()
}

// toolchainMark is the line of the start contract behind which WithToolchain puts its sentence.
const toolchainMark = "## Running the service\n\n"

const startContract = toolchainMark +
	"- The folder of this file holds everything. An executable file `start.sh` in it starts the service: `./start.sh` is run in this folder and stays in the foreground as long as the service runs.\n" +
	"- If there is an executable file `build.sh`, it is run once before the service is started, in the same folder, for at most 300 seconds. It is not required.\n" +
	"- The environment variable `PORT` holds the TCP port. The service listens on 127.0.0.1 at this port, without TLS, and is ready within 20 seconds.\n" +
	"- The environment variable `DATA_DIR` holds the path of an existing folder for data files. Data lives in memory or in this folder and nowhere else: a service that is started with " +
	"an empty `DATA_DIR` has no rows. It may be started several times at once, with different ports and folders.\n" +
	"- To try it, start it in the background, talk to it and stop it within one shell command, for example: `export PORT=8123 DATA_DIR=$(mktemp -d); ./start.sh >/tmp/log 2>&1 & pid=$!; sleep 2; " +
	"curl -s http://127.0.0.1:$PORT/health; kill $pid`\n"

const conventionsText = "## Conventions\n\n" +
	"- Bodies of requests and answers are JSON in UTF-8. The body of a `POST`, `PUT` or `PATCH` is one JSON object.\n" +
	"- Every object has an integer `id` that the service assigns, and the fields of its collection. A field that has no value is null in answers, never left out. " +
	"The order of keys does not matter.\n" +
	"- Strings are kept exactly as they are sent. A number without fraction is exact up to 9007199254740991 on either side of zero; how a whole number written as 5.0 is taken is left open. " +
	"A number with at most two decimal places is returned with the same value, in any notation.\n" +
	"- Whether a field may be missing and whether it may be null are two separate rules. In a `PATCH`, a missing field is never an error.\n" +
	"- Rules about type, range, length, form, values, order, uniqueness and references apply to `POST`, `PUT` and `PATCH` alike, and to values that are not null.\n" +
	"- If a request breaks several rules, any of the answers that fit is right.\n" +
	"- Query parameters, headers of requests, other methods, malformed JSON and paths that are not mentioned here are left open.\n" +
	"- Deleting an object that others refer to follows the rule of each reference. A reference that forbids the deletion forbids it even if the referring object would be deleted by another rule.\n" +
	"- When a change of this specification comes, the service may start without old data.\n"

// WithToolchain puts a sentence about the available tools into a specification, or into a request that
// contains one; other texts are returned as they are. The sentence belongs to the place where an episode
// runs, not to the scenario, and is no part of its content.
func WithToolchain(text, sentence string) string {
	if sentence == "" {
		return text
	}
	return strings.Replace(text, toolchainMark, toolchainMark+"- "+sentence+"\n", 1)
}

// numbered is a clause as a list item shows it.
func numbered(c *Clause) string {
	if c == nil {
		return ""
	}
	return c.ID + ": " + c.Text
}

// specEntity renders one collection: a table of its fields, then its clauses.
func (s *Schema) specEntity(b *strings.Builder, e *Entity, heading string) {
	fmt.Fprintf(b, "%s %s\n\nPath: `/%s`. One object is called %s.\n\n", heading, capital(human(e.Plural)), e.Plural, article(human(e.Name)))
	b.WriteString("| field | type | in POST and PUT | null | further rules |\n| --- | --- | --- | --- | --- |\n")
	for i := range e.Fields {
		b.WriteString(s.fieldRow(&e.Fields[i]))
	}
	b.WriteByte('\n')
	for _, k := range entityKinds {
		fmt.Fprintf(b, "- %s\n", numbered(s.ClauseOf(k, e.UID)))
	}
	for i := range e.Fields {
		for j := range s.Clauses {
			if s.Clauses[j].Subject == e.Fields[i].UID {
				fmt.Fprintf(b, "- %s\n", numbered(&s.Clauses[j]))
			}
		}
	}
	for i := range s.Clauses {
		if c := &s.Clauses[i]; c.ofPart(e) {
			fmt.Fprintf(b, "- %s\n", numbered(c))
		}
	}
}

// ofPart reports whether the clause is about e, but neither one that every entity has nor about a field of it.
func (c *Clause) ofPart(e *Entity) bool {
	if c.Subject == e.UID {
		return !slices.Contains(entityKinds[:], c.Kind)
	}
	return strings.HasPrefix(c.Subject, e.UID+".p")
}

// fieldRow is the line of a field in the table of its collection.
func (s *Schema) fieldRow(f *Field) string {
	presence, null := "optional", "no"
	switch {
	case f.Managed():
		presence = "ignored"
	case f.Required:
		presence = "required"
	case f.Default != nil:
		presence = "optional, default " + code(f.Literal(f.Default))
	}
	if f.Nullable {
		null = "yes"
	}
	var rules []string
	if f.Min != nil || f.Max != nil {
		rules = append(rules, f.rangePhrase())
	}
	if f.MinLen != nil || f.MaxLen != nil {
		rules = append(rules, f.lengthPhrase())
	}
	if f.Type == Enum {
		rules = append(rules, "one of "+strings.Join(f.Values, ", "))
	}
	if f.Pattern != "" {
		rules = append(rules, "form "+code(f.Pattern))
	}
	if f.Unique {
		rules = append(rules, "unique")
	}
	if f.Immutable {
		rules = append(rules, "can not change")
	}
	if f.Type == Ref {
		rules = append(rules, "id of "+article(s.entityNoun(f.Target)), "on delete: "+string(f.OnDelete))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", code(f.Name), f.Type, presence, null, strings.Join(rules, "; "))
}
