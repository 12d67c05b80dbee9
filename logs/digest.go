package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// leftOut are the columns a digest does not see: times, places, what was wasted on the way, and
// what names a version or a machine.
var leftOut = map[string]bool{
	"started": true, "wall_s": true, "agent_s": true, "grade_s": true,
	"feedback_bytes": true, "snapshot": true, "home": true, "sandbox": true,
	"harness_version": true, "model_returned": true,
	"file": true, "offset": true, "length": true,
	"evidence": true, // holds places
}

var leftOutPrefixes = []string{"tokens_reported_", "wasted_", "prompt_"}

func inDigest(name string) bool {
	for _, p := range leftOutPrefixes {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return !leftOut[name]
}

// Digest returns the SHA-256 of each table in hex, over its rows sorted by key, without the columns
// that depend on time and place. Left out as well: void attempts and tries that a process retry
// replaced (the rows without an attempt number); of a check that got no HTTP answer everything the
// operating system said but its class (refused, reset, timeout, cut); the events; the verdicts of
// people, so that the ends of episodes are those without them. Equal digests mean: the same results.
func Digest(t *Tables) map[string]string {
	s := Tables{Episodes: t.Episodes, Turns: t.Turns, Clauses: t.Clauses, Attempts: t.Attempts}
	people := false
	for _, v := range t.Verdicts {
		if people = people || v.AnnotatorKind == AnnotatorPerson; v.AnnotatorKind != AnnotatorPerson {
			s.Verdicts = append(s.Verdicts, v)
		}
	}
	s = s.clone()
	if people {
		s.SetEnds()
	}
	s.Attempts = nil
	for _, a := range t.Attempts {
		if a.Attempt != nil {
			s.Attempts = append(s.Attempts, a)
		}
	}
	for _, c := range t.Checks {
		c.Actual = classOf(c.Actual)
		s.Checks = append(s.Checks, c)
	}
	s.sortRows()
	return map[string]string{
		"episodes": digestRows("episodes", s.Episodes),
		"turns":    digestRows("turns", s.Turns),
		"clauses":  digestRows("clauses", s.Clauses),
		"attempts": digestRows("attempts", s.Attempts),
		"checks":   digestRows("checks", s.Checks),
		"verdicts": digestRows("verdicts", s.Verdicts),
	}
}

// noAnswer are the classes of a request without an HTTP answer and the words that give them away in
// the runner's texts and in those of operating systems.
var noAnswer = []struct {
	class string
	words []string
}{
	{"refused", []string{"refused"}},
	{"timeout", []string{"nothing within", "timeout", "timed out", "deadline"}},
	{"reset", []string{"reset", "broken pipe"}},
	{"cut", []string{"closed", "eof"}},
}

// classOf reduces what came instead of an HTTP answer to its class. An answer begins with its status
// and stays, and so does a text of none of the classes.
func classOf(actual string) string {
	if actual == "" || actual[0] >= '0' && actual[0] <= '9' {
		return actual
	}
	s := strings.ToLower(actual)
	for _, n := range noAnswer {
		for _, word := range n.words {
			if strings.Contains(s, word) {
				return n.class
			}
		}
	}
	return actual
}

func digestRows[T any](table string, rows []T) string {
	h := sha256.New()
	var cols []column
	head := "stint.digest/1 " + table
	for _, c := range columnsOf[T]() {
		if inDigest(c.name) {
			cols = append(cols, c)
			head += " " + c.name
		}
	}
	h.Write([]byte(head + "\n"))
	var line []byte
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		line = line[:0]
		for _, c := range cols {
			line = appendCanonical(line, &c, row)
		}
		writeLine(h, line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeLine(h hash.Hash, line []byte) {
	h.Write(line)
	h.Write([]byte{'\n'})
}

// appendCanonical writes a value so that no two rows have the same bytes: text is quoted, null is a dash.
func appendCanonical(b []byte, c *column, row reflect.Value) []byte {
	v, null := c.value(row)
	switch {
	case null:
		b = append(b, '-')
	case c.kind == textColumn:
		b = strconv.AppendQuote(b, v.String())
	case c.kind == listColumn:
		b = append(b, '[')
		for i := range v.Len() {
			b = strconv.AppendQuote(b, v.Index(i).String())
		}
		b = append(b, ']')
	case c.kind == timeColumn:
		b = strconv.AppendInt(b, v.Interface().(time.Time).UnixMilli(), 10)
	default:
		b = append(b, c.text(row)...)
	}
	return append(b, '\t')
}

// clone copies the tables but the events, so that they can be sorted without touching the caller's.
func (t *Tables) clone() Tables {
	return Tables{
		Episodes: slices.Clone(t.Episodes), Turns: slices.Clone(t.Turns), Clauses: slices.Clone(t.Clauses),
		Attempts: slices.Clone(t.Attempts), Checks: slices.Clone(t.Checks), Verdicts: slices.Clone(t.Verdicts),
	}
}
