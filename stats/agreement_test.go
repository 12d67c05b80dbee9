package stats

import (
	"encoding/json"
	"math"
	"testing"
)

// TestCohenKappaGolden: R vcd and psych (testdata).
func TestCohenKappaGolden(t *testing.T) {
	for _, c := range golden(t, "agreement.json", 5, "cohen_kappa") {
		var in struct{ Table [][]float64 }
		decode(t, c.Input, &in)
		table := make([][]int, len(in.Table))
		for i, row := range in.Table {
			for _, v := range row {
				table[i] = append(table[i], int(v))
			}
		}
		var want struct {
			Kappa, SE, Linear, Quadratic float64
			Null                         float64 `json:"se_null"`
		}
		decode(t, c.Expected, &want)
		for weights, kappa := range map[KappaWeights]float64{Unweighted: want.Kappa, Linear: want.Linear, Quadratic: want.Quadratic} {
			r, err := CohenKappa(table, weights, 0)
			if err != nil || !r.Defined {
				t.Fatalf("%s: %+v, %v", c.ID, r, err)
			}
			nearAbs(t, c.ID+" kappa", r.Kappa, kappa, 1e-9)
			if weights == Unweighted {
				nearAbs(t, c.ID+" se", r.SE, want.SE, 1e-9)
				nearAbs(t, c.ID+" null se", r.SENull, want.Null, 1e-9)
			}
		}
	}
}

// TestFleissKappaGolden: Fleiss (1971) and the Wikipedia example (testdata).
func TestFleissKappaGolden(t *testing.T) {
	for _, c := range golden(t, "agreement.json", 2, "fleiss_kappa") {
		var in struct{ Counts [][]int }
		decode(t, c.Input, &in)
		var want struct{ Kappa, Randolph float64 }
		decode(t, c.Expected, &want)
		r, err := FleissKappa(in.Counts)
		if err != nil || !r.Defined {
			t.Fatalf("%s: %+v, %v", c.ID, r, err)
		}
		nearAbs(t, c.ID+" kappa", r.Kappa, want.Kappa, 1e-9)
		nearAbs(t, c.ID+" uniform", r.Uniform, want.Randolph, 1e-9)
	}
}

// TestKrippendorffGolden: exact fractions, printed values of Krippendorff (2011)
// (testdata).
func TestKrippendorffGolden(t *testing.T) {
	for _, c := range golden(t, "agreement.json", 5, "krippendorff_alpha") {
		var in struct{ Units [][]any }
		decode(t, c.Input, &in)
		var numbers [][]float64
		var names [][]string
		for _, u := range in.Units {
			var a []float64
			var b []string
			for _, v := range u {
				switch v := v.(type) {
				case float64:
					a = append(a, v)
				case string:
					b = append(b, v)
				}
			}
			numbers, names = append(numbers, a), append(names, b)
		}
		var want map[string]json.RawMessage
		decode(t, c.Expected, &want)
		checked := 0
		for name, scale := range map[string]Scale{"nominal": Nominal, "ordinal": Ordinal, "interval": IntervalScale, "ratio": RatioScale} {
			raw, ok := want[name]
			if !ok {
				continue
			}
			var alpha float64
			decode(t, raw, &alpha)
			var r AlphaResult
			var err error
			if len(numbers[0]) > 0 {
				r, err = KrippendorffAlpha(numbers, AlphaOptions{Scale: scale, Resamples: 99})
			} else {
				r, err = KrippendorffLabels(names, AlphaOptions{Scale: scale, Resamples: 99})
			}
			if err != nil || !r.Defined || r.Units+r.Dropped != len(in.Units) {
				t.Fatalf("%s: %+v, %v", c.ID, r, err)
			}
			nearAbs(t, c.ID+" "+name, r.Alpha, alpha, 1e-9)
			if i := r.Interval; !i.Defined || !(i.Lo <= i.Hi && i.Hi <= 1) {
				t.Errorf("%s: %+v", c.ID, i)
			}
			checked++
		}
		if want["defined"] != nil {
			r, err := KrippendorffAlpha(numbers, AlphaOptions{})
			if err != nil || r.Defined || r.Reason == "" || r.Observed != 1 || r.Interval.Defined {
				t.Errorf("%s: %+v, %v", c.ID, r, err)
			}
			checked++
		}
		if checked == 0 {
			t.Errorf("%s: nothing checked", c.ID)
		}
	}
}

func TestAgreementEdges(t *testing.T) {
	r, err := CohenKappa([][]int{{9, 0}, {0, 0}}, Unweighted, 0)
	if err != nil || r.Defined || r.Observed != 1 || r.Reason == "" {
		t.Errorf("one label: %+v, %v", r, err)
	}
	if r, err = FleissKappa([][]int{{3, 0}, {3, 0}}); err != nil || r.Defined || r.Observed != 1 {
		t.Errorf("one category: %+v, %v", r, err)
	}
	labels, table, err := Confusion([]string{"spec", "env", "spec"}, []string{"spec", "spec", "tool"})
	if err != nil || len(labels) != 3 || labels[0] != "env" || table[0][1] != 1 || table[1][1] != 1 || table[1][2] != 1 {
		t.Errorf("%v %v %v", labels, table, err)
	}
	a, err := KrippendorffAlpha([][]float64{{1}, {2}}, AlphaOptions{})
	if err != nil || a.Defined || a.Dropped != 2 || a.Reason != "no unit has two labels" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = KrippendorffAlpha([][]float64{{1, 2}}, AlphaOptions{}); err != nil || !a.Defined || a.Interval.Defined {
		t.Errorf("%+v, %v", a, err)
	}
	for name, err := range map[string]error{
		"ragged":        second(CohenKappa([][]int{{1, 2}, {1}}, Unweighted, 0)),
		"negative":      second(CohenKappa([][]int{{-1}}, Unweighted, 0)),
		"empty":         second(CohenKappa([][]int{{0}}, Unweighted, 0)),
		"weights":       second(CohenKappa([][]int{{1}}, 7, 0)),
		"one rater":     second(FleissKappa([][]int{{1, 0}})),
		"unequal":       second(FleissKappa([][]int{{2, 0}, {3, 0}})),
		"none":          second(FleissKappa(nil)),
		"NaN":           second(KrippendorffAlpha([][]float64{{math.NaN(), 1}}, AlphaOptions{})),
		"negative rate": second(KrippendorffAlpha([][]float64{{-1, 1}}, AlphaOptions{Scale: RatioScale})),
		"order":         second(KrippendorffLabels([][]string{{"a", "b"}}, AlphaOptions{Scale: Ordinal})),
		"scale":         second(KrippendorffAlpha([][]float64{{1, 1}}, AlphaOptions{Scale: 9})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := Confusion([]string{"a"}, nil); err == nil {
		t.Error("unequal raters")
	}
}
