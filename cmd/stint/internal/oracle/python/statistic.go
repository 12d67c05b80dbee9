package python

import (
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// statistic writes one analytics endpoint.
func (p *program) statistic(a *scenario.Analytics) {
	e := p.schema.Entity(a.Entity)
	if e == nil || p.has(EndpointMissing, a.UID, "") {
		return
	}
	function := "figure_" + a.Name
	p.route("GET", "/analytics/"+a.Name, function)
	p.function(function, "call")
	p.line(1, "rows = %s.all()", table(e))
	if _, w := p.schema.FieldByUID(a.Where); w != nil && a.Equals != nil {
		operator := "=="
		if w.Type == scenario.Boolean {
			operator = "is"
		}
		p.line(1, "rows = [row for row in rows if %s %s %s]", cell(w), operator, literal(w, a.Equals))
	}
	_, measure := p.schema.FieldByUID(a.Measure)
	_, group := p.schema.FieldByUID(a.Group)
	_, day := p.schema.FieldByUID(a.Window)
	switch {
	case a.Kind == scenario.StatAvg || a.Kind == scenario.StatMin || a.Kind == scenario.StatMax:
		p.summary(a.Kind, measure)
	case (a.Kind == scenario.StatGroup || a.Kind == scenario.StatTop) && group != nil:
		p.groups(a, group, measure)
	case a.Kind == scenario.StatParent && group != nil && p.schema.Entity(group.Target) != nil:
		p.line(1, "groups = []")
		p.line(1, "for owner in %s.all():", table(p.schema.Entity(group.Target)))
		p.line(2, `members = [row for row in rows if %s == owner["id"]]`, cell(group))
		depth := 2
		if p.has(AnalyticsWrong, a.UID, "no_zeros") {
			p.line(2, "if members:")
			depth = 3
		}
		p.line(depth, `groups.append({"key": owner["id"], "value": %s})`, p.size(a, "members", measure))
		if p.has(AnalyticsWrong, a.UID, "order") {
			p.line(1, "groups.reverse()")
		}
		p.line(1, `return 200, {"groups": groups}`)
	default:
		if a.Kind == scenario.StatWindow && day != nil {
			p.line(1, `since, until = query_day(call, "from"), query_day(call, "to")`)
			p.window(a, day)
		}
		if p.has(AnalyticsWrong, a.UID, "empty") {
			p.line(1, "if not rows:")
			p.line(2, `return 200, {"value": None}`)
		}
		p.line(1, `return 200, {"value": %s}`, p.size(a, "rows", measure))
	}
}

// window keeps the rows whose day lies between the two of the request.
func (p *program) window(a *scenario.Analytics, day *scenario.Field) {
	low, high := "<=", "<="
	if p.has(AnalyticsWrong, a.UID, "from") {
		low = "<"
	}
	if p.has(AnalyticsWrong, a.UID, "to") {
		high = "<"
	}
	if !p.has(AnalyticsWrong, a.UID, "window") {
		p.line(1, "rows = [row for row in rows if %s is not None and since %s %s %s until]", cell(day), low, cell(day), high)
	}
}

// size is the expression of the number of rows, or of the sum of the measure over them.
func (p *program) size(a *scenario.Analytics, rows string, measure *scenario.Field) string {
	if measure == nil || a.Kind == scenario.StatCount {
		return "len(" + rows + ")"
	}
	expr := fmt.Sprintf("sum(row[%s] for row in %s if row[%s] is not None)", quote(measure.Name), rows, quote(measure.Name))
	switch {
	case measure.Type == scenario.Decimal && p.has(AnalyticsWrong, a.UID, "cents"):
		return expr + " // 100"
	case measure.Type == scenario.Decimal:
		return "money(" + expr + ")"
	}
	return expr
}

// summary writes an average, a minimum or a maximum.
func (p *program) summary(kind string, measure *scenario.Field) {
	if measure == nil {
		p.line(1, `return 200, {"value": None}`)
		return
	}
	p.line(1, "values = [%s for row in rows if %s is not None]", cell(measure), cell(measure))
	p.line(1, "if not values:")
	p.line(2, `return 200, {"value": None}`)
	decimal := measure.Type == scenario.Decimal
	switch {
	case kind == scenario.StatAvg && decimal:
		p.line(1, `return 200, {"value": sum(values) / (100 * len(values))}`)
	case kind == scenario.StatAvg:
		p.line(1, `return 200, {"value": sum(values) / len(values)}`)
	case decimal:
		p.line(1, `return 200, {"value": money(%s(values))}`, kind)
	default:
		p.line(1, `return 200, {"value": %s(values)}`, kind)
	}
}

// groups writes the groups of rows by a field, all or the largest.
func (p *program) groups(a *scenario.Analytics, group, measure *scenario.Field) {
	p.line(1, "keys = sorted({%s for row in rows if %s is not None})", cell(group), cell(group))
	p.line(1, "members = {key: [row for row in rows if %s == key] for key in keys}", cell(group))
	if measure != nil {
		p.line(1, "sizes = {key: sum(%s for row in members[key] if %s is not None) for key in keys}", cell(measure), cell(measure))
	} else {
		p.line(1, "sizes = {key: len(members[key]) for key in keys}")
	}
	if a.Kind == scenario.StatTop {
		if p.has(AnalyticsWrong, a.UID, "ties") {
			p.line(1, "keys.reverse()")
		}
		sign := "-"
		if p.has(AnalyticsWrong, a.UID, "order") {
			sign = ""
		}
		p.line(1, "keys = sorted(keys, key=lambda key: %ssizes[key])[:%d]  # sorted is stable", sign, a.N)
	} else if p.has(AnalyticsWrong, a.UID, "order") {
		p.line(1, "keys.reverse()")
	}
	value := "sizes[key]"
	if measure != nil && measure.Type == scenario.Decimal {
		value = "money(sizes[key])"
	}
	p.line(1, `return 200, {"groups": [{"key": key, "value": %s} for key in keys]}`, value)
}
