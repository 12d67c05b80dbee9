package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// sizeUnits are the suffixes of sizes: decimal ones for tokens, binary ones for bytes.
var sizeUnits = []struct {
	suffix string
	factor float64
}{ // longest suffix first
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9},
}

// parseSize reads a count with an optional suffix: 200k, 1.5M, 4GiB. It is positive and whole.
func parseSize(s string) (int64, error) {
	number, factor := strings.ReplaceAll(s, "_", ""), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is no size", s)
	}
	f *= factor
	switch {
	case f <= 0:
		return 0, fmt.Errorf("%s is not positive", s)
	case f != math.Trunc(f) || f >= 1<<62:
		return 0, fmt.Errorf("%s is no whole number that can be counted to", s)
	}
	return int64(f), nil
}

// parseDuration reads a positive duration in Go's form.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	if d <= 0 {
		return 0, fmt.Errorf("%s is not positive", s)
	}
	return d, nil
}

// parseCount reads a whole number without sign games: "3", not "3.0" or "+3".
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	return n, nil
}

// parseNumber reads a finite number that is not negative.
func parseNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is no number", s)
	}
	if f < 0 {
		return 0, fmt.Errorf("%s is negative", s)
	}
	return f, nil
}

// parseSeed reads an unsigned whole number.
func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number from 0 to 2^64−1", s)
	}
	return n, nil
}
