package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The letters of a pattern: A stands for one capital letter A to Z, 9 for one digit 0 to 9, a hyphen for itself.
const (
	patternCapital = 'A'
	patternDigit   = '9'
	patternHyphen  = '-'
	maxPattern     = 16
	// minPatternValues keeps the strings of a pattern from running out, whatever else the field must be.
	minPatternValues = 100_000
)

// checkPattern reports a pattern that is no such form, or one of too few strings.
func checkPattern(p string) error {
	if p == "" || len(p) > maxPattern || strings.Trim(p, "-") != p || strings.Contains(p, "--") {
		return fmt.Errorf("pattern %q is empty, longer than %d or has a hyphen out of place", p, maxPattern)
	}
	for _, c := range p {
		if c != patternCapital && c != patternDigit && c != patternHyphen {
			return fmt.Errorf("pattern %q holds %q", p, c)
		}
	}
	if PatternValues(p) < minPatternValues {
		return fmt.Errorf("pattern %q has fewer than %d values", p, minPatternValues)
	}
	return nil
}

// MatchesPattern reports whether text has exactly the form of the pattern.
func MatchesPattern(pattern, text string) bool {
	if len(text) != len(pattern) {
		return false
	}
	for i := range len(pattern) {
		c := text[i]
		switch pattern[i] {
		case patternCapital:
			if c < 'A' || c > 'Z' {
				return false
			}
		case patternDigit:
			if c < '0' || c > '9' {
				return false
			}
		default:
			if c != pattern[i] {
				return false
			}
		}
	}
	return true
}

// PatternValues is the number of strings of a pattern, at most MaxInt64.
func PatternValues(pattern string) int64 {
	n := int64(1)
	for _, c := range pattern {
		if base := patternBase(c); n > math.MaxInt64/base {
			return math.MaxInt64
		} else {
			n *= base
		}
	}
	return n
}

func patternBase(c rune) int64 {
	switch c {
	case patternCapital:
		return 26
	case patternDigit:
		return 10
	}
	return 1
}

// PatternValue is the string number n of a pattern, counted from 0; the last place changes fastest. n beyond the last
// string starts again.
func PatternValue(pattern string, n int64) string {
	out := []byte(pattern)
	for i := len(out) - 1; i >= 0; i-- {
		base := patternBase(rune(out[i]))
		if base > 1 {
			first := byte('A')
			if out[i] == patternDigit {
				first = '0'
			}
			out[i] = first + byte(n%base)
		}
		n /= base
	}
	return string(out)
}

// patternPhrase describes a pattern in words: "three capital letters, a hyphen and three digits".
func patternPhrase(pattern string) string {
	var parts []string
	for i := 0; i < len(pattern); {
		n := 1
		for i+n < len(pattern) && pattern[i+n] == pattern[i] {
			n++
		}
		one, many := "digit", "digits"
		switch pattern[i] {
		case patternCapital:
			one, many = "capital letter", "capital letters"
		case patternHyphen:
			one = "hyphen"
		}
		if n == 1 {
			parts = append(parts, "a "+one)
		} else {
			parts = append(parts, numeral(n)+" "+many)
		}
		i += n
	}
	return listing(parts)
}

func numeral(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	if n < len(words) {
		return words[n]
	}
	return strconv.Itoa(n)
}

// patternExample shows a value that looks like one: different letters and digits.
func patternExample(pattern string) string {
	out := []byte(pattern)
	for i := range out {
		switch out[i] {
		case patternCapital:
			out[i] = "KQXBRM"[i%6]
		case patternDigit:
			out[i] = "407296"[i%6]
		}
	}
	return string(out)
}

// PatternParams is the canonical text of the field's pattern, as clauses hold it.
func (f *Field) PatternParams() string { return "pattern=" + f.Pattern }

// patternForms are the patterns that operations bring.
func patternForms() []string {
	return []string{"AAA-999", "AA-9999", "A-99999", "999-AAA", "AA-99-AA", "AA9999", "9999-AA", "A99-999-A", "AAAA-99"}
}

// maxCode is the length up to which a text is likely to be a code or a number rather than words.
const maxCode = 20

// enumerateSetPattern offers two drawn patterns for every code-like string without one and without limits of length.
func enumerateSetPattern(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type != String || f.Pattern != "" || f.MinLen != nil || f.MaxLen != nil {
			return
		}
		if high := x.hint(e, f).high; high == 0 || high > maxCode {
			return
		}
		forms := patternForms()
		r := x.stream(f.UID)
		r.Shuffle(len(forms), func(i, j int) { forms[i], forms[j] = forms[j], forms[i] })
		for _, p := range forms[:2] {
			c := *f
			c.Pattern = p
			x.addChanged(c, map[string]string{"field": f.UID, "pattern": p})
		}
	})
}

func applySetPattern(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != String || f.Pattern != "" {
		return fmt.Errorf("%s.%s is no string or has a pattern", e.Name, f.Name)
	}
	if p["pattern"] == "" {
		return errors.New("no pattern")
	}
	f.Pattern = p["pattern"]
	return nil
}

func titleSetPattern(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "pattern"
	}
	return fmt.Sprintf("%s.%s: form %s", e.Name, f.Name, p["pattern"])
}

func enumerateDropPattern(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Pattern != "" {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

func applyDropPattern(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Pattern == "" {
		return fmt.Errorf("%s.%s has no pattern", e.Name, f.Name)
	}
	f.Pattern = ""
	return nil
}

// titleOfField makes the title of an operation that is about one field and has no other parameter worth naming.
func titleOfField(what string) func(*Schema, map[string]string) string {
	return func(s *Schema, p map[string]string) string {
		e, f := s.FieldByUID(p["field"])
		if f == nil {
			return what
		}
		return fmt.Sprintf("%s.%s: %s", e.Name, f.Name, what)
	}
}

// enumerateChangeLength offers stricter limits where there are some: a higher lower end, a lower upper end, or both ends
// moved up, which accepts what was too long and refuses what was short enough.
func enumerateChangeLength(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.MinLen == nil && f.MaxLen == nil {
			return
		}
		step := 1 + x.stream(f.UID).IntN(4)
		offer := func(low, high *int) {
			c := *f
			c.MinLen, c.MaxLen = low, high
			x.addChanged(c, map[string]string{"field": f.UID, "min": intText(low), "max": intText(high)})
		}
		if f.MinLen != nil {
			offer(ptr(*f.MinLen+step), f.MaxLen)
		}
		if f.MaxLen != nil {
			offer(f.MinLen, ptr(*f.MaxLen-step))
		}
		if f.MinLen != nil && f.MaxLen != nil {
			offer(ptr(*f.MinLen+step), ptr(*f.MaxLen+step))
		}
	})
}

// enumerateDropLimits offers the strings, numbers and dates with limits.
func enumerateDropLimits(length bool) func(x *enumeration) {
	return func(x *enumeration) {
		x.eachField(func(_ *Entity, f *Field) {
			has := f.Min != nil || f.Max != nil
			if length {
				has = f.MinLen != nil || f.MaxLen != nil
			}
			if has {
				x.add(map[string]string{"field": f.UID})
			}
		})
	}
}

func applyDropRange(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Min == nil && f.Max == nil {
		return fmt.Errorf("%s.%s has no range", e.Name, f.Name)
	}
	f.Min, f.Max = nil, nil
	return nil
}

func applyDropLength(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.MinLen == nil && f.MaxLen == nil {
		return fmt.Errorf("%s.%s has no limits of length", e.Name, f.Name)
	}
	f.MinLen, f.MaxLen = nil, nil
	return nil
}
