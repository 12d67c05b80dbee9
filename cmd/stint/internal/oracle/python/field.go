package python

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// reader is the helper that turns a JSON value into what the server keeps.
func reader(t scenario.Type) string {
	switch t {
	case scenario.Integer, scenario.Ref:
		return "as_integer"
	case scenario.Decimal:
		return "as_hundredths"
	case scenario.Boolean:
		return "as_boolean"
	case scenario.Date:
		return "as_date"
	case scenario.Datetime:
		return "as_datetime"
	}
	return "as_string"
}

func valueFunction(e *scenario.Entity, f *scenario.Field) string {
	return "value_" + e.Name + "__" + f.Name
}

// value writes the function that checks one value of one field by itself.
func (p *program) value(e *scenario.Entity, f *scenario.Field) {
	params := "value"
	if p.byVerb(f) {
		params += ", method"
	}
	p.function(valueFunction(e, f), params)
	p.line(1, "if value is None:")
	switch {
	case p.has(DefaultForNull, f.UID, ""):
		p.line(2, "return %s", literal(f, f.Default))
	case f.Nullable:
		p.line(2, "return None")
	default:
		if verbs := p.lax(f, "null"); verbs != "" {
			p.line(2, "if not (%s):", verbs)
			p.line(3, "return None")
		}
		p.refuse(2, 400, "null", f)
	}
	p.convert(f)
	p.rule(outside("value", bounds(f)), 400, "range", f)
	p.rule(outside("len(value)", lengths(f)), 400, "length", f)
	if f.Pattern != "" {
		p.rule(p.mismatch(f), 400, "pattern", f)
	}
	if f.Type == scenario.Enum && !p.has(Permissive, f.UID, "enum") {
		p.rule(fmt.Sprintf("value not in %s", words(f.Values)), 400, "enum", f)
	}
	if t := p.schema.Entity(f.Target); f.Type == scenario.Ref && t != nil && !p.has(Permissive, f.UID, "ref") {
		p.rule(fmt.Sprintf("value not in %s.rows", table(t)), 400, "reference", f)
	}
	p.line(1, "return value")
}

// convert writes how a value becomes what the server keeps.
func (p *program) convert(f *scenario.Field) {
	name := quote(f.Name)
	verbs := p.lax(f, "type")
	switch {
	case p.has(Permissive, f.UID, "type"):
		p.line(1, "try:")
		p.line(2, "value = %s(value, %s)", reader(f.Type), name)
		p.line(1, "except Refused:")
		p.line(2, "return value")
	case verbs != "" || p.code(f.UID, "type") != "type":
		p.line(1, "try:")
		p.line(2, "value = %s(value, %s)", reader(f.Type), name)
		p.line(1, "except Refused:")
		if verbs != "" {
			p.line(2, "if not (%s):", verbs)
			p.line(3, "return value")
		}
		p.refuse(2, 400, "type", f)
	default:
		p.line(1, "value = %s(value, %s)", reader(f.Type), name)
	}
	if p.has(CentsLost, f.UID, "") {
		p.line(1, "value -= value %% 100")
	}
}

// mismatch is the condition that a value does not have the form of the field's pattern.
func (p *program) mismatch(f *scenario.Field) string {
	form := quote(expression(f.Pattern))
	switch {
	case p.has(PatternMisread, f.UID, "case"):
		return fmt.Sprintf("not re.fullmatch(%s, value, re.IGNORECASE)", form)
	case p.has(PatternMisread, f.UID, "after"):
		return fmt.Sprintf("not re.match(%s, value)", form)
	case p.has(PatternMisread, f.UID, "before"):
		return fmt.Sprintf("not re.fullmatch(\".*\" + %s, value)", form)
	case p.has(PatternMisread, f.UID, "class"):
		return fmt.Sprintf("not re.fullmatch(%s, value)", quote(strings.ReplaceAll(expression(f.Pattern), "[0-9]", "[0-9A-Z]")))
	}
	return fmt.Sprintf("not re.fullmatch(%s, value)", form)
}

// rule refuses what meets a condition; "" is no condition.
func (p *program) rule(condition string, status int, code string, f *scenario.Field) {
	if condition == "" {
		return
	}
	if verbs := p.lax(f, code); verbs != "" {
		condition = fmt.Sprintf("%s and (%s)", verbs, condition)
	}
	p.line(1, "if %s:", condition)
	p.refuse(2, status, code, f)
}

// refuse ends a request because of a field.
func (p *program) refuse(depth, status int, code string, f *scenario.Field) {
	p.line(depth, "raise Refused(%d, %s, %s)", p.status(f.UID, code, status), quote(p.code(f.UID, code)), quote(f.Name))
}

// bounds are the limits of a field's range as literals, "" where there is none.
func bounds(f *scenario.Field) (limits [2]string) {
	for i, limit := range []*int64{f.Min, f.Max} {
		if limit != nil {
			limits[i] = bound(f, *limit)
		}
	}
	return limits
}

func lengths(f *scenario.Field) (limits [2]string) {
	for i, limit := range []*int{f.MinLen, f.MaxLen} {
		if limit != nil {
			limits[i] = fmt.Sprint(*limit)
		}
	}
	return limits
}

// outside is the condition that an expression is below or above its limits, "" if it has none.
func outside(expr string, limits [2]string) string {
	var parts []string
	if limits[0] != "" {
		parts = append(parts, expr+" < "+limits[0])
	}
	if limits[1] != "" {
		parts = append(parts, expr+" > "+limits[1])
	}
	return strings.Join(parts, " or ")
}

// words writes a tuple of strings.
func words(values []string) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(v) + ",")
	}
	b.WriteByte(')')
	return b.String()
}

// expression turns a pattern into a regular expression: A is a capital letter, 9 a digit, anything else itself.
func expression(pattern string) string {
	var b strings.Builder
	for _, r := range pattern {
		switch {
		case r == 'A':
			b.WriteString("[A-Z]")
		case r == '9':
			b.WriteString("[0-9]")
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteString(`\` + string(r))
		}
	}
	return b.String()
}
