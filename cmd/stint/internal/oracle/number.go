package oracle

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// maxExact bounds the integers that every JSON reader keeps exactly.
const maxExact = 1 << 53

// wholeNumber reads a JSON number without fraction. A zero fraction or an exponent (5.0, 1e3) is taken by
// value, which specifications leave open. Beyond ±2^53 it reports false.
func wholeNumber(n json.Number) (int64, bool) {
	if x, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return x, -maxExact <= x && x <= maxExact
	}
	x, err := strconv.ParseFloat(string(n), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > maxExact {
		return 0, false
	}
	return int64(x), true
}

// hundredths reads a JSON number in hundredths, exactly for up to two decimal places; further places,
// which specifications exclude, are rounded. Beyond ±2^53 hundredths it reports false.
func hundredths(n json.Number) (int64, bool) {
	whole, fraction, _ := strings.Cut(string(n), ".")
	if len(fraction) <= 2 && len(whole) <= 14 && !strings.ContainsAny(string(n), "eE") {
		x, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
		if err != nil {
			return 0, false
		}
		return x, -maxExact <= x && x <= maxExact
	}
	x, err := strconv.ParseFloat(string(n), 64)
	if err != nil || math.Abs(x*100) > maxExact {
		return 0, false
	}
	return int64(math.Round(x * 100)), true
}
