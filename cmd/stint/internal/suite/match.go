package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

// decimalTolerance is half a hundredth, with room for binary fractions on the edge.
const decimalTolerance = 0.005 + 1e-9

// maxDiffs is how many differing places of one body are named.
const maxDiffs = 4

// difference is one place where a body is not as expected. Want and Have are printable.
type difference struct {
	Path, Want, Have string
}

// decodeBody reads one JSON value, numbers kept as text.
func decodeBody(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

// compare lists where got differs from want, at most maxDiffs places in order of keys.
func compare(mode string, want, got any) []difference {
	c := comparison{mode: mode}
	c.value("", want, got)
	return c.diffs
}

type comparison struct {
	mode  string
	diffs []difference
}

func (c *comparison) add(path, want, have string) {
	if len(c.diffs) < maxDiffs {
		if path == "" {
			path = "body"
		}
		c.diffs = append(c.diffs, difference{path, want, have})
	}
}

func (c *comparison) value(path string, want, got any) {
	if len(c.diffs) >= maxDiffs {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.add(path, "= an object", "= "+show(got))
			return
		}
		c.object(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			c.add(path, "= a list", "= "+show(got))
			return
		}
		if len(g) != len(w) {
			c.add(path, fmt.Sprintf("has %d rows", len(w)), fmt.Sprintf("has %d rows", len(g)))
			return
		}
		for i := range w {
			c.value(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
	case json.Number:
		var g string
		switch n := got.(type) {
		case json.Number:
			g = string(n)
		case int64: // of an interpreter in this process
			g = strconv.FormatInt(n, 10)
		}
		if g == "" || !equalNumber(string(w), g) {
			c.add(path, "= "+show(want), "= "+show(got))
		}
	default: // string, bool, nil
		if want != got {
			c.add(path, "= "+show(want), "= "+show(got))
		}
	}
}

func (c *comparison) object(path string, want, got map[string]any) {
	for _, k := range sortedKeys(want) {
		p := joinPath(path, k)
		g, ok := got[k]
		switch {
		case ok:
			c.value(p, want[k], g)
		case want[k] == nil && c.mode == Subset:
		default:
			c.add(p, "= "+show(want[k]), "is missing")
		}
	}
	if c.mode != Exact {
		return
	}
	for _, k := range sortedKeys(got) {
		if _, ok := want[k]; !ok {
			c.add(joinPath(path, k), "is not there", "= "+show(got[k]))
		}
	}
}

func joinPath(path, key string) string {
	key = oneLine(key, 60)
	if path == "" {
		return key
	}
	return path + "." + key
}

// equalNumber compares JSON numbers by value: within half a hundredth if want has a decimal point, else exactly.
func equalNumber(want, got string) bool {
	if want == got {
		return true
	}
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return false
	}
	g, err := strconv.ParseFloat(got, 64)
	if err != nil {
		return false // out of range of a float: no expectation is
	}
	if strings.Contains(want, ".") {
		return math.Abs(w-g) <= decimalTolerance
	}
	return w == g // expectations stay within 2^53, where float64 is exact
}

// asID reads a row id: an integer by value.
func asID(v any) (int64, bool) {
	if i, ok := v.(int64); ok { // of an interpreter in this process
		return i, true
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// show prints a JSON value in bounded, harmless text.
func show(v any) string {
	b, err := marshal(v)
	if err != nil {
		return "an unprintable value"
	}
	return oneLine(string(b), 80)
}

// oneLine makes hostile text safe to print: control and format characters are escaped, the length is bounded in bytes.
func oneLine(s string, limit int) string {
	var b strings.Builder
	for i, r := range s {
		var piece string
		if r != '\uFFFD' && strconv.IsPrint(r) {
			piece = string(r)
		} else {
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > limit-3 && len(s)-i > 3 {
			b.WriteString("...")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
