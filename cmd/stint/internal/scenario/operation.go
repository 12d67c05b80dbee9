package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Operation is one change of a schema. Params are built from uids and are canonical, so equal changes
// have equal ids; new things carry their public names and the uid they will have.
type Operation struct {
	Name   string            `json:"name"`
	Label  string            `json:"label"` // A adds, T tightens, L loosens, R renames or moves, D removes, B keeps behaviour
	ID     string            `json:"id"`    // NAME:8 hex digits of SHA-256 of the parameters; turn 0 has "build"
	Title  string            `json:"title"`
	Params map[string]string `json:"params"`
}

// kindOfOperation is one row of the table of operations. Adding one does not shift the draws of others.
type kindOfOperation struct {
	name, label string
	weight      float64 // against the other operations of its label
	enumerate   func(x *enumeration)
	apply       func(s *Schema, p map[string]string) error
	title       func(s *Schema, p map[string]string) string // s is the schema before the operation
}

// operations lists all kinds. It is a function, since the table refers to functions that use it.
func operations() []kindOfOperation {
	return slices.Concat(basicOperations(), fieldOperations(), listOperations(), statisticOperations(), lifeOperations())
}

func basicOperations() []kindOfOperation {
	return []kindOfOperation{
		{"add_entity", "A", 2, enumerateAddEntity, applyAddEntity, titleAddEntity},
		{"add_optional_field", "A", 4, enumerateAddOptional, applyAddField, titleAddField},
		{"add_relation", "A", 2.5, enumerateAddRelation, applyAddField, titleAddField},
		{"add_required_field", "T", 3, enumerateAddRequired, applyAddField, titleAddField},
		{"set_range", "T", 3, enumerateSetRange, applySetRange, titleRange},
		{"tighten_range", "T", 1, enumerateTightenRange, applySetRange, titleRange},
		{"set_length", "T", 2, enumerateSetLength, applySetLength, titleLength},
		{"make_unique", "T", 2, enumerateMakeUnique, applyMakeUnique, titleUnique},
		{"remove_enum_value", "T", 1, enumerateRemoveEnumValue, applyRemoveEnumValue, titleRemoveEnumValue},
		{"add_enum_value", "L", 3, enumerateAddEnumValue, applyAddEnumValue, titleAddEnumValue},
		{"relax_range", "L", 2, enumerateRelaxRange, applySetRange, titleRange},
		{"make_optional", "L", 2, enumerateMakeOptional, applyMakeOptional, titleMakeOptional},
		{"rename_field", "R", 4, enumerateRenameField, applyRenameField, titleRenameField},
		{"change_on_delete", "R", 1, enumerateChangeOnDelete, applyChangeOnDelete, titleChangeOnDelete},
		{"remove_field", "D", 1, enumerateRemoveField, applyRemoveField, titleRemoveField},
		{"no_behaviour_change", "B", 1, enumerateNoChange, applyNoChange, titleNoChange},
	}
}

func operationNamed(name string) *kindOfOperation {
	ops := operations()
	for i := range ops {
		if ops[i].name == name {
			return &ops[i]
		}
	}
	return nil
}

// enumeration collects the valid instances of operations for one schema.
type enumeration struct {
	s     *Schema
	words *domain
	base  uint64
	kind  *kindOfOperation
	found []Operation
}

// stream is the random source for the open parameters of one instance.
func (x *enumeration) stream(label string) *rand.Rand { return stream(x.base, x.kind.name+"/"+label) }

// add records an instance.
func (x *enumeration) add(params map[string]string) {
	x.found = append(x.found, Operation{Name: x.kind.name, Label: x.kind.label, ID: OperationID(x.kind.name, params), Params: params})
}

// titled gives every instance found its title.
func (x *enumeration) titled() []Operation {
	for i := range x.found {
		x.found[i].Title = operationNamed(x.found[i].Name).title(x.s, x.found[i].Params)
	}
	return x.found
}

// OperationID is the id of an operation: its name and 8 hex digits of the hash of its parameters.
func OperationID(name string, params map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(params)) {
		b.WriteString(k + "=" + strconv.Quote(params[k]) + "\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return name + ":" + hex.EncodeToString(sum[:4])
}

// Enumerate lists the operations that are valid for the schema, in a fixed order. What an instance leaves
// open (a new name, a limit) is drawn from r, each from a stream of its own; one number of r is used.
func Enumerate(s *Schema, r *rand.Rand) []Operation {
	x := newEnumeration(s, r.Uint64())
	if x == nil {
		return nil
	}
	ops := operations()
	for i := range ops {
		x.kind = &ops[i]
		x.kind.enumerate(x)
	}
	return x.titled()
}

// newEnumeration returns nil for a schema of an unknown domain, for which there are no words.
func newEnumeration(s *Schema, base uint64) *enumeration {
	words := domainNamed(s.Domain)
	if words == nil {
		return nil
	}
	return &enumeration{s: s, words: words, base: base}
}

// Apply returns the schema after an operation; s itself is not changed. Clauses that the operation adds or
// changes get the given turn. A result that is not well-formed is an error.
func Apply(s *Schema, op Operation, turn int) (*Schema, error) {
	kind := operationNamed(op.Name)
	if kind == nil {
		return nil, fmt.Errorf("applying %s: unknown operation %q", op.ID, op.Name)
	}
	next := s.Clone()
	if err := kind.apply(next, op.Params); err != nil {
		return nil, fmt.Errorf("applying %s: %w", op.ID, err)
	}
	next.deriveClauses(turn)
	if err := next.Validate(); err != nil {
		return nil, fmt.Errorf("applying %s: %w", op.ID, err)
	}
	return next, nil
}

// fieldParam returns the field that a parameter names.
func (s *Schema) fieldParam(p map[string]string, key string) (*Entity, *Field, error) {
	e, f := s.FieldByUID(p[key])
	if f == nil {
		return nil, nil, fmt.Errorf("no field %q", p[key])
	}
	return e, f, nil
}

// read reads the parameter that holds what is named in JSON.
func read[T any](p map[string]string, key, what string) (T, error) {
	var v T
	if err := json.Unmarshal([]byte(p[key]), &v); err != nil {
		return v, fmt.Errorf("reading %s: %w", what, err)
	}
	return v, nil
}

// bury records a name that a field no longer has.
func (s *Schema) bury(e *Entity, f *Field) { s.buryName(GoneField, e.UID, f.UID, f.Name, f.Type) }

// buryName records a public name that must no longer work; of is the uid of what had it.
func (s *Schema) buryName(kind, entity, of, name string, typ Type) {
	s.NextGone++
	s.Tombstones = append(s.Tombstones, Tombstone{UID: "t" + strconv.Itoa(s.NextGone), Kind: kind, Entity: entity, Field: of, Name: name, Type: typ})
}

// free reports whether a field of e may get this name: not reserved, not in use, never used before.
func (s *Schema) free(e *Entity, name string) bool {
	return checkName(name) == nil && e.FieldByName(name) == nil && !s.buried(GoneField, e.UID, name)
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("scenario: " + err.Error()) // values of this package only
	}
	return string(b)
}

func enumerateNoChange(x *enumeration) {
	for i := range noChangeWordings() {
		x.add(map[string]string{"text": strconv.Itoa(i)})
	}
}

func applyNoChange(*Schema, map[string]string) error { return nil }

func titleNoChange(*Schema, map[string]string) string { return "tidy up, same behaviour" }
