package scenario

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A domain is the vocabulary of one field of work. What a noun stands for (its kind) decides which
// attributes suit it, so that a member has a phone number and a shelf has none.
type domain struct {
	name       string
	about      string // "a public library"
	nouns      []noun
	attributes []attribute
}

type noun struct {
	name, plural string
	kind         byte // p person, t thing, e event, l place, d document
}

type attribute struct {
	name, alias string // alias: another name for the same, "" if there is none
	kinds       string // kinds of noun that it suits
	typ         Type
	low, high   int64    // sensible values: integer, decimal (hundredths); string: lengths; 0, 0 = nothing known
	values      []string // enum, in the order in which values come into use
}

//go:embed vocabulary/*.txt
var vocabularyFiles embed.FS

// vocabulary reads the embedded domains, sorted by name; the attributes of common.txt belong to all.
var vocabulary = sync.OnceValue(func() []domain {
	entries, err := vocabularyFiles.ReadDir("vocabulary")
	if err != nil {
		panic("scenario: " + err.Error())
	}
	var domains []domain
	var common domain
	for _, entry := range entries {
		text, err := vocabularyFiles.ReadFile("vocabulary/" + entry.Name())
		if err != nil {
			panic("scenario: " + err.Error())
		}
		d, err := parseDomain(strings.TrimSuffix(entry.Name(), ".txt"), string(text))
		if err != nil {
			// The files are part of the program; a test reads them all.
			panic("scenario: " + err.Error())
		}
		if d.name == "common" {
			common = d
			continue
		}
		domains = append(domains, d)
	}
	for i := range domains {
		domains[i].addCommon(common.attributes)
	}
	return domains
})

// domainNamed returns the domain with this name, or nil.
func domainNamed(name string) *domain {
	all := vocabulary()
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// addCommon appends attributes whose names the domain does not use itself.
func (d *domain) addCommon(attributes []attribute) {
	own := len(d.attributes)
	for _, a := range attributes {
		if !slices.ContainsFunc(d.attributes[:own], func(o attribute) bool {
			return o.name == a.name || o.alias == a.name || a.alias != "" && (o.name == a.alias || o.alias == a.alias)
		}) {
			d.attributes = append(d.attributes, a)
		}
	}
}

// noun returns the noun of this name, or a thing of that name if the domain has none.
func (d *domain) noun(name string) noun {
	base := name
	for _, prefix := range namePrefixes() {
		base = strings.TrimPrefix(base, prefix)
	}
	for _, n := range d.nouns {
		if n.name == base {
			return n
		}
	}
	return noun{name: name, plural: name + "s", kind: 't'}
}

// attributesFor returns the attributes that suit a kind of noun.
func (d *domain) attributesFor(kind byte) []attribute {
	var as []attribute
	for _, a := range d.attributes {
		if strings.IndexByte(a.kinds, kind) >= 0 {
			as = append(as, a)
		}
	}
	return as
}

// attribute returns what the vocabulary knows about a field of this name (or alias) and type.
func (d *domain) attribute(name string, typ Type, kind byte) (attribute, bool) {
	for _, a := range d.attributes {
		if a.typ == typ && (a.name == name || a.alias == name) && strings.IndexByte(a.kinds, kind) >= 0 {
			return a, true
		}
	}
	return attribute{}, false
}

// parseDomain reads one vocabulary file. Its lines are
//
//	about: a public library
//	nouns KIND: NAME PLURAL; NAME PLURAL; …
//	KINDS TYPE: NAME[/ALIAS] [LOW..HIGH | = VALUE VALUE …]; …
//
// and lines that start with # are comments.
func parseDomain(name, text string) (domain, error) {
	d := domain{name: name}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		head, rest, ok := strings.Cut(line, ":")
		if !ok {
			return d, fmt.Errorf("reading vocabulary %s line %d: no colon", name, i+1)
		}
		if head == "about" {
			d.about = strings.TrimSpace(rest)
			continue
		}
		first, second, ok := strings.Cut(head, " ")
		if !ok {
			return d, fmt.Errorf("reading vocabulary %s line %d: %q is no heading", name, i+1, head)
		}
		for _, item := range strings.Split(rest, ";") {
			words := strings.Fields(item)
			if len(words) == 0 {
				continue
			}
			if first == "nouns" {
				if len(words) != 2 {
					return d, fmt.Errorf("reading vocabulary %s line %d: noun %q needs a plural", name, i+1, item)
				}
				d.nouns = append(d.nouns, noun{words[0], words[1], second[0]})
				continue
			}
			a, err := parseAttribute(first, Type(second), words)
			if err != nil {
				return d, fmt.Errorf("reading vocabulary %s line %d: %w", name, i+1, err)
			}
			d.attributes = append(d.attributes, a)
		}
	}
	return d, nil
}

func parseAttribute(kinds string, typ Type, words []string) (attribute, error) {
	a := attribute{kinds: kinds, typ: typ}
	a.name, a.alias, _ = strings.Cut(words[0], "/")
	rest := words[1:]
	if typ == Enum {
		if len(rest) < 4 || rest[0] != "=" {
			return a, fmt.Errorf("attribute %s needs = and at least three values", a.name)
		}
		a.values = rest[1:]
		return a, nil
	}
	if len(rest) == 0 {
		return a, nil
	}
	low, high, ok := strings.Cut(rest[0], "..")
	if !ok || len(rest) > 1 {
		return a, fmt.Errorf("attribute %s: %q is no range", a.name, strings.Join(rest, " "))
	}
	var err error
	if a.low, err = strconv.ParseInt(low, 10, 64); err != nil {
		return a, fmt.Errorf("attribute %s: %w", a.name, err)
	}
	if a.high, err = strconv.ParseInt(high, 10, 64); err != nil {
		return a, fmt.Errorf("attribute %s: %w", a.name, err)
	}
	if typ == Decimal {
		a.low, a.high = a.low*100, a.high*100
	}
	return a, nil
}
