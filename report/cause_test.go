package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// causedSet is one configuration whose five runs ended in every way, and one that always passed.
func causedSet() *logs.OutcomeSet {
	set := newSet(10)
	for i, e := range []struct {
		value  float64
		status string
		l1     string
		leaf   string
	}{{2, "failed", "drift", "drift.forgotten"}, {4, "failed", "infra", "infra.loop_guard"}, {6, "failed", "", ""}, {10, "capped", "", ""}, {3, "stopped", "bench", "bench.grader"}} {
		row := addRun(set, "a", string(rune('1'+i)), 1, e.value, e.status, "")
		row.EndL1, row.EndLeaf = e.l1, e.leaf
		addRun(set, "b", string(rune('1'+i)), 1, 10, "", "")
	}
	return set
}

// TestCauses: failed runs are counted by their verdict, one without is unknown, and a stopped run has no cause here.
func TestCauses(t *testing.T) {
	c := mustCompare(t, causedSet(), CompareOptions{Episodes: true})
	a := c.Config("a")
	if d := cmp.Diff(map[string]int{"drift": 1, "infra": 1, "bench": 0, "unknown": 1}, a.Causes); d != "" {
		t.Errorf("causes (-want +got):\n%s", d)
	}
	sum := 0
	for _, n := range a.Causes {
		sum += n
	}
	if sum != a.Ends["failed"] {
		t.Errorf("causes add up to %d, failed runs are %d", sum, a.Ends["failed"])
	}
	var heads []string
	for _, e := range c.endColumns() {
		heads = append(heads, e.head)
	}
	if d := cmp.Diff([]string{"drift", "infra", "unknown", "stopped"}, heads); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	var b bytes.Buffer
	if err := c.Text(&b, 100); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"drift", "infra", "unknown", "a: 1 of 5 runs ended in the agent's own infrastructure (loop_guard 1), counted as failures; had they gone on, the mean lies in"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("the text does not hold %q:\n%s", want, b.String())
		}
	}
}

// TestInfraBounds: with the infrastructure run at the cap the mean of 2, 4, 10 goes from 16/3 to 22/3.
func TestInfraBounds(t *testing.T) {
	set := newSet(10)
	for i, v := range []float64{2, 4, 10} {
		row := addRun(set, "a", string(rune('1'+i)), 1, v, "", "")
		if v == 4 {
			row.EndL1, row.EndLeaf = "infra", "infra.context"
		} else if v == 2 {
			row.EndL1 = "drift"
		}
	}
	c := mustCompare(t, set, CompareOptions{})
	for _, n := range c.Config("a").notes {
		if n.Code == CodeInfraEnds {
			if !strings.HasSuffix(n.Text, "the mean lies in 5.3–7.3") || n.at != atInfra {
				t.Errorf("note %+v", n)
			}
			return
		}
	}
	t.Error("no note about the run that infrastructure ended")
}

// TestNoVerdicts: without verdicts nothing is said about causes, whatever the runs planted.
func TestNoVerdicts(t *testing.T) {
	c := mustCompare(t, harnesses(false), CompareOptions{Episodes: true})
	for i := range c.Configs {
		if c.Configs[i].Causes != nil {
			t.Errorf("%s has causes without verdicts", c.Configs[i].Config)
		}
	}
	if _, ok, err := CausesFigure(c); ok || err != nil {
		t.Errorf("a figure of causes without verdicts: %v, %v", ok, err)
	}
	if _, ok := c.leafTable(); ok {
		t.Error("a table of leaves without verdicts")
	}
}

// TestIncidenceOfCauses checks the figure's numbers by hand: of 5 runs one drifts at 2, one stops (leaves at 2), so
// that the infrastructure failure at 4 weighs 4/5 × 1/3.
func TestIncidenceOfCauses(t *testing.T) {
	f, ok, err := CausesFigure(mustCompare(t, causedSet(), CompareOptions{Episodes: true}))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, want := range []string{"a,drift,drift.forgotten", "a,infra,loop_guard,1,4,0.26666666666666", "a,unknown,,1,6,0.26666666666666"} {
		want = strings.Replace(want, "drift.forgotten", "forgotten,1,2,0.2", 1)
		if !strings.Contains(string(f.CSV), want) {
			t.Errorf("CSV does not hold %q:\n%s", want, f.CSV)
		}
	}
	if !strings.Contains(f.Sentence, "Of 5 runs of a 1 ended in drift, 1 ended in the agent's own infrastructure and 1 ended for unknown reasons (cumulative incidence by turn 10: 0.20, 0.27 and 0.27), 1 reached the cap and 1 was stopped.") {
		t.Errorf("sentence: %s", f.Sentence)
	}
}

// TestRetryCurves: with attempts 1, 2, 1 and a failure in turn 3 of 4, no retry passes one turn and one retry three.
func TestRetryCurves(t *testing.T) {
	set := newSet(4)
	for i := range 3 {
		addRun(set, "m+h/detailed/r1", string(rune('1'+i)), 1, 3, "", "").Attempts = []int{1, 2, 1}
		addRun(set, "m+h/none/r0", string(rune('1'+i)), 1, 1, "", "").Attempts = []int{1}
	}
	f, ok, err := RetryCurves(mustCompare(t, set, CompareOptions{Episodes: true}))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, want := range []string{"\nmean,m+h/detailed/r1,0,1,", "\nmean,m+h/detailed/r1,1,3,", "\nattempt,m+h/detailed/r1,0,", ",12,6,0.5,\n", ",6,3,0.5,\n"} {
		if !strings.Contains(string(f.CSV), want) {
			t.Errorf("CSV does not hold %q:\n%s", want, f.CSV)
		}
	}
	if strings.Contains(string(f.CSV), "r0") {
		t.Error("a configuration without retries has a curve")
	}
	set.Rows[0].Attempts = nil
	if _, ok, err := RetryCurves(mustCompare(t, set, CompareOptions{Episodes: true})); ok || err != nil {
		t.Errorf("a curve without the attempts of all runs: %v, %v", ok, err)
	}
}

// TestRetryCosts by hand: the rescued turn took 10 tokens, the failed one 1000 in vain; dollars are known of one run only.
func TestRetryCosts(t *testing.T) {
	set := newSet(4)
	for i := range 3 {
		row := addRun(set, "m+h/detailed/r1", string(rune('1'+i)), 1, 3, "", "")
		row.Attempts = []int{1, 2, 1}
		row.Costs = &logs.AttemptCosts{Tokens: [][]float64{{1}, {1, 10}, {1}, {1, 1000}}}
	}
	set.Rows[0].Costs.USD = [][]float64{{1}, {1, 10}, {1}, {1, 1000}}
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	curves, err := c.Curves()
	if err != nil || len(curves) != 1 {
		t.Fatal(curves, err)
	}
	none, one := curves[0].Points[0], curves[0].Points[1]
	if none.Rescued != 0 || none.TokensPerRescued != nil || none.Failed != 3 || one.Rescued != 3 || *one.TokensPerRescued != 1010 || one.USDPerRescued != nil {
		t.Errorf("%+v\n%+v", none, one)
	}
	if one.FullCI == nil || one.FullCI[0] != 0 || one.YieldCI == nil {
		t.Errorf("intervals of full passes and of the yield: %v, %v", one.FullCI, one.YieldCI)
	}
	var text, table strings.Builder
	if err := c.WriteCurves(&text, curves, 0); err != nil {
		t.Fatal(err)
	}
	if want := "3 turns passed at a retry; each took 1,010 tokens of retries, those in vain included."; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in\n%s", want, &text)
	}
	if err := c.CurvesCSV(&table); err != nil || !strings.Contains(table.String(), ",3,3,1010,,,,,") {
		t.Errorf("CSV: %v\n%s", err, &table)
	}
	// More attempts than the budget are recorded: the costs are not believed, the curve stands.
	for i := range set.Rows {
		set.Rows[i].Costs.Tokens[3] = []float64{1, 1, 1}
	}
	if curves, err = mustCompare(t, set, CompareOptions{Episodes: true}).Curves(); err != nil || curves[0].Points[1].TokensPerRescued != nil {
		t.Errorf("costs beyond the budget: %v, %v", curves, err)
	}
}
