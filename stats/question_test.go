package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stint-bench/stint/stats"
)

// outcomes gives the n-th scenario the n-th number of turns.
func outcomes(limit float64, turns ...float64) []stats.Outcome {
	var o []stats.Outcome
	for i, v := range turns {
		x := stats.Outcome{Scenario: fmt.Sprintf("s%02d", i), Value: v}
		if v == limit {
			x.Status = stats.Capped
		}
		o = append(o, x)
	}
	return o
}

// simulated draws runs that fail with a constant rate in each scenario, which
// pass the given number of turns on average.
func simulated(mean float64, n int, seed uint64) []stats.Outcome {
	const sd, limit = 0.5, 100
	success, err := stats.SuccessForMean(mean, sd, limit)
	if err != nil {
		panic(err)
	}
	scenario := rand.New(rand.NewPCG(1, 1)) // the same scenarios for all
	run := rand.New(rand.NewPCG(seed, 2))
	var turns []float64
	for range n {
		x := math.Log(success/(1-success)) + sd*scenario.NormFloat64()
		p := 1 / (1 + math.Exp(-x))
		turns = append(turns, math.Min(limit, math.Floor(math.Log(1-run.Float64())/math.Log(p))))
	}
	return outcomes(limit, turns...)
}

// Could anything in this study have been significant? Ask before running it.
func Example_couldAnyPairBeSignificant() {
	for _, n := range []int{10, 20} {
		a, err := stats.Attainable(n, 325, 0.05)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d scenarios: smallest p %s, times 325 pairs %.2g, possible: %v (it takes %d pairs that are not level)\n",
			n, stats.FormatP(a.MinP), a.Adjusted, a.Possible, a.Need)
	}
	// Output:
	// 10 scenarios: smallest p 0.0020, times 325 pairs 0.63, possible: false (it takes 14 pairs that are not level)
	// 20 scenarios: smallest p 1.9e-06, times 325 pairs 0.00062, possible: true (it takes 14 pairs that are not level)
}

// A run was stopped by the operator after 31 turns. Is the pair lost?
func Example_whatIfARunWasStopped() {
	a := outcomes(101, 31, 44, 12, 60, 25, 18, 71, 33, 9, 40)
	b := outcomes(101, 5, 7, 12, 11, 4, 2, 15, 6, 12, 8)
	a[0].Status = stats.Stopped
	r, err := stats.ComparePair(a, b, stats.ComparePairOptions{Cap: 101})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: p = %s\n", r.TestName, stats.FormatP(r.P))
	fmt.Printf("whatever the stopped run had done, signed rank p is between %s and %s\n", stats.FormatP(r.Bounds[0]), stats.FormatP(r.Bounds[1]))
	fmt.Printf("ahead %d, level %d, behind %d, undecided %d; sign test of the known orders p = %s\n", r.Ahead, r.Level, r.Behind, r.Undecided, stats.FormatP(r.Sign.P))
	// Output:
	// exact paired Prentice-Wilcoxon: p = 0.0078
	// whatever the stopped run had done, signed rank p is between 0.0078 and 0.0078
	// ahead 8, level 1, behind 1, undecided 0; sign test of the known orders p = 0.0391
}

// One run with ten retries tells what every smaller budget would have reached.
func Example_wouldMoreRetriesHelp() {
	rng := rand.New(rand.NewPCG(5, 5))
	var runs []stats.Run
	for i := range 20 {
		x := stats.Run{Scenario: fmt.Sprintf("s%02d", i)}
		for len(x.Attempts) < 101 {
			used := 1 + int(rng.ExpFloat64()/1.4)
			if used > 5 {
				break // failed at the full budget of four retries
			}
			x.Attempts = append(x.Attempts, used)
		}
		if len(x.Attempts) == 101 {
			x.Status = stats.Capped
		}
		runs = append(runs, x)
	}
	c, err := stats.Retry(runs, stats.RetryOptions{R: 4, Cap: 101})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range c.Points {
		fmt.Printf("budget %d: %.1f turns (%.1f to %.1f; all budgets at once %.1f to %.1f), gain %.1f\n",
			p.R, p.Mean, p.Interval.Lo, p.Interval.Hi, p.Band.Lo, p.Band.Hi, p.Gain)
	}
	fmt.Printf("%s: the last retry may still be worth %.0f turns\n", c.Plateau.Decision, c.Plateau.Upper[3])
	// Output:
	// budget 0: 3.2 turns (1.9 to 5.9; all budgets at once 1.1 to 5.4), gain 0.0
	// budget 1: 14.6 turns (9.3 to 23.1; all budgets at once 6.7 to 22.5), gain 11.3
	// budget 2: 41.2 turns (28.6 to 55.3; all budgets at once 25.3 to 57.1), gain 26.6
	// budget 3: 77.1 turns (56.0 to 92.7; all budgets at once 55.8 to 98.4), gain 35.9
	// budget 4: 96.8 turns (76.1 to 101.0; all budgets at once 86.6 to 101.0), gain 19.8
	// rising: the last retry may still be worth 38 turns
}

// What difference can 20 scenarios show, and what can they not?
func Example_howManyScenariosDoINeed() {
	success, err := stats.SuccessForMean(28.4, 0.5, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := stats.PowerModel{SuccessA: success, ScenarioSD: 0.5, Cap: 100}
	for _, plan := range []stats.StudyPlan{{Scenarios: 20}, {Scenarios: 80}, {Scenarios: 20, Tests: 325}, {Scenarios: 10, Tests: 325}} {
		r, err := stats.MDE(m, plan, 0.8)
		if err != nil {
			fmt.Println(err)
			return
		}
		if !r.Defined {
			fmt.Printf("%d scenarios, family of %d: %s\n", plan.Scenarios, max(plan.Tests, 1), r.Reason)
			continue
		}
		fmt.Printf("%d scenarios, family of %d: %.0f turns become %.0f (times %.1f)\n", plan.Scenarios, max(plan.Tests, 1), r.Baseline, r.Mean, r.Ratio)
	}
	// Output:
	// 20 scenarios, family of 1: 28 turns become 58 (times 2.0)
	// 80 scenarios, family of 1: 28 turns become 41 (times 1.5)
	// 20 scenarios, family of 325: 28 turns become 86 (times 3.0)
	// 10 scenarios, family of 325: nothing can be significant: the smallest p of 10 scenarios is 0.0020, the family needs 14 pairs that are not level
}

// Is it better to run the same scenarios again or to write new ones?
func Example_areRepeatsWorthScenarios() {
	var o []stats.Outcome
	for s, turns := range [][]float64{{4, 9}, {30, 22}, {11, 7}, {51, 70}, {16, 25}, {3, 3}} {
		for k, v := range turns {
			o = append(o, stats.Outcome{Scenario: fmt.Sprint(s), Replicate: k, Value: v})
		}
	}
	v, err := stats.VarianceSplit(o, 101)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f %% of the variance lies between scenarios\n", 100*v.ICC)
	fmt.Printf("20 scenarios with 3 runs are worth %.0f scenarios with one\n", v.WorthOf(20, 3))
	// Output:
	// 90 % of the variance lies between scenarios
	// 20 scenarios with 3 runs are worth 21 scenarios with one
}

// Who is best, and how sure is that?
func Example_howSureIsTheRanking() {
	configs := []stats.Configuration{
		{Name: "plain", Outcomes: simulated(10, 20, 10)},
		{Name: "tests", Outcomes: simulated(30, 20, 11)},
		{Name: "tests and diff", Outcomes: simulated(34, 20, 12)},
	}
	r, err := stats.ResampleScenarios(configs, stats.ResampleOptions{Cap: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	ranks, err := r.Ranks(0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, x := range ranks {
		fmt.Printf("%-14s %.1f turns, rank %v (%d to %d)\n", x.Name, r.Means[i], x.Rank, x.Lo, x.Hi)
	}
	all, err := stats.Pairwise(configs, stats.PairwiseOptions{Cap: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range all.Groups {
		fmt.Print(g.Letter, ":")
		for _, c := range g.Members {
			fmt.Print(" ", configs[c].Name, ",")
		}
		fmt.Println(" not told apart")
	}
	// Output:
	// plain          10.0 turns, rank 3 (3 to 3)
	// tests          25.2 turns, rank 2 (1 to 2)
	// tests and diff 30.4 turns, rank 1 (1 to 2)
	// a: tests and diff, tests, not told apart
	// b: tests, plain, not told apart
}

// What ends the runs: wrong code, or the agent's own tooling?
func Example_whatEndsTheRuns() {
	const code, tooling = 1, 2
	turns := []float64{3, 5, 5, 8, 8, 8, 12, 15, 15, 20, 20, 33, 40, 101, 101}
	cause := []int{code, tooling, code, tooling, tooling, code, 0, code, tooling, code, code, tooling, code, 0, 0}
	r, err := stats.CumulativeIncidence(turns, cause, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range []float64{10, 100} {
		fmt.Printf("by turn %.0f: code %.0f %%, tooling %.0f %%\n", t, 100*r.At(code, t), 100*r.At(tooling, t))
	}
	// Output:
	// by turn 10: code 20 %, tooling 20 %
	// by turn 100: code 50 %, tooling 35 %
}

// Do agents tire? The failure rate per turn, in windows of turns.
func Example_doesTheFailureRateChange() {
	r, err := stats.Hazards(simulated(30, 60, 3), stats.HazardOptions{Cap: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range r.Windows {
		fmt.Printf("turns %d to %d: %.1f %% (%.1f to %.1f)\n", w.From, w.To, 100*w.Rate, 100*w.Interval.Lo, 100*w.Interval.Hi)
	}
	fmt.Printf("constant rate %.1f %%, which would mean %.1f turns; p of a constant rate %s\n", 100*r.Pooled, r.ImpliedMean, stats.FormatP(r.P))
	// Output:
	// turns 0 to 0: 5.0 % (1.0 to 13.9)
	// turns 1 to 5: 3.4 % (1.6 to 6.4)
	// turns 6 to 20: 3.9 % (2.5 to 5.9)
	// turns 21 to 50: 2.9 % (1.6 to 4.7)
	// turns 51 to 100: 1.8 % (0.6 to 3.8)
	// constant rate 3.2 %, which would mean 29.4 turns; p of a constant rate 0.378
}

// Two people labelled the same failures. Can the labels be trusted?
func Example_doTwoLabellersAgree() {
	first := []string{"spec", "spec", "env", "regress", "spec", "tool", "regress", "spec", "env", "spec"}
	second := []string{"spec", "spec", "env", "spec", "spec", "tool", "regress", "spec", "tool", "spec"}
	labels, table, err := stats.Confusion(first, second)
	if err != nil {
		fmt.Println(err)
		return
	}
	k, err := stats.CohenKappa(table, stats.Unweighted, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	var units [][]string
	for i := range first {
		units = append(units, []string{first[i], second[i]})
	}
	a, err := stats.KrippendorffLabels(units, stats.AlphaOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("agreement %.0f %%, kappa %.2f (%.2f to %.2f), alpha %.2f\n", 100*k.Observed, k.Kappa, k.Interval.Lo, k.Interval.Hi, a.Alpha)
	for i, name := range labels {
		fmt.Printf("%s %.0f %% of labels\n", name, 100*k.Prevalence[i])
	}
	// Output:
	// agreement 80 %, kappa 0.69 (0.33 to 1.00), alpha 0.70
	// env 15 % of labels
	// regress 15 % of labels
	// spec 55 % of labels
	// tool 15 % of labels
}

// It passed 7 of 10 times. Will it pass every time?
func Example_willItPassEveryTime() {
	r, err := stats.PassK(10, 7, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("one of four passes: %.2f (%s); all four pass: %.2f (%s)\n", r.Any, r.ExactAny.RatString(), r.All, r.ExactAll.RatString())
	// Output:
	// one of four passes: 1.00 (1); all four pass: 0.17 (1/6)
}

// Do the shares of full passes differ on the same scenarios?
func Example_doSharesDiffer() {
	r, err := stats.McNemar(9, 1) // 9 scenarios only A passed, 1 only B
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("exact p = %s, mid-p = %s\n", stats.FormatP(r.P), stats.FormatP(r.MidP))
	w := stats.Wilson(12, 20, 0.95)
	fmt.Printf("12 of 20 passed: %.0f %% to %.0f %%\n", 100*w.Lo, 100*w.Hi)
	// Output:
	// exact p = 0.0215, mid-p = 0.0117
	// 12 of 20 passed: 39 % to 78 %
}

// Two budgets derived from the same runs: which p is that?
func Example_canTwoBudgetsOfOneRunBeTested() {
	err := stats.CheckNested("R=2 - R=10", []string{"e1", "e2"}, []string{"e1", "e2"})
	fmt.Println(err)
	// Output:
	// testing R=2 - R=10 (NESTED): 2 runs are on both sides, such as "e1"; results derived from the same runs cannot be tested against each other: report the gain with its interval
}

// Published means 57.0 and 39.4 turns over 20 scenarios: which statements can
// such data carry?
func Example_canThePaperSayThis() {
	pairs, found := 40, 0
	for i := range pairs {
		a, b := simulated(57.0, 20, uint64(100+i)), simulated(39.4, 20, uint64(200+i))
		r, err := stats.ComparePair(a, b, stats.ComparePairOptions{Cap: 100})
		if err != nil {
			fmt.Println(err)
			return
		}
		if r.P <= 0.05 {
			found++
		}
	}
	fmt.Printf("57.0 against 39.4 turns: p <= 0.05 in %d of %d simulated studies\n", found, pairs)
	success, err := stats.SuccessForMean(39.4, 0.5, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	better, err := stats.SuccessForMean(57.0, 0.5, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []int{20, 60, 100} {
		p, err := stats.PowerSim(stats.PowerModel{SuccessA: success, SuccessB: better, ScenarioSD: 0.5, Cap: 100}, stats.StudyPlan{Scenarios: n})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d scenarios: power %.2f\n", n, p.Power)
	}
	all, err := stats.SignTest(26, 0, stats.TwoSided)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("26 of 26 improved: p = %s\n", stats.FormatP(all.P))
	six, err := stats.SignTest(6, 1, stats.TwoSided)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("6 of 7: p = %s\n", stats.FormatP(six.P))
	for _, p := range []float64{0.014, 0.011} {
		f, err := stats.Adjust([]float64{p, p}, stats.Holm)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("p = %v holds in a family of up to %d tests; of two it becomes %s\n", p, int(0.05/p), stats.FormatP(f[0]))
	}
	// Output:
	// 57.0 against 39.4 turns: p <= 0.05 in 14 of 40 simulated studies
	// 20 scenarios: power 0.36
	// 60 scenarios: power 0.81
	// 100 scenarios: power 0.96
	// 26 of 26 improved: p = 3.0e-08
	// 6 of 7: p = 0.125
	// p = 0.014 holds in a family of up to 3 tests; of two it becomes 0.0280
	// p = 0.011 holds in a family of up to 4 tests; of two it becomes 0.0220
}
