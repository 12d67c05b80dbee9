package oracle

import (
	"net/http"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// removal is what one DELETE would do.
type removal struct {
	doomed []*row // the row itself first, then cascades
	isIn   map[*row]bool
	nulled []nulledCell
	barred *field // the reference that forbids it, if any
}

type nulledCell struct {
	row   *row
	index int
}

// remove answers DELETE of an existing row.
func (i *Interp) remove(r *row) Response {
	plan := &removal{doomed: []*row{r}, isIn: map[*row]bool{r: true}}
	for n := 0; n < len(plan.doomed) && plan.barred == nil; n++ {
		plan.follow(plan.doomed[n], n > 0)
	}
	if plan.barred != nil {
		return i.refuse(*plan.barred.failure(http.StatusConflict, "restricted", ""))
	}
	plan.carryOut()
	return Response{Status: r.owner.status("delete", http.StatusNoContent)}
}

// follow adds what the references to one doomed row demand. deep says that the row goes by a cascade.
func (p *removal) follow(gone *row, deep bool) {
	for _, f := range gone.owner.inbound {
		if f.OnDelete == "" || f.shallow && deep {
			continue
		}
		for _, r := range f.owner.rows {
			if !f.refers(r, gone.id) {
				continue
			}
			switch f.OnDelete {
			case scenario.Restrict:
				p.barred = f
				return
			case scenario.Cascade:
				if !p.isIn[r] {
					p.isIn[r] = true
					p.doomed = append(p.doomed, r)
				}
			case scenario.SetNull:
				p.nulled = append(p.nulled, nulledCell{r, f.index})
			}
		}
	}
}

func (p *removal) carryOut() {
	for _, n := range p.nulled {
		n.row.put(n.index, cell{})
	}
	touched := make(map[*entity]bool)
	for _, r := range p.doomed {
		e := r.owner
		delete(e.byID, r.id)
		if e.deleted != nil {
			e.deleted[r.id] = r
		}
		touched[e] = true
	}
	for e := range touched {
		e.rows = slices.DeleteFunc(e.rows, func(r *row) bool { return p.isIn[r] })
	}
}
