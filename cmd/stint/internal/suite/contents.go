package suite

import (
	"cmp"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Contents counts what a set of scenarios contains, so that two sets can be compared.
type Contents struct {
	Scenarios  int              `json:"scenarios"`
	Turns      int              `json:"turns"`      // of all scenarios
	Operations []OperationCount `json:"operations"` // by label in the order A T L R D B, then by name
	Clauses    []KindCount      `json:"clauses"`    // by kind name
	Ages       map[string]int   `json:"checks_by_age"`
	Requests   int              `json:"requests"` // sent when every turn is graded once
	Build      Size             `json:"build"`    // turn 0
	Last       Size             `json:"last"`     // the last turn
	Domains    map[string]int   `json:"domains"`
	Pairs      []Pair           `json:"pairs"` // every pair of scenarios, nearest first

	keys    []map[string]int // operation ids of every scenario
	names   []string
	byName  map[string]*OperationCount
	byKinds map[string]*KindCount
}

// OperationCount is how often a kind of operation occurs.
type OperationCount struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Count int    `json:"count"`
}

// KindCount counts clauses of a kind: those that were ever introduced, and those active at the last turn.
type KindCount struct {
	Kind       string `json:"kind"`
	Introduced int    `json:"introduced"`
	Last       int    `json:"last"`
}

// Size sums up one turn over the scenarios of a set.
type Size struct {
	Entities Range `json:"entities"`
	Fields   Range `json:"fields"`
	Clauses  Range `json:"clauses"`
	Checks   Range `json:"checks"`
	Requests Range `json:"requests"`
}

// Range is the least, mean and most of a count over scenarios.
type Range struct {
	Least int     `json:"least"`
	Mean  float64 `json:"mean"`
	Most  int     `json:"most"`

	sum, n int
}

func (r *Range) add(n int) {
	if r.n == 0 || n < r.Least {
		r.Least = n
	}
	r.Most = max(r.Most, n)
	r.sum += n
	r.n++
	r.Mean = float64(r.sum) / float64(r.n)
}

// Pair is how far two scenarios lie apart: 1 minus the share of operations that they have in common (Jaccard's distance
// of the operation ids, which hold uids and parameters, counted with repetitions). 0 means the same operations, 1 none.
type Pair struct {
	A        string  `json:"a"`
	B        string  `json:"b"`
	Distance float64 `json:"distance"`
}

// NearDuplicate is the distance below which two scenarios of a set count as nearly the same.
const NearDuplicate = 0.5

// NewContents begins an empty count.
func NewContents() *Contents {
	return &Contents{Operations: []OperationCount{}, Clauses: []KindCount{}, Ages: map[string]int{AgeNew: 0, AgeChanged: 0, AgeOld: 0},
		Domains: map[string]int{}, Pairs: []Pair{}, byName: map[string]*OperationCount{}, byKinds: map[string]*KindCount{}}
}

// Add counts one scenario.
func (c *Contents) Add(m *Material) {
	c.Scenarios++
	steps := m.Scenario.Steps
	c.Domains[steps[0].Schema.Domain]++
	keys := map[string]int{}
	for turn, st := range steps {
		c.Turns++
		for age, n := range m.Suites[turn].ByAge() {
			c.Ages[age] += n
		}
		c.Requests += m.Suites[turn].Requests()
		for _, cl := range st.Added {
			c.kind(cl.Kind).Introduced++
		}
		if turn == 0 {
			continue
		}
		keys[st.Operation.ID]++
		o := c.byName[st.Operation.Name]
		if o == nil {
			o = &OperationCount{Name: st.Operation.Name, Label: st.Operation.Label}
			c.byName[o.Name] = o
		}
		o.Count++
	}
	last := len(steps) - 1
	for _, cl := range steps[last].Schema.Clauses {
		c.kind(cl.Kind).Last++
	}
	c.Build.add(steps[0].Schema, m.Suites[0])
	c.Last.add(steps[last].Schema, m.Suites[last])
	for i, other := range c.keys {
		c.Pairs = append(c.Pairs, Pair{A: c.names[i], B: m.Scenario.Name, Distance: distance(other, keys)})
	}
	c.keys, c.names = append(c.keys, keys), append(c.names, m.Scenario.Name)
}

func (c *Contents) kind(k scenario.Kind) *KindCount {
	n := c.byKinds[string(k)]
	if n == nil {
		n = &KindCount{Kind: string(k)}
		c.byKinds[n.Kind] = n
	}
	return n
}

func (z *Size) add(s *scenario.Schema, su *Suite) {
	fields := 0
	for i := range s.Entities {
		fields += len(s.Entities[i].Fields)
	}
	z.Entities.add(len(s.Entities))
	z.Fields.add(fields)
	z.Clauses.add(len(s.Clauses))
	z.Checks.add(len(su.Checks))
	z.Requests.add(su.Requests())
}

// distance is 1 minus the size of the intersection over that of the union, 0 for two empty ones.
func distance(a, b map[string]int) float64 {
	both, either := 0, 0
	for k, n := range a {
		both += min(n, b[k])
		either += max(n, b[k])
	}
	for k, n := range b {
		if a[k] == 0 {
			either += n
		}
	}
	if either == 0 {
		return 0
	}
	return 1 - float64(both)/float64(either)
}

// Labels are the labels of operations in the order in which tables list them.
func Labels() []string { return []string{"A", "T", "L", "R", "D", "B"} }

// CompareLabels orders labels as tables list them; "" comes first.
func CompareLabels(a, b string) int {
	return cmp.Compare(slices.Index(Labels(), a), slices.Index(Labels(), b))
}

// Compare orders operations as tables list them: by label, then by name.
func (o OperationCount) Compare(p OperationCount) int {
	return cmp.Or(CompareLabels(o.Label, p.Label), cmp.Compare(o.Name, p.Name))
}

// Finish sorts the counts.
func (c *Contents) Finish() {
	for _, o := range c.byName {
		c.Operations = append(c.Operations, *o)
	}
	slices.SortFunc(c.Operations, OperationCount.Compare)
	for _, k := range c.byKinds {
		c.Clauses = append(c.Clauses, *k)
	}
	slices.SortFunc(c.Clauses, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	slices.SortStableFunc(c.Pairs, func(a, b Pair) int { return cmp.Compare(a.Distance, b.Distance) })
}

// Label is the number of operations with a label.
func (c *Contents) Label(label string) int {
	n := 0
	for _, o := range c.Operations {
		if o.Label == label {
			n += o.Count
		}
	}
	return n
}
