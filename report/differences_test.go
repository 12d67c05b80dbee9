package report

import (
	"encoding/csv"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rowsOf reads the numbers of a figure.
func rowsOf(t *testing.T, f Figure) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(f.CSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestPairedDifferences checks a pair by hand: sorted, level ones kept, stopped ones marked, and the typical difference.
func TestPairedDifferences(t *testing.T) {
	set := onePair(50, []float64{3, 9, 5, 0, 30, 12, 20}, []float64{1, 9, 6, 0, 10, 4, 8})
	addRun(set, "a", "s08", 1, 4, "stopped", "provider")
	addRun(set, "b", "s08", 1, 2, "", "")
	f, ok, err := PairedDifferences(mustCompare(t, set, CompareOptions{Episodes: true}), 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var got []string
	for _, r := range rowsOf(t, f)[2:] {
		got = append(got, r[3]+":"+r[6]+":"+r[10])
	}
	want := []string{"s05:20:false", "s07:12:false", "s06:8:false", "s01:2:false", "s08:2:true", "s02:0:false", "s04:0:false", "s03:-1:false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if typical := rowsOf(t, f)[1]; typical[0] != "typical" || typical[6] == "" {
		t.Errorf("no typical difference: %v", typical)
	}
	if !strings.Contains(f.Sentence, "was ahead of b in 5 of 8 scenarios, behind in 1, level in 2") {
		t.Errorf("sentence: %s", f.Sentence)
	}
	apart := newSet(50)
	addRun(apart, "a", "x", 1, 3, "", "")
	addRun(apart, "b", "y", 1, 4, "", "")
	if _, ok, err := PairedDifferences(mustCompare(t, apart, CompareOptions{Episodes: true}), 0); ok || err != nil {
		t.Errorf("a pair without a shared scenario is drawn: %v, %v", ok, err)
	}
}

// TestPairedDifferencesOfMany: of a large family the pairs with the smallest p are drawn, which the caption says.
func TestPairedDifferencesOfMany(t *testing.T) {
	c := mustCompare(t, synthetic(5, 20, 1, 101), CompareOptions{Episodes: true})
	f, ok, err := PairedDifferences(c, 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	drawn, most := map[string]bool{}, 0.0
	for _, r := range rowsOf(t, f)[1:] {
		drawn[r[1]+"|"+r[2]] = true
	}
	for i := range c.Families[0].Pairs {
		if p := &c.Families[0].Pairs[i]; drawn[p.A+"|"+p.B] {
			most = math.Max(most, *p.P)
		}
	}
	for i := range c.Families[0].Pairs {
		if p := &c.Families[0].Pairs[i]; !drawn[p.A+"|"+p.B] && *p.P < most {
			t.Errorf("%s − %s with p = %v is not drawn, one with %v is", p.A, p.B, *p.P, most)
		}
	}
	if len(drawn) != 6 || !strings.Contains(f.Caption, "The 6 pairs with the smallest p of 10") {
		t.Errorf("%d pairs drawn; caption: %s", len(drawn), f.Caption)
	}
}
