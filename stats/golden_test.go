package stats

import (
	"encoding/json"
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
