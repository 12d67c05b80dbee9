package stats

import (
	"errors"
	"fmt"
	"slices"
)

// PairwiseOptions controls [Pairwise].
type PairwiseOptions struct {
	Cap        float64
	Zero       ZeroMethod
	Level      float64
	Seed       uint64
	Force      bool
	Alpha      float64 // 0: 0.05
	Correction Correction
}

// A PairwiseEntry is one pair of configurations.
type PairwiseEntry struct {
	A, B   int // indexes of configurations, A < B
	Result PairResult
	// Refused is why the pair was not compared at all, such as too many
	// scenarios without a partner; it then counts in the family with p = 1.
	Refused string
	// Discrete is the p-value adjusted by discrete Holm; a companion of the
	// family's, never the gate. It is 1 where the pair was not tested by the
	// exact signed rank.
	Discrete float64
}

// PairwiseResult compares all pairs of configurations.
type PairwiseResult struct {
	Names   []string
	Entries []PairwiseEntry // in order of A, then B
	Family  FamilyResult    // parallel to Entries
	Groups  []RankGroup     // configurations that are not told apart
}

// A RankGroup is a largest possible set of configurations of which no two
// differ significantly. Groups overlap.
type RankGroup struct {
	Letter  string
	Members []int // in order of the ranking
	// Contiguous is false if the ranking has a configuration between the
	// members that is told apart from one of them: a line through the group
	// must then be drawn broken.
	Contiguous bool
}

// Pairwise compares every pair of configurations and adjusts for all of them.
// The groups follow the pairwise decisions, ordered by mean turns.
func Pairwise(configs []Configuration, opt PairwiseOptions) (PairwiseResult, error) {
	if len(configs) < 2 {
		return PairwiseResult{}, fmt.Errorf("comparing all pairs of %s", countOf(len(configs), "configuration", "configurations"))
	}
	r := PairwiseResult{}
	means := make([]float64, len(configs))
	for c, x := range configs {
		if slices.Contains(r.Names, x.Name) {
			return PairwiseResult{}, fmt.Errorf("comparing all pairs: two configurations are named %q", x.Name)
		}
		r.Names = append(r.Names, x.Name)
		m, err := MeanTurns(x.Outcomes, MeanOptions{Cap: opt.Cap, Level: opt.Level, Seed: opt.Seed})
		if err != nil {
			return PairwiseResult{}, fmt.Errorf("comparing all pairs: configuration %q: %w", x.Name, err)
		}
		means[c] = m.Mean
	}
	var tests []Test
	var p []float64
	var attainable [][]float64
	for a := range configs {
		for b := a + 1; b < len(configs); b++ {
			e, reach, err := r.compare(configs, a, b, opt)
			if err != nil {
				return PairwiseResult{}, err
			}
			r.Entries = append(r.Entries, e)
			tests = append(tests, Test{ID: r.Names[a] + " - " + r.Names[b], P: e.Result.P, MinP: e.Result.MinP})
			if reach == nil {
				p, attainable = append(p, 1), append(attainable, nil)
			} else {
				p, attainable = append(p, e.Result.P), append(attainable, reach)
			}
		}
	}
	var err error
	if r.Family, err = Family(tests, FamilyOptions{Alpha: opt.Alpha, Correction: opt.Correction}); err != nil {
		return PairwiseResult{}, fmt.Errorf("comparing all pairs: %w", err)
	}
	discrete, err := AdjustDiscrete(p, attainable)
	if err != nil {
		return PairwiseResult{}, fmt.Errorf("comparing all pairs: %w", err)
	}
	different := make([][]bool, len(configs))
	for c := range different {
		different[c] = make([]bool, len(configs))
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		e.Discrete = discrete[i]
		different[e.A][e.B], different[e.B][e.A] = r.Family.Reject[i], r.Family.Reject[i]
	}
	order := ascending(means)
	slices.Reverse(order)
	r.Groups, err = RankGroups(order, different)
	if err != nil {
		return PairwiseResult{}, err
	}
	return r, nil
}

// compare compares one pair; reach is nil unless it was tested by the exact
// signed rank.
func (r *PairwiseResult) compare(configs []Configuration, a, b int, opt PairwiseOptions) (e PairwiseEntry, reach []float64, err error) {
	e = PairwiseEntry{A: a, B: b}
	e.Result, err = ComparePair(configs[a].Outcomes, configs[b].Outcomes, ComparePairOptions{
		Cap: opt.Cap, Zero: opt.Zero, Level: opt.Level, Seed: opt.Seed, Force: opt.Force, Alpha: opt.Alpha,
		Where: r.Names[a] + " - " + r.Names[b],
	})
	var unmatched *UnmatchedError
	if errors.As(err, &unmatched) {
		e.Refused = err.Error()
		e.Result = PairResult{N: unmatched.Shared, P: 1, POtherZero: 1, MinP: 1, TestName: "not tested: too many scenarios without a partner"}
		return e, nil, nil
	}
	if err != nil {
		return e, nil, err
	}
	if !e.Result.Tested || len(e.Result.Pairs.Undecided) > 0 || !e.Result.Rank.Exact {
		return e, nil, nil
	}
	d, _ := (&pairing{Pairs: e.Result.Pairs}).differences()
	reach, err = AttainableP(d, SignedRankOptions{Zero: opt.Zero})
	return e, reach, err
}

// RankGroups returns the largest sets of which no two members are different, a
// symmetric matrix, as letters a, b, ... order is the ranking, best first.
// Bounded to 10000 sets.
func RankGroups(order []int, different [][]bool) ([]RankGroup, error) {
	k := len(order)
	if len(different) != k {
		return nil, fmt.Errorf("grouping %d configurations by %d rows", k, len(different))
	}
	place := make([]int, k)
	seen := make([]bool, k)
	for i, c := range order {
		if c < 0 || c >= k || seen[c] || len(different[c]) != k {
			return nil, fmt.Errorf("grouping: the ranking is no permutation, or row %d is too short", i)
		}
		seen[c], place[c] = true, i
	}
	s := cliqueSearch{alike: func(i, j int) bool { return !different[order[i]][order[j]] }}
	all := make([]int, k)
	for i := range all {
		all[i] = i
	}
	if !s.extend(nil, all, nil) {
		return nil, fmt.Errorf("grouping %d configurations: more than %d groups", k, maxCliques)
	}
	slices.SortFunc(s.found, slices.Compare)
	var out []RankGroup
	for n, members := range s.found {
		g := RankGroup{Letter: letters(n), Contiguous: members[len(members)-1]-members[0] == len(members)-1}
		for _, i := range members {
			g.Members = append(g.Members, order[i])
		}
		out = append(out, g)
	}
	return out, nil
}

// maxCliques bounds the number of groups.
const maxCliques = 10000

// A cliqueSearch lists maximal cliques (Bron & Kerbosch 1973, with pivots).
type cliqueSearch struct {
	alike func(i, j int) bool
	found [][]int
}

// extend grows a clique by candidates; excluded ones were tried before.
func (s *cliqueSearch) extend(clique, candidates, excluded []int) bool {
	if len(candidates) == 0 {
		if len(excluded) == 0 && len(clique) > 0 {
			found := slices.Clone(clique)
			slices.Sort(found)
			s.found = append(s.found, found)
		}
		return len(s.found) <= maxCliques
	}
	neighbours := func(of int, in []int) []int {
		var out []int
		for _, v := range in {
			if v != of && s.alike(of, v) {
				out = append(out, v)
			}
		}
		return out
	}
	pivot, most := -1, -1
	for _, v := range slices.Concat(candidates, excluded) {
		if n := len(neighbours(v, candidates)); n > most {
			pivot, most = v, n
		}
	}
	for _, v := range slices.Clone(candidates) {
		if v != pivot && s.alike(pivot, v) {
			continue
		}
		if !s.extend(append(slices.Clone(clique), v), neighbours(v, candidates), neighbours(v, excluded)) {
			return false
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(x int) bool { return x == v })
		excluded = append(slices.Clone(excluded), v)
	}
	return true
}

// letters numbers groups a, b, ..., z, aa, ab, ...
func letters(n int) string {
	s := string(rune('a' + n%26))
	if n >= 26 {
		return letters(n/26-1) + s
	}
	return s
}
