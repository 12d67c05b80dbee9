package oracle

import (
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// formula is how a computed field comes about, as faults changed it.
type formula struct {
	kind   string
	inputs []*field

	nulls                        bool // null counts as nothing
	accepts, stored, all, joined bool
}

func (b *builder) formula(def *scenario.Computed) *formula {
	m := &formula{kind: def.Kind}
	for _, uid := range def.Inputs {
		m.inputs = append(m.inputs, b.fields[uid])
	}
	return m
}

// managed is the cell of a field that the service decides, in a request: its state or what a fault keeps.
func (f *field) managed(in map[string]any, old *row, n int, whole bool) cell {
	raw, sent := in[f.Name]
	if f.State {
		s, _ := raw.(string)
		valid := sent && f.Allows(scenario.Value{Str: s})
		switch {
		case old == nil && valid && f.statePost, old != nil && valid && f.statePatch:
			return cell{set: true, v: scenario.Value{Str: s}}
		case old != nil && !(whole && f.stateResets):
			return old.cells[n]
		}
		return cell{set: true, v: scenario.Value{Str: f.initial}}
	}
	if f.formula.accepts && sent {
		return cell{set: true, raw: raw}
	}
	if old != nil {
		return old.cells[n] // empty but for the faults
	}
	return cell{}
}

// compute is the value of a computed field, null by way of a cell that is not set.
func (f *field) compute(r *row) cell {
	m := f.formula
	if kept := r.cells[f.index]; m.accepts && kept.raw != nil || m.stored && kept.set {
		return kept
	}
	if m.kind == scenario.ComputedCount {
		n := m.inputs[0].referring(r.id)
		if m.all {
			n = int64(len(m.inputs[0].owner.rows))
		}
		return cell{set: !m.nulls || n > 0, v: scenario.Value{Int: n}}
	}
	a, b := r.cells[m.inputs[0].index], r.cells[m.inputs[1].index]
	if (!a.set || !b.set) && !m.nulls || a.raw != nil || b.raw != nil {
		return cell{}
	}
	out := cell{set: true}
	switch m.kind {
	case scenario.ComputedProduct:
		out.v.Int = a.v.Int * b.v.Int
	case scenario.ComputedSum:
		out.v.Int = a.v.Int + b.v.Int
	case scenario.ComputedDifference:
		out.v.Int = a.v.Int - b.v.Int
	case scenario.ComputedConcat:
		between := " "
		if m.joined {
			between = ""
		}
		out.v.Str = a.v.Str + between + b.v.Str
	}
	return out
}

// settle stores the computed fields of a row where a fault computes them only then.
func (e *entity) settle(r *row) {
	for _, f := range e.fields {
		if f.formula != nil && f.formula.stored && !r.cells[f.index].set {
			if c := f.compute(r); c.set {
				r.put(f.index, c)
			}
		}
	}
}
