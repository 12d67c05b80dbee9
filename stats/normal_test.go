package stats

import (
	"fmt"
	"testing"
)

// TestDistributionsGolden: R and mpmath, tails to 1e-300 (testdata).
func TestDistributionsGolden(t *testing.T) {
	rows := 0
	for _, c := range golden(t, "distributions.json", 15, "distribution") {
		var want struct{ Rows []map[string]float64 }
		decode(t, c.Expected, &want)
		for _, r := range want.Rows {
			switch c.ID {
			case "r_pnorm", "mp_norm_cdf":
				near(t, fmt.Sprintf("%s %v", c.ID, r["z"]), normalCDF(r["z"]), r["cdf"], 1e-12)
				near(t, fmt.Sprintf("%s %v", c.ID, -r["z"]), normalCDF(-r["z"]), r["sf"], 1e-12)
			case "r_qnorm", "mp_norm_quantile":
				near(t, fmt.Sprintf("%s %v", c.ID, r["p"]), normalQuantile(r["p"]), r["q"], 1e-12)
			case "r_qt":

				near(t, fmt.Sprintf("%s %v %v", c.ID, r["p"], r["df"]), studentQuantile(r["p"], r["df"]), r["q"], 1e-10)
			default:
				continue
			}
			rows++
		}
	}
	if rows < 40 {
		t.Errorf("%d rows checked", rows)
	}
}
