package classify

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// NoLabel is the column of a confusion matrix for items that a classifier abstained on.
const NoLabel = "unknown"

// A Scored is one label that a classifier gave an item whose truth is known.
type Scored struct {
	Item     string   // what was labelled; the same item more than once is a repeat
	Scenario string   // items of one scenario depend on each other
	Right    []string // the labels that are right: leaves, or levels where no leaf is known; the first names the row
	Given    string   // a leaf, a level without a leaf, or "" or unknown.* for none
}

// An Accuracy is a share of right labels. An abstention is not right.
type Accuracy struct {
	Right    int         `json:"right"`
	Of       int         `json:"of"`
	Share    *float64    `json:"share"` // null if there was nothing to score
	CI       *[2]float64 `json:"ci95"`  // by scenario; null with its reason
	Method   string      `json:"ci_method,omitempty"`
	Reason   string      `json:"ci_reason,omitempty"`
	Decided  int         `json:"decided"`        // labels that are no abstention
	Majority string      `json:"majority_label"` // what is most often right
	Baseline *float64    `json:"majority_share"` // how often one is right who always says so
	Alpha    *float64    `json:"alpha"`          // Krippendorff's, against the truth; an abstention is a label of its own
	AlphaCI  *[2]float64 `json:"alpha_ci95"`
}

// A LabelScore is one row of a confusion matrix in three numbers.
type LabelScore struct {
	Label     string   `json:"label"`
	Planted   int      `json:"planted"`
	Given     int      `json:"given"`
	Right     int      `json:"right"`
	Recall    *float64 `json:"recall"`
	Precision *float64 `json:"precision"`
}

// Repeats says how often a classifier says the same of one item.
type Repeats struct {
	Items  int         `json:"items"`  // with more than one label
	Labels int         `json:"labels"` // of those items
	Same   *float64    `json:"same"`   // share of pairs of labels of one item that agree
	Alpha  *float64    `json:"alpha"`
	CI     *[2]float64 `json:"alpha_ci95"`
}

// A Score is how well a classifier did.
type Score struct {
	Items          int                       `json:"items"`
	Scenarios      int                       `json:"scenarios"`
	Abstained      int                       `json:"abstained"`
	Leaf           Accuracy                  `json:"leaf"` // over the items whose leaf is known
	L1             Accuracy                  `json:"l1"`
	Levels         map[string]map[string]int `json:"levels"` // right → given → labels
	Leaves         map[string]map[string]int `json:"leaves"`
	ByLeaf         []LabelScore              `json:"by_leaf"`
	MacroRecall    *float64                  `json:"macro_recall"`    // over the leaves that are right somewhere
	MacroPrecision *float64                  `json:"macro_precision"` // over the leaves that were given somewhere
	Repeats        Repeats                   `json:"repeats"`
}

// ScoreLabels scores labels against the truth at both levels. Every interval treats scenarios, not items, as drawn.
func ScoreLabels(labels []Scored, seed uint64) (*Score, error) {
	s := &Score{Levels: map[string]map[string]int{}, Leaves: map[string]map[string]int{}, ByLeaf: []LabelScore{}}
	items, scenarios := map[string][]string{}, map[string]bool{}
	var leaves, levels marks
	for _, l := range labels {
		if len(l.Right) == 0 {
			return nil, fmt.Errorf("scoring %s: no label is right", l.Item)
		}
		given := l.Given
		if given == "" || levelOf(given) == NoLabel {
			given = NoLabel
			s.Abstained++
		}
		items[l.Item] = append(items[l.Item], given)
		scenarios[l.Scenario] = true
		var right []string
		for _, r := range l.Right {
			if v := levelOf(r); !slices.Contains(right, v) {
				right = append(right, v)
			}
		}
		levels.add(s.Levels, l.Scenario, right, levelOf(given))
		if strings.Contains(l.Right[0], ".") {
			leaves.add(s.Leaves, l.Scenario, l.Right, given)
		}
	}
	s.Items, s.Scenarios = len(items), len(scenarios)
	var err error
	if s.Leaf, err = leaves.accuracy(seed); err != nil {
		return nil, err
	}
	if s.L1, err = levels.accuracy(seed); err != nil {
		return nil, err
	}
	s.byLeaf()
	s.Repeats, err = RepeatsOf(items, seed)
	return s, err
}

// marks are the labels of one level.
type marks struct {
	right    []float64
	scenario []string
	pairs    [][]string // the label of the truth and the one given
	wanted   [][]string
}

func (m *marks) add(matrix map[string]map[string]int, scenario string, right []string, given string) {
	row, hit := right[0], 0.0
	if slices.Contains(right, given) {
		row, hit = given, 1
	}
	if matrix[row] == nil {
		matrix[row] = map[string]int{}
	}
	matrix[row][given]++
	m.right = append(m.right, hit)
	m.scenario = append(m.scenario, scenario)
	m.pairs = append(m.pairs, []string{row, given})
	m.wanted = append(m.wanted, right)
}

func (m *marks) accuracy(seed uint64) (Accuracy, error) {
	a := Accuracy{Of: len(m.right)}
	if a.Of == 0 {
		a.Reason = "nothing to score"
		return a, nil
	}
	count := map[string]int{}
	for i, hit := range m.right {
		a.Right += int(hit)
		if m.pairs[i][1] != NoLabel {
			a.Decided++
		}
		for _, r := range m.wanted[i] {
			count[r]++
		}
	}
	for label, n := range count {
		if best := count[a.Majority]; n > best || n == best && label < a.Majority {
			a.Majority = label
		}
	}
	a.Share, a.Baseline = share(a.Right, a.Of), share(count[a.Majority], a.Of)
	if err := a.interval(m); err != nil {
		return a, err
	}
	k, err := stats.KrippendorffLabels(m.pairs, stats.AlphaOptions{Seed: seed, Resamples: 1999})
	if err != nil {
		return a, fmt.Errorf("agreement with the truth: %w", err)
	}
	a.Alpha, a.AlphaCI = alphaOf(&k)
	return a, nil
}

// interval is Student's on the scale of log odds with the error of clusters, so that it stays between 0 and 1. Where all
// labels are right, or none is, nothing is known of how scenarios differ: each then counts as a single try.
func (a *Accuracy) interval(m *marks) error {
	c, err := stats.ClusterSE(m.right, m.scenario, 0.95)
	if err != nil {
		return fmt.Errorf("interval of an accuracy: %w", err)
	}
	if a.Right == 0 || a.Right == a.Of {
		k := 0
		if a.Right > 0 {
			k = c.Clusters
		}
		w := stats.ClopperPearson(k, c.Clusters, 0.95)
		a.CI, a.Method = &[2]float64{w.Lo, w.Hi}, "Clopper-Pearson, scenarios as tries"
		return nil
	}
	if !c.Defined || c.CR1 <= 0 && c.NaiveSE <= 0 {
		a.Reason = c.Reason
		return nil
	}
	p, half := c.Mean, 0.0
	if c.CR1 > 0 {
		half = (c.Interval.Hi - c.Interval.Lo) / 2
		half *= max(c.CR1, c.NaiveSE) / c.CR1
	} else {
		half = 1.96 * c.NaiveSE
	}
	logit, width := math.Log(p/(1-p)), half/(p*(1-p))
	a.CI = &[2]float64{1 / (1 + math.Exp(width-logit)), 1 / (1 + math.Exp(-width-logit))}
	a.Method = "clusters are scenarios (CR1, Student), log odds"
	return nil
}

func alphaOf(k *stats.AlphaResult) (*float64, *[2]float64) {
	if !k.Defined {
		return nil, nil
	}
	if !k.Interval.Defined {
		return &k.Alpha, nil
	}
	return &k.Alpha, &[2]float64{k.Interval.Lo, k.Interval.Hi}
}

func share(k, n int) *float64 {
	if n == 0 {
		return nil
	}
	v := float64(k) / float64(n)
	return &v
}

// byLeaf reads the rows of the matrix of leaves.
func (s *Score) byLeaf() {
	given, names := map[string]int{}, map[string]bool{}
	for right, row := range s.Leaves {
		names[right] = true
		for g, n := range row {
			given[g] += n
			names[g] = true
		}
	}
	var recall, precision []float64
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name == NoLabel {
			continue
		}
		l := LabelScore{Label: name, Given: given[name], Right: s.Leaves[name][name]}
		for _, n := range s.Leaves[name] {
			l.Planted += n
		}
		if l.Recall = share(l.Right, l.Planted); l.Recall != nil {
			recall = append(recall, *l.Recall)
		}
		if l.Precision = share(l.Right, l.Given); l.Precision != nil {
			precision = append(precision, *l.Precision)
		}
		s.ByLeaf = append(s.ByLeaf, l)
	}
	s.MacroRecall, s.MacroPrecision = meanOf(recall), meanOf(precision)
}

func meanOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	sum /= float64(len(x))
	return &sum
}

// RepeatsOf measures how much the labels of one item agree; items with one label say nothing.
func RepeatsOf(items map[string][]string, seed uint64) (Repeats, error) {
	var r Repeats
	var units [][]string
	pairs, same := 0, 0
	for _, name := range slices.Sorted(maps.Keys(items)) {
		given := items[name]
		if len(given) < 2 {
			continue
		}
		r.Items++
		r.Labels += len(given)
		units = append(units, given)
		for i := range given {
			for _, other := range given[:i] {
				pairs++
				if other == given[i] {
					same++
				}
			}
		}
	}
	if r.Items == 0 {
		return r, nil
	}
	r.Same = share(same, pairs)
	k, err := stats.KrippendorffLabels(units, stats.AlphaOptions{Seed: seed, Resamples: 1999})
	if err != nil {
		return r, fmt.Errorf("agreement of repeats: %w", err)
	}
	r.Alpha, r.CI = alphaOf(&k)
	return r, nil
}
