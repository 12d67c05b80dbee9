package report_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

func ExampleCompare() {
	set, err := logs.ReadOutcomes(filepath.Join("testdata", "outcomes.csv"), logs.OutcomeColumns{Cap: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := report.Compare(set, report.CompareOptions{Baseline: "base"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Text(os.Stdout, 80); err != nil {
		fmt.Println(err)
	}
	passed, msg, err := c.Gate("base<new")
	fmt.Println(passed, msg, err)
	// Output:
	// turns passed of 20 · 8 scenarios × 1 run
	//
	// config    mean    95 % CI     full    run was
	//                                       failed    stopped
	// new       9.6     5.1–16.8    2/8          6          0
	// base      3.9     1.6–6.8     0/8          8          0
	//
	// pair         ahead–level   difference   95 % CI    p        Holm     least
	//              –behind                                                 possible
	// new − base      7–1–0         +5.8      2.4–10.1   0.0156   0.0156    0.0156
	//
	// family: 1 pair "against base", exploratory (not declared before the first run);
	//   Holm, two-sided, α = 0.05
	// test: exact Wilcoxon signed rank, zeros dropped. CI: expanded BCa, exact
	//   bootstrap
	//
	// On the 8 shared scenarios new passed 9.6 turns on average (95 % expanded BCa
	// interval 5.1–16.8) and base 3.9 (1.6–6.8); 2 and 0 runs passed all 20.
	// new was ahead of base in 7 of 8 scenarios, behind in 0, level in 1
	// (rank-biserial 1.00; typical difference 5.5 turns, 95 % interval 2.0–11.0);
	// exact Wilcoxon signed-rank test, zeros dropped: p = 0.0156 (1/2^6): significant
	// at 5 %. The result does not depend on the treatment of zeros (Pratt:
	// p = 0.0156).
	// false base is significantly below new in the family "against base" (Holm-adjusted p = 0.0156) <nil>
}
