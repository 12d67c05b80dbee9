package classify

import (
	"fmt"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

// vote is what one round of questions about an attempt came to: a label with its quotes, or why there is none.
type vote struct {
	*finding
	leaf    string
	reason  string // of an abstention
	why     string // in words
	certain bool
	flagged bool
	rung    string
	model   string
}

// word is the vote as it is written into the row.
func (v *vote) word() string {
	if v.reason != "" {
		return LeafInsufficient + "(" + v.reason + ")"
	}
	return v.leaf
}

// maxNeeds bounds how often a judge may ask for more of the log.
const maxNeeds = 2

// ask puts one question and what follows from its answers: one more try with twice the room for an incomplete answer,
// more of the log if it is asked for, one chance to mend quotes that do not count.
func (p *pass) ask(it *suspect, name string, masked bool) (*vote, error) {
	drawn := name
	if it.again > 0 { // other codes, so that it is another question
		drawn = fmt.Sprintf("%d/%s", it.again, name)
	}
	sheet := p.draw(it.name, drawn)
	opt := packetOptions{masked: masked}
	q := &question{sheet: sheet, detail: detailOf(p.opt.Context), output: p.opt.MaxOutput}
	doubled, repaired := false, false
	for n := 1; ; n++ {
		q.packet = it.packet(opt)
		step := fmt.Sprintf("%d/%d/%s.%d", it.again, it.budget, name, n)
		r, err := p.call(it, step, q)
		if err != nil {
			return nil, err
		}
		v := &vote{flagged: q.packet.Flagged, rung: r.Rung, model: r.Model}
		a, incomplete := r.read(q.packet.ID, sheet)
		if incomplete != nil {
			p.count(func(s *JudgeSummary) { s.Unusable[clip(incomplete.Error(), 60)]++ })
			if doubled {
				v.reason, v.why = ReasonIncomplete, incomplete.Error()
				return v, nil
			}
			doubled, q.output = true, 2*q.output
			continue
		}
		if a.Need != nil && len(opt.asked) < maxNeeds && it.hidden(q.packet, a.Need) {
			opt.asked, q.before = append(opt.asked, [2]int{a.Need.From, a.Need.To}), nil
			continue
		}
		v.finding = newVerifier(q.packet, sheet.instructions(p.book, q.detail, r.Rung)).look(a)
		v.certain = a.Certainty == "high"
		p.count(func(s *JudgeSummary) { s.BadQuotes += len(v.bad) })
		if why := v.unsupported(); why != "" {
			if repaired {
				v.reason, v.why = ReasonUnverified, why
				return v, nil
			}
			repaired = true
			q.before = []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleAssistant, Content: r.Content},
				{Role: openai.ChatMessageRoleUser, Content: "Your answer does not count: " + strings.Join(append(v.bad, why), "; ") +
					". Answer once more, with quotes copied letter by letter from text_" + sheet.nonce + " of the objects you name, or with the label " + sheet.byLeaf[LeafInsufficient] + "."}}
			continue
		}
		if why := v.contradicts(it.known); why != "" {
			v.reason, v.why = ReasonConflict, why
			return v, nil
		}
		v.settle()
		return v, nil
	}
}

// settle takes the label of an answer that holds.
func (v *vote) settle() {
	if v.leaf = v.finding.leaf; v.leaf == LeafInsufficient {
		v.reason, v.why = ReasonNoRule, v.Summary
		if v.AbstainReason != nil {
			v.reason = *v.AbstainReason
		}
	}
}

// verdict asks until the votes decide, and checks that no text of the agent made the difference.
func (p *pass) verdict(it *suspect) (*ruling, error) {
	first, err := p.ask(it, "v1", false)
	if err != nil {
		return nil, err
	}
	votes := []*vote{first}
	final := first.reason == ReasonIncomplete || first.reason == ReasonUnverified || first.reason == ReasonConflict && first.finding != nil && first.leaf == ""
	weak := it.rule != nil && it.rule.Strength == logs.StrengthWeak && first.reason == "" && first.leaf != deref(it.rule.Leaf)
	rule := &ruling{votes: votes}
	switch {
	case final || p.opt.MaxVotes < 3 || first.certain && !weak:
		rule.take(first)
	default:
		if rule, err = p.poll(it, votes); err != nil {
			return nil, err
		}
	}
	flagged := slices.ContainsFunc(rule.votes, func(v *vote) bool { return v.flagged })
	if !flagged || rule.reason != "" {
		return rule, nil
	}
	p.count(func(s *JudgeSummary) { s.Flagged++ })
	masked, err := p.ask(it, "masked", true)
	if err != nil {
		return nil, err
	}
	rule.checked = true
	if masked.reason != "" || levelOf(masked.leaf) != rule.l1 || rule.leaf != "" && masked.leaf != rule.leaf {
		rule.votes = append(rule.votes, masked)
		rule.abstain(ReasonInjection, "with the lines that speak to the reader masked the answer was "+masked.word())
	}
	return rule, nil
}

// ruling is what the votes came to.
type ruling struct {
	votes    []*vote
	winner   *vote // whose quotes are published; nil = none
	l1, leaf string
	reason   string // of an abstention
	why      string
	checked  bool // asked again with the lines that speak to the reader masked
}

func (r *ruling) take(v *vote) {
	r.winner, r.l1, r.leaf = v, levelOf(v.leaf), v.leaf
	if v.reason != "" {
		r.abstain(v.reason, v.why)
	}
}

func (r *ruling) abstain(reason, why string) {
	r.winner, r.l1, r.leaf, r.reason, r.why = nil, "unknown", LeafInsufficient, reason, why
}

// needed is two thirds of so many votes.
func needed(of int) int { return (2*of + 2) / 3 }

// votesWanted is how many votes decide about an attempt of which the first one is not sure.
const votesWanted = 3

// poll asks until three votes count, and at most five are cast; each has codes and an order of its own. Two thirds decide, and
// once they do nobody is asked any more. An answer that is void for its quotes or its form is no vote.
func (p *pass) poll(it *suspect, votes []*vote) (*ruling, error) {
	level := func(v *vote) string { return levelOf(v.leaf) }
	for {
		counted := slices.DeleteFunc(slices.Clone(votes), func(v *vote) bool { return v.leaf == "" })
		r := &ruling{votes: votes}
		if v, n := leading(counted, (*vote).word); n >= needed(votesWanted) {
			r.take(v)
			return r, nil
		}
		if len(counted) >= votesWanted || len(votes) >= p.opt.MaxVotes {
			if v, n := leading(counted, level); n >= max(needed(len(counted)), 2) && level(v) != "unknown" {
				r.winner, r.l1 = v, level(v)
				return r, nil
			}
			r.abstain(ReasonConflict, "the votes do not agree")
			return r, nil
		}
		v, err := p.ask(it, fmt.Sprintf("v%d", len(votes)+1), false)
		if err != nil {
			return nil, err
		}
		votes = append(votes, v)
	}
}

// leading returns the first vote of the most frequent kind, and how many there are of it.
func leading(votes []*vote, kind func(*vote) string) (best *vote, n int) {
	count := map[string]int{}
	for _, v := range votes {
		count[kind(v)]++
	}
	for _, v := range votes {
		if c := count[kind(v)]; c > n {
			best, n = v, c
		}
	}
	return best, n
}

// row is the verdict as it is written down.
func (p *pass) row(it *suspect, r *ruling) (*logs.VerdictRow, error) {
	f := it.known
	d := &Decision{Verdict: logs.VerdictRow{Episode: it.key.Episode, Turn: it.key.Turn, Attempt: it.key.Attempt, AnnotatorKind: logs.AnnotatorJudge,
		Annotator: p.annotator, Taxonomy: p.book.Name, L1: r.l1, Strength: logs.StrengthJudged, Completion: f.attempt.Completion}}
	v := &d.Verdict
	if r.leaf != "" {
		v.Leaf = ptr(r.leaf)
	}
	if f.foreign && len(f.missing) > 0 {
		v.Strength = logs.StrengthWeak
	}
	if r.reason != "" {
		v.Strength, v.AbstainReason = logs.StrengthAbstain, ptr(r.reason)
	}
	rungsUsed := []string{}
	for _, x := range r.votes {
		v.Votes = append(v.Votes, x.word())
		if id := "J-" + x.rung; x.rung != "" && !slices.Contains(rungsUsed, id) {
			rungsUsed = append(rungsUsed, id)
		}
	}
	slices.Sort(rungsUsed)
	v.RuleIDs = rungsUsed
	if r.checked {
		v.RuleIDs = append(v.RuleIDs, "J-masked")
	}
	if rule := it.rule; rule != nil && r.reason == "" && levelOf(deref(rule.Leaf)) != "unknown" && (r.leaf != "" && deref(rule.Leaf) != r.leaf || rule.L1 != r.l1) {
		v.RuleIDs = append(v.RuleIDs, "J-disagrees")
	}
	var evidence []Evidence
	if r.winner != nil {
		evidence = r.winner.evidence()
		p.describe(it, r, v)
	}
	d.missing(f)
	v.Recovered, v.Secondary, v.Votes, v.Missing = list(v.Recovered), list(v.Secondary), list(v.Votes), list(v.Missing)
	return v, d.evidence(evidence)
}

func (d *Decision) missing(f *failure) {
	d.Verdict.Missing = slices.Clone(f.missing)
	for _, c := range f.recovered {
		if !slices.Contains(d.Verdict.Recovered, c.leaf) {
			d.Verdict.Recovered = append(d.Verdict.Recovered, c.leaf)
		}
	}
	slices.Sort(d.Verdict.Recovered)
}

// describe fills what follows from the label of a drift.
func (p *pass) describe(it *suspect, r *ruling, v *logs.VerdictRow) {
	if r.l1 != "drift" {
		return
	}
	if r.leaf != "" && r.leaf != LeafForgotten {
		v.Mechanism = ptr(r.leaf)
	}
	k := it.known.clauses.byID[deref(r.winner.ViolatedRequirement)]
	if k == nil {
		return
	}
	v.Clause = ptr(k.ID)
	g := &Group{clause: k}
	for _, q := range r.winner.quotes {
		if q.Item.check != nil {
			g.members = append(g.members, newSymptom(q.Item.check))
		}
	}
	switch {
	case it.known.clauses.fresh(k):
		v.Origin = ptr(OriginNew)
	case it.known.passedBefore(k, g):
		v.Origin = ptr(OriginRegression)
	default:
		v.Origin = ptr(OriginNeverSatisfied)
	}
}

// evidence are the quotes of a vote with the places they come from, causes first.
func (v *vote) evidence() []Evidence {
	var out []Evidence
	for _, role := range quoteRoles {
		for _, q := range v.quotes {
			if q.Role != role {
				continue
			}
			ev := q.Item.evidence
			if ev.What == "" {
				ev.What = q.Item.Kind + " " + q.Item.ID
			}
			ev.Role, ev.Quote, ev.Moved, ev.From, ev.To = role, q.Text, q.Moved, q.From, q.To
			out = append(out, ev)
		}
	}
	return out
}
