package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func day(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

func TestCost(t *testing.T) {
	p, err := ParsePrices("test", []byte(`
name: test
prices:
  - {model: a, from: 2026-01-01, usd_per_mtok: {input: 3, output: 15}}
  - {model: b, from: 2026-01-01, usd_per_mtok: {input: 5, output: 30}}
  - {model: c, from: 2026-01-01, usd_per_mtok: {input: 1, cached: 0.1, cache_write: 1.25, output: 4}}
  - {model: c, from: 2026-06-01, usd_per_mtok: {input: 2, cached: 0.2, cache_write: 2.5, output: 8}}
  - {model: free, usd_per_mtok: {input: 0, cached: 0, output: 0}}
`))
	if err != nil {
		t.Fatal(err)
	}
	n := func(v int64) *int64 { return &v }
	big := Usage{In: n(4_500_000_000), Out: n(7_500_000)}
	mixed := Usage{In: n(1_000_000), Cached: n(2_000_000), CacheWrite: n(400_000), Out: n(500_000), Reasoning: n(300_000)}
	check := func(what, model, when string, u Usage, usd, noCache float64) {
		t.Helper()
		got, plain := p.Cost(model, day(when), u)
		for _, c := range []struct {
			kind string
			got  *float64
			want float64
		}{{"cost", got, usd}, {"cost without cache", plain, noCache}} {
			switch {
			case c.want < 0 && c.got != nil:
				t.Errorf("%s: %s is %v, want unknown", what, c.kind, *c.got)
			case c.want >= 0 && (c.got == nil || abs(*c.got-c.want) > 1e-9):
				t.Errorf("%s: %s is %v, want %v", what, c.kind, c.got, c.want)
			}
		}
	}
	const unknown = -1
	// 4,500 × $3 + 7.5 × $15 and 4,500 × $5 + 7.5 × $30.
	check("$3/$15", "a", "2026-02-01", big, 13_612.50, 13_612.50)
	check("$5/$30", "b", "2026-02-01", big, 22_725, 22_725)
	check("all kinds", "c", "2026-05-31", mixed, 1+0.2+0.5+2, 3.4+2)
	check("later price", "c", "2026-06-01", mixed, 2+0.4+1+4, 6.8+4)
	check("before the first price", "c", "2025-12-31", mixed, unknown, unknown)
	check("unknown model", "z", "2026-02-01", big, unknown, unknown)
	check("no count", "a", "2026-02-01", Usage{In: n(5)}, unknown, unknown)
	check("no cached price", "a", "2026-02-01", mixed, unknown, 3*3.4+15*0.5)
	check("no cached tokens", "a", "2026-02-01", Usage{In: n(1_000_000), Cached: n(0), Out: n(0)}, 3, 3)
	check("free", "free", "1999-01-01", big, 0, 0)
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

func TestBuiltinPrices(t *testing.T) {
	p := BuiltinPrices()
	if p.Name() != "builtin-2025-08" || !p.Known("gpt-4.1", day("2026-11-29")) || p.Known("glm-5", day("2026-11-29")) {
		t.Errorf("table %s", p.Name())
	}
}

func TestLoadPrices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# only a list\n- {model: m, from: 2026-06-01, usd_per_mtok: {input: 1.0, output: 3.2}, source: \"https://example.com\"}\n")
	p, err := LoadPrices(path)
	if err != nil || !p.Known("m", day("2026-06-01")) || !strings.HasPrefix(p.Name(), "sha256:") {
		t.Errorf("%v %v", p, err)
	}
	again, err := ParsePrices("copy", p.YAML())
	if err != nil || again.Name() != p.Name() {
		t.Errorf("the kept table differs: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{"- {model: m, form: 2026-06-01}", "unknown field \"form\""},
		{"- {model: m, from: June}", `entry 1: from of m is no day: "June"`},
		{"- {from: 2026-06-01}", "entry 1: model is missing"},
		{"- {model: m, usd_per_mtok: {input: -1}}", "price of m is no amount"},
		{"- {model: m, usd_per_mtok: {input: .nan}}", "price of m is no amount"},
		{"- {model: m}\n- {model: m}", ":2: entry 2: m has two prices"},
		{"name: x\nprices:\n  - {model: m}\n\n  - model: n\n    usd_per_mtok: {output: -1}", ":5: entry 2: price of n is no amount"},
		{"prices: 3", "prices"},
	} {
		write(c.text)
		_, err := LoadPrices(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := LoadPrices(path + ".none"); err == nil {
		t.Error("a missing file was read")
	}
}
