package scenario

import (
	"math"
	"math/rand/v2"
	"time"
)

// drawField draws a field for an attribute: whether it may be missing or null, and perhaps one rule.
// The uid is left to the caller.
func drawField(r *rand.Rand, a attribute, required bool) Field {
	f := Field{Name: a.name, Type: a.typ, Required: required}
	if a.typ == Enum {
		f.Values = append([]string(nil), a.values[:min(3+r.IntN(2), len(a.values))]...)
	}
	if required && (a.typ == String || a.typ == Integer) {
		f.Unique = chance(r, 0.08)
	}
	if chance(r, 0.35) {
		switch a.typ {
		case Integer, Decimal, Date:
			f.Min, f.Max = drawRange(r, a, f.Unique)
		case String:
			f.MinLen, f.MaxLen = drawLength(r, a, f.Unique)
		}
	}
	if required {
		f.Nullable = chance(r, 0.12)
		return f
	}
	if chance(r, 0.4) {
		f.Default = drawDefault(r, &f, a)
	}
	f.Nullable = f.Default == nil || chance(r, 0.5)
	return f
}

// sensible returns the values that suit an attribute, in the units of Field.Min and Field.Max.
func sensible(a attribute) (low, high int64) {
	switch {
	case a.typ == Date:
		return dateDays(2000, time.January, 1), dateDays(2035, time.December, 31)
	case a.low != 0 || a.high != 0:
		return a.low, a.high
	case a.typ == Decimal:
		return 0, 1000_00
	}
	return 0, 1000
}

// drawRange draws a range with one or both ends, rounded as people write them. A unique field gets a
// lower end only, so that values do not run out.
func drawRange(r *rand.Rand, a attribute, unique bool) (low, high *int64) {
	lo, hi := sensible(a)
	if a.typ == Date {
		lo = dateDays(1990+r.IntN(30), time.January, 1)
		hi = dateDays(2030+r.IntN(15), time.December, 31)
	} else {
		span := hi - lo
		lo = rounded(lo+int64(float64(span)*pick(r, []float64{0, 0, 0.01, 0.02, 0.05, 0.1})), a.typ)
		hi = rounded(hi-int64(float64(span)*pick(r, []float64{0, 0, 0.1, 0.2, 0.5})), a.typ)
		if hi-lo+1 < minRangeValues {
			hi = lo + 10
		}
	}
	ends := r.IntN(5)
	if unique || ends == 0 {
		return &lo, nil
	}
	if ends == 1 {
		return nil, &hi
	}
	return &lo, &hi
}

// rounded cuts a number to two leading digits; hundredths lose their cents first.
func rounded(x int64, t Type) int64 {
	unit := int64(1)
	if t == Decimal {
		unit = 50
		if x > 10_00 || x < -10_00 {
			unit = 100
		}
	}
	for x/unit >= 100 || x/unit <= -100 {
		unit *= 10
	}
	return x / unit * unit
}

// drawLength draws length limits that suit an attribute.
func drawLength(r *rand.Rand, a attribute, unique bool) (short, long *int) {
	lo, hi := int(a.low), int(a.high)
	if lo == 0 && hi == 0 {
		lo, hi = 2, 60
	}
	lo += r.IntN(2)
	hi += 2 * r.IntN(3)
	if unique {
		hi = max(hi, 3*minUniqueLength)
	}
	hi = max(hi, lo+minRangeValues-1)
	switch r.IntN(5) {
	case 0:
		return nil, &hi
	case 1:
		return &lo, nil
	}
	return &lo, &hi
}

// drawDefault draws a default that the field allows, or returns nil when there is none at hand.
func drawDefault(r *rand.Rand, f *Field, a attribute) *Value {
	var v Value
	switch f.Type {
	case Boolean:
		v.Bool = chance(r, 0.5)
	case Enum:
		v.Str = pick(r, f.Values)
	case String:
		var fit []string
		for _, word := range []string{"unknown", "none", "standard", "to be decided", "general"} {
			if f.Allows(Value{Str: word}) {
				fit = append(fit, word)
			}
		}
		if len(fit) == 0 {
			return nil
		}
		v.Str = pick(r, fit)
	case Integer, Decimal, Date:
		lo, hi := sensible(a)
		if f.Min != nil {
			lo = *f.Min
		}
		if f.Max != nil {
			hi = *f.Max
		}
		if hi < lo {
			lo, hi = hi, lo
		}
		x := lo + int64(math.Abs(float64(hi-lo))*pick(r, []float64{0, 0.02, 0.05, 0.1}))
		if f.Type != Date {
			x = rounded(x, f.Type)
		}
		v.Int = x
	default:
		return nil
	}
	if !f.Allows(v) {
		return nil
	}
	return &v
}
