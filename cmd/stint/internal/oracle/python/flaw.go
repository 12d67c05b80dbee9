package python

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Flaw is one mistake in a server, of a kind, at the uid of an entity, a field, another part of an entity, an analytics
// endpoint or a tombstone, or at [scenario.API].
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
	ExtraKey         = "extra_key"          // a key in answers that nobody declared: "", echo (unknown ones are kept), id (taken from requests)
	NotAtomic        = "not_atomic"         // a refused create or update leaves something: create, update
	ListReversed     = "list_reversed"      // newest first
	TotalWrong       = "total_wrong"        // one too many
	DeleteSoft       = "delete_soft"        // a deleted row can still be read
	AnalyticsWrong   = "analytics_wrong"    // kind, where, measure=UID, entity=UID, empty, cents, n, cut, order, ties, no_zeros, window, from, to
	Stale            = "stale"              // parameters of the turn before: KIND:PARAMS, or name:OLD

	LaxUpdate        = "lax_update"        // a rule is not checked by PUT and PATCH, or by one of them: RULE, RULE:PUT, RULE:PATCH
	PatternMisread   = "pattern_misread"   // case, after, before, class (letters for digits)
	ImmutableIgnored = "immutable_ignored" // "", PUT, PATCH
	ImmutableStrict  = "immutable_strict"  // the stored value is refused too
	ImmutableReset   = "immutable_reset"   // PUT without it treats it as POST does
	GroupIgnored     = "group_ignored"     // "", or update for PUT and PATCH alone
	GroupNarrow      = "group_narrow"      // one field alone must be unique: first, second
	GroupNulls       = "group_nulls"       // nulls count as the same
	OrderIgnored     = "order_ignored"     // ""
	OrderStrict      = "order_strict"      // equal values are refused
	DefaultForNull   = "default_for_null"  // an explicit null becomes the default
	ZeroForMissing   = "zero_for_missing"  // a missing value becomes 0, false or ""
	CentsLost        = "cents_lost"        // a decimal is stored without its fraction

	ComputedWrong = "computed_wrong" // kind=KIND, swap, null (counts as nothing), all, joined
	StateWrong    = "state_wrong"    // a state: initial=STATE, post, patch (taken from requests), put (begins again); a transition: stays, to=STATE
	EffectIgnored = "effect_ignored" // by place among the effects: 0, 1
	EffectWrong   = "effect_wrong"   // way=N, amount=N (one more)
	FilterWrong   = "filter_wrong"   // ignored, min, max (exclusive), case, prefix, total
	SortWrong     = "sort_wrong"     // a sort key or the default order: ignored, direction, ties, nulls
	PageWrong     = "page_wrong"     // default (all rows), limit, offset, shift, total
	NestedWrong   = "nested_wrong"   // all (rows of every parent), unknown (an unknown parent has an empty list)
)

// Supported reports whether a server of the schema can be written with the flaw: its kind is known and its subject is
// there.
func (x Flaw) Supported(s *scenario.Schema) bool {
	return x.known() && !bytes.Equal(Source(s), SourceWith(s, Options{Flaws: []Flaw{x}}))
}

// known reports whether there is such a kind of flaw with such a parameter.
func (x Flaw) known() bool {
	what, _, _ := strings.Cut(x.Param, "=")
	params, ok := knownParams()[x.Kind]
	if x.Kind == Stale || x.Kind == LaxUpdate {
		what, _, _ = strings.Cut(x.Param, ":")
	}
	return ok && slices.Contains(params, what)
}

// knownParams lists the parameters of every kind, up to an equals sign.
func knownParams() map[string][]string {
	none := []string{""}
	return map[string][]string{
		Permissive: {"type", "range", "length", "enum", "required", "not_null", "ref", "pattern", "guard", "atom", "near", "state", "sort"},
		Strict:     {"optional", "nullable", "enum", "extra", "from"}, OffByOne: {"min", "max", "min_len", "max_len", "atom", "page_max"},
		DefaultIgnored: {"", "PUT"}, UniqueIgnored: {"", "update"}, UniqueSelf: none, PutMerges: none, PatchResets: none,
		OnDeleteIgnored: none, OnDeleteCascade: none, OnDeleteRestrict: none, FieldMissing: {"", "null"},
		EndpointMissing: {"", "POST", "GET", "LIST", "PUT", "PATCH", "DELETE", "nested"}, OldName: {"", "accept", "return"},
		WrongStatus: {"create", "delete", "not_found", "delete_unknown", "unique", "immutable", "state", "guard", "call"},
		WrongCode: {"flat", "text", "no_field", "not_found", "type", "required", "null", "range", "length", "enum", "unique", "reference", "pattern",
			"immutable", "order", "state", "guard"},
		ExtraKey: {"", "echo", "id"}, NotAtomic: {"create", "update"}, ListReversed: none, TotalWrong: none, DeleteSoft: none,
		AnalyticsWrong: {"kind", "where", "measure", "entity", "empty", "cents", "n", "cut", "order", "ties", "no_zeros", "window", "from", "to"},
		Stale:          {"name", "range", "length", "enum", "pattern", "unique", "immutable", "on_delete", "guard", "effect", "computed", "page", "default_sort"},
		LaxUpdate:      {"type", "null", "range", "length", "enum", "reference", "pattern", "required"},
		PatternMisread: {"case", "after", "before", "class"}, ImmutableIgnored: {"", "PUT", "PATCH"}, ImmutableStrict: none, ImmutableReset: none,
		GroupIgnored: {"", "update"}, GroupNarrow: {"first", "second"}, GroupNulls: none, OrderIgnored: none, OrderStrict: none,
		DefaultForNull: none, ZeroForMissing: none, CentsLost: none,
		ComputedWrong: {"kind", "swap", "null", "all", "joined"}, StateWrong: {"initial", "post", "patch", "put", "stays", "to"},
		EffectIgnored: {"0", "1", "2"}, EffectWrong: {"way", "amount"},
		FilterWrong: {"ignored", "min", "max", "case", "prefix", "total"}, SortWrong: {"ignored", "direction", "ties", "nulls"},
		PageWrong: {"default", "limit", "offset", "shift", "total"}, NestedWrong: {"all", "unknown"},
	}
}

// has reports whether the server is to have a flaw.
func (p *program) has(kind, subject, param string) bool {
	return slices.Contains(p.flaws, Flaw{kind, subject, param})
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
	case key == "call":
		return 201
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
	if p.has(ExtraKey, e.UID, "echo") {
		p.line(2, `**row.get("unknown keys", {}),`)
	}
}

// lax is the condition under which a rule of a field is checked, by the method of the request; "" = always.
func (p *program) lax(f *scenario.Field, rule string) string {
	switch {
	case p.has(LaxUpdate, f.UID, rule):
		return `method == "POST"`
	case p.has(LaxUpdate, f.UID, rule+":PUT"):
		return `method != "PUT"`
	case p.has(LaxUpdate, f.UID, rule+":PATCH"):
		return `method != "PATCH"`
	}
	return ""
}

// byVerb reports whether some rule of a field depends on the method.
func (p *program) byVerb(f *scenario.Field) bool {
	return slices.ContainsFunc(p.flaws, func(x Flaw) bool { return x.Kind == LaxUpdate && x.Subject == f.UID })
}
