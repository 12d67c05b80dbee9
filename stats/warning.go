package stats

import (
	"fmt"
	"strings"
)

// A Warning is a remark that travels beside a result. Code is stable and meant
// for programs, Where names the result (a pair, a test, a configuration), Text
// is a sentence for people. A warning never changes a number.
type Warning struct {
	Code  string
	Where string
	Text  string
}

// Codes of warnings. They are part of the output formats and are not renamed.
const (
	CodeAllTied             = "ALL_TIED"
	CodeApproximate         = "APPROXIMATE"
	CodeCannotReachAlpha    = "CANNOT_REACH_ALPHA"
	CodeCannotSurviveFamily = "CANNOT_SURVIVE_FAMILY"
	CodeCapTooLow           = "CAP_TOO_LOW"
	CodeCensoringDecides    = "CENSORING_DECIDES"
	CodeDegenerate          = "DEGENERATE"
	CodeDirectionSplit      = "DIRECTION_SPLIT"
	CodeOneScenario         = "ONE_SCENARIO"
	CodeRepeatsTrimmed      = "REPEATS_TRIMMED"
	CodeTauBeyondData       = "TAU_BEYOND_DATA"
	CodeTooManyStopped      = "TOO_MANY_STOPPED"
	CodeUnmatched           = "UNMATCHED"
	CodeZeroMethodDecides   = "ZERO_METHOD_DECIDES"
)

// CodeStoppedUntested is in results of versions without a test for pairs with
// stopped runs; it is no longer given.
const CodeStoppedUntested = "STOPPED_UNTESTED"

// warnf builds a warning from a format.
func warnf(code, where, format string, args ...any) Warning {
	return Warning{Code: code, Where: where, Text: fmt.Sprintf(format, args...)}
}

// quoteSome lists at most five names, quoted so that control characters in a
// foreign file cannot reach a terminal.
func quoteSome(names []string) string {
	const most = 5
	var b strings.Builder
	for i, s := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", s)
	}
	return b.String()
}
