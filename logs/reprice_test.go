package logs

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReprice(t *testing.T) {
	p, err := ParsePrices("test", []byte(`
- {model: m-0601, from: 2026-01-01, usd_per_mtok: {input: 10, cached: 1, output: 100}}
- {model: m-0601, from: 2026-06-01, usd_per_mtok: {input: 20, cached: 2, output: 200}}
- {model: always, usd_per_mtok: {input: 1, output: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	n := func(v int64) *int64 { return &v }
	one, old, returned := 1, 99.0, "m-0601"
	yes, host, again, clean := true, "host", "process_retry", "clean"
	may, june := day("2026-05-31"), day("2026-06-02")
	tokens := func(in, cached, out int64) Tokens {
		return Tokens{Input: n(in), Cached: n(cached), Output: n(out)}
	}
	attempt := func(id string, t Tokens) AttemptRow {
		return AttemptRow{Episode: id, Attempt: &one, Passed: &yes, Completion: &clean, Tokens: t, CostUSD: &old}
	}
	const m = 1_000_000
	void, retried := attempt("a", tokens(m, 0, 0)), attempt("a", tokens(m, m, 0))
	void.Attempt, void.VoidReason = nil, &host
	retried.Attempt, retried.VoidReason = nil, &again
	tab := &Tables{
		Episodes: []EpisodeRow{
			{Episode: "a", Model: "m", ModelReturned: &returned, Started: &may, CostUSD: &old, WastedUSD: &old, Tokens: tokens(1, 1, 1)},
			{Episode: "b", Model: "m", Started: &june, CostUSD: &old, Tokens: tokens(1, 0, 1)},
			{Episode: "c", Model: "n", Started: &june, CostUSD: &old, Tokens: tokens(1, 0, 1)},
			{Episode: "d", Model: "always", CostUSD: &old, Tokens: tokens(m, 0, m)},
			{Episode: "e", Model: "always", CostUSD: &old, WastedTokens: n(1)},
		},
		Attempts: []AttemptRow{
			attempt("a", tokens(m, m, m)), void, retried, {Episode: "a", Attempt: &one},
			attempt("b", tokens(m, 0, 0)), attempt("c", tokens(m, 0, 0)),
		},
	}
	names := func(model string) []string {
		if model == "m" {
			return []string{"nobody", "m-0601"}
		}
		return nil
	}
	got := tab.Reprice(p, names)
	want := []PricedModel{
		{Model: "always", As: []string{"always"}, Episodes: 2, Known: 1, Uncount: 1},
		{Model: "m", As: []string{"m-0601"}, Episodes: 2, Known: 2},
		{Model: "n", Days: []string{"2026-06-02", "2026-06-02"}, Episodes: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("models (-want +got):\n%s", d)
	}
	const unknown = -1 // the last one wasted tokens in a journal that was not taken
	for i, w := range []struct{ cost, wasted float64 }{{10 + 1 + 100 + 10 + 1, 10}, {20, 0}, {unknown, 0}, {2, unknown}, {unknown, unknown}} {
		e := &tab.Episodes[i]
		for what, c := range map[string]struct {
			got  *float64
			want float64
		}{"cost": {e.CostUSD, w.cost}, "wasted": {e.WastedUSD, w.wasted}} {
			if (c.got == nil) != (c.want == unknown) || c.got != nil && math.Abs(*c.got-c.want) > 1e-9 {
				t.Errorf("%s of %s is %v, want %v", what, e.Episode, c.got, c.want)
			}
		}
	}
	if a := &tab.Attempts[5]; a.CostUSD != nil {
		t.Errorf("an attempt of a model without a price costs %v", *a.CostUSD)
	}
}
