package harness

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// preset is a simulated model: the probability that its first answer to a turn fails, infrastructure included.
type preset struct{ unassisted float64 }

// presets are the simulated models. The figures are published means of coding agents by model class.
var presets = map[string]preset{"weak": {0.26}, "medium": {0.139}, "strong": {0.06}}

// repairs is the probability that a retry repairs everything that is wrong, by feedback level.
var repairs = map[string]float64{"minimal": 0.2, "moderate": 0.45, "detailed": 0.7}

// PresetFails is the share of turns that a simulated model fails without help, infrastructure included; ok is false
// for a name that is no preset.
func PresetFails(name string) (share float64, ok bool) {
	p, ok := presets[name]
	return p.unassisted, ok
}

// RetryRepairs is the chance that one retry of a simulated model repairs everything, by feedback level.
func RetryRepairs(feedback string) float64 { return repairs[feedback] }

// LostTurn is the share of a simulated model's turns in which infrastructure ends every attempt.
const LostTurn = 0.003

// The other rates of what does not depend on the model.
const (
	badEnd        = 0.006 // of attempts: the program ends badly once; a process retry works again
	providerFault = 0.004 // of attempts: one or two void tries, then all is well

	regressionShare  = 0.25 // of faults: on a clause that is neither new nor changed
	ignoredShare     = 0.08 // of failing answers: the change is not made at all
	switchShare      = 0.04 // of failing answers: the server as a process is broken
	oscillationShare = 0.1  // of retries that repair nothing: another fault instead
	frailtySigma     = 0.25 // of the logarithm of the factor that makes one scenario harder than another
)

// labelEffects are how much harder operations of a label are. With the shares of the labels in a stratified
// schedule (per ten turns 4 A, 2 T, 1 L, 2 R, 1 D or B) their mean is 1.
var labelEffects = map[string]float64{"A": 0.9, "T": 1.1, "L": 0.8, "R": 1.2, "D": 1.06, "B": 0.82}

// drawInput is what a draw depends on, besides the scenario and the workspace. Try counts what the agent and its
// provider ended; an attempt that stint itself interrupted is drawn again as it was.
type drawInput struct {
	seed               uint64
	turn, attempt, try int
	feedback           string
	can                func(*scenario.Schema, oracle.Fault) bool // whether a fault can be planted; nil = every one can
}

// draw is what happens in one attempt.
type draw struct {
	in     drawInput
	before serverState  // what was in the workspace
	void   string       // rate_limit, provider_error; "" = the attempt happens
	end    string       // how the program ends; "" = well
	lost   bool         // infrastructure ends every attempt of this turn
	work   *serverState // what is in the workspace then; nil: it is left as it was
	causes []cause
}

// cause is one fault that is in the workspace after the attempt, and why.
type cause struct {
	why   string // drift, regression, ignored, oscillation, process, carried
	fault oracle.Fault
}

// stream is the random source of one decision. Streams of different labels are independent.
func (in drawInput) stream(what string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "simulated|%d|%s", in.seed, what))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

func (in drawInput) turnStream(what string) *rand.Rand {
	return in.stream(fmt.Sprintf("turn|%d|%s", in.turn, what))
}

func (in drawInput) attemptStream(what string) *rand.Rand {
	return in.stream(fmt.Sprintf("attempt|%d|%d|%s", in.turn, in.attempt, what))
}

// draw decides what happens in one attempt, given the server that is in the workspace.
func (p preset) draw(sc *scenario.Scenario, in drawInput, before serverState) draw {
	d := draw{in: in, before: before}
	voids := 0
	r := in.attemptStream("provider")
	if r.Float64() < providerFault {
		voids = 1 + r.IntN(2)
		d.void = VoidRateLimit
		if r.IntN(2) == 0 {
			d.void = VoidProviderError
		}
	}
	if in.try < voids {
		return d
	}
	d.void = ""
	if r := in.turnStream("lost"); r.Float64() < LostTurn {
		d.lost, d.end = true, pickEnd(r)
		d.halfDone(sc, before, r.Float64() < 0.5)
		return d
	}
	if r := in.attemptStream("end"); in.try == voids && r.Float64() < badEnd {
		d.end = pickEnd(r)
		if d.end == endEmpty || r.Float64() < 0.5 {
			d.halfDone(sc, before, false)
			return d
		}
	}
	d.work = &serverState{Turn: in.turn}
	if before.Turn < in.turn {
		p.change(&d, sc, before)
	} else {
		d.repair(sc, before)
	}
	return d
}

// halfDone is an attempt that ended before its work was done: nothing was written, or the start script is gone.
func (d *draw) halfDone(sc *scenario.Scenario, before serverState, begun bool) {
	step := &sc.Steps[d.in.turn]
	// Where the old server would pass, only a broken one makes the loss visible.
	begun = begun || d.lost && len(step.Added)+len(step.Changed)+len(step.Removed) == 0
	if begun && d.end != endEmpty {
		state := before
		state.Switch = &serverSwitch{Kind: switchNoStart}
		d.work = &state
	}
	for _, f := range before.Faults {
		d.causes = append(d.causes, cause{"carried", f})
	}
}

// change works on the change of a turn: the true server, with the faults that were there and, by the hazard of
// the turn, new ones.
func (p preset) change(d *draw, sc *scenario.Scenario, before serverState) {
	step := &sc.Steps[d.in.turn]
	for _, f := range before.Faults {
		if applies(step.Schema, f) {
			d.add("carried", f)
		}
	}
	if sw := before.Switch; sw != nil && before.Turn >= 0 && sw.Kind != switchNoStart {
		d.work.Switch = sw
	}
	if d.in.attemptStream("hazard").Float64() >= p.hazard(sc, step) {
		return
	}
	r := d.in.attemptStream("faults")
	switch u := r.Float64(); {
	case u < switchShare:
		d.work.Switch = drawSwitch(r)
		d.causes = append(d.causes, cause{why: "process"})
	case u < switchShare+ignoredShare && d.in.turn > 0 && len(step.Added)+len(step.Changed)+len(step.Removed) > 0:
		d.work.Ignored = true
		d.causes = append(d.causes, cause{why: "ignored"})
	default:
		d.plant(sc, r, drawCount(r))
	}
}

// hazard is the probability that the first answer to a turn fails by drift.
func (p preset) hazard(sc *scenario.Scenario, step *scenario.Step) float64 {
	effect := 1.0
	if e, ok := labelEffects[step.Operation.Label]; ok && step.Turn > 0 {
		effect = e
	}
	return min(0.95, (p.unassisted-LostTurn)/(1-LostTurn)*effect*frailty(sc))
}

// frailty makes a scenario harder or easier for every agent; its mean over scenarios is 1.
func frailty(sc *scenario.Scenario) float64 {
	z := drawInput{seed: sc.Seed}.stream("frailty").NormFloat64()
	return math.Exp(frailtySigma*z - frailtySigma*frailtySigma/2)
}

// repair works on a server that was not good enough.
func (d *draw) repair(sc *scenario.Scenario, before serverState) {
	r := d.in.attemptStream("repair")
	q := repairs[d.in.feedback]
	// A server that nothing is wrong with is only touched: its attempt failed for another reason.
	if before.clean() || r.Float64() < q {
		return
	}
	d.work.Switch = before.Switch
	faults := before.Faults
	if len(faults) == 0 {
		d.work.Ignored = before.Ignored
		d.causes = append(d.causes, cause{why: "carried"})
		return
	}
	if before.Switch == nil && r.Float64() < oscillationShare {
		gone := r.IntN(len(faults))
		for i, f := range faults {
			if i != gone {
				d.add("carried", f)
			}
		}
		had := len(d.work.Faults)
		d.plantOld(sc, r)
		if len(d.work.Faults) > had {
			d.causes[len(d.causes)-1].why = "oscillation"
			return
		}
		d.add("carried", faults[gone])
		return
	}
	keep := r.IntN(len(faults)) // this one stays whatever happens
	for i, f := range faults {
		if i == keep || r.Float64() >= q/2 {
			d.add("carried", f)
		}
	}
}

func (d *draw) add(why string, f oracle.Fault) {
	d.work.Faults = append(d.work.Faults, f)
	d.causes = append(d.causes, cause{why, f})
}

// drawCount is how many faults a failing answer has: mostly one.
func drawCount(r *rand.Rand) int {
	switch u := r.Float64(); {
	case u < 0.7:
		return 1
	case u < 0.92:
		return 2
	}
	return 3
}

// plant adds n faults: most on clauses that are new or changed, some on old ones.
func (d *draw) plant(sc *scenario.Scenario, r *rand.Rand, n int) {
	step := &sc.Steps[d.in.turn]
	fresh := append(append([]scenario.Clause{}, step.Added...), step.Changed...)
	for range n {
		if r.Float64() < regressionShare && d.in.turn > 0 {
			d.plantOld(sc, r)
			continue
		}
		if !d.plantOn(sc, r, fresh, nil, "drift") {
			d.plantOld(sc, r)
		}
	}
}

// plantOld adds a fault on a clause that this turn neither added nor changed; the older, the likelier.
func (d *draw) plantOld(sc *scenario.Scenario, r *rand.Rand) {
	var old []scenario.Clause
	var weights []float64
	for _, c := range sc.Steps[d.in.turn].Schema.Clauses {
		if last := max(c.Introduced, c.Changed); last < d.in.turn {
			old, weights = append(old, c), append(weights, float64(d.in.turn-last))
		}
	}
	if len(old) == 0 {
		d.plantOn(sc, r, sc.Steps[d.in.turn].Schema.Clauses, nil, "drift")
		return
	}
	d.plantOn(sc, r, old, weights, "regression")
}

// plantOn adds one fault on one of the clauses; nil weights mean that all are equally likely. It reports whether
// there was one to add.
func (d *draw) plantOn(sc *scenario.Scenario, r *rand.Rand, clauses []scenario.Clause, weights []float64, why string) bool {
	s := sc.Steps[d.in.turn].Schema
	var prev *scenario.Schema
	if d.in.turn > 0 {
		prev = sc.Steps[d.in.turn-1].Schema
	}
	for range 20 {
		if len(clauses) == 0 {
			return false
		}
		c := clauses[pickWeighted(r, len(clauses), weights)]
		faults := oracle.FaultsFor(s, prev, c)
		if len(faults) == 0 {
			continue
		}
		f := faults[r.IntN(len(faults))]
		if !d.has(f) && (d.in.can == nil || d.in.can(s, f)) {
			d.add(why, f)
			return true
		}
	}
	return false
}

func (d *draw) has(f oracle.Fault) bool {
	for _, g := range d.work.Faults {
		if f == g {
			return true
		}
	}
	return false
}

func pickWeighted(r *rand.Rand, n int, weights []float64) int {
	if weights == nil {
		return r.IntN(n)
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	u := r.Float64() * sum
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return n - 1
}

// drawSwitch breaks the server as a process. Those that cost the grader its whole start limit are rare.
func drawSwitch(r *rand.Rand) *serverSwitch {
	switch u := r.Float64(); {
	case u < 0.3:
		return &serverSwitch{Kind: switchNoStart}
	case u < 0.55:
		return &serverSwitch{Kind: switchExitEarly}
	case u < 0.8:
		return &serverSwitch{Kind: switchCrash, After: 5 + r.IntN(36)}
	case u < 0.92:
		return &serverSwitch{Kind: switchFlaky, After: 6 + r.IntN(4)}
	case u < 0.96:
		return &serverSwitch{Kind: switchUnhealthy}
	}
	return &serverSwitch{Kind: switchWrongPort}
}
