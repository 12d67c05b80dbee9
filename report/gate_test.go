package report

import (
	"strings"
	"testing"
)

func TestGate(t *testing.T) {
	c := mustCompare(t, harnesses(false), CompareOptions{Episodes: true, Families: declared()})
	check := func(expr string, want bool, msg string) {
		t.Helper()
		passed, got, err := c.Gate(expr)
		if err != nil || passed != want || !strings.Contains(got, msg) {
			t.Errorf("Gate(%q) = %v, %q, %v; want %v, %q", expr, passed, got, err, want, msg)
		}
	}
	check("mini-swe<opencode", false, "mini-swe is significantly below opencode")
	check(" builtin < mini-swe ", false, "significantly below")
	check("opencode<mini-swe", true, "significantly above")
	check("glm-5+builtin/detailed/r2<glm-5+opencode/detailed/r2", false, "significantly below")
	for expr, want := range map[string]string{
		"opencode=mini-swe": "not of the form", "opencode<": "no configuration", "opencode<zzz": `no configuration "zzz"`, "opencode<opencode": "with itself",
	} {
		if _, _, err := c.Gate(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Gate(%q): %v, want %q", expr, err, want)
		}
	}

	families := declared()
	families[0].Pairs = families[0].Pairs[:1]
	c = mustCompare(t, harnesses(false), CompareOptions{Episodes: true, Families: families})
	_, _, err := c.Gate("builtin<opencode")
	checkInputError(t, err, "in no family")

	untested := harnesses(false)
	for i := range untested.Rows {
		if row := &untested.Rows[i]; strings.Contains(row.Config, "opencode") && i%2 == 0 {
			row.Status, row.EndReason = "stopped", "provider"
		}
	}
	c = mustCompare(t, untested, CompareOptions{Episodes: true, Families: declared()})
	check("mini-swe<opencode", true, "not tested")

	odd := newSet(30)
	addRuns(odd, "x<y", 0, 1, 2, 3, 4, 5, 6, 7)
	addRuns(odd, "z", 0, 11, 12, 13, 14, 15, 16, 17)
	c = mustCompare(t, odd, CompareOptions{})
	check("x<y<z", false, "x<y is significantly below z")
}
