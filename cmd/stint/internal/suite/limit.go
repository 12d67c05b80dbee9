package suite

import (
	"crypto/sha256"
	"sort"
	"strconv"
	"strings"
)

// Limited returns a suite of at most n checks: those of new and changed clauses first, then one per clause, then
// a fixed draw; n <= 0 or a small suite returns s itself. The order of checks within their worlds stays.
func (s *Suite) Limited(n int) *Suite {
	if n <= 0 || len(s.Checks) <= n {
		return s
	}
	type rank struct {
		class, at int
		draw      [32]byte
	}
	ranks := make([]rank, len(s.Checks))
	seen := map[string]bool{}
	for i, c := range s.Checks {
		ranks[i] = rank{class: 2, at: i, draw: sha256.Sum256([]byte(strconv.Itoa(s.Turn) + "|" + c.ID))}
		switch {
		case c.Age != AgeOld:
			ranks[i].class = 0
		case !seen[c.Clauses[0]]:
			ranks[i].class = 1
		}
		seen[c.Clauses[0]] = true
	}
	sort.SliceStable(ranks, func(a, b int) bool {
		if ranks[a].class != ranks[b].class {
			return ranks[a].class < ranks[b].class
		}
		return ranks[a].class == 2 && string(ranks[a].draw[:]) < string(ranks[b].draw[:])
	})
	keep := make([]int, n)
	for i := range keep {
		keep[i] = ranks[i].at
	}
	sort.Ints(keep)
	out := *s
	out.Checks = make([]Check, n)
	for i, at := range keep {
		out.Checks[i] = s.Checks[at]
	}
	return &out
}

// clauseNumber is the number in a clause id; 0 if it has none.
func clauseNumber(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "c"))
	if err != nil {
		return 0
	}
	return n
}
