package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// modelAnswer is what a choosing model answers.
type modelAnswer struct {
	Choice string `json:"choice"`
	Rename *struct {
		Name string `json:"name"`
	} `json:"rename"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
}

// read turns an answer into an operation and the schema after it, or says why it is no valid choice.
func (t *turnChoice) read(a *Asked) (Operation, *Schema, error) {
	none := func(format string, args ...any) (Operation, *Schema, error) {
		return Operation{}, nil, errors.New(oneLine(fmt.Sprintf(format, args...), maxReason))
	}
	if a.Error != "" && a.Answer == "" {
		return none("%s", a.Error)
	}
	m, err := parseAnswer(a.Answer)
	if err != nil {
		return none("%v", err)
	}
	at := -1
	for i := range t.listed {
		if listedAs(i) == m.Choice {
			at = i
		}
	}
	switch {
	case at < 0:
		return none("choice %q is not in the list, which goes from %s to %s", m.Choice, listedAs(0), listedAs(len(t.listed)-1))
	case !tidy(m.Title, maxTitle):
		return none("the title is empty, longer than %d characters or more than one line of plain text", maxTitle)
	case !tidy(m.Reason, maxReason):
		return none("the reason is empty, longer than %d characters or more than one line of plain text", maxReason)
	}
	op := t.listed[at]
	op.Params = maps.Clone(op.Params)
	if m.Rename != nil {
		if err := t.before.giveName(&op, m.Rename.Name); err != nil {
			return none("%v", err)
		}
		a.Name = m.Rename.Name
	}
	next, err := Apply(t.before, op, t.turn)
	if err != nil {
		return none("with the name %q the change is not possible: %v", a.Name, err)
	}
	op.Title = m.Title
	a.Title, a.Reason = m.Title, m.Reason
	return op, next, nil
}

// parseAnswer reads one JSON object with the four keys and nothing else.
func parseAnswer(text string) (*modelAnswer, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return nil, fmt.Errorf("it is not one JSON object: %w", err)
	}
	for _, k := range []string{"choice", "title", "reason"} {
		if _, ok := keys[k]; !ok {
			return nil, fmt.Errorf("the key %q is missing", k)
		}
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	var m modelAnswer
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("it does not fit the form: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return &m, nil
}

// tidy reports whether a text is one line of printable characters, not empty and not too long.
func tidy(s string, limit int) bool {
	return strings.TrimSpace(s) != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// namable reports whether an operation adds or renames something whose name may be chosen, and what the rules call it.
func namable(op Operation) (name string, ok bool) {
	if n, ok := op.Params["name"]; ok {
		return n, true
	}
	for _, key := range []string{"field", "entity", "analytics", "action", "transition"} {
		var thing struct {
			Name string `json:"name"`
		}
		if text := op.Params[key]; strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &thing) == nil && thing.Name != "" {
			return thing.Name, true
		}
	}
	return "", false
}

// giveName puts another name into an operation that adds or renames something.
func (s *Schema) giveName(op *Operation, name string) error {
	if _, ok := namable(*op); !ok {
		return fmt.Errorf("%s neither adds nor renames anything, so rename must be null", op.Name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	if slices.ContainsFunc(s.Tombstones, func(t Tombstone) bool { return t.Name == name }) {
		return fmt.Errorf("the name %q was in use before and is never used again", name)
	}
	if err := renameParams(op.Params, name); err != nil {
		return err
	}
	if p := plural(name); op.Params["plural"] != "" || strings.HasPrefix(op.Params["entity"], "{") {
		if !s.nounFree(noun{name: name, plural: p}) {
			return fmt.Errorf("the name %q or its plural %q is in use", name, p)
		}
	}
	op.ID = OperationID(op.Name, op.Params)
	return nil
}

// renameParams changes the name in the parameters of an operation.
func renameParams(params map[string]string, name string) error {
	if _, ok := params["name"]; ok {
		params["name"] = name
		if _, ok := params["plural"]; ok {
			params["plural"] = plural(name)
		}
		return nil
	}
	var f Field
	var e Entity
	var a Analytics
	var act Action
	var tr Transition
	for _, x := range []struct {
		key  string
		into any
		set  func()
	}{
		{"field", &f, func() { f.Name = name }},
		{"entity", &e, func() { e.Name, e.Plural = name, plural(name) }},
		{"analytics", &a, func() { a.Name = name }},
		{"action", &act, func() { act.Name = name }},
		{"transition", &tr, func() { tr.Name = name }},
	} {
		text := params[x.key]
		if !strings.HasPrefix(text, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(text), x.into); err != nil {
			return fmt.Errorf("decoding the parameter %s: %w", x.key, err)
		}
		x.set()
		params[x.key] = marshal(x.into)
		return nil
	}
	return errors.New("there is nothing to name")
}

// plural forms the plural of an English noun by the rules that have no exceptions worth a list.
func plural(name string) string {
	for _, end := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(name, end) {
			return name + "es"
		}
	}
	if stem, ok := strings.CutSuffix(name, "y"); ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	return name + "s"
}

// oneLine makes text from outside one line of printable characters, at most limit of them.
func oneLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// cut bounds a text in bytes without splitting a character.
func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
