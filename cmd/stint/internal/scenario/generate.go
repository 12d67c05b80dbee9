package scenario

import (
	"fmt"
	"slices"
	"strconv"
)

// MaxChanges is the largest number of changes of one scenario.
const MaxChanges = 1000

// The schedules of the sampler.
const (
	ScheduleStratified = "stratified" // fixed shares of each label in every block of ten turns, in random order
	ScheduleIID        = "iid"        // every turn draws its label with fixed probabilities
)

// Options say which scenario to generate. The zero value is a build without changes.
type Options struct {
	Seed     uint64
	Changes  int    // number of change requests after the build
	Name     string // s01; recorded only, no draw depends on it
	Delivery string // delta+file (the default, also for ""), delta or full
	Schedule string // stratified (the default, also for "") or iid
}

// Scenario is one seeded sequence: an API to build and change requests for it.
type Scenario struct {
	Name     string
	Seed     uint64
	Delivery string
	Steps    []Step // Steps[0] is the build; len is changes + 1
}

// Step is one turn.
type Step struct {
	Turn      int
	Operation Operation // turn 0: name and id "build"
	Schema    *Schema   // state after the operation, clauses included; never to be modified
	Added     []Clause
	Changed   []Clause // clauses whose parameters changed
	Removed   []string // ids
	Request   string   // what the agent is told this turn
	Spec      string   // SPEC.md of this turn, without the sentence about the toolchain
}

// Generate draws a scenario. Equal options give equal bytes; a scenario with more changes starts with the
// turns of one with fewer.
func Generate(opt Options) (*Scenario, error) {
	sc, err := begin(&opt)
	if err != nil {
		return nil, err
	}
	for turn := 1; turn <= opt.Changes; turn++ {
		before := sc.Steps[turn-1].Schema
		op, next, err := drawOperation(opt, before, turn)
		if err != nil {
			return nil, fmt.Errorf("generating scenario %s with seed %d: %w", opt.Name, opt.Seed, err)
		}
		sc.Steps = append(sc.Steps, nextStep(opt, before, next, op, turn))
	}
	return sc, nil
}

// begin checks the options, fills in what they leave out and returns a scenario that has its build.
func begin(opt *Options) (*Scenario, error) {
	if opt.Changes < 0 || opt.Changes > MaxChanges {
		return nil, fmt.Errorf("generating scenario %s: %d changes, allowed are 0 to %d", opt.Name, opt.Changes, MaxChanges)
	}
	switch opt.Delivery {
	case "":
		opt.Delivery = DeliveryDeltaFile
	case DeliveryDelta, DeliveryDeltaFile, DeliveryFull:
	default:
		return nil, fmt.Errorf("generating scenario %s: unknown delivery %q (delta, delta+file, full)", opt.Name, opt.Delivery)
	}
	if opt.Schedule != "" && opt.Schedule != ScheduleStratified && opt.Schedule != ScheduleIID {
		return nil, fmt.Errorf("generating scenario %s: unknown schedule %q (stratified, iid)", opt.Name, opt.Schedule)
	}
	first, err := drawInitial(opt.Seed)
	if err != nil {
		return nil, fmt.Errorf("generating scenario %s with seed %d: %w", opt.Name, opt.Seed, err)
	}
	sc := &Scenario{Name: opt.Name, Seed: opt.Seed, Delivery: opt.Delivery, Steps: make([]Step, 0, opt.Changes+1)}
	build := Step{Operation: Operation{Name: "build", ID: "build", Label: "A", Title: "build the service"}, Schema: first, Spec: first.spec()}
	build.Added, _, _ = clauseChanges(nil, first)
	build.Request = buildRequest(opt.Delivery, first, build.Spec)
	sc.Steps = append(sc.Steps, build)
	return sc, nil
}

// drawInitial draws the API of turn 0: two entities of one domain, with a relation in every second scenario.
func drawInitial(seed uint64) (*Schema, error) {
	domains := vocabulary()
	d := &domains[stream(seed, "initial/domain").IntN(len(domains))]
	keys := pick(stream(seed, "initial/conventions"), [][2]string{{"items", "total"}, {"results", "count"}, {"rows", "total"}, {"entries", "size"}, {"data", "total_count"}})
	s := &Schema{Domain: d.name, Conventions: Conventions{ItemsKey: keys[0], TotalKey: keys[1]}, Entities: []Entity{}, Analytics: []Analytics{}, Tombstones: []Tombstone{}}
	order := stream(seed, "initial/nouns").Perm(len(d.nouns))
	for _, at := range order {
		if len(s.Entities) == 2 {
			break
		}
		n := d.nouns[at]
		if !s.nounFree(n) {
			continue
		}
		s.NextEntity++
		uid := "e" + strconv.Itoa(s.NextEntity)
		s.Entities = append(s.Entities, drawEntity(stream(seed, "initial/"+uid), d, n, uid))
	}
	if r := stream(seed, "initial/relation"); chance(r, 0.5) && len(s.Entities) == 2 {
		e := &s.Entities[1]
		e.Fields = append(e.Fields, drawRef(r, &s.Entities[0], e.nextUID()))
		e.NextField++
	}
	s.deriveClauses(0)
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("drawing the initial schema: %w", err)
	}
	return s, nil
}

// nextStep writes the texts of the turn whose operation led from one schema to the next.
func nextStep(opt Options, before, next *Schema, op Operation, turn int) Step {
	st := Step{Turn: turn, Operation: op, Schema: next, Spec: next.spec()}
	st.Added, st.Changed, st.Removed = clauseChanges(before, next)
	sentence := wording(stream(opt.Seed, turnLabel(turn, "wording")), before, next, op)
	st.Request = changeRequest(opt.Delivery, change(sentence, &st, before), st.Spec)
	return st
}

func turnLabel(turn int, what string) string { return "turn/" + strconv.Itoa(turn) + "/" + what }

// drawOperation draws a label, then an operation of it, then an instance. Where a label has no valid
// instance, the next one in the drawn order takes its place.
func drawOperation(opt Options, s *Schema, turn int) (Operation, *Schema, error) {
	x := newEnumeration(s, stream(opt.Seed, turnLabel(turn, "parameters")).Uint64())
	if x == nil {
		return Operation{}, nil, fmt.Errorf("turn %d: unknown domain %q", turn, s.Domain)
	}
	for _, label := range labelOrder(opt, turn) {
		for _, kind := range operationOrder(opt.Seed, s, turn, label) {
			found := x.shuffled(&kind, opt.Seed, turn)
			if len(found) == 0 {
				continue
			}
			op := found[0]
			op.Title = kind.title(s, op.Params)
			next, err := Apply(s, op, turn)
			if err != nil {
				return Operation{}, nil, fmt.Errorf("turn %d: %w", turn, err)
			}
			return op, next, nil
		}
	}
	return Operation{}, nil, fmt.Errorf("turn %d: no operation is possible", turn)
}

// shuffled lists the instances of one kind of operation in the random order of a turn.
func (x *enumeration) shuffled(kind *kindOfOperation, seed uint64, turn int) []Operation {
	x.kind, x.found = kind, nil
	kind.enumerate(x)
	r := stream(seed, turnLabel(turn, "instance/"+kind.name))
	r.Shuffle(len(x.found), func(i, j int) { x.found[i], x.found[j] = x.found[j], x.found[i] })
	return x.found
}

// operationOrder returns the operations of a label in a weighted random order, which leans to what brings the schema to
// the size that it should have.
func operationOrder(seed uint64, s *Schema, turn int, label string) []kindOfOperation {
	var kinds []kindOfOperation
	arrivals := make(map[string]float64)
	short := shortage(s, turn)
	for _, k := range operations() {
		if k.label == label {
			kinds = append(kinds, k)
			arrivals[k.name] = arrival(stream(seed, turnLabel(turn, "operation/"+k.name)), k.weight*lean(short, k.name))
		}
	}
	slices.SortFunc(kinds, func(a, b kindOfOperation) int { return compare(arrivals[a.name], arrivals[b.name]) })
	return kinds
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// share is the number of turns of a label in every ten.
type share struct {
	label string
	per   float64
}

func shares() []share {
	return []share{{"A", 4}, {"T", 2}, {"L", 1}, {"R", 2}, {"D", 0.75}, {"B", 0.25}}
}

// labelOrder returns all labels, the one of the turn's schedule first.
func labelOrder(opt Options, turn int) []string {
	arrivals := make(map[string]float64)
	var order []string
	for _, s := range shares() {
		order = append(order, s.label)
		arrivals[s.label] = arrival(stream(opt.Seed, turnLabel(turn, "label/"+s.label)), s.per)
	}
	if opt.Schedule != ScheduleIID {
		// Before every arrival, so that it comes first.
		arrivals[scheduled(opt.Seed, turn)] = -1
	}
	slices.SortFunc(order, func(a, b string) int { return compare(arrivals[a], arrivals[b]) })
	return order
}

// scheduled is the label of a turn under the stratified schedule: in every block of ten turns 4 A, 2 T, 1 L,
// 2 R and one that removes or, in one block of four, changes nothing.
func scheduled(seed uint64, turn int) string {
	r := stream(seed, "schedule/"+strconv.Itoa((turn-1)/10))
	last := "D"
	if chance(r, 0.25) {
		last = "B"
	}
	block := []string{"A", "A", "A", "A", "T", "T", "L", "R", "R", last}
	r.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
	return block[(turn-1)%10]
}
