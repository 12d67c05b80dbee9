package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// storm draws requests that come near every rule of a schema: mostly valid bodies, at most one odd value,
// limits and their neighbours, small id and string spaces so that collisions and references happen.
type storm struct {
	s       *scenario.Schema
	r       *rand.Rand
	subject string                    // uid of a field that is odd more often than others
	focus   []string                  // uids of entities that most of the requests are about
	was     map[string]scenario.Field // fields as they were before, by uid
}

func (g *storm) next() Request {
	if len(g.s.Analytics) > 0 && g.r.IntN(8) == 0 {
		return g.figure(&g.s.Analytics[g.r.IntN(len(g.s.Analytics))])
	}
	if t := g.s.Tombstones; len(t) > 0 && g.r.IntN(20) == 0 {
		if t := t[g.r.IntN(len(t))]; t.Kind == scenario.GoneAnalytics {
			return Request{Method: "GET", Path: "/analytics/" + t.Name}
		}
	}
	e := &g.s.Entities[g.r.IntN(len(g.s.Entities))]
	if len(g.focus) > 0 && g.r.IntN(4) > 0 {
		e = g.s.Entity(g.focus[g.r.IntN(len(g.focus))])
	}
	if r, ok := g.command(e); ok && g.r.IntN(4) == 0 {
		return r
	}
	if r, ok := g.former(); ok && g.r.IntN(20) == 0 {
		return r
	}
	one := fmt.Sprintf("/%s/%d", e.Plural, 1+g.r.IntN(5))
	switch n := g.r.IntN(24); {
	case n >= 23:
		return g.under(e)
	case n >= 20:
		return g.listing(e)
	case n < 8:
		return Request{Method: "POST", Path: "/" + e.Plural, Body: g.body(e, 0.8)}
	case n < 10:
		return Request{Method: "PUT", Path: one, Body: g.body(e, 0.6)}
	case n < 13:
		return Request{Method: "PATCH", Path: one, Body: g.body(e, 0.4)}
	case n < 15:
		return Request{Method: "DELETE", Path: one}
	case n < 17:
		return Request{Method: "GET", Path: one}
	}
	return Request{Method: "GET", Path: "/" + e.Plural}
}

func (g *storm) body(e *scenario.Entity, fill float64) []byte {
	in := make(map[string]any)
	odd := -1
	if g.r.IntN(3) == 0 {
		odd = g.r.IntN(len(e.Fields))
		if at := slices.IndexFunc(e.Fields, func(f scenario.Field) bool { return f.UID == g.subject }); at >= 0 && g.r.IntN(2) == 0 {
			odd = at
		}
	}
	for n := range e.Fields {
		f := &e.Fields[n]
		switch {
		case n == odd:
			if v, send := g.odd(f); send {
				in[f.Name] = v
			}
		case f.Required && g.r.IntN(10) > 0 || g.r.Float64() < fill:
			in[f.Name] = g.good(f)
		}
	}
	if g.r.IntN(4) == 0 {
		in["id"], in["zzz"] = 1+g.r.IntN(9), "surprise"
	}
	for _, t := range g.s.Tombstones {
		if t.Entity == e.UID && g.r.IntN(3) == 0 {
			probe := scenario.Field{Type: t.Type, Values: []string{"x", "y", "z"}}
			if _, f := g.s.FieldByUID(t.Field); f != nil {
				probe = *f
			}
			in[t.Name] = g.good(&probe)
		}
	}
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return b
}

// good returns a value that the field takes, apart from uniqueness and missing targets.
func (g *storm) good(f *scenario.Field) any {
	var v scenario.Value
	switch f.Type {
	case scenario.Boolean:
		v.Bool = g.r.IntN(2) == 0
	case scenario.Enum:
		v.Str = f.Values[g.r.IntN(len(f.Values))]
	case scenario.Ref:
		v.Int = int64(1 + g.r.IntN(4))
	case scenario.String:
		if f.Pattern != "" {
			return scenario.PatternValue(f.Pattern, int64(g.r.IntN(6)))
		}
		short, long := 4, 6
		if f.MinLen != nil {
			short, long = *f.MinLen, *f.MinLen+2
		}
		if f.MaxLen != nil {
			long = *f.MaxLen
			short = min(short, long)
		}
		v.Str = strings.Repeat(string(rune('a'+g.r.IntN(6))), []int{short, long}[g.r.IntN(2)])
		if f.Pattern == "" && len(v.Str) > 1 && g.r.IntN(4) == 0 {
			v.Str = v.Str[:len(v.Str)-1] + "z"
		}
	default:
		if x, ok := g.edge(f); ok && g.r.IntN(2) == 0 {
			v.Int = x
			break
		}
		v.Int = int64(g.r.IntN(1000))
		if f.Min != nil {
			v.Int = *f.Min + int64(g.r.IntN(3))
		}
		if f.Max != nil && (f.Min == nil || g.r.IntN(2) == 0) {
			v.Int = *f.Max - int64(g.r.IntN(3))
		}
		if f.Min == nil && g.r.IntN(3) == 0 {
			v.Int = min(v.Int, 7)
		}
	}
	return f.JSON(&v)
}

// odd returns null, a wrong type, a neighbour of a limit or an unknown value; send is false for a missing field.
func (g *storm) odd(f *scenario.Field) (v any, send bool) {
	var near []any
	limit := func(p *int64, by int64) {
		if p != nil {
			near = append(near, f.JSON(&scenario.Value{Int: *p + by}))
		}
	}
	limit(f.Min, -1)
	limit(f.Max, 1)
	if f.MinLen != nil {
		near = append(near, strings.Repeat("b", *f.MinLen-1))
	}
	if f.MaxLen != nil {
		near = append(near, strings.Repeat("b", *f.MaxLen+1))
	}
	if f.Pattern != "" {
		v := scenario.PatternValue(f.Pattern, 5)
		near = append(near, v+v[len(v)-1:], v[:1]+v, strings.ToLower(v), strings.NewReplacer("A", "7", "5", "W").Replace(v))
	}
	if was, ok := g.was[f.UID]; ok && was.Type == f.Type {
		limit(was.Min, -1)
		limit(was.Max, 1)
		if was.MaxLen != nil {
			near = append(near, strings.Repeat("b", *was.MaxLen+1))
		}
		if was.MinLen != nil && *was.MinLen > 1 {
			near = append(near, strings.Repeat("b", *was.MinLen-1))
		}
	}
	switch f.Type {
	case scenario.Decimal:
		near = append(near, json.Number("6.5"))
	case scenario.Datetime:
		near = append(near, "2023-02-30T10:00:00Z", "2023-02-03")
	case scenario.Enum:
		near = append(near, "nonsense")
		for _, v := range g.was[f.UID].Values {
			near = append(near, v)
		}
	case scenario.Ref:
		near = append(near, 99)
	}
	if len(near) > 0 && g.r.IntN(2) == 0 {
		return near[g.r.IntN(len(near))], true
	}
	wrong := []any{nil, nil, "text", 5, true, []any{1}, map[string]any{}}
	n := g.r.IntN(len(wrong) + 2)
	if n >= len(wrong) {
		return nil, false
	}
	return wrong[n], true
}

// TestNoListedFaultIsEquivalent finds, for every fault that Mutants lists, a request that the reference
// answers differently. What survives would make mutation scores wrong.
func TestNoListedFaultIsEquivalent(t *testing.T) {
	planted, requests := 0, 0
	for _, seed := range []uint64{2, 3} {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 14})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []int{0, 14} {
			var prev *scenario.Schema
			if turn > 0 {
				prev = sc.Steps[turn-1].Schema
			}
			s := sc.Steps[turn].Schema
			for _, f := range Mutants(s, prev) {
				planted++
				n, found := distinguish(t, s, prev, f, seed)
				requests += n
				if !found {
					t.Errorf("seed %d turn %d: nothing tells %+v (%s) from the reference", seed, turn, f, s.Clause(f.Clause).Title)
				}
			}
		}
	}
	t.Logf("%d faults, %.0f requests each", planted, float64(requests)/float64(planted))
}

// distinguish sends the same storm to the reference and to the faulty interpreter until they differ.
func distinguish(t *testing.T, s, prev *scenario.Schema, f Fault, seed uint64) (requests int, found bool) {
	t.Helper()
	g := &storm{s: s, r: rand.New(rand.NewPCG(seed, 77)), was: make(map[string]scenario.Field)}
	g.focusOn(f)
	if prev != nil {
		for _, e := range prev.Entities {
			for _, field := range e.Fields {
				g.was[field.UID] = field
			}
		}
	}
	right, wrong := New(s), New(s, f)
	for n := 1; n <= 60000; n++ {
		if n%50 == 0 {
			right.Reset()
			wrong.Reset()
		}
		r := g.next()
		a, b := right.Handle(r), wrong.Handle(r)
		if a.Status != b.Status || !reflect.DeepEqual(a.Body, b.Body) {
			return n, true
		}
	}
	return 60000, false
}

// focusOn turns the storm to the entity of a fault and all that it refers to.
func (g *storm) focusOn(f Fault) {
	uid := f.Subject
	g.subject = uid
	if a := g.s.AnalyticsByUID(uid); a != nil {
		uid = a.Entity
	} else if t := g.s.TombstoneByUID(uid); t != nil {
		uid = t.Entity
	}
	uid, _, _ = strings.Cut(uid, ".")
	if g.s.Entity(uid) == nil {
		return
	}
	g.focus = []string{uid}
	for n := 0; n < len(g.focus); n++ {
		for _, field := range g.s.Entity(g.focus[n]).Fields {
			if field.Type == scenario.Ref && !slices.Contains(g.focus, field.Target) {
				g.focus = append(g.focus, field.Target)
			}
		}
		if n > 0 {
			continue
		}
		for _, ref := range g.s.Inbound(uid) { // counted by formulas and conditions
			if owner, _, _ := strings.Cut(ref.UID, "."); !slices.Contains(g.focus, owner) {
				g.focus = append(g.focus, owner)
			}
		}
	}
}

func FuzzHandle(f *testing.F) {
	f.Add("POST", "/customers", []byte(`{"email":"ann","badge":1e999,"vip":null}`))
	f.Add("PATCH", "/orders/1", []byte(`{"total":-0.001,"placed":"0000-00-00","count":1.0}`))
	f.Add("PUT", "/orders/1/2", []byte(`[[[[`))
	f.Add("DELETE", "/customers/-1", []byte(``))
	f.Add("GET", "//", []byte(`{"a":1}{`))
	s := shop(f)
	all := Mutants(s, nil)
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		for _, i := range []*Interp{New(s), New(s, all...)} {
			i.Handle(Request{Method: "POST", Path: "/customers", Body: []byte(`{"email":"ann"}`)})
			i.Handle(Request{Method: "POST", Path: "/orders", Body: []byte(`{"total":9,"count":1,"customer_id":1}`)})
			for _, r := range []Request{{Method: method, Path: path, Body: body}, {Method: "GET", Path: "/customers"}, {Method: "GET", Path: "/analytics/order_total_sum"}, {Method: "DELETE", Path: "/customers/1"}} {
				if _, err := json.Marshal(i.Handle(r).Body); err != nil {
					t.Errorf("%s %s: body that is no JSON: %v", r.Method, r.Path, err)
				}
			}
		}
	})
}
