package stats

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFamilyLeast(t *testing.T) {
	// M * MinP > alpha does not say "cannot": Holm's later steps are cheaper.
	f, err := Family([]Test{{"a", 0.2, 0.0001}, {"b", 0.01, 0.0001}, {"c", 0.5, 0.03}}, FamilyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.0003, 0.0003, 0.03} {
		nearAbs(t, "least", f.Least[i], want, 1e-15)
	}
	if f.CannotInAll != 0 || f.AllCannot || f.NeedNonZero != 7 || f.M != 3 || f.Alpha != 0.05 {
		t.Errorf("%+v", f)
	}
	if diff := cmp.Diff([]bool{false, true, false}, f.Reject); diff != "" {
		t.Error(diff)
	}
}

func TestFamilyAllCannot(t *testing.T) {
	// Ten scenarios can never give a significant pair among 325.
	tests := make([]Test, 325)
	for i := range tests {
		tests[i] = Test{"pair", 0.3, math.Ldexp(1, -9)}
	}
	f, err := Family(tests, FamilyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !f.AllCannot || f.CannotInAll != 325 || f.CannotAlone != 0 || f.NeedNonZero != 14 || codes(f.Warnings) != CodeCannotSurviveFamily {
		t.Errorf("%v %d %d need %d warnings %q", f.AllCannot, f.CannotInAll, f.CannotAlone, f.NeedNonZero, codes(f.Warnings))
	}
	nearAbs(t, "least", f.MinAttainable, 325./512, 1e-12)
	if !strings.Contains(f.Warnings[0].Text, "at least 14 scenarios") || f.Warnings[0].Where != "family" {
		t.Errorf("warning: %+v", f.Warnings[0])
	}
}

func TestFamilyUntestedCounts(t *testing.T) {
	f, err := Family([]Test{{"tested", 0.02, 0.001}, {"stopped", 1, 1}, {"short", 0.25, 0.125}}, FamilyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "adjusted", f.Adjusted[0], 0.06, 1e-15)
	if diff := cmp.Diff([]bool{false, true, true}, f.Cannot); diff != "" {
		t.Error(diff)
	}
	// Only the short one needs the warning, the stopped one has its own.
	if len(f.Warnings) != 1 || f.Warnings[0].Where != "short" {
		t.Errorf("warnings %+v", f.Warnings)
	}
	if f.CannotAlone != 2 || f.AllCannot {
		t.Errorf("alone %d, all %v", f.CannotAlone, f.AllCannot)
	}
}

func TestFamilyRejectAtAlpha(t *testing.T) {
	f, err := Family([]Test{{"a", 0.05, 0}}, FamilyOptions{})
	if err != nil || !f.Reject[0] {
		t.Errorf("p = alpha: reject %v, error %v; want <=", f.Reject, err)
	}
}

func TestFamilyErrors(t *testing.T) {
	for name, tests := range map[string][]Test{
		"NaN p":     {{"x", math.NaN(), 0.1}},
		"p above 1": {{"x", 1.5, 0.1}},
		"NaN least": {{"x", 0.5, math.NaN()}},
	} {
		if _, err := Family(tests, FamilyOptions{}); err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: error %v, want one that names the test", name, err)
		}
	}
	if _, err := Family(nil, FamilyOptions{Alpha: 2}); err == nil {
		t.Error("alpha 2: no error")
	}
	f, err := Family(nil, FamilyOptions{})
	if err != nil || f.AllCannot || f.NeedNonZero != 0 {
		t.Errorf("empty family: %+v, %v", f, err)
	}
}

func TestNeedNonZeroOther(t *testing.T) {
	// First steps for equal p: M p, p, and 1-(1-p)^M.
	for c, want := range map[Correction]int{Holm: 14, Bonferroni: 14, Hochberg: 6, Hommel: 6, BH: 6, BY: 8, Sidak: 14, HolmSidak: 14} {
		f, err := Family(make([]Test, 325), FamilyOptions{Correction: c})
		if err != nil || f.NeedNonZero != want {
			t.Errorf("%v: need %d, error %v; want %d", c, f.NeedNonZero, err, want)
		}
	}
}
