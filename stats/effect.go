package stats

// RankBiserial is the matched-pairs rank-biserial correlation (Kerby 2014) of a
// signed-rank result: (W+ - W-) over the rank sum. Zeros shrink it under Pratt
// and ZSplit, whose rank sum includes theirs, and are left out under Drop. It
// is 0 if all differences are zero.
func RankBiserial(r SignedRankResult) float64 {
	if r.NonZero == 0 {
		return 0
	}
	all := r.WPlus + r.WMinus
	if r.Zero != Drop {
		all = float64(r.N) * float64(r.N+1) / 2
	}
	return (r.WPlus - r.WMinus) / all
}

// PairedSuperiority is the share of pairs in which A is ahead, level pairs
// counting half, with Wilson's interval of the wins among the pairs that are
// not level. With no pairs it is 0 and the interval undefined.
func PairedSuperiority(ahead, level, behind int, confidence float64) (share float64, wins Interval) {
	n := ahead + level + behind
	if n == 0 {
		return 0, undefined(confidence, "Wilson", "no pairs")
	}
	return (float64(ahead) + float64(level)/2) / float64(n), Wilson(ahead, ahead+behind, confidence)
}
