package scenario

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// ChooserTask is what a choosing model is told first.
const ChooserTask = "You plan how a small web service changes over time, as its owners would. You are shown the service and a numbered list of " +
	"changes that are possible next. Choose the one that a real team would most plausibly ask for next, given what came before; over many turns, prefer " +
	"variety and changes that build on earlier ones. You can only choose from the list. Where an entry says that a name may be chosen, you may give another " +
	"name for what it adds or renames: lower-case English words joined by underscores, singular, not in use. Answer with one JSON object and nothing else: " +
	`{"choice": "o3", "rename": null or {"name": "parcel"}, "title": "what changes, in at most 80 characters", "reason": "one or two sentences"}.`

// chooserAgain asks for another answer.
const chooserAgain = "That answer cannot be used: %s. Answer again, with one JSON object and nothing else."

// listedAs is the name of entry i (from 0) of a list.
func listedAs(i int) string { return "o" + strconv.Itoa(i+1) }

// list fills in the operations that may be chosen: at most MaxListed, spread evenly over the kinds of operation. Under the
// stratified schedule they have the turn's label; else labels have their shares of the list.
func (t *turnChoice) list() error {
	x := newEnumeration(t.before, stream(t.opt.Seed, turnLabel(t.turn, "parameters")).Uint64())
	if x == nil {
		return fmt.Errorf("unknown domain %q", t.before.Domain)
	}
	decks := map[string]*deck{}
	var order []string
	for _, label := range labelOrder(t.opt, t.turn) {
		d := newDeck(x, t.opt.Seed, t.turn, label)
		if len(d.kinds) == 0 {
			continue
		}
		decks[label] = d
		order = append(order, label)
		if t.opt.Schedule != ScheduleIID {
			break
		}
	}
	r := stream(t.opt.Seed, turnLabel(t.turn, "list"))
	for len(t.listed) < MaxListed && len(order) > 0 {
		at := drawLabel(r, order)
		op, ok := decks[order[at]].next()
		if !ok {
			order = append(order[:at:at], order[at+1:]...)
			continue
		}
		op.Title = operationNamed(op.Name).title(t.before, op.Params)
		t.listed = append(t.listed, op)
	}
	if len(t.listed) == 0 {
		return fmt.Errorf("no operation is possible")
	}
	return nil
}

// drawLabel returns the place of a label, drawn by the labels' shares.
func drawLabel(r *rand.Rand, labels []string) int {
	var total float64
	for _, l := range labels {
		total += shareOf(l)
	}
	left := r.Float64() * total
	for i, l := range labels {
		if left -= shareOf(l); left < 0 {
			return i
		}
	}
	return len(labels) - 1
}

func shareOf(label string) float64 {
	for _, s := range shares() {
		if s.label == label {
			return s.per
		}
	}
	return 0
}

// deck deals the instances of one label, one kind of operation after the other.
type deck struct {
	kinds [][]Operation
	turn  int
}

func newDeck(x *enumeration, seed uint64, turn int, label string) *deck {
	d := &deck{}
	for _, kind := range operationOrder(seed, x.s, turn, label) {
		if ops := x.shuffled(&kind, seed, turn); len(ops) > 0 {
			d.kinds = append(d.kinds, ops)
		}
	}
	return d
}

func (d *deck) next() (Operation, bool) {
	for len(d.kinds) > 0 {
		d.turn %= len(d.kinds)
		k := d.kinds[d.turn]
		if len(k) == 0 {
			d.kinds = append(d.kinds[:d.turn:d.turn], d.kinds[d.turn+1:]...)
			continue
		}
		d.kinds[d.turn] = k[1:]
		d.turn++
		return k[0], true
	}
	return Operation{}, false
}
