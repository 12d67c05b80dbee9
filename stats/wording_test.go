package stats

import (
	"strings"
	"testing"
)

// TestWarningsInNumber: one of a thing reads as one.
func TestWarningsInNumber(t *testing.T) {
	text := func(w []Warning, code string) string {
		t.Helper()
		for _, x := range w {
			if x.Code == code {
				return x.Text
			}
		}
		t.Errorf("no %s in %q", code, codes(w))
		return ""
	}
	six := runs(9, 12, 14, 11, 22, 17)
	five := six[:5]
	_, unmatched, err := Pair(six, five, PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	zero, err := SignedRank([]float64{0}, SignedRankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	single, err := SignedRank([]float64{3}, SignedRankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twice := append([]Outcome{{Scenario: six[0].Scenario, Replicate: 9, Value: 4}}, six...)
	_, trimmed, err := Pair(twice, six, PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	family, err := Family([]Test{{ID: "a", P: 0.5, MinP: 0.25}}, FamilyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mean, err := MeanTurns(withStatus(runs(4, 9), "SF"), MeanOptions{Cap: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{text(unmatched, CodeUnmatched), "1 scenario is left out because only one side has it"},
		{text(zero.Warnings, CodeAllTied), "the only difference is zero"},
		{text(single.Warnings, CodeCannotReachAlpha), "with 1 non-zero difference p cannot be below 1"},
		{text(trimmed, CodeRepeatsTrimmed), "1 surplus repeat is left out (1 of A, 0 of B)"},
		{text(family.Warnings, CodeCannotSurviveFamily), "no test of this family could have been significant: with 1 test (Holm)"},
		{text(mean.Warnings, CodeTooManyStopped), "1 of 2 runs was stopped early"},
		{stoppedOf(1, 40), "1 of 40 runs was stopped"},
		{stoppedOf(3, 40), "3 of 40 runs were stopped"},
		{(&BudgetVisibleError{Run: "e7", Place: "turn 3, attempt 2"}).Error(), `retry curve (BUDGET_VISIBLE): run "e7": the prompt shows the retry budget (turn 3, attempt 2)`},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestComparePairStoppedSizes: beyond the exact counts the name of the test says
// how p was computed, and one scenario is not tested however many runs it has.
func TestComparePairStoppedSizes(t *testing.T) {
	for n, want := range map[int]string{
		20:   "exact paired Prentice-Wilcoxon",
		60:   "paired Prentice-Wilcoxon, grid",
		1100: "paired Prentice-Wilcoxon, normal approximation",
	} {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = float64(20+7*i%41), float64(19+11*i%37)
		}
		x := runs(a...)
		x[1].Status = Stopped
		r, err := ComparePair(x, runs(b...), ComparePairOptions{Cap: 101})
		if err != nil || r.TestName != want || !r.Tested || !(r.P > 0 && r.P <= 1) || r.P != r.Prentice.P {
			t.Errorf("%d pairs: %q, p %v, %v", n, r.TestName, r.P, err)
		}
		if approximate := strings.Contains(codes(r.Warnings), CodeApproximate); approximate != (n > maxExact) {
			t.Errorf("%d pairs: %q", n, codes(r.Warnings))
		}
	}
	var a, b []Outcome
	for k := range 4 {
		a = append(a, Outcome{Scenario: "only", Replicate: k, Value: float64(9 + k)})
		b = append(b, Outcome{Scenario: "only", Replicate: k, Value: 3})
	}
	a[2].Status = Stopped
	r, err := ComparePair(a, b, ComparePairOptions{Cap: 101})
	if err != nil || r.Tested || r.P != 1 || r.TestName != notTestedOne || !strings.Contains(codes(r.Warnings), CodeOneScenario) {
		t.Errorf("one scenario: %+v, %v", r, err)
	}
}
