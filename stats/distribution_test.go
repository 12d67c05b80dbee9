package stats

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// TestDistributionsGolden: R and mpmath, tails to 1e-300 (testdata). All 15
// tables are used.
func TestDistributionsGolden(t *testing.T) {
	rows := 0
	for _, c := range golden(t, "distributions.json", 15, "distribution") {
		var want struct{ Rows []map[string]float64 }
		decode(t, c.Expected, &want)
		for _, r := range want.Rows {
			what := fmt.Sprint(c.ID, " ", r)
			switch c.ID {
			case "r_pnorm", "mp_norm_cdf":
				near(t, what, normalCDF(r["z"]), r["cdf"], 1e-12)
				near(t, what, normalCDF(-r["z"]), r["sf"], 1e-12)
			case "r_qnorm", "mp_norm_quantile":
				near(t, what, normalQuantile(r["p"]), r["q"], 1e-12)
			case "r_pt":
				near(t, what, studentTail(-r["t"], r["df"]), r["cdf"], 1e-12)
				near(t, what, studentTail(r["t"], r["df"]), r["sf"], 1e-12)
			case "r_qt":
				near(t, what, studentQuantile(r["p"], r["df"]), r["q"], 1e-12)
			case "r_pchisq":
				near(t, what, chiSquareTail(r["x"], r["df"]), r["sf"], 1e-12)
			case "r_pf":
				near(t, what, fTail(r["f"], r["df1"], r["df2"]), r["sf"], 1e-12)
			case "r_qbeta":
				near(t, what, mathext.InvRegIncBeta(r["a"], r["b"], r["p"]), r["q"], 1e-12)
			case "r_pbinom":
				near(t, what, binomialCDF(int(r["k"]), int(r["n"]), r["p"]), r["cdf"], 1e-12)
			case "r_ptukey":
				near(t, what, studentizedRangeTail(r["q"], int(r["k"])), r["sf"], 1e-8)
			case "r_pnct":
				near(t, what, noncentralT(r["t"], r["df"], r["ncp"]), r["cdf"], 1e-9)
			case "mp_inc_beta":
				near(t, what, mathext.RegIncBeta(r["a"], r["b"], r["x"]), r["I"], 1e-12)
			case "mp_inc_gamma_q":
				near(t, what, mathext.GammaIncRegComp(r["a"], r["x"]), r["Q"], 1e-12)
			case "mp_lchoose":
				n, k := r["n"], r["k"]
				near(t, what, logChoose(int(n), int(k)), r["v"], 1e-12)
			default:
				t.Fatalf("%s: no such table", c.ID)
			}
			rows++
		}
	}
	if rows < 75 {
		t.Errorf("%d rows checked", rows)
	}
}

// TestStudentizedRangeTwo: the range of two is |x-y|, normal with sd sqrt 2.
func TestStudentizedRangeTwo(t *testing.T) {
	for _, q := range []float64{0.1, 1, 3, 8, 20, 40} {
		near(t, fmt.Sprint(q), studentizedRangeTail(q, 2), 2*normalCDF(-q/math.Sqrt2), 1e-10)
	}
	if studentizedRangeTail(0, 5) != 1 {
		t.Error("a range above 0 is certain")
	}
	near(t, "quantile", studentizedRangeTail(studentizedRangeQuantile(0.01, 9), 9), 0.01, 1e-10)
}

// TestNoncentralTCentral: without a shift it is Student's t.
func TestNoncentralTCentral(t *testing.T) {
	for _, nu := range []float64{1, 2, 5, 19, 99, 999} {
		for _, x := range []float64{-3, -0.5, 0, 1, 4} {
			near(t, fmt.Sprint(nu, x), noncentralT(x, nu, 0), studentTail(-x, nu), 1e-9)
		}
	}
}
