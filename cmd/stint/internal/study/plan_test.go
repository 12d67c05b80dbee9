package study

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// printed renders the plan of a study file.
func printed(t *testing.T, text string) string {
	t.Helper()
	s, err := Parse("study.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	p.CheckKeys(s, func(string) string { return "" })
	var b strings.Builder
	p.Print(&b)
	return b.String()
}

func TestPlanPrint(t *testing.T) {
	few := strings.Replace(base, "count: 20", "count: 3", 1)
	offline := strings.Replace(string(DemoStudy(1)), "analysis:", "jobs: {episodes: 4}\nanalysis:", 1)
	undeclared := base[:strings.Index(base, "analysis:")]
	golden(t, "testdata/plan.golden", "== real models\n"+printed(t, base)+"== nothing can be significant\n"+printed(t, few)+
		"== the demo\n"+printed(t, offline)+"== no family\n"+printed(t, undeclared))
}

// The order is seeded, complete, scenario by scenario, and inside a scenario repeat by repeat.
func TestOrder(t *testing.T) {
	text := strings.Replace(string(DemoStudy(3)), "name: demo", "name: demo\nrepeats: 3", 1)
	s, err := Parse("study.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	order := s.order()
	if len(order) != 4*8*3 {
		t.Fatalf("%d episodes, want %d", len(order), 4*8*3)
	}
	seen := map[PlannedEpisode]bool{}
	var configs [][]string
	for i, e := range order {
		if seen[e] {
			t.Errorf("%v stands twice", e)
		}
		seen[e] = true
		block := order[i/12*12]
		if e.Scenario != block.Scenario || e.Repeat != i%12/4+1 {
			t.Errorf("episode %d is %v, outside the block of scenario %d", i, e, block.Scenario)
		}
		if i%4 == 0 {
			configs = append(configs, nil)
		}
		configs[len(configs)-1] = append(configs[len(configs)-1], e.Config)
	}
	if !slices.EqualFunc(order, s.order(), func(a, b PlannedEpisode) bool { return a == b }) {
		t.Error("the order is not the same twice")
	}
	if slices.EqualFunc(configs[1:], configs[:len(configs)-1], slices.Equal) {
		t.Error("the configurations are in the same order everywhere")
	}
}

// Expected attempts of a fail-stop episode, by adding up the turns one at a time.
func TestExpectedAttempts(t *testing.T) {
	s, err := studyOf(t, "  - {model: sim, feedback: none, retries: 0}\n  - {model: sim, feedback: detailed, retries: 2}\n  - {harness: reference}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	reach, sum := 1.0, 0.0
	for range 4 { // build and three changes; 26 % of turns fail, and there is no retry
		sum += reach
		reach *= 0.74
	}
	if got, _ := s.expectedAttempts(s.Configs[0]); math.Abs(got-sum) > 1e-12 {
		t.Errorf("without retries: %v, want %v", got, sum)
	}
	reach, sum = 1, 0
	for range 4 {
		first, second := 0.26, 0.003+0.257*0.3
		sum += reach * (1 + first + second)
		reach *= 1 - (0.003 + 0.257*0.3*0.3)
	}
	if got, _ := s.expectedAttempts(s.Configs[1]); math.Abs(got-sum) > 1e-12 {
		t.Errorf("detailed, two retries: %v, want %v", got, sum)
	}
	if got, _ := s.expectedAttempts(s.Configs[2]); got != 4 {
		t.Errorf("reference: %v, want 4", got)
	}
}

// With n scenarios the smallest two-sided p of the exact signed-rank test is 2/2^n; Holm multiplies it by M.
func TestAttainability(t *testing.T) {
	for _, c := range []struct {
		scenarios int
		cannot    bool
	}{{6, true}, {7, false}} { // the demo's family has 3 pairs: 3·2/2^6 = 0.094, 3·2/2^7 = 0.047
		text := strings.Replace(string(DemoStudy(1)), "count: 8", "count: "+string(rune('0'+c.scenarios)), 1)
		s, err := Parse("study.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		f := p.Families[0]
		if want := 3 * 2 / math.Pow(2, float64(c.scenarios)); math.Abs(f.Least-want) > 1e-15 || f.Cannot != c.cannot || f.NeedNonZero != 7 {
			t.Errorf("%d scenarios: least %v (want %v), cannot %v, need %d", c.scenarios, f.Least, want, f.Cannot, f.NeedNonZero)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 9999: "9999", 12345: "12.3k", 4.242e10: "42.4G", 2e6: "2M", 999960: "1M", 1.5e7: "15M"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %s, want %s", v, got, want)
		}
	}
}
