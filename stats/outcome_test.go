package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestValidateOutcomes(t *testing.T) {
	ok := Outcome{Scenario: "s1", Value: 3}
	for name, c := range map[string]struct {
		bad  Outcome
		cap  float64
		want string
	}{
		"NaN":       {Outcome{Scenario: "s2", Replicate: 4, Value: math.NaN()}, 0, "NaN"},
		"infinite":  {Outcome{Scenario: "s2", Replicate: 4, Value: math.Inf(1)}, 0, "infinite"},
		"negative":  {Outcome{Scenario: "s2", Replicate: 4, Value: -1}, 0, "negative"},
		"above cap": {Outcome{Scenario: "s2", Replicate: 4, Value: 102}, 101, "above the cap 101"},
		"status":    {Outcome{Scenario: "s2", Replicate: 4, Status: 9}, 0, "unknown status 9"},
	} {
		err := ValidateOutcomes([]Outcome{ok, c.bad}, c.cap)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `outcome 1 (scenario "s2", replicate 4)`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := ValidateOutcomes([]Outcome{{Value: 1}}, 0); err == nil {
		t.Error("no scenario: no error")
	}
	dup := []Outcome{{Scenario: "s", Replicate: 2}, {Scenario: "x"}, {Scenario: "s", Replicate: 1}, {Scenario: "s", Replicate: 2}}
	if err := ValidateOutcomes(dup, 0); err == nil || !strings.Contains(err.Error(), `outcome 3 (scenario "s", replicate 2): duplicate of outcome 0`) {
		t.Errorf("duplicate: %v", err)
	}
	if err := ValidateOutcomes([]Outcome{ok, {Scenario: "s1", Replicate: 1, Value: 101, Status: Capped}}, 101); err != nil {
		t.Error(err)
	}
	// A hostile name must not reach a terminal raw.
	if err := ValidateOutcomes([]Outcome{{Scenario: "\x1b[2J", Value: -1}}, 0); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("control character: %v", err)
	}
}

func TestStrings(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"failed": Failed, "capped": Capped, "stopped": Stopped, "Status(7)": Status(7),
		"two-sided": TwoSided, "greater": Greater, "less": Less, "Alternative(7)": Alternative(7),
		"drop": Drop, "pratt": Pratt, "zsplit": ZSplit, "ZeroMethod(7)": ZeroMethod(7),
		"auto": Auto, "exact": Exact, "normal": Normal, "Method(7)": Method(7),
		"Holm": Holm, "Holm-Sidak": HolmSidak, "Correction(-1)": Correction(-1),
		"expanded BCa": ExpandedBCa, "BCa": BCa, "percentile": Percentile, "BootstrapKind(7)": BootstrapKind(7),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	}
}

func TestFormatP(t *testing.T) {
	for p, want := range map[float64]string{
		0: "<1e-300", 5e-324: "<1e-300", 1e-300: "1.0e-300", 7.62939453125e-06: "7.6e-06", 0.00009996: "1.0e-04",
		0.0001: "0.00010", 0.00034: "0.00034", 157. / (1 << 17): "0.0012", 0.00994: "0.0099",
		0.0496: "0.0496", 0.0556640625: "0.0557", 0.214: "0.214", 0.9993: "0.999", 0.9999: ">0.999", 1: "1",
		-0.1: "undefined", 1.1: "undefined", math.Inf(1): "undefined",
	} {
		if got := FormatP(p); got != want {
			t.Errorf("FormatP(%v) = %q, want %q", p, got, want)
		}
	}
	if got := FormatP(math.NaN()); got != "undefined" {
		t.Errorf("NaN: %q", got)
	}
}
