package harness

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ownEnd is what a program's own record says about its end.
type ownEnd struct {
	Completion string
	Detail     string
	Damaged    bool
}

// endTail is how much of a log a regular expression looks at.
const endTail = 64 << 10

// own reads the end by the first rule of the file that fits. A program whose record says nothing was cut: none is
// trusted for its exit code alone.
func (w *work) own() ownEnd {
	for i := range w.opt.File.Ends {
		r := &w.opt.File.Ends[i]
		if fits, say := r.fits(w); fits {
			detail := r.Detail
			if say != "" {
				detail = strings.TrimPrefix(detail+": "+say, ": ")
			}
			return ownEnd{r.Completion, oneLineOf(detail), r.Damaged}
		}
	}
	words := "its own log does not say how it ended"
	if len(w.opt.File.Ends) == 0 {
		words = "its file has no rule for this end"
		if w.exit.Code != nil && *w.exit.Code == 0 {
			return ownEnd{Completion: CompletionClean}
		}
	}
	words = fmt.Sprintf("%s (%s)", words, exitWords(w.exit.Code, w.exit.Signal, ""))
	if said := lastWords(w.exit.Stderr); said != "" {
		words += ": " + clip(said, 300)
	}
	return ownEnd{CompletionCut, words, false}
}

// fits tells whether all conditions of the rule hold, and what its value says.
func (r *EndRule) fits(w *work) (ok bool, say string) {
	if len(r.Exit) > 0 && (w.exit.Code == nil || !slices.Contains(r.Exit, *w.exit.Code)) {
		return false, ""
	}
	if r.In == "" {
		return true, ""
	}
	data := w.log(r.In)
	if data == nil {
		return false, ""
	}
	if r.match != nil && !r.match.Match(data[max(0, len(data)-endTail):]) {
		return false, ""
	}
	if len(r.Last) > 0 {
		if data = lastOf(data, cmp.Or(r.Key, "type"), r.Last); data == nil {
			return false, ""
		}
	}
	if r.JSON != "" {
		v, found := valueAt(data, r.JSON)
		if !found || len(r.Is) > 0 && !slices.Contains(r.Is, textOf(v)) {
			return false, ""
		}
	}
	if r.Say != "" {
		if v, found := valueAt(data, r.Say); found {
			say = clip(textOf(v), 300)
		}
	}
	return true, say
}

// lastOf is the last line that is a JSON object with one of these values at a path.
func lastOf(data []byte, key string, values []string) []byte {
	for len(data) > 0 {
		i := bytes.LastIndexByte(bytes.TrimRight(data, "\n"), '\n')
		line := data[i+1:]
		if v, ok := valueAt(line, key); ok && slices.Contains(values, textOf(v)) {
			return line
		}
		data = data[:i+1]
	}
	return nil
}

// valueAt follows a path of keys, joined by dots, through JSON objects.
func valueAt(data []byte, path string) (v any, ok bool) {
	at := json.RawMessage(data)
	for key := range strings.SplitSeq(path, ".") {
		var m map[string]json.RawMessage
		if json.Unmarshal(at, &m) != nil {
			return nil, false
		}
		if at, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, json.Unmarshal(at, &v) == nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	return ""
}

func oneLineOf(s string) string { return strings.Join(strings.Fields(s), " ") }
