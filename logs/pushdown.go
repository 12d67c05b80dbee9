package logs

import (
	"cmp"
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

// chanceIn is what the statistics of a column chunk show about its rows having one of some values: none has, every one
// has, or it cannot be told. Nulls are "".
func chanceIn(chunk *metadata.ColumnChunkMetaData, values []string) chance {
	stats, err := chunk.Statistics()
	if err != nil || stats == nil || !stats.HasMinMax() || slices.Contains(values, "") {
		return maybe
	}
	full := stats.HasNullCount() && stats.NullCount() == 0
	switch s := stats.(type) {
	case *metadata.ByteArrayStatistics:
		return chanceBetween(string(s.Min()), string(s.Max()), values, full)
	case *metadata.Int64Statistics:
		if isUnsigned(s.Descr()) || decimalScale(s.Descr()) != 0 || isTime(s.Descr()) {
			return maybe
		}
		var numbers []int64
		for _, v := range values {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(n, 10) == v {
				numbers = append(numbers, n)
			}
		}
		return chanceBetween(s.Min(), s.Max(), numbers, full)
	}
	return maybe
}

// chanceBetween is chanceIn for rows whose values lie from low to high, without nulls if full is set.
func chanceBetween[V cmp.Ordered](low, high V, values []V, full bool) chance {
	switch {
	case !slices.ContainsFunc(values, func(v V) bool { return low <= v && v <= high }):
		return never
	case full && low == high: // then one of the values is that one
		return always
	}
	return maybe
}
