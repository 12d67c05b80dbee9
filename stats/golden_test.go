package stats

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A goldenCase is one case of a file in testdata; PROVENANCE.md there says who
// computed them.
type goldenCase struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
}

// golden returns the cases of a file that have one of the kinds, and fails
// unless there are want of them.
func golden(t *testing.T, name string, want int, kinds ...string) []goldenCase {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []goldenCase }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var cases []goldenCase
	for _, c := range doc.Cases {
		for _, k := range kinds {
			if c.Kind == k {
				cases = append(cases, c)
			}
		}
	}
	if len(cases) != want {
		t.Fatalf("%s: %d cases of kinds %v, want %d", name, len(cases), kinds, want)
	}
	return cases
}

// decode unmarshals a part of a golden case.
func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// near reports an error unless got is within tol of want, relative to want.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(math.Abs(want), math.SmallestNonzeroFloat64)) && !(want == 0 && math.Abs(got) <= tol) {
		t.Errorf("%s = %v, want %v (relative %.2g)", what, got, want, math.Abs(got-want)/math.Abs(want))
	}
}

// nearAbs reports an error unless got is within tol of want.
func nearAbs(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// codes returns the codes of warnings, joined by spaces.
func codes(w []Warning) string {
	var c []string
	for _, x := range w {
		c = append(c, x.Code)
	}
	return strings.Join(c, " ")
}

// TestGoldenInventory: all 383 cases are here, and every kind is read by a test,
// which in turn holds the number of its cases.
func TestGoldenInventory(t *testing.T) {
	want := map[string]map[string]int{
		"agreement.json":         {"cohen_kappa": 5, "fleiss_kappa": 2, "krippendorff_alpha": 5},
		"bootstrap.json":         {"bootstrap_mean_exact": 5, "bootstrap_range": 15, "bootstrap_degenerate": 1, "cluster_se": 1, "summary": 1},
		"direction.json":         {"direction": 8},
		"distributions.json":     {"distribution": 15},
		"friedman.json":          {"friedman": 3, "friedman_from_ranks": 1, "nemenyi_q": 1},
		"hodges_lehmann.json":    {"hodges_lehmann": 12},
		"multiplicity.json":      {"p_adjust": 13, "p_adjust_nan": 1, "discrete_holm": 3},
		"plateau.json":           {"plateau_bound": 13},
		"proportions.json":       {"proportion": 12, "mcnemar": 5},
		"repeats.json":           {"repeats": 7},
		"retry.json":             {"retry_curve": 5},
		"stopped.json":           {"paired_prentice": 34, "paired_prentice_raw": 1, "known_order_and_bounds": 8},
		"survival.json":          {"kaplan_meier": 7, "logrank": 8, "property": 1, "rmst_difference": 1, "cumulative_incidence": 2, "hazard_windows": 2},
		"tests_and_effects.json": {"mann_whitney": 3, "sign_flip_mean": 3, "effect_size": 4, "pass_k": 15, "paired_t_power": 6, "sign_test_power": 6, "noether_n": 5},
		"turns.json":             {"turns": 16},
		"wilcoxon.json":          {"wilcoxon_signed_rank": 95},
		"wilcoxon_null.json":     {"null_counts": 14, "null_counts_doubled": 4, "signrank_cdf": 11, "signrank_quantiles": 1, "min_attainable_p": 1, "holm_feasibility": 1},
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, want %d, %v", len(files), len(want), err)
	}
	total := 0
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Cases []goldenCase }
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		kinds := make(map[string]int)
		for _, c := range doc.Cases {
			kinds[c.Kind]++
		}
		total += len(doc.Cases)
		if name := filepath.Base(path); !maps.Equal(kinds, want[name]) {
			t.Errorf("%s: %v, want %v", name, kinds, want[name])
		}
	}
	if total != 383 {
		t.Errorf("%d cases, want 383", total)
	}
}
