package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// This file is the naive reading of states, formulas and commands.

// naiveUnits reads a value in the units of Field.Min.
func naiveUnits(f *scenario.Field, v any) float64 {
	switch x := v.(type) {
	case float64:
		if f.Type == scenario.Decimal {
			return math.Round(x * 100)
		}
		return x
	case string:
		day, err := time.Parse("2006-01-02", x)
		if err == nil {
			return math.Round(day.Sub(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)).Hours() / 24)
		}
	}
	return math.NaN()
}

// derived is the value of a computed field of one row.
func derived(s *scenario.Schema, f *scenario.Field, o object, d dump) any {
	c := f.Computed
	if c.Kind == scenario.ComputedCount {
		owner, ref := s.FieldByUID(c.Inputs[0])
		n := 0.0
		for _, child := range d[owner.UID] {
			if child[ref.Name] == o["id"] {
				n++
			}
		}
		return n
	}
	_, x := s.FieldByUID(c.Inputs[0])
	_, y := s.FieldByUID(c.Inputs[1])
	a, b := o[x.Name], o[y.Name]
	if a == nil || b == nil {
		return nil
	}
	if c.Kind == scenario.ComputedConcat {
		return a.(string) + " " + b.(string)
	}
	p, q := a.(float64), b.(float64)
	r := map[string]float64{scenario.ComputedProduct: p * q, scenario.ComputedSum: p + q, scenario.ComputedDifference: p - q}[c.Kind]
	return math.Round(r*100) / 100
}

// derive computes all formulas of all rows anew.
func derive(s *scenario.Schema, d dump) dump {
	for _, e := range s.Entities {
		for n := range e.Fields {
			if f := &e.Fields[n]; f.Computed != nil {
				for _, o := range d[e.UID] {
					o[f.Name] = derived(s, f, o, d)
				}
			}
		}
	}
	return d
}

func (d dump) clone() dump {
	c := make(dump)
	for uid, rows := range d {
		c[uid] = []object{}
		for _, o := range rows {
			c[uid] = append(c[uid], maps.Clone(o))
		}
	}
	return c
}

// called judges POST /PLURAL/{id}/NAME.
func (j *judgement) called(before dump, e *scenario.Entity, r Request, res Response, out []byte, fail func(string, ...any)) {
	parts := strings.Split(r.Path, "/")
	var id float64
	fmt.Sscanf(parts[2], "%g", &id)
	at := slices.IndexFunc(before[e.UID], func(o object) bool { return o["id"] == id })
	commands := e.Commands()
	n := slices.IndexFunc(commands, func(c scenario.Command) bool { return c.Name == parts[3] })
	if at < 0 || n < 0 {
		if res.Status != 404 || string(out) != `{"error":{"code":"not_found","field":null}}` {
			fail("there is no such row or command")
		}
		return
	}
	c := &commands[n]
	var in object
	if err := json.Unmarshal(r.Body, &in); err != nil {
		j.t.Fatal(err)
	}
	o := before[e.UID][at]
	allowed := make(map[string]bool)
	amount := 0.0
	if p := c.Param; p != nil {
		v, sent := in[p.Name]
		x, isNumber := v.(float64)
		switch {
		case !sent:
			allowed["400 required "+p.Name] = true
		case v == nil:
			allowed["400 null "+p.Name] = true
		case !isNumber || x != math.Trunc(x):
			allowed["400 type "+p.Name] = true
		case x < float64(p.Min) || x > float64(p.Max):
			allowed["400 range "+p.Name] = true
		}
		amount = x
	}
	if c.Transition() {
		if f := e.StateField(); !slices.Contains(c.From, o[f.Name].(string)) {
			allowed["409 state "+f.Name] = true
		}
	}
	if c.Guard != nil && slices.ContainsFunc(c.Guard.Atoms, func(a scenario.Atom) bool { return !j.holds(before, o, a) }) {
		allowed["409 guard "] = true
	}
	if res.Status >= 400 || len(allowed) > 0 {
		j.refusal(res, out, allowed, fail)
		return
	}
	j.accepted++
	want := before.clone()
	j.affect(want, e, want[e.UID][at], c, amount)
	derive(j.s, want)
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(j.state)
	one, _ := json.Marshal(want[e.UID][at])
	if res.Status != http.StatusOK || !sameJSON(a, b) || !sameJSON(one, out) {
		fail("should be %s and leave\n%s\nnot\n%s", one, a, b)
	}
}

func (j *judgement) holds(d dump, o object, a scenario.Atom) bool {
	owner, f := j.s.FieldByUID(a.Field)
	sign := 1.0
	if a.Op == "<=" {
		sign = -1
	}
	switch a.Kind {
	case scenario.AtomChildren:
		n := int64(0)
		for _, child := range d[owner.UID] {
			if child[f.Name] == o["id"] {
				n++
			}
		}
		return n >= a.Value
	case scenario.AtomParent:
		for _, parent := range d[f.Target] {
			if parent["id"] == o[f.Name] && parent[j.s.Entity(f.Target).StateField().Name] == a.State {
				return true
			}
		}
		return false
	case scenario.AtomFields:
		_, other := j.s.FieldByUID(a.Other)
		return sign*naiveUnits(f, o[f.Name]) >= sign*naiveUnits(other, o[other.Name]) // false with NaN
	}
	return sign*naiveUnits(f, o[f.Name]) >= sign*float64(a.Value)
}

// affect changes a row and those that it refers to as a command does.
func (j *judgement) affect(d dump, e *scenario.Entity, o object, c *scenario.Command, amount float64) {
	if c.Transition() {
		o[e.StateField().Name] = c.To
	}
	for _, x := range c.Effects {
		_, target := j.s.FieldByUID(x.Target)
		row := o
		if _, ref := j.s.FieldByUID(x.Ref); ref != nil {
			row = nil
			for _, parent := range d[ref.Target] {
				if parent["id"] == o[ref.Name] {
					row = parent
				}
			}
		}
		if row == nil {
			continue
		}
		by := float64(x.Amount)
		if x.Param {
			by = amount
		}
		old, _ := row[target.Name].(float64)
		row[target.Name] = map[string]float64{scenario.EffectSet: by, scenario.EffectAdd: old + by, scenario.EffectSubtract: old - by}[x.Kind]
	}
}

// command draws a call of one of the entity's commands.
func (g *storm) command(e *scenario.Entity) (Request, bool) {
	cs := e.Commands()
	if len(cs) == 0 {
		return Request{}, false
	}
	c := &cs[g.r.IntN(len(cs))]
	body := g.body(e, 0.2)
	if p := c.Param; p != nil {
		in := make(map[string]any)
		if err := json.Unmarshal(body, &in); err != nil {
			panic(err)
		}
		in[p.Name] = []any{p.Min, p.Max, p.Min + 1, p.Min - 1, p.Max + 1, nil, "3", 2.5}[g.r.IntN(8)]
		if g.r.IntN(8) == 0 {
			delete(in, p.Name)
		}
		body, _ = json.Marshal(in)
	}
	return Request{Method: "POST", Path: fmt.Sprintf("/%s/%d/%s", e.Plural, 1+g.r.IntN(4), c.Name), Body: body}, true
}

// former draws a request for a path that is gone.
func (g *storm) former() (Request, bool) {
	var rs []Request
	for _, t := range g.s.Tombstones {
		e := g.s.Entity(t.Entity)
		switch t.Kind {
		case scenario.GoneEntity:
			rs = append(rs, Request{Method: "GET", Path: "/" + t.Name})
		case scenario.GoneAction:
			rs = append(rs, Request{Method: "POST", Path: fmt.Sprintf("/%s/%d/%s", e.Plural, 1+g.r.IntN(3), t.Name), Body: []byte("{}")})
		}
	}
	if len(rs) == 0 {
		return Request{}, false
	}
	return rs[g.r.IntN(len(rs))], true
}

// edge draws a value at or beside what a condition asks of a field.
func (g *storm) edge(f *scenario.Field) (v int64, found bool) {
	for i := range g.s.Entities {
		for _, c := range g.s.Entities[i].Commands() {
			if c.Guard == nil {
				continue
			}
			for _, a := range c.Guard.Atoms {
				if a.Kind == scenario.AtomField && a.Field == f.UID && f.Allows(scenario.Value{Int: a.Value}) {
					v = a.Value + int64(g.r.IntN(3)) - 1
					if !f.Allows(scenario.Value{Int: v}) {
						v = a.Value
					}
					return v, true
				}
			}
		}
	}
	return 0, false
}
