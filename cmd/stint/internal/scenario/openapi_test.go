package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The document of every turn names every field, parameter and endpoint that the schema has, refers to nothing that is not
// there, and cites every clause it is about. Whether it is valid OpenAPI is for other people's validators to say.
func TestOpenAPI(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		sc, err := Generate(Options{Seed: seed, Changes: 60, Name: "s01"})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []int{0, 30, 60} {
			s := sc.Steps[turn].Schema
			b, err := s.OpenAPI("s01", turn)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := s.OpenAPI("s01", turn); err != nil || !bytes.Equal(b, again) {
				t.Errorf("seed %d, turn %d: not the same twice: %v", seed, turn, err)
			}
			for _, fault := range documentFaults(b, s) {
				t.Errorf("seed %d, turn %d: %s", seed, turn, fault)
			}
		}
	}
}

// documentFaults lists what a document lacks.
func documentFaults(b []byte, s *Schema) []string {
	var faults []string
	var doc struct {
		Paths      map[string]map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return []string{err.Error()}
	}
	for ref := range strings.SplitSeq(string(b), `"$ref": "#/components/schemas/`) {
		if name, _, ok := strings.Cut(ref, `"`); ok && name != "{" && !strings.HasPrefix(ref, "{") && doc.Components.Schemas[name] == nil {
			faults = append(faults, "nothing is called "+name)
		}
	}
	has := func(path, verb string) {
		if doc.Paths[path][verb] == nil {
			faults = append(faults, fmt.Sprintf("%s %s is missing", verb, path))
		}
	}
	for i := range s.Entities {
		e := &s.Entities[i]
		for _, verb := range []string{"get", "post"} {
			has("/"+e.Plural, verb)
		}
		for _, verb := range []string{"get", "put", "patch", "delete"} {
			has("/"+e.Plural+"/{id}", verb)
		}
		for _, c := range e.Commands() {
			has("/"+e.Plural+"/{id}/"+c.Name, "post")
		}
		for j := range e.Fields {
			f := &e.Fields[j]
			props := doc.Components.Schemas[typeName(e)].(map[string]any)["properties"].(map[string]any)
			input := doc.Components.Schemas[typeName(e)+"Input"].(map[string]any)["properties"].(map[string]any)
			if props[f.Name] == nil || (input[f.Name] == nil) != f.Managed() {
				faults = append(faults, e.Name+"."+f.Name+" is missing")
			}
			if f.Nested {
				has("/"+s.Entity(f.Target).Plural+"/{id}/"+e.Plural, "get")
			}
		}
	}
	for _, a := range s.Analytics {
		has("/analytics/"+a.Name, "get")
	}
	for _, c := range s.Clauses {
		// A sentence that is nowhere in the document is a rule that its reader is not told.
		if c.Kind != KindHealth && !strings.Contains(string(b), marshalText(c.Text)) {
			faults = append(faults, fmt.Sprintf("the sentence of %s (%s) is missing", c.ID, c.Kind))
		}
	}
	return faults
}

// marshalText is a text as it stands inside a JSON string.
func marshalText(s string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.Trim(strings.TrimSpace(buf.String()), `"`)
}
