package python

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// entity writes everything about one collection.
func (p *program) entity(e *scenario.Entity) {
	p.line(0, "")
	p.line(0, "")
	p.line(0, "# %s", strings.Repeat("-", 98))
	p.line(0, "# /%s", e.Plural)
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Managed() {
			p.value(e, f)
		}
	}
	p.build(e)
	p.check(e)
	p.show(e)
	p.create(e)
	p.read(e)
	p.replace(e)
	p.update(e)
	p.remove(e)
	p.list(e)
	p.nested(e)
	p.requests(e)
}

// build writes the function that makes the fields of a row from a request and the row that there was.
func (p *program) build(e *scenario.Entity) {
	p.function("build_"+e.Name, "body, old, method")
	p.line(1, `"""The row that a POST, PUT or PATCH leads to; old is None for a POST."""`)
	p.oldNames(e)
	if p.has(Strict, e.UID, "extra") {
		p.line(1, "for key in body:")
		p.line(2, "if key not in %s:", words(append([]string{"id"}, fieldNames(e)...)))
		p.line(3, `raise Refused(400, "extra", key)`)
	}
	p.line(1, "row = {}")
	for i := range e.Fields {
		f := &e.Fields[i]
		switch {
		case f.Computed != nil:
		case f.State && e.Machine != nil:
			fresh := "old is None"
			if p.has(StateWrong, f.UID, "put") {
				fresh = `method != "PATCH"`
			}
			p.line(1, "%s = %s if %s else old[%s]", cell(f), quote(e.Machine.Initial), fresh, quote(f.Name))
			for _, method := range []string{"POST", "PATCH"} {
				if p.has(StateWrong, f.UID, strings.ToLower(method)) {
					p.line(1, "if method == %s and body.get(%s) in %s:", quote(method), quote(f.Name), words(f.Values))
					p.line(2, "%s = body[%s]", cell(f), quote(f.Name))
				}
			}
		default:
			p.assign(e, f)
		}
	}
	if p.has(ExtraKey, e.UID, "echo") {
		p.line(1, `row["unknown keys"] = {key: body[key] for key in body if key not in %s}`, words(append([]string{"id"}, fieldNames(e)...)))
	}
	p.line(1, "return row")
}

func fieldNames(e *scenario.Entity) []string {
	names := make([]string, len(e.Fields))
	for i := range e.Fields {
		names[i] = e.Fields[i].Name
	}
	return names
}

// assign writes what becomes of one field that clients may send.
func (p *program) assign(e *scenario.Entity, f *scenario.Field) {
	name := quote(f.Name)
	p.line(1, "if %s in body:", name)
	if p.byVerb(f) {
		p.line(2, "%s = %s(body[%s], method)", cell(f), valueFunction(e, f), name)
	} else {
		p.line(2, "%s = %s(body[%s])", cell(f), valueFunction(e, f), name)
	}
	kept := `method == "PATCH"`
	switch {
	case p.has(PatchResets, e.UID, ""):
		p.line(1, "elif %s:", kept)
		p.line(2, "%s = None", cell(f))
		kept = ""
		if f.Immutable || p.has(PutMerges, e.UID, "") {
			kept = "old is not None"
		}
	case f.Immutable && !p.has(ImmutableReset, f.UID, ""), p.has(PutMerges, e.UID, ""):
		kept = "old is not None"
	}
	if kept != "" {
		p.line(1, "elif %s:", kept)
		p.line(2, "%s = old[%s]", cell(f), name)
	}
	if p.has(DefaultIgnored, f.UID, "PUT") || p.has(LaxUpdate, f.UID, "required:PUT") || p.has(LaxUpdate, f.UID, "required") {
		p.line(1, `elif method == "PUT":`)
		p.line(2, "%s = None", cell(f))
	}
	p.line(1, "else:")
	switch {
	case f.Required:
		p.refuse(2, 400, "required", f)
	case p.has(ZeroForMissing, f.UID, ""):
		p.line(2, "%s = %s", cell(f), zero(f))
	default:
		p.line(2, "%s = %s", cell(f), literal(f, f.Default))
	}
	if f.Immutable {
		p.immutable(f)
	}
}

// zero is what programs put in place of a missing value by mistake.
func zero(f *scenario.Field) string {
	switch f.Type {
	case scenario.Integer, scenario.Decimal:
		return "0"
	case scenario.Boolean:
		return "False"
	}
	return `""`
}

// immutable writes the rule that a value never changes.
func (p *program) immutable(f *scenario.Field) {
	name := quote(f.Name)
	condition := fmt.Sprintf("old is not None and %s != old[%s]", cell(f), name)
	switch {
	case p.has(ImmutableStrict, f.UID, ""):
		condition = fmt.Sprintf("old is not None and %s in body", name)
	case p.has(ImmutableIgnored, f.UID, "PUT"):
		condition += ` and method != "PUT"`
	case p.has(ImmutableIgnored, f.UID, "PATCH"):
		condition += ` and method != "PATCH"`
	case p.has(ImmutableReset, f.UID, ""):
		condition += fmt.Sprintf(" and %s in body", name)
	}
	p.rule(condition, 409, "immutable", f)
}

// check writes the rules about several fields or several rows.
func (p *program) check(e *scenario.Entity) {
	p.function("check_"+e.Name, "row, old")
	p.line(1, `"""Refuses a row that does not fit together or does not fit the other rows."""`)
	for i := range e.Orders {
		_, low := p.schema.FieldByUID(e.Orders[i].Low)
		_, high := p.schema.FieldByUID(e.Orders[i].High)
		if low != nil && high != nil {
			operator := ">"
			if p.has(OrderStrict, e.Orders[i].UID, "") {
				operator = ">="
			}
			p.line(1, "if %s is not None and %s is not None and %s %s %s:", cell(low), cell(high), cell(low), operator, cell(high))
			p.line(2, "raise Refused(400, %s, %s)", quote(p.code(e.Orders[i].UID, "order")), quote(high.Name))
		}
	}
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Unique {
			p.unique(e, f)
		}
	}
	for i := range e.Groups {
		p.group(e, &e.Groups[i])
	}
	p.line(1, "return row")
}

// unique writes the rule that no two rows have the same value.
func (p *program) unique(e *scenario.Entity, f *scenario.Field) {
	condition := cell(f) + " is not None"
	if p.has(UniqueIgnored, f.UID, "update") {
		condition += " and old is None"
	}
	p.line(1, "if %s:", condition)
	p.line(2, "for other in %s.all():", table(e))
	same := fmt.Sprintf("other[%s] == %s", quote(f.Name), cell(f))
	if !p.has(UniqueSelf, f.UID, "") {
		same = "other is not old and " + same
	}
	p.line(3, "if %s:", same)
	p.refuse(4, 409, "unique", f)
}

// group writes the rule that no two rows have the same pair of values.
func (p *program) group(e *scenario.Entity, g *scenario.Group) {
	_, a := p.schema.FieldByUID(g.Fields[0])
	_, b := p.schema.FieldByUID(g.Fields[1])
	if a == nil || b == nil {
		return
	}
	first := fmt.Sprintf("other[%s] == %s", quote(a.Name), cell(a))
	second := fmt.Sprintf("other[%s] == %s", quote(b.Name), cell(b))
	same := "other is not old and " + first + " and " + second
	switch {
	case p.has(GroupNarrow, g.UID, "first"):
		same = "other is not old and " + first
	case p.has(GroupNarrow, g.UID, "second"):
		same = "other is not old and " + second
	case p.has(UniqueSelf, g.UID, ""):
		same = first + " and " + second
	}
	condition := fmt.Sprintf("%s is not None and %s is not None", cell(a), cell(b))
	switch {
	case p.has(GroupNulls, g.UID, ""):
		condition = "True"
	case p.has(GroupIgnored, g.UID, "update"):
		condition += " and old is None"
	}
	p.line(1, "if %s:", condition)
	p.line(2, "for other in %s.all():", table(e))
	p.line(3, "if %s:", same)
	p.line(4, "raise Refused(%d, %s)", p.status(g.UID, "unique", 409), quote(p.code(g.UID, "unique")))
}

// show writes the function that turns a row into the object of an answer.
func (p *program) show(e *scenario.Entity) {
	p.function("show_"+e.Name, "row")
	p.line(1, "return {")
	p.line(2, `"id": row["id"],`)
	for i := range e.Fields {
		f := &e.Fields[i]
		switch {
		case p.has(FieldMissing, f.UID, ""):
		case p.has(FieldMissing, f.UID, "null"):
			p.line(2, "%s: None,", quote(f.Name))
		default:
			p.line(2, "%s: %s,", quote(f.Name), p.shown(f))
		}
	}
	p.extraKeys(e)
	p.line(1, "}")
}

// shown is the expression of a field in an answer.
func (p *program) shown(f *scenario.Field) string {
	expr := cell(f)
	if f.Computed != nil {
		expr = p.computed(f)
	}
	if f.Type == scenario.Decimal {
		return "money(" + expr + ")"
	}
	return expr
}

// computed is the expression of a formula.
func (p *program) computed(f *scenario.Field) string {
	c := f.Computed
	inputs := make([]*scenario.Field, len(c.Inputs))
	owners := make([]*scenario.Entity, len(c.Inputs))
	for i, uid := range c.Inputs {
		if owners[i], inputs[i] = p.schema.FieldByUID(uid); inputs[i] == nil {
			return "None"
		}
	}
	if c.Kind == scenario.ComputedCount && p.has(ComputedWrong, f.UID, "all") {
		return fmt.Sprintf("len(%s.rows)", table(owners[0]))
	}
	if c.Kind == scenario.ComputedCount {
		return fmt.Sprintf(`len(%s.where(%s, row["id"]))`, table(owners[0]), quote(inputs[0].Name))
	}
	helpers := map[string]string{scenario.ComputedProduct: "product", scenario.ComputedSum: "total",
		scenario.ComputedDifference: "difference", scenario.ComputedConcat: "joined"}
	first, second := cell(inputs[0]), cell(inputs[1])
	switch {
	case p.has(ComputedWrong, f.UID, "null") && c.Kind == scenario.ComputedConcat:
		first, second = "("+first+` or "")`, "("+second+` or "")`
	case p.has(ComputedWrong, f.UID, "null"):
		first, second = "("+first+" or 0)", "("+second+" or 0)"
	case p.has(ComputedWrong, f.UID, "joined"):
		return fmt.Sprintf("joined(%s, %s) and %s + %s", first, second, first, second)
	}
	return fmt.Sprintf("%s(%s, %s)", helpers[c.Kind], first, second)
}
