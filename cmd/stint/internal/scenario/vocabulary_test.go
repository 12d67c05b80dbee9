package scenario

import (
	"strings"
	"testing"
)

func TestVocabularyIsLargeAndClean(t *testing.T) {
	domains := vocabulary()
	if len(domains) < 12 {
		t.Errorf("%d domains, want at least 12", len(domains))
	}
	for _, d := range domains {
		t.Run(d.name, func(t *testing.T) {
			if d.about == "" || len(d.nouns) < 12 {
				t.Errorf("about %q, %d nouns, want at least 12", d.about, len(d.nouns))
			}
			names := make(map[string]bool)
			for _, n := range d.nouns {
				for _, w := range []string{n.name, n.plural} {
					if err := checkName(w); err != nil || names[w] {
						t.Errorf("noun %q: %v, seen before: %v", w, err, names[w])
					}
					names[w] = true
				}
				// A full entity must find names, and a few more for what was renamed or removed.
				if as := d.attributesFor(n.kind); len(as) < MaxFields+4 {
					t.Errorf("%d attributes for %s, want at least %d", len(as), n.name, MaxFields+4)
				}
			}
			checkAttributes(t, &d)
		})
	}
}

func checkAttributes(t *testing.T, d *domain) {
	t.Helper()
	seen := make(map[string]bool)
	for _, a := range d.attributes {
		for _, kind := range a.kinds {
			for _, w := range []string{a.name, a.alias} {
				if w == "" {
					continue
				}
				key := string(kind) + w
				if err := checkName(w); err != nil || seen[key] || strings.HasSuffix(w, "_id") {
					t.Errorf("attribute %q: %v, seen before for kind %c: %v", w, err, kind, seen[key])
				}
				seen[key] = true
			}
		}
		if a.typ == Enum {
			probe := Field{Name: a.name, Type: Enum, Required: true, Values: a.values}
			if err := probe.validate(); err != nil {
				t.Errorf("attribute %s: %v", a.name, err)
			}
		}
		if a.low > a.high {
			t.Errorf("attribute %s: %d..%d", a.name, a.low, a.high)
		}
	}
	text, err := vocabularyFiles.ReadFile("vocabulary/" + d.name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	if own, err := parseDomain(d.name, string(text)); err != nil || len(own.attributes) < 40 {
		t.Errorf("%d attributes of its own, want at least 40 (%v)", len(own.attributes), err)
	}
}

func TestParseDomainNamesTheLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"about: x\nnonsense", "line 2"},
		{"nouns p: member", "line 1"},
		{"\np enum: mood = good bad", "line 2"},
		{"p integer: age old", "line 1"},
		{"p integer: age 1..x", "line 1"},
	} {
		if _, err := parseDomain("d", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("parseDomain(%q) = %v, want an error with %q", c.text, err, c.want)
		}
	}
}
