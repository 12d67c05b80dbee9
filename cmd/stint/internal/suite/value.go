package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// stream is a random source of its own for every label, so that a draw never moves because of another one.
func (g *generator) stream(label string) *rand.Rand {
	sum := sha256.Sum256([]byte(strconv.FormatUint(g.seed, 16) + "|suite|" + label))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// words are what free texts are made of.
func words() []string {
	return []string{"amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "jasper", "kernel", "lumen", "meadow",
		"north", "ochre", "pebble", "quartz", "ridge", "slate", "tundra", "umber", "violet", "willow", "yonder", "zephyr"}
}

// value draws a valid JSON value for a field that is no reference: never its default, and none of avoid (JSON
// texts) unless the field has no other; the first of avoid counts most. The draw depends on the draft's check, the row and the field alone, as
// far as the field's rules allow.
func (d *draft) value(f *scenario.Field, row string, avoid ...string) any {
	if f.Default != nil {
		avoid = append(avoid, f.Literal(f.Default))
	}
	r := d.g.stream(d.label + "|" + row + "|" + f.UID)
	switch f.Type {
	case scenario.String:
		if f.Pattern != "" {
			return scenario.PatternValue(f.Pattern, d.g.freePlace(f, int64(d.serial(row)), scenario.PatternValues(f.Pattern)))
		}
		return stringValue(f, words()[r.IntN(len(words()))], strconv.FormatInt(int64(d.serial(row)), 36))
	case scenario.Integer, scenario.Decimal, scenario.Date, scenario.Datetime:
		if d.g.distinct(f) {
			return f.JSON(&scenario.Value{Int: d.g.uniqueNumber(f, int64(d.serial(row)))})
		}
		for range 20 {
			v := f.JSON(&scenario.Value{Int: numberIn(f, r, d.g.sides[f.UID])})
			if !slices.Contains(avoid, text(v)) {
				return v
			}
		}
		return f.JSON(&scenario.Value{Int: numberIn(f, r, d.g.sides[f.UID])})
	case scenario.Boolean:
		v := r.IntN(2) == 1
		if slices.Contains(avoid, text(v)) && (text(v) == avoid[0] || !slices.Contains(avoid, text(!v))) {
			v = !v
		}
		return v
	case scenario.Enum:
		return d.enumValue(f, row, avoid)
	}
	return nil
}

// text is the JSON text of a scalar.
func text(v any) string {
	b, err := marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// stringValue is "word-token", cut or stretched to the length limits. The token differs between all rows of a
// suite and survives any limit of five characters or more.
func stringValue(f *scenario.Field, word, token string) string {
	v := word + "-" + token
	if f.MaxLen != nil && len(v) > *f.MaxLen {
		v = v[len(v)-*f.MaxLen:]
		if strings.HasPrefix(v, "-") {
			v = "x" + v[1:] // a leading sign invites trimming
		}
	}
	return stretch(v, f.MinLen)
}

// stretch repeats letters in front until the text has the least length.
func stretch(v string, least *int) string {
	if least != nil && len(v) < *least {
		v = strings.Repeat("long", (*least-len(v))/4+1)[:*least-len(v)] + v
	}
	return v
}

// stringOfLength is a text of exactly n code points; its last letters are the token.
func stringOfLength(n int, token string) string {
	if len(token) > n {
		token = token[len(token)-n:]
	}
	return strings.Repeat("m", n-len(token)) + token
}

// numberIn draws a number, hundredths, day or second that the field's range allows, near the lower end of what is usual.
// What must not be below another field is above all that such a field gets. Decimals keep their cents where they can.
func numberIn(f *scenario.Field, r *rand.Rand, at side) int64 {
	low, span := int64(1), int64(900)
	switch f.Type {
	case scenario.Decimal:
		low, span = 105, 90000
	case scenario.Date:
		low, span = 18262, 1400 // from 2020-01-01
	case scenario.Datetime:
		low, span = 18262*24*60*60, 1400*24*60*60
	}
	if at == highSide {
		low += span + 1
	}
	v := withCents(f, low+r.Int64N(span))
	if (f.Min == nil || v >= *f.Min) && (f.Max == nil || v <= *f.Max) {
		return v
	}
	switch {
	case f.Min != nil && f.Max != nil:
		low, span = *f.Min, min(*f.Max-*f.Min+1, span)
	case f.Min != nil:
		low = *f.Min
	default:
		low = *f.Max - span + 1
	}
	v = low + r.Int64N(span)
	if w := withCents(f, v); f.Max == nil || w <= *f.Max {
		return w
	}
	return v
}

// withCents gives a decimal a fraction.
func withCents(f *scenario.Field, v int64) int64 {
	if f.Type == scenario.Decimal && v%100 == 0 {
		return v + 25
	}
	return v
}

// uniqueNumber gives every row of a suite another number: counting up where the range is open, else the next free
// place after one that depends on the row.
func (g *generator) uniqueNumber(f *scenario.Field, serial int64) int64 {
	low := int64(1)
	switch {
	case f.Min != nil:
		low = *f.Min
	case f.Max != nil:
		low = *f.Max - 1<<28 // more than there are rows in a suite
	}
	if f.Max == nil || f.Min == nil {
		return low + serial
	}
	low++ // the limits themselves belong to the checks of the range
	return low + g.freePlace(f, serial, *f.Max-low)
}

// freePlace gives every row another of size places.
func (g *generator) freePlace(f *scenario.Field, serial, size int64) int64 {
	taken := g.taken[f.UID]
	if taken == nil {
		taken = map[int64]bool{}
		g.taken[f.UID] = taken
	}
	at := int64(uint64(serial) * 0x9E3779B97F4A7C15 >> 1 % uint64(size))
	for n := int64(0); taken[at] && n < size; n++ {
		at = (at + 1) % size
	}
	taken[at] = true
	return at
}

// enumValue picks the value whose name hashes lowest for this row, so that a new value seldom changes old picks.
func (d *draft) enumValue(f *scenario.Field, row string, avoid []string) any {
	best, least := "", uint64(0)
	for _, v := range f.Values {
		if slices.Contains(avoid, text(v)) {
			continue
		}
		sum := sha256.Sum256([]byte(d.label + "|" + row + "|" + f.UID + "|" + v))
		if h := binary.LittleEndian.Uint64(sum[:8]); best == "" || h < least {
			best, least = v, h
		}
	}
	if best == "" && len(avoid) > 1 {
		return d.enumValue(f, row, avoid[:1])
	}
	if best == "" {
		best = f.Values[0]
	}
	return best
}

// limitValue is a number, hundredths or day as the field's JSON.
func limitValue(f *scenario.Field, limit int64) any {
	return f.JSON(&scenario.Value{Int: limit})
}

// wrong is a JSON value of another type than the field's, by the name of its variant.
type wrong struct {
	variant string
	value   any
}

// wrongValues lists what is no value of the field's type but breaks no other rule. For a reference, parent is the
// symbol of a row that exists.
func wrongValues(f *scenario.Field, parent string) []wrong {
	switch f.Type {
	case scenario.String:
		return []wrong{{"number", json.Number("1234567")}, {"list", []any{"amber"}}}
	case scenario.Integer:
		n := int64(7)
		if f.Min != nil && n < *f.Min || f.Max != nil && n >= *f.Max {
			n = middle(f)
		}
		return []wrong{{"text", strconv.FormatInt(n, 10)}, {"fraction", json.Number(fmt.Sprintf("%d.5", n))}, {"boolean", true}}
	case scenario.Decimal:
		return []wrong{{"text", scenario.FormatDecimal(middle(f))}, {"boolean", true}}
	case scenario.Boolean:
		return []wrong{{"text", "true"}, {"number", json.Number("1")}}
	case scenario.Enum:
		return []wrong{{"number", json.Number("1")}, {"list", []any{f.Values[0]}}}
	case scenario.Date:
		return []wrong{{"number", json.Number("20240115")}, {"not_a_day", "2023-02-30"}}
	case scenario.Datetime:
		return []wrong{{"number", json.Number("1700000000")}, {"text", "2023-02-03"}, {"not_a_day", "2023-02-30T10:00:00Z"}}
	case scenario.Ref:
		return []wrong{{"text", "${" + parent + ":s}"}, {"fraction", json.Number("1.5")}}
	}
	return nil
}

// middle is a number well inside the field's range, with room above it; negative only if it must be.
func middle(f *scenario.Field) int64 {
	switch {
	case f.Min != nil && f.Max != nil:
		return *f.Min + (*f.Max-*f.Min)/2
	case f.Min != nil:
		return *f.Min + 1
	case f.Max != nil:
		return *f.Max - 2
	}
	return 7
}

// accented replaces the first letter by one of two bytes: its length in code points stays.
func accented(v string) string {
	_, size := utf8.DecodeRuneInString(v)
	return "é" + v[size:]
}
