package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestNullCounts checks the null distributions: closed counts, R psignrank and
// qsignrank, a rational oracle (testdata/wilcoxon_null.json).
func TestNullCounts(t *testing.T) {
	for _, c := range golden(t, "wilcoxon_null.json", 18, "null_counts", "null_counts_doubled") {
		var in struct {
			N       int
			Doubled []int64 `json:"doubled_ranks"`
		}
		decode(t, c.Input, &in)
		var want struct {
			Counts []any
			Total  any
		}
		decode(t, c.Expected, &want)
		ranks := in.Doubled
		for i := range in.N {
			ranks = append(ranks, int64(i+1))
		}
		total := int64(0)
		for _, a := range ranks {
			total += a
		}
		got := make([]uint64, total+1)
		shiftAll(got, ranks, 1)
		if len(got) != len(want.Counts) {
			t.Fatalf("%s: %d counts, want %d", c.ID, len(got), len(want.Counts))
		}
		sum := uint64(0)
		for s, v := range got {
			sum += v
			if fmt.Sprint(v) != countText(want.Counts[s]) {
				t.Errorf("%s: count of %d = %d, want %v", c.ID, s, v, want.Counts[s])
			}
		}
		if fmt.Sprint(sum) != countText(want.Total) {
			t.Errorf("%s: total %d, want %v", c.ID, sum, want.Total)
		}
	}
}

// countText writes a count that is a JSON number or a string.
func countText(v any) string {
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.0f", f)
	}
	return v.(string)
}

func TestNullCDF(t *testing.T) {
	for _, c := range golden(t, "wilcoxon_null.json", 11, "signrank_cdf") {
		var in struct{ N, W int }
		decode(t, c.Input, &in)
		var want struct {
			CDF    float64
			LogCDF float64 `json:"log_cdf"`
		}
		decode(t, c.Expected, &want)
		ranks := make([]int64, in.N)
		for i := range ranks {
			ranks[i] = int64(i + 1)
		}
		tol := 1e-12
		if in.N >= 500 { // R only there
			tol = 1e-9
		}
		x := signTails(ranks, int64(in.W), int64(in.N)*int64(in.N+1)/2)
		near(t, c.ID, x.lower, want.CDF, tol)
		near(t, c.ID+" log", math.Log(x.lower), want.LogCDF, tol)
	}
}

func TestNullQuantiles(t *testing.T) {
	c := golden(t, "wilcoxon_null.json", 1, "signrank_quantiles")[0]
	var want struct{ Rows []map[string]float64 }
	decode(t, c.Expected, &want)
	if len(want.Rows) == 0 {
		t.Fatal("no rows")
	}
	for _, row := range want.Rows {
		n := int(row["n"])
		counts := untiedCounts(n, n*(n+1)/2)
		for key, q := range row {
			level, ok := map[string]float64{"q05": 0.05, "q025": 0.025, "q01": 0.01, "q005": 0.005}[key]
			if !ok {
				if !strings.HasPrefix(key, "q") {
					continue
				}
				t.Fatalf("unknown key %q", key)
			}
			// R's quantile: the smallest w with P(W <= w) >= level.
			sum, w := 0.0, 0
			for w = range counts {
				if sum += counts[w]; math.Ldexp(sum, -n) >= level {
					break
				}
			}
			if w != int(q) {
				t.Errorf("n %d %s = %d, want %v", n, key, w, q)
			}
		}
	}
}

func TestMinAttainable(t *testing.T) {
	c := golden(t, "wilcoxon_null.json", 1, "min_attainable_p")[0]
	var want struct {
		Rows []struct {
			M    int     `json:"m_nonzero"`
			Two  float64 `json:"min_two_sided"`
			One  float64 `json:"min_one_sided"`
			Most int     `json:"max_tests_holm_05"`
		}
	}
	decode(t, c.Expected, &want)
	for _, row := range want.Rows {
		near(t, fmt.Sprintf("two-sided, m %d", row.M), minSignP(row.M, TwoSided), row.Two, 1e-15)
		near(t, fmt.Sprintf("one-sided, m %d", row.M), minSignP(row.M, Greater), row.One, 1e-15)
		if row.Most > 0 && needNonZero(row.Most, 0.05, Holm) > row.M {
			t.Errorf("m %d cannot serve %d tests", row.M, row.Most)
		}
		if needNonZero(row.Most+1, 0.05, Holm) <= row.M {
			t.Errorf("m %d serves %d tests, too many", row.M, row.Most+1)
		}
	}
}

func TestNeedNonZero(t *testing.T) {
	c := golden(t, "wilcoxon_null.json", 1, "holm_feasibility")[0]
	var want struct {
		Rows []struct {
			Tests int
			Two   int `json:"two_sided"`
		}
	}
	decode(t, c.Expected, &want)
	for _, row := range want.Rows {
		if got := needNonZero(row.Tests, 0.05, Holm); got != row.Two {
			t.Errorf("%d tests need %d non-zero differences, want %d", row.Tests, got, row.Two)
		}
	}
}
