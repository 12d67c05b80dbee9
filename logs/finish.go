package logs

import (
	"slices"
	"strings"
)

// The modes of a study.
const (
	modeFailStop = "fail-stop"
	modeTeleport = "teleport"
)

// The values of EpisodeRow.Validity.
const (
	ValidityValid      = "valid"
	ValidityStopped    = "stopped"
	ValidityIncomplete = "incomplete"
)

// stopReasons end an episode for a reason that is not the agent's.
var stopReasons = []string{"budget", "operator", "provider", "host", "bench"}

// finish computes what follows from all records: T, validity, sums.
func (p *replay) finish() {
	e := &p.episode
	for i := range p.attempts {
		p.attempts[i].count()
	}
	p.sum()
	if len(p.models) > 0 {
		slices.Sort(p.models)
		names := strings.Join(p.models, ", ")
		e.ModelReturned = &names
	}
	wall := p.wall + p.mono
	e.WallS = &wall
	e.Validity = ValidityIncomplete
	if p.end != nil {
		p.conclude()
	}
}

// conclude decides T and the end from the turns; episode.end only says how a run that was not
// decided by its turns ended.
func (p *replay) conclude() {
	e, reason := &p.episode, p.end.EndReason
	stopped := slices.Contains(stopReasons, reason)
	if !stopped && reason != "failed" && reason != "capped" {
		p.problems = append(p.problems, Problem{File: p.file, Text: "unknown end_reason " + reason + "; the episode is read as incomplete"})
		return
	}
	passed, failed := p.countTurns()
	if reason == "failed" && failed == 0 {
		p.failLastTurn()
		_, failed = p.countTurns()
	}
	if failed > 0 && (!stopped || e.Mode == modeFailStop || e.Mode == "") {
		reason, stopped = "failed", false
	}
	share := float64(passed) / float64(max(e.TurnsMax, 1))
	e.EndReason, e.TurnsPassedShare, e.Validity = &reason, &share, ValidityValid
	if stopped {
		e.Validity = ValidityStopped
	}
	if e.Mode == modeTeleport {
		return
	}
	t := leadingPassed(p.turns)
	changes := max(t-1, 0)
	e.TurnsPassed, e.ChangesPassed = &t, &changes
	if t != p.end.TurnsPassed {
		p.disagree("episode.end says %d turns passed, its turns say %d; the turns count", p.end.TurnsPassed, t)
	}
	if reason == "capped" && t != e.TurnsMax {
		p.disagree("episode.end says capped, but %d of %d turns passed", t, e.TurnsMax)
	}
}

func (p *replay) disagree(format string, args ...any) {
	p.problem(Record{Seq: -1}, format, args...)
}

func (p *replay) countTurns() (passed, failed int) {
	for _, t := range p.turns {
		switch {
		case t.Passed == nil:
		case *t.Passed:
			passed++
		default:
			failed++
		}
	}
	return passed, failed
}

// leadingPassed is the number of turns passed before the first that did not.
func leadingPassed(turns []TurnRow) int {
	n := 0
	for _, t := range turns {
		if t.Turn != n || t.Passed == nil || !*t.Passed {
			break
		}
		n++
	}
	return n
}

// failLastTurn closes a turn that episode.end closed together with the episode.
func (p *replay) failLastTurn() {
	if len(p.turns) == 0 || len(p.attempts) == 0 {
		return
	}
	t, last := &p.turns[len(p.turns)-1], &p.attempts[len(p.attempts)-1]
	if t.Passed != nil || last.Turn != t.Turn || last.Passed == nil || *last.Passed {
		return
	}
	no, used := false, last.number+1
	t.Passed, t.AttemptsUsed = &no, &used
}

// count moves the usage into the columns: the gateway's if it saw the attempt, else the reader's.
func (a *attemptState) count() {
	use, ok := a.usage["gateway"]
	other, both := a.usage["reader"]
	if !ok {
		use, ok, both = other, both, false
	}
	if ok {
		a.Tokens = use.tokens()
		a.CostUSD = use.USD
	}
	if both {
		a.ReportedTokens = ReportedTokens{ReportedInput: other.In, ReportedCached: other.Cached, ReportedCacheWrite: other.CacheWrite, ReportedOutput: other.Out, ReportedReasoning: other.Reasoning}
	}
}

// sum adds up the attempts. A try that a process retry replaced is the agent's and counts; a void
// one is not and is wasted. An attempt that is still running is left out of both.
func (p *replay) sum() {
	var input, cached, cacheWrite, output, reasoning, wasted total[int64]
	var usd, wastedUSD total[float64]
	counted := 0
	for i := range p.attempts {
		a := &p.attempts[i]
		if a.LOC != nil && a.Attempt != nil {
			p.episode.LOC = a.LOC
		}
		if a.VoidReason != nil && *a.VoidReason != "process_retry" {
			all := total[int64]{}
			all.add(a.Input)
			all.add(a.Output)
			all.addKnown(a.Cached)
			all.addKnown(a.CacheWrite)
			wasted.add(all.value())
			wastedUSD.add(a.CostUSD)
			continue
		}
		if a.open && !a.ended {
			continue
		}
		counted++
		input.add(a.Input)
		cached.add(a.Cached)
		cacheWrite.add(a.CacheWrite)
		output.add(a.Output)
		reasoning.add(a.Reasoning)
		usd.add(a.CostUSD)
	}
	e := &p.episode
	e.WastedTokens, e.WastedUSD = wasted.value(), wastedUSD.value()
	if counted == 0 {
		return
	}
	e.Tokens = Tokens{Input: input.value(), Cached: cached.value(), CacheWrite: cacheWrite.value(), Output: output.value(), Reasoning: reasoning.value()}
	e.CostUSD = usd.value()
}

// total is a sum that is unknown as soon as one of its parts is.
type total[N int64 | float64] struct {
	sum     N
	unknown bool
}

func (t *total[N]) add(n *N) {
	if n == nil {
		t.unknown = true
		return
	}
	t.sum += *n
}

// addKnown takes a missing part for none.
func (t *total[N]) addKnown(n *N) {
	if n != nil {
		t.sum += *n
	}
}

func (t *total[N]) value() *N {
	if t.unknown {
		return nil
	}
	sum := t.sum
	return &sum
}
