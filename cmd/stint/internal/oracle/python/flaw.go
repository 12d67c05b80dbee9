package python

import (
	"bytes"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Flaw is one mistake in a server, of a kind, at the uid of an entity, field, analytics endpoint or tombstone, or at
// [scenario.API].
type Flaw struct {
	Kind, Subject, Param string
}

// The kinds of flaw that a server can be written with.
const (
	Permissive       = "permissive"         // a check is left out: type, range, length, enum, required, not_null, ref
	Strict           = "strict"             // valid input is refused: optional, nullable, enum (the last value), extra (unknown keys)
	OffByOne         = "off_by_one"         // a limit is one too narrow: min, max, min_len, max_len
	DefaultIgnored   = "default_ignored"    // missing becomes null
	UniqueIgnored    = "unique_ignored"     // "", or update for PUT and PATCH alone
	UniqueSelf       = "unique_self"        // a row may not keep its own value
	PutMerges        = "put_merges"         // PUT keeps what is left out
	PatchResets      = "patch_resets"       // PATCH makes null what is left out
	OnDeleteIgnored  = "on_delete_ignored"  // referring rows stay as they are
	OnDeleteCascade  = "on_delete_cascade"  // they are deleted, against the policy
	OnDeleteRestrict = "on_delete_restrict" // they forbid the deletion, against the policy
	FieldMissing     = "field_missing"      // "" not in answers, null always null
	EndpointMissing  = "endpoint_missing"   // POST, GET, LIST, PUT, PATCH, DELETE; "" for analytics
	OldName          = "old_name"           // a former field works: accept (in requests), return (in answers)
	WrongStatus      = "wrong_status"       // create, delete, not_found, delete_unknown; code of a rule
	WrongCode        = "wrong_code"         // another code word, by code; at the API flat, text, no_field
	ExtraKey         = "extra_key"          // a key in answers that nobody declared
	NotAtomic        = "not_atomic"         // a refused create or update leaves something: create, update
	ListReversed     = "list_reversed"      // newest first
	TotalWrong       = "total_wrong"        // one too many
	DeleteSoft       = "delete_soft"        // a deleted row can still be read
	AnalyticsWrong   = "analytics_wrong"    // kind, where, measure=UID, entity=UID, empty, cents
)

// Supported reports whether a server of the schema can be written with the flaw: its kind is known and its subject is
// there.
func (x Flaw) Supported(s *scenario.Schema) bool {
	return x.known() && !bytes.Equal(Source(s), SourceWith(s, Options{Flaws: []Flaw{x}}))
}

// known reports whether there is such a kind of flaw with such a parameter.
func (x Flaw) known() bool {
	what, _, _ := strings.Cut(x.Param, "=")
	switch x.Kind {
	case Permissive:
		return one(what, "type", "range", "length", "enum", "required", "not_null", "ref")
	case Strict:
		return one(what, "optional", "nullable", "enum", "extra")
	case OffByOne:
		return one(what, "min", "max", "min_len", "max_len")
	case UniqueIgnored:
		return one(what, "", "update")
	case FieldMissing:
		return one(what, "", "null")
	case EndpointMissing:
		return one(what, "", "POST", "GET", "LIST", "PUT", "PATCH", "DELETE")
	case OldName:
		return one(what, "accept", "return", "")
	case WrongStatus:
		return one(what, "create", "delete", "not_found", "delete_unknown", "unique")
	case WrongCode:
		return one(what, "flat", "text", "no_field", "not_found", "type", "required", "null", "range", "length", "enum", "unique", "reference")
	case NotAtomic:
		return one(what, "create", "update")
	case AnalyticsWrong:
		return one(what, "kind", "where", "measure", "entity", "empty", "cents")
	case DefaultIgnored, UniqueSelf, PutMerges, PatchResets, OnDeleteIgnored, OnDeleteCascade, OnDeleteRestrict, ExtraKey, ListReversed,
		TotalWrong, DeleteSoft:
		return x.Param == ""
	}
	return false
}

func one(s string, of ...string) bool {
	for _, o := range of {
		if s == o {
			return true
		}
	}
	return false
}

// has reports whether the server is to have a flaw.
func (p *program) has(kind, subject, param string) bool {
	for _, x := range p.flaws {
		if x == (Flaw{kind, subject, param}) {
			return true
		}
	}
	return false
}

// code is the code word of a rule about a subject.
func (p *program) code(subject, code string) string {
	if p.has(WrongCode, subject, code) {
		return "invalid"
	}
	return code
}

// status is the status of an answer about a subject; key is a code word, create or delete.
func (p *program) status(subject, key string, status int) int {
	switch {
	case !p.has(WrongStatus, subject, key):
		return status
	case key == "create" || key == "delete":
		return 200
	}
	return 400
}

// errorBody writes the function for bodies of errors.
func (p *program) errorBody() {
	p.function("error_body", "code, field")
	switch {
	case p.has(WrongCode, scenario.API, "flat"):
		p.line(1, `return {"code": code, "field": field}`)
	case p.has(WrongCode, scenario.API, "text"):
		p.line(1, `return {"error": code}`)
	case p.has(WrongCode, scenario.API, "no_field"):
		p.line(1, `return {"error": {"code": code, "field": None}}`)
	default:
		p.line(1, `return {"error": {"code": code, "field": field}}`)
	}
}

// oldNames writes the keys of former fields that a flaw keeps alive in requests.
func (p *program) oldNames(e *scenario.Entity) {
	for i := range p.schema.Tombstones {
		t := &p.schema.Tombstones[i]
		_, f := p.schema.FieldByUID(t.Field)
		if t.Entity == e.UID && f != nil && p.has(OldName, t.UID, "accept") {
			p.line(1, "if %s in body and %s not in body:", quote(t.Name), quote(f.Name))
			p.line(2, "body = dict(body, %s=body[%s])", f.Name, quote(t.Name))
		}
	}
}

// extraKeys writes keys of answers that should not be there.
func (p *program) extraKeys(e *scenario.Entity) {
	for i := range p.schema.Tombstones {
		t := &p.schema.Tombstones[i]
		_, f := p.schema.FieldByUID(t.Field)
		switch {
		case t.Entity != e.UID || t.Kind != scenario.GoneField:
		case f != nil && p.has(OldName, t.UID, "return"):
			p.line(2, "%s: %s,", quote(t.Name), p.shown(f))
		case f == nil && (p.has(OldName, t.UID, "") || p.has(OldName, t.UID, "accept") || p.has(OldName, t.UID, "return")):
			p.line(2, "%s: None,", quote(t.Name))
		}
	}
	if p.has(ExtraKey, e.UID, "") {
		p.line(2, `"row_version": 1,`)
	}
}

// mutated is the schema with the flaws in it that a schema can have.
func mutated(s *scenario.Schema, flaws []Flaw) *scenario.Schema {
	if len(flaws) == 0 {
		return s
	}
	s = s.Clone()
	for _, x := range flaws {
		if _, f := s.FieldByUID(x.Subject); f != nil {
			x.onField(f)
		}
		if a := s.AnalyticsByUID(x.Subject); a != nil && x.Kind == AnalyticsWrong {
			x.onStatistic(s, a)
		}
	}
	return s
}

func (x Flaw) onField(f *scenario.Field) {
	switch x.Kind + " " + x.Param {
	case Permissive + " range":
		f.Min, f.Max = nil, nil
	case Permissive + " length":
		f.MinLen, f.MaxLen = nil, nil
	case Permissive + " required":
		f.Required = false
	case Permissive + " not_null":
		f.Nullable = true
	case Strict + " optional":
		f.Required = true
	case Strict + " nullable":
		f.Nullable = false
	case Strict + " enum":
		f.Values = f.Values[:max(len(f.Values)-1, 0)]
	case OffByOne + " min":
		step(f.Min, 1)
	case OffByOne + " max":
		step(f.Max, -1)
	case OffByOne + " min_len":
		step(f.MinLen, 1)
	case OffByOne + " max_len":
		step(f.MaxLen, -1)
	case DefaultIgnored + " ":
		f.Default = nil
	case UniqueIgnored + " ":
		f.Unique = false
	case OnDeleteIgnored + " ":
		f.OnDelete = ""
	case OnDeleteCascade + " ":
		f.OnDelete = scenario.Cascade
	case OnDeleteRestrict + " ":
		f.OnDelete = scenario.Restrict
	}
}

// step moves a limit that there is.
func step[T int | int64](limit *T, by T) {
	if limit != nil {
		*limit += by
	}
}

func (x Flaw) onStatistic(s *scenario.Schema, a *scenario.Analytics) {
	what, uid, _ := strings.Cut(x.Param, "=")
	switch what {
	case "kind":
		a.Kind, a.Measure = scenario.StatCount, ""
	case "where":
		a.Where, a.Equals = "", nil
	case "measure":
		if _, f := s.FieldByUID(uid); f != nil {
			a.Measure = uid
		}
	case "entity":
		if s.Entity(uid) != nil && a.Measure == "" {
			a.Entity, a.Where, a.Equals = uid, "", nil
		}
	}
}
