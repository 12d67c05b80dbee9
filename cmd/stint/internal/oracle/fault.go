package oracle

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Fault is one deviation from the schema. It is plain data: the simulated agent writes faults to a file, and
// a fault keeps its meaning over later turns as long as its subject exists.
type Fault struct {
	Kind    string `json:"kind"`
	Subject string `json:"subject"` // uid of an entity, field, analytics endpoint or tombstone, or "api"
	Param   string `json:"param,omitempty"`
	Clause  string `json:"clause,omitempty"` // id of the clause it violates
}

// The kinds of fault.
const (
	Permissive       = "permissive"          // a check is dropped: type, range, length, enum, required, not_null, ref
	Strict           = "strict"              // valid input is refused: optional, nullable, enum (the last value), extra (unknown keys)
	OffByOne         = "off_by_one"          // an inclusive limit is exclusive: min, max, min_len, max_len
	DefaultIgnored   = "default_ignored"     // missing becomes null
	UniqueIgnored    = "unique_ignored"      // always, or only for PUT and PATCH: "", update
	UniqueSelf       = "unique_self"         // PUT and PATCH with the row's own value are refused
	PutMerges        = "put_merges"          // PUT keeps old values of fields that are left out
	PatchResets      = "patch_resets"        // PATCH makes fields null that are left out
	OnDeleteIgnored  = "on_delete_ignored"   // referring rows stay as they are: "", deep (only below a cascade)
	OnDeleteCascade  = "on_delete_cascade"   // they are deleted, against the policy
	OnDeleteRestrict = "on_delete_restrict"  // they forbid the deletion, against the policy
	FieldMissing     = "field_missing"       // the key is not returned, or is always null: "", null
	EndpointMissing  = "endpoint_missing"    // 404: POST, GET, LIST, PUT, PATCH, DELETE; analytics: ""; the list under a row that a reference has: nested
	OldName          = "old_name"            // a tombstone still works: accept (in requests), return (in answers)
	WrongStatus      = "wrong_status"        // create and delete 200; not_found, unique, restricted 400; delete_unknown 204
	WrongCode        = "wrong_code"          // another code word, by code; on "api" another error body: flat, text, no_field
	ExtraKey         = "extra_key"           // an undeclared key in answers; unknown keys kept; ids taken from requests: "", echo, id
	NotAtomic        = "not_atomic"          // a refused create or update leaves its valid part: create, update
	ListReversed     = "list_reversed"       // newest row first
	TotalWrong       = "total_wrong"         // one too many
	DeleteSoft       = "delete_soft"         // a deleted row can still be read by id
	AnalyticsWrong   = "analytics_wrong"     // kind, where, measure=UID, entity=UID, empty, cents, nulls, order, ties, cut, n, zeros, no_zeros, window, from, to
	ComputedWrong    = "computed_wrong"      // kind=KIND, swap, null (counts as nothing), stored (at creation), accept (from requests), all, joined
	StateWrong       = "state_wrong"         // a state: initial=STATE, post, patch (taken from requests), put (begins again); a transition: stays, to=STATE, body (is applied)
	EffectIgnored    = "effect_ignored"      // by place among the effects: 0, 1
	EffectWrong      = "effect_wrong"        // way=N, null=N (stays null), all=N (every row), amount=N (one more)
	Stale            = "stale"               // parameters of the turn before: KIND:PARAMS, or name:OLD
	extraKeyName     = "row_version"         // a reserved name, so no field has it
	formatFlat       = "flat"                // the error object without its envelope
	formatText       = "text"                // the code word in place of the error object
	formatNoField    = "no_field"            // field is always null
	wrongCodeWord    = "invalid"             // what WrongCode answers
	badRequest       = http.StatusBadRequest // what WrongStatus answers in place of 404 and 409
)

// KnownFault reports whether kind is one of the kinds of fault.
func KnownFault(kind string) bool {
	switch kind {
	case Permissive, Strict, OffByOne, DefaultIgnored, UniqueIgnored, UniqueSelf, PutMerges, PatchResets, OnDeleteIgnored, OnDeleteCascade,
		OnDeleteRestrict, FieldMissing, EndpointMissing, OldName, WrongStatus, WrongCode, ExtraKey, NotAtomic, ListReversed, TotalWrong,
		DeleteSoft, AnalyticsWrong, Stale, LaxUpdate, PatternMisread, ImmutableIgnored, ImmutableStrict, ImmutableReset, GroupIgnored,
		GroupNarrow, GroupNulls, OrderIgnored, OrderStrict, DefaultForNull, ZeroForMissing, CentsLost, FilterWrong, SortWrong, PageWrong, NestedWrong,
		ComputedWrong, StateWrong, EffectIgnored, EffectWrong:
		return true
	}
	return false
}

// builder makes an interpreter from a schema and plants faults in it.
type builder struct {
	schema   *scenario.Schema
	interp   *Interp
	entities map[string]*entity // by uid
	fields   map[string]*field  // by uid
	stats    map[string]*statistic
	groups   map[string]*group // by uid
	orders   map[string]*order // by uid
	filters  map[string]*listFilter
	sorts    map[string]*listOrder
	lists    map[string]*nestedList // by uid of the reference
	commands map[string]*command    // by uid
}

func (b *builder) build() {
	s := b.schema
	for n := range s.Entities {
		def := &s.Entities[n]
		e := &entity{name: def.Name, items: s.Conventions.ItemsKey, total: s.Conventions.TotalKey, known: make(map[string]bool)}
		for m := range def.Fields {
			f := &field{Field: def.Fields[m], owner: e, index: m}
			e.fields = append(e.fields, f)
			e.known[f.Name] = true
			b.fields[f.UID] = f
		}
		b.buildPairs(def, e)
		b.entities[def.UID] = e
		e.changing = slices.ContainsFunc(def.Fields, func(f scenario.Field) bool { return f.Computed != nil && f.Computed.Kind == scenario.ComputedCount })
		b.interp.entities = append(b.interp.entities, e)
		b.interp.byPath[def.Plural] = e
	}
	for _, e := range b.interp.entities {
		for _, f := range e.fields {
			if f.Type == scenario.Ref {
				f.target = b.entities[f.Target]
				f.target.inbound = append(f.target.inbound, f)
			}
		}
	}
	b.buildLists()
	b.life()
	for n := range s.Analytics {
		a := &s.Analytics[n]
		st := &statistic{kind: a.Kind, over: b.entities[a.Entity], measure: b.fields[a.Measure], where: b.fields[a.Where], group: b.fields[a.Group], n: a.N, window: b.fields[a.Window]}
		if a.Equals != nil {
			st.equals = *a.Equals
		}
		b.stats[a.UID] = st
		b.interp.stats[a.Name] = st
	}
}

// plant switches one fault on.
func (b *builder) plant(x Fault) {
	if x.Subject == scenario.API {
		if x.Kind == WrongCode {
			b.interp.format = x.Param
		}
		return
	}
	if e := b.entities[x.Subject]; e != nil {
		e.plant(x)
	}
	if f := b.fields[x.Subject]; f != nil {
		f.plant(x)
		b.staleFormula(f, x)
	}
	if c := b.commands[x.Subject]; c != nil {
		b.plantCommand(c, x)
	}
	if st := b.stats[x.Subject]; st != nil {
		b.plantStatistic(st, x)
	}
	b.plantPair(x)
	b.plantList(x)
	if t := b.schema.TombstoneByUID(x.Subject); t != nil && x.Kind == OldName {
		b.plantOldName(t, x.Param)
	}
}

func (e *entity) plant(x Fault) {
	switch x.Kind {
	case Strict:
		e.refuseExtra = e.refuseExtra || x.Param == "extra"
	case PutMerges:
		e.putMerges = true
	case PatchResets:
		e.patchResets = true
	case EndpointMissing:
		e.broken = with(e.broken, x.Param, true)
	case WrongStatus:
		switch x.Param {
		case "create", "delete":
			e.statuses = with(e.statuses, x.Param, http.StatusOK)
		case "not_found":
			e.statuses = with(e.statuses, x.Param, badRequest)
		case "delete_unknown":
			e.deleteUnknown = true
		}
	case WrongCode:
		e.codes = with(e.codes, x.Param, wrongCodeWord)
	case ExtraKey:
		e.extraKey = e.extraKey || x.Param == ""
		e.echo = e.echo || x.Param == "echo"
		e.clientID = e.clientID || x.Param == "id"
	case NotAtomic:
		e.leakCreate = e.leakCreate || x.Param == "create"
		e.leakUpdate = e.leakUpdate || x.Param == "update"
	case ListReversed:
		e.reversed = true
	case TotalWrong:
		e.totalWrong = true
	case DeleteSoft:
		e.deleted = make(map[int64]*row)
	}
}

// with sets one key of a map that may be nil.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = make(map[string]V)
	}
	m[key] = v
	return m
}

func (f *field) plant(x Fault) {
	switch x.Kind {
	case Permissive:
		f.loosen(x.Param)
	case Strict:
		switch x.Param {
		case "optional":
			f.Required = true
		case "nullable":
			f.Nullable = false
		case "enum":
			if n := len(f.Values); n > 0 {
				f.Values = f.Values[:n-1]
			}
		}
	case OffByOne:
		f.exclude(x.Param)
	case DefaultIgnored:
		if x.Param == "PUT" {
			f.lax = with(f.lax, "default:PUT", true)
		} else {
			f.Default = nil
		}
	case UniqueIgnored:
		if x.Param == "update" {
			f.createOnly = true
		} else {
			f.Unique = false
		}
	case UniqueSelf:
		f.uniqueSelf = true
	case OnDeleteIgnored:
		if x.Param == "deep" {
			f.shallow = true
		} else {
			f.OnDelete = ""
		}
	case OnDeleteCascade:
		f.OnDelete = scenario.Cascade
	case OnDeleteRestrict:
		f.OnDelete = scenario.Restrict
	case FieldMissing:
		f.hidden = f.hidden || x.Param == ""
		f.empty = f.empty || x.Param == "null"
	case WrongStatus:
		f.statuses = with(f.statuses, x.Param, badRequest)
	case WrongCode:
		f.codes = with(f.codes, x.Param, wrongCodeWord)
	case Stale:
		f.goBack(x.Param)
	case ComputedWrong, StateWrong:
		f.plantManaged(x)
	default:
		f.plantRule(x)
	}
}

// loosen drops one check.
func (f *field) loosen(check string) {
	switch check {
	case "type":
		f.anyType = true
	case "range":
		f.Min, f.Max = nil, nil
	case "length":
		f.MinLen, f.MaxLen = nil, nil
	case "enum":
		f.anyValue = true
	case "required":
		f.Required = false
	case "not_null":
		f.Nullable = true
	case "ref":
		f.anyTarget = true
	case "pattern":
		f.Pattern = ""
	}
}

// exclude makes one inclusive limit exclusive.
func (f *field) exclude(limit string) {
	switch {
	case limit == "min" && f.Min != nil:
		f.Min = ptr(*f.Min + 1)
	case limit == "max" && f.Max != nil:
		f.Max = ptr(*f.Max - 1)
	case limit == "min_len" && f.MinLen != nil:
		f.MinLen = ptr(*f.MinLen + 1)
	case limit == "max_len" && f.MaxLen != nil:
		f.MaxLen = ptr(*f.MaxLen - 1)
	}
}

func ptr[T any](v T) *T { return &v }

// goBack gives the field parameters or the name that it had before.
func (f *field) goBack(param string) {
	kind, params, _ := strings.Cut(param, ":")
	get := func(key string) string { return scenario.ClauseParam(params, key) }
	switch kind {
	case "name":
		delete(f.owner.known, f.Name)
		f.Name = params
		f.owner.known[f.Name] = true
	case string(scenario.KindRange):
		f.Min, f.Max = f.limit(get("min")), f.limit(get("max"))
	case string(scenario.KindLength):
		f.MinLen, f.MaxLen = number[int](get("min")), number[int](get("max"))
	case string(scenario.KindEnum):
		f.Values = strings.Split(get("values"), ",")
	case string(scenario.KindOnDelete):
		f.OnDelete = scenario.OnDelete(get("policy"))
	default:
		f.revive(kind, params)
	}
}

// limit reads one end of a range.
func (f *field) limit(s string) *int64 {
	if f.Type != scenario.Decimal {
		return number[int64](s)
	}
	n, ok := hundredths(json.Number(s))
	if !ok {
		return nil
	}
	return &n
}

// number reads a limit; anything that is no number is no limit.
func number[T int | int64](s string) *T {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil
	}
	return ptr(T(n))
}

func (b *builder) plantOldName(t *scenario.Tombstone, how string) {
	if t.Kind == scenario.GoneAnalytics {
		b.interp.stats[t.Name] = &statistic{ghost: true}
		return
	}
	e := b.entities[t.Entity]
	switch {
	case t.Kind == scenario.GoneEntity && e != nil:
		b.interp.byPath[t.Name] = e
		return
	case t.Kind == scenario.GoneEntity:
		b.interp.relics = with(b.interp.relics, t.Name, true)
		return
	case e == nil:
		return
	case t.Kind == scenario.GoneAction || t.Kind == scenario.GoneNested:
		e.relics = with(e.relics, t.Name, true)
		return
	}
	f := b.fields[t.Field]
	switch {
	case f == nil:
		e.ghosts = append(e.ghosts, &ghost{t.Name})
	case how == "accept":
		f.alias = t.Name
	default:
		f.copyTo = t.Name
	}
}
