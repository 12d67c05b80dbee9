package oracle

import (
	"encoding/json"
	"net/http"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// statistic is one analytics endpoint, as faults changed it.
type statistic struct {
	over      *entity
	measure   *field // nil counts rows
	where     *field // nil takes all rows
	equals    scenario.Value
	broken    bool
	emptyNull bool // an empty sum is null
	whole     bool // cents are cut off
}

// analytics answers GET /analytics/NAME.
func (i *Interp) analytics(r Request, name string) Response {
	s := i.stats[name]
	if s == nil || s.broken {
		return i.refuse(failure{status: http.StatusNotFound, code: "not_found"})
	}
	if r.Method != http.MethodGet {
		return Response{Status: http.StatusMethodNotAllowed}
	}
	return Response{http.StatusOK, map[string]any{"value": s.value()}}
}

func (s *statistic) value() any {
	var count, sum, added int64
	for _, r := range s.over.rows {
		if s.where != nil {
			if c := &r.cells[s.where.index]; !c.set || c.raw != nil || c.v != s.equals {
				continue
			}
		}
		count++
		if s.measure != nil {
			if c := &r.cells[s.measure.index]; c.set && c.raw == nil {
				sum += c.v.Int
				added++
			}
		}
	}
	switch {
	case s.measure == nil:
		return count
	case added == 0 && s.emptyNull:
		return nil
	case s.measure.Type != scenario.Decimal:
		return sum
	case s.whole:
		sum = sum / 100 * 100
	}
	return json.Number(scenario.FormatDecimal(sum))
}
