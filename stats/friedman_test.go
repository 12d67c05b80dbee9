package stats

import (
	"fmt"
	"math"
	"testing"
)

// TestFriedmanGolden: R friedman.test and ptukey (testdata).
func TestFriedmanGolden(t *testing.T) {
	for _, c := range golden(t, "friedman.json", 3, "friedman") {
		var in struct {
			Rows   [][]float64
			Higher bool `json:"higher_is_better"`
		}
		decode(t, c.Input, &in)
		var want struct {
			K, N, Chi2, DF, P float64
			F                 float64   `json:"iman_davenport_F"`
			DF1               float64   `json:"id_df1"`
			DF2               float64   `json:"id_df2"`
			FP                float64   `json:"id_p"`
			W                 float64   `json:"kendall_w"`
			Ranks             []float64 `json:"mean_ranks_desc"`
			CD05              float64   `json:"nemenyi_cd_05"`
			CD10              float64   `json:"nemenyi_cd_10"`
			Uncorrected       float64   `json:"chi2_uncorrected"`
			Nemenyi           []float64 `json:"nemenyi_p_first_vs_rest"`
		}
		decode(t, c.Expected, &want)
		r, err := Friedman(in.Rows, FriedmanOptions{LowerIsBetter: !in.Higher})
		if err != nil {
			t.Fatal(err)
		}
		const tol = 1e-8
		for _, x := range []struct {
			what      string
			got, want float64
		}{
			{"k", float64(r.K), want.K}, {"n", float64(r.N), want.N}, {"chi2", r.Chi2, want.Chi2}, {"df", float64(r.DF), want.DF},
			{"p", r.P, want.P}, {"F", r.F, want.F}, {"df1", float64(r.DF1), want.DF1}, {"df2", float64(r.DF2), want.DF2},
			{"p of F", r.FP, want.FP}, {"W", r.W, want.W}, {"uncorrected", r.Chi2Uncorrected, want.Uncorrected},
		} {
			near(t, c.ID+" "+x.what, x.got, x.want, tol)
		}
		for i, rank := range want.Ranks {
			near(t, fmt.Sprint(c.ID, " rank ", i), r.MeanRanks[i], rank, tol)
		}
		checkCD(t, c.ID, r.K, r.N, 0.05, want.CD05)
		checkCD(t, c.ID, r.K, r.N, 0.10, want.CD10)
		for i, p := range want.Nemenyi {
			got, err := NemenyiP(r.MeanRanks[0]-r.MeanRanks[i+1], r.K, r.N)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprint(c.ID, " Nemenyi ", i), got, p, 1e-6)
		}
	}
}

func checkCD(t *testing.T, id string, k, n int, alpha, want float64) {
	t.Helper()
	cd, err := NemenyiCD(k, n, alpha)
	if err != nil {
		t.Fatal(err)
	}
	near(t, fmt.Sprint(id, " critical difference at ", alpha), cd, want, 1e-6)
}

// TestFriedmanPrinted: the mean ranks printed by Demsar (2006) give the
// statistics he prints.
func TestFriedmanPrinted(t *testing.T) {
	c := golden(t, "friedman.json", 1, "friedman_from_ranks")[0]
	var in struct {
		Ranks []float64 `json:"mean_ranks"`
		N     int
	}
	decode(t, c.Input, &in)
	var want struct {
		Chi2 float64 `json:"chi2_uncorrected"`
		F    float64 `json:"iman_davenport_F"`
		CD   float64 `json:"nemenyi_cd_05"`
	}
	decode(t, c.Expected, &want)
	r, err := FriedmanFromRanks(in.Ranks, in.N)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "chi2", r.Chi2, want.Chi2, 1e-8)
	near(t, "F", r.F, want.F, 1e-8)
	checkCD(t, c.ID, len(in.Ranks), in.N, 0.05, want.CD)
}

// TestNemenyiQuantiles: Demsar's Table 5, continued to k = 30 by R qtukey.
func TestNemenyiQuantiles(t *testing.T) {
	c := golden(t, "friedman.json", 1, "nemenyi_q")[0]
	var want struct {
		Rows []struct{ K, Q05, Q10 float64 }
	}
	decode(t, c.Expected, &want)
	if len(want.Rows) != 29 {
		t.Fatalf("%d rows", len(want.Rows))
	}
	for _, r := range want.Rows {
		near(t, fmt.Sprint(r.K), studentizedRangeQuantile(0.05, int(r.K))/math.Sqrt2, r.Q05, 1e-6)
		near(t, fmt.Sprint(r.K), studentizedRangeQuantile(0.10, int(r.K))/math.Sqrt2, r.Q10, 1e-6)
	}
}

func TestFriedmanEdges(t *testing.T) {
	r, err := Friedman([][]float64{{3, 3, 3}, {1, 1, 1}}, FriedmanOptions{})
	if err != nil || r.P != 1 || r.FP != 1 || r.Chi2 != 0 || codes(r.Warnings) != CodeAllTied {
		t.Errorf("all tied: %+v, %v", r, err)
	}
	r, err = Friedman([][]float64{{3, 2, 1}, {9, 8, 7}, {30, 2, 1}}, FriedmanOptions{})
	if err != nil || r.FDefined || r.W != 1 || r.FP != r.P || r.MeanRanks[0] != 1 {
		t.Errorf("all agree: %+v, %v", r, err)
	}
	if r, err = Friedman([][]float64{{3, 2, 1}}, FriedmanOptions{LowerIsBetter: true}); err != nil || r.MeanRanks[2] != 1 {
		t.Errorf("one row: %+v, %v", r, err)
	}
	noNaN(t, r)
	for name, rows := range map[string][][]float64{"none": nil, "one": {{1}}, "ragged": {{1, 2}, {1}}, "NaN": {{1, math.NaN()}}} {
		if _, err := Friedman(rows, FriedmanOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, err := range []error{second(NemenyiCD(1, 3, 0.05)), second(NemenyiCD(3, 3, 0)), second(NemenyiP(1, 3, 0)), second(FriedmanFromRanks(nil, 3))} {
		if err == nil {
			t.Error("no error")
		}
	}
}
