package stats

import (
	"fmt"
	"slices"
)

// AgreementOptions controls [PairAgreement].
type AgreementOptions struct {
	Level     float64 // 0: 0.95
	Seed      uint64
	Resamples int // 0: 2000
}

// A Coefficient is one measure of agreement. When Defined is false, Reason says why.
type Coefficient struct {
	Value    float64
	Interval Interval
	Defined  bool
	Reason   string
}

// Agreement is the outcome of [PairAgreement].
type Agreement struct {
	N, Clusters int
	Labels      []string  // sorted; they index Table and Prevalence
	Table       [][]int   // Table[i][j] units got label i first and j second
	Prevalence  []float64 // share of each label among all labels
	// Raw is the share of equal labels. Kappa is Cohen's, AC1 is Gwet's (2008) over the labels that
	// occur, Alpha is Krippendorff's for nominal labels without gaps.
	Raw, Kappa, AC1, Alpha Coefficient
}

// PairAgreement measures how far two raters agree: first[u] and second[u] are their labels of unit u, and units of
// the same cluster depend on each other. Intervals are percentile bootstraps that draw whole clusters. Without
// variation among the labels the chance-corrected measures are undefined, never 1.
func PairAgreement(first, second, cluster []string, opt AgreementOptions) (Agreement, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return Agreement{}, fmt.Errorf("agreement: %w", err)
	}
	if len(cluster) != len(first) {
		return Agreement{}, fmt.Errorf("agreement of %d units in %d clusters", len(first), len(cluster))
	}
	labels, table, err := Confusion(first, second)
	if err != nil {
		return Agreement{}, fmt.Errorf("agreement: %w", err)
	}
	names := slices.Clone(cluster)
	slices.Sort(names)
	names = slices.Compact(names)
	r := Agreement{N: len(first), Clusters: len(names), Labels: labels, Table: table}
	units := make([][][2]int, len(names)) // by cluster
	for u := range first {
		a, _ := slices.BinarySearch(labels, first[u])
		b, _ := slices.BinarySearch(labels, second[u])
		c, _ := slices.BinarySearch(names, cluster[u])
		units[c] = append(units[c], [2]int{a, b})
	}
	for _, list := range units { // neither the order of the units nor that of a cluster may matter
		slices.SortFunc(list, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	}
	slices.SortStableFunc(units, func(x, y [][2]int) int {
		return slices.CompareFunc(x, y, func(p, q [2]int) int { return slices.Compare(p[:], q[:]) })
	})
	var data []float64
	m := newPairTable(len(labels))
	for _, list := range units {
		m.add(list)
		for _, p := range list {
			data = append(data, float64(p[0]), float64(p[1]))
		}
	}
	r.Prevalence = slices.Clone(m.shares())
	values, defined := m.measures()
	out := [4]*Coefficient{&r.Raw, &r.Kappa, &r.AC1, &r.Alpha}
	for i, c := range out {
		c.Value, c.Defined = values[i], defined[i]
	}
	b := opt.Resamples
	if b <= 0 {
		b = 2000
	}
	r.intervals(out, m, units, level, b, stream(opt.Seed, "agreement", data))
	return r, nil
}

// intervals fills in the intervals of the four measures.
func (r *Agreement) intervals(out [4]*Coefficient, m *pairTable, units [][][2]int, level float64, b int, rng interface{ IntN(int) int }) {
	const method = "percentile"
	drawn := [4][]float64{}
	if r.Clusters > 1 {
		for range b {
			m.clear()
			for range units {
				m.add(units[rng.IntN(len(units))])
			}
			values, defined := m.measures()
			for i := range drawn {
				if !defined[i] {
					values[i] = out[i].Value // a resample without variation says nothing
				}
				drawn[i] = append(drawn[i], values[i])
			}
		}
	}
	tail := (1 - level) / 2
	for i, c := range out {
		switch {
		case r.N == 0:
			c.Reason = "no unit has two labels"
		case !c.Defined:
			c.Reason = noVariation
		case r.Clusters < 2:
			c.Interval = undefined(level, method, "one cluster has no interval")
			continue
		default:
			slices.Sort(drawn[i])
			c.Interval = Interval{Lo: orderStatistic(drawn[i], tail), Hi: orderStatistic(drawn[i], 1-tail), Level: level,
				Method: fmt.Sprintf("%s, %d resamples of clusters", method, b), Defined: true}
			continue
		}
		c.Interval = undefined(level, method, "%s", c.Reason)
	}
}

// pairTable is a confusion table that is filled again for every resample.
type pairTable struct {
	k, n       int
	same       int
	row, col   []int
	prevalence []float64
}

func newPairTable(k int) *pairTable {
	return &pairTable{k: k, row: make([]int, k), col: make([]int, k), prevalence: make([]float64, k)}
}

func (m *pairTable) clear() {
	m.n, m.same = 0, 0
	clear(m.row)
	clear(m.col)
}

func (m *pairTable) add(units [][2]int) {
	for _, p := range units {
		m.n++
		m.row[p[0]]++
		m.col[p[1]]++
		if p[0] == p[1] {
			m.same++
		}
	}
}

// shares are those of the labels among all labels.
func (m *pairTable) shares() []float64 {
	for i := range m.prevalence {
		m.prevalence[i] = float64(m.row[i]+m.col[i]) / float64(max(1, 2*m.n))
	}
	return m.prevalence
}

// measures returns raw agreement, Cohen's kappa, Gwet's AC1 and Krippendorff's alpha.
func (m *pairTable) measures() (value [4]float64, defined [4]bool) {
	if m.n == 0 {
		return value, defined
	}
	n := float64(m.n)
	observed := float64(m.same) / n
	value[0], defined[0] = observed, true
	byRater, spread, pairs := 0.0, 0.0, 0.0
	for i, p := range m.shares() {
		byRater += float64(m.row[i]) / n * float64(m.col[i]) / n
		spread += p * (1 - p)
		c := float64(m.row[i] + m.col[i])
		pairs += c * (c - 1)
	}
	if 1-byRater > tieTolerance {
		value[1], defined[1] = (observed-byRater)/(1-byRater), true
	}
	if spread < tieTolerance { // one label alone
		return value, defined
	}
	chance := spread / float64(m.k-1)
	value[2], defined[2] = (observed-chance)/(1-chance), true
	chance = pairs / (2 * n * (2*n - 1))
	value[3], defined[3] = 1-(1-observed)/(1-chance), true
	return value, defined
}
