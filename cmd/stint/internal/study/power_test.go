package study

import (
	"bytes"
	"strings"
	"testing"
)

// TestComputePower holds the plan's differences to the published table of the design (20 scenarios, cap 100, spread
// 0.5 logits: a pair beside a mean of 4.6 turns is found from 13.8 on, beside 28.4 from 58.0, beside 51.0 from 82.0):
// the plan's baselines lie near those, so its answers must lie near these.
func TestComputePower(t *testing.T) {
	p := &Plan{Scenarios: 20, Changes: 100, Repeats: 1, Families: []FamilyPlan{
		{Name: "one", Outcome: "turns_passed", Pairs: make([][2]string, 1), N: 20, Alpha: 0.05},
		{Name: "many", Outcome: "turns_passed", Pairs: make([][2]string, 28), N: 20, Alpha: 0.05},
		{Name: "hopeless", Outcome: "turns_passed", Pairs: make([][2]string, 1), N: 3, Alpha: 0.05, Cannot: true},
	}}
	if err := p.ComputePower(); err != nil {
		t.Fatal(err)
	}
	one, many := p.Families[0].Finds, p.Families[1].Finds
	if len(one) != 3 || len(many) != 3 || len(p.Families[2].Finds) != 0 {
		t.Fatalf("%d, %d and %d answers, want 3, 3 and 0", len(one), len(many), len(p.Families[2].Finds))
	}
	for i, near := range []float64{15, 54, 82} {
		if one[i].Needed == nil || *one[i].Needed < near-6 || *one[i].Needed > near+6 {
			t.Errorf("beside %.1f turns: %v, want about %.0f", one[i].Baseline, one[i].Needed, near)
		}
		if many[i].Needed != nil && *many[i].Needed <= *one[i].Needed {
			t.Errorf("beside %.1f turns: 28 pairs need %.1f, one pair %.1f", many[i].Baseline, *many[i].Needed, *one[i].Needed)
		}
	}
	var b bytes.Buffer
	p.Print(&b)
	if got := strings.Count(b.String(), "is found in 80 % of repetitions"); got != 6 {
		t.Errorf("the plan says %d times what is found, want 6:\n%s", got, b.String())
	}
}
