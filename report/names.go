package report

import (
	"regexp"
	"slices"
	"sort"
	"strings"
)

// retryPart is the budget in a configuration's name, derived ones ("r10@2") included.
var retryPart = regexp.MustCompile(`^r[0-9]+(@[0-9]+)?$`)

// ParseConfig splits a name of the form MODEL+HARNESS/FEEDBACK/rK[/key=value…] into its factors: model, harness,
// feedback, retries, and one per further key. ok is false for any other name.
func ParseConfig(name string) (factors map[string]string, ok bool) {
	parts, ok := splitConfig(name)
	if !ok {
		return nil, false
	}
	factors = make(map[string]string, len(parts))
	for i, p := range parts {
		factors[p.key] = p.value
		if i > 3 {
			factors[p.key] = strings.TrimPrefix(p.value, p.key+"=")
		}
	}
	factors["retries"] = strings.TrimPrefix(factors["retries"], "r")
	return factors, true
}

// A namePart is one part of a configuration's name, as it is written there.
type namePart struct{ key, value string }

// splitConfig returns the parts of a configuration's name in their order.
func splitConfig(name string) ([]namePart, bool) {
	plus := strings.IndexByte(name, '+')
	if plus <= 0 {
		return nil, false
	}
	rest := strings.Split(name[plus+1:], "/")
	at := slices.IndexFunc(rest, retryPart.MatchString)
	if at < 2 {
		return nil, false
	}
	parts := []namePart{
		{"model", name[:plus]},
		{"harness", strings.Join(rest[:at-1], "/")},
		{"feedback", rest[at-1]},
		{"retries", rest[at]},
	}
	for _, extra := range rest[at+1:] {
		key, _, ok := strings.Cut(extra, "=")
		if !ok || key == "" || slices.ContainsFunc(parts, func(p namePart) bool { return p.key == key }) {
			return nil, false
		}
		parts = append(parts, namePart{key, extra})
	}
	return parts, true
}

// ShortNames drops from configuration names the parts that do not vary and returns them once, as common: of
// glm-5+opencode/detailed/r2 and glm-5+builtin/detailed/r2 remain opencode and builtin, and common is
// glm-5/detailed/r2. Names of another form are split at slashes if all have equally many parts, else kept.
// The short names are as distinct as the given ones; a single name stays whole.
func ShortNames(names []string) (short map[string]string, common string) {
	short = make(map[string]string, len(names))
	for _, n := range names {
		short[n] = n
	}
	if len(short) < 2 {
		return short, ""
	}
	split := make(map[string][]namePart, len(short))
	for n := range short {
		parts, ok := splitConfig(n)
		if !ok {
			split = nil
			break
		}
		split[n] = parts
	}
	if split == nil {
		if split = splitSlashes(short); split == nil {
			return short, ""
		}
	}
	constant := constantParts(split)
	seen := make(map[string]bool, len(split))
	out := make(map[string]string, len(split))
	for n, parts := range split {
		s := joinParts(parts, func(p namePart) bool { return !constant[p] })
		if s == "" || seen[s] {
			return short, ""
		}
		seen[s] = true
		out[n] = s
		common = joinParts(parts, func(p namePart) bool { return constant[p] })
	}
	return out, common
}

// splitSlashes splits names that are no configuration names of ours, or returns nil if they do not align.
func splitSlashes(names map[string]string) map[string][]namePart {
	split := make(map[string][]namePart, len(names))
	width := 0
	for n := range names {
		words := strings.Split(n, "/")
		if width == 0 {
			width = len(words)
		}
		if len(words) != width || width < 2 || slices.Contains(words, "") {
			return nil
		}
		parts := make([]namePart, len(words))
		for i, w := range words {
			parts[i] = namePart{key: "part" + string(rune('0'+min(i, 9))), value: w}
			if i > 9 {
				parts[i].key = strings.Repeat("part", i)
			}
		}
		split[n] = parts
	}
	return split
}

// constantParts returns the parts that every name has with the same value.
func constantParts(split map[string][]namePart) map[namePart]bool {
	count := make(map[namePart]int)
	for _, parts := range split {
		for _, p := range parts {
			count[p]++
		}
	}
	constant := make(map[namePart]bool)
	for p, k := range count {
		if k == len(split) {
			constant[p] = true
		}
	}
	return constant
}

// joinParts writes the parts that keep wants in the grammar of configuration names.
func joinParts(parts []namePart, keep func(namePart) bool) string {
	var b strings.Builder
	last := ""
	for _, p := range parts {
		if !keep(p) {
			continue
		}
		if b.Len() > 0 {
			if last == "model" && p.key == "harness" {
				b.WriteByte('+')
			} else {
				b.WriteByte('/')
			}
		}
		b.WriteString(p.value)
		last = p.key
	}
	return b.String()
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
