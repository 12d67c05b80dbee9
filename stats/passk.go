package stats

import (
	"fmt"
	"math/big"
)

// A PassCount holds the repeats of one scenario and how many succeeded. What
// success means (all turns, or turn t) is the caller's choice.
type PassCount struct {
	Scenario     string
	Runs, Passed int
}

// PassKResult is the chance of k fresh repeats, estimated without bias.
type PassKResult struct {
	K          int
	Any        float64  // pass@k: at least one of k passes (Chen et al. 2021)
	All        float64  // pass^k: all k pass (Yao et al. 2024)
	ExactAny   *big.Rat // the same as fractions; nil if not Defined
	ExactAll   *big.Rat
	AnyCI      Interval // bootstrap over scenarios; from [PassKOver] only
	AllCI      Interval
	Scenarios  int
	Defined    bool // false where k exceeds the runs of a scenario
	Reason     string
	ShortNames []string // scenarios with fewer than k runs
}

// PassK returns pass@k = 1 - C(n-c, k)/C(n, k) and pass^k = C(c, k)/C(n, k) of
// one scenario with c passes in n runs. It is undefined for k > n.
func PassK(n, c, k int) (PassKResult, error) {
	const most = 100000
	if n < 1 || n > most || c < 0 || c > n || k < 1 {
		return PassKResult{}, fmt.Errorf("pass@%d of %d passes in %d runs", k, c, n)
	}
	r := PassKResult{K: k, Scenarios: 1}
	if k > n {
		r.Reason = fmt.Sprintf("%s cannot tell about %d", countOf(n, "run", "runs"), k)
		return r, nil
	}
	all := new(big.Int).Binomial(int64(n), int64(k))
	none := new(big.Int).Binomial(int64(n-c), int64(k))
	every := new(big.Int).Binomial(int64(c), int64(k))
	r.ExactAny = new(big.Rat).SetFrac(new(big.Int).Sub(all, none), all)
	r.ExactAll = new(big.Rat).SetFrac(every, all)
	r.Any, _ = r.ExactAny.Float64()
	r.All, _ = r.ExactAll.Float64()
	r.Defined = true
	return r, nil
}

// PassKOver is the mean of [PassK] over scenarios, with bootstrap intervals over
// scenarios. It is undefined if a scenario has fewer than k runs; leaving such
// scenarios out would choose the scenarios by their runs.
func PassKOver(counts []PassCount, k int, opt BootstrapOptions) (PassKResult, error) {
	if len(counts) == 0 {
		return PassKResult{}, fmt.Errorf("pass@%d of no scenarios", k)
	}
	r := PassKResult{K: k, Scenarios: len(counts), ExactAny: new(big.Rat), ExactAll: new(big.Rat)}
	seen := make(map[string]bool, len(counts))
	var anyOf, allOf []float64
	for _, c := range counts {
		if seen[c.Scenario] {
			return PassKResult{}, fmt.Errorf("pass@%d: scenario %q occurs twice", k, c.Scenario)
		}
		seen[c.Scenario] = true
		one, err := PassK(c.Runs, c.Passed, k)
		if err != nil {
			return PassKResult{}, fmt.Errorf("scenario %q: %w", c.Scenario, err)
		}
		if !one.Defined {
			r.ShortNames = append(r.ShortNames, c.Scenario)
			continue
		}
		r.ExactAny.Add(r.ExactAny, one.ExactAny)
		r.ExactAll.Add(r.ExactAll, one.ExactAll)
		anyOf, allOf = append(anyOf, one.Any), append(allOf, one.All)
	}
	if n := len(r.ShortNames); n > 0 {
		r.ExactAny, r.ExactAll = nil, nil
		r.Reason = fmt.Sprintf("%s fewer than %d runs: %s", countOf(n, "scenario has", "scenarios have"), k, quoteSome(r.ShortNames))
		return r, nil
	}
	share := big.NewRat(1, int64(len(counts)))
	r.ExactAny.Mul(r.ExactAny, share)
	r.ExactAll.Mul(r.ExactAll, share)
	r.Any, _ = r.ExactAny.Float64()
	r.All, _ = r.ExactAll.Float64()
	for _, x := range []struct {
		values []float64
		into   *Interval
	}{{anyOf, &r.AnyCI}, {allOf, &r.AllCI}} {
		b, err := BootstrapMean(x.values, opt)
		if err != nil {
			return PassKResult{}, fmt.Errorf("pass@%d: %w", k, err)
		}
		*x.into = b.Interval
	}
	r.Defined = true
	return r, nil
}
