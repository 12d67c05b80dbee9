package logs

import (
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// chance is what is known of a filter before rows are read.
type chance int8

const (
	never chance = iota
	maybe
	always
)

// sureIf is a chance that is known, or not.
func sureIf(known, holds bool) chance {
	switch {
	case !known:
		return maybe
	case holds:
		return always
	}
	return never
}

// possible says whether rows can match, given what is known about one key having one of some values.
func (e Expr) possible(known func(key string, values []string) chance) chance {
	if e.root == nil {
		return always
	}
	return possible(e.root, known)
}

func possible(n node, known func(string, []string) chance) chance {
	switch n := n.(type) {
	case term:
		return known(n.key, n.values)
	case not:
		return always - possible(n.of, known)
	case all:
		v := always
		for _, part := range n {
			v = min(v, possible(part, known))
		}
		return v
	case oneOf:
		v := never
		for _, part := range n {
			v = max(v, possible(part, known))
		}
		return v
	case everything:
		return always
	}
	return maybe
}

// keys lists the keys of an expression, sorted.
func (e Expr) keys() []string {
	var keys []string
	if e.root != nil {
		possible(e.root, func(key string, _ []string) chance {
			keys = append(keys, key)
			return maybe
		})
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ruledOut says whether the statistics of a column chunk show that it has none of some values. Nulls are "".
func ruledOut(chunk *metadata.ColumnChunkMetaData, values []string) bool {
	stats, err := chunk.Statistics()
	if err != nil || stats == nil || !stats.HasMinMax() || slices.Contains(values, "") {
		return false
	}
	switch s := stats.(type) {
	case *metadata.ByteArrayStatistics:
		low, high := string(s.Min()), string(s.Max())
		return !slices.ContainsFunc(values, func(v string) bool { return low <= v && v <= high })
	case *metadata.Int64Statistics:
		if isUnsigned(s.Descr()) || decimalScale(s.Descr()) != 0 || isTime(s.Descr()) {
			return false
		}
		return !slices.ContainsFunc(values, func(v string) bool {
			n, err := strconv.ParseInt(v, 10, 64)
			return err == nil && s.Min() <= n && n <= s.Max()
		})
	}
	return false
}
