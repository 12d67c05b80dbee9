package classify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// JudgeOptions are the options of [Judge]. Model and Completer are needed; of the rest zero is the default.
type JudgeOptions struct {
	Model     string
	Completer Completer
	Endpoint  string // what tells one endpoint from another, without secrets
	// Failure reads an error of the completer; nil, or nil returned, takes every error for an endpoint that is down.
	Failure func(error) *CallFailure

	PacketTokens int           // budget of a packet; 0 = 12,000
	Context      int           // tokens of the model's window; 0 = unknown. Below 16,000 the codebook is sent as definitions alone, below 6,000 as names
	MaxOutput    int           // tokens of an answer; 0 = 2,048
	MaxVotes     int           // 1, 3 or 5; 0 = 5
	Concurrency  int           // calls at once; 0 = 4
	Timeout      time.Duration // of one request; 0 = 5 min
	MinWait      time.Duration // before the second try, at most; 0 = 1 s; doubles up to a minute
	Seed         uint64        // of the order, the codes and the votes; 0 = 1
	Ceilings     Ceilings
	// Price is what tokens cost; nil, or nil returned, means unknown.
	Price func(input, cached, output int64) *float64

	All      bool // ask about every failed attempt, not only about those that the rules leave open
	AskAgain bool // ask again where an answer could not be used
	Plain    bool // redact nothing; for endpoints on this machine
	Only     func(logs.VerdictKey) bool
	Book     *Taxonomy // nil = the embedded [Codebook]
	// Episode reads the rows of one episode when it is asked about; nil = they are all in the tables that are given.
	Episode func(id string) (*logs.Tables, error)
	Foreign bool // the tables are those of logs that stint did not write

	Sleep      func(context.Context, time.Duration) error // nil = the real one
	OnProgress func(JudgeSummary)
	OnLedger   func() // told after every line of the ledger
}

func (o *JudgeOptions) fill() {
	o.PacketTokens = cmp.Or(o.PacketTokens, defaultPacketTokens)
	o.MaxOutput = cmp.Or(o.MaxOutput, 2048)
	o.MaxVotes = cmp.Or(o.MaxVotes, 5)
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.MinWait = cmp.Or(o.MinWait, time.Second)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) error {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-t.C:
				return nil
			}
		}
	}
}

// JudgeError ends a pass before it is complete.
type JudgeError struct {
	Text, Way string
	Code      int // exit code: 4 = run the same command again

	ceiling bool
}

func (e *JudgeError) Error() string { return e.Text }

// Hint is the way out.
func (e *JudgeError) Hint() string { return e.Way }

// ExitCode is 4 where the same command goes on later.
func (e *JudgeError) ExitCode() int { return e.Code }

// JudgeSummary counts what a pass of a judge came to. Calls, tokens, dollars and what went wrong are those of this pass,
// Spent is of all passes on the run directory, the rest is of all attempts that were to be asked about.
type JudgeSummary struct {
	Annotator  string         `json:"annotator"`
	Model      string         `json:"model"`
	Candidates int            `json:"candidates"` // failed attempts to ask about
	Done       int            `json:"done"`       // that are finished with, in this pass or an earlier one
	Judged     int            `json:"judged"`     // got a leaf
	Partial    int            `json:"partial"`    // got a level without a leaf
	Abstained  map[string]int `json:"abstained"`  // by reason; judge_incomplete are answers that could not be used
	Agree      int            `json:"agree"`      // with a label of the rules
	Disagree   int            `json:"disagree"`
	Left       int            `json:"left"` // not asked about yet

	Calls     int            `json:"calls"`
	Reused    int            `json:"reused"` // answers that were paid for before
	Tokens    int64          `json:"tokens"`
	USD       float64        `json:"usd"`
	Unusable  map[string]int `json:"unusable_answers"` // by reason
	BadQuotes int            `json:"bad_quotes"`       // that were not found, and not published
	Failures  map[string]int `json:"failed_requests"`  // by class
	Flagged   int            `json:"flagged"`          // attempts with text that speaks to the judge
	Redacted  int            `json:"redacted"`         // secrets replaced in the first packets of the attempts, those asked about before included
	Shortened int            `json:"shortened"`        // texts in these packets that lost their middle
	Spent     struct {
		Calls  int64   `json:"calls"`
		Tokens int64   `json:"tokens"`
		USD    float64 `json:"usd"`
	} `json:"spent"`
	Rung string      `json:"rung"`
	Stop *JudgeError `json:"-"`
}

func (s *JudgeSummary) took(tokens int64, usd *float64) {
	s.Tokens += tokens
	if usd != nil {
		s.USD += *usd
	}
}

// pass is one run of a judge over a run directory.
type pass struct {
	ctx       context.Context
	opt       JudgeOptions
	book      *Taxonomy
	annotator string
	ledger    *ledger
	verdicts  *verdictFile
	purse     *purse
	gate      *gate

	mu      sync.Mutex
	profile profile
	inRow   int
	stop    *JudgeError
	summary JudgeSummary
}

func (p *pass) count(change func(*JudgeSummary)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.summary)
}

// end stops the pass; the first reason counts.
func (p *pass) end(e *JudgeError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop == nil {
		p.stop = e
	}
	return p.stop
}

func (p *pass) stopped() error {
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		return p.stop
	}
	return nil
}

// annotatorOf names a judge in a verdict: the model, and the beginning of a hash over everything that steers it.
func annotatorOf(book *Taxonomy, opt *JudgeOptions) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\npacket %d context %d output %d votes %d seed %d plain %v\n", promptVersion, opt.Model, book.Hash(),
		opt.PacketTokens, opt.Context, opt.MaxOutput, opt.MaxVotes, opt.Seed, opt.Plain))
	if opt.Foreign { // it is asked in other words
		sum = sha256.Sum256(append(sum[:], "foreign"...))
	}
	return clip(opt.Model, 80) + ":" + hex.EncodeToString(sum[:6])
}

// JudgeDir is where a run directory keeps the ledger and the raw replies of its judges.
func JudgeDir(d *logs.RunDir) string { return filepath.Join(d.VerdictsDir(), "judge") }

// Judge asks a model about the failed attempts that the rules leave open, and writes what it finds to verdicts/judge.jsonl.
// t can be nil if the options read single episodes. What was answered before is not asked again. An answer that is incomplete, invalid or without quotes that hold is no
// verdict. A pass that ends early says why in the summary's Stop; the error is for what stint itself could not do, or the
// context's.
func Judge(ctx context.Context, d *logs.RunDir, t *logs.Tables, r *Result, opt JudgeOptions) (*JudgeSummary, error) {
	opt.fill()
	p := &pass{ctx: ctx, opt: opt, book: cmp.Or(opt.Book, Codebook()), gate: newGate(opt.Concurrency)}
	p.annotator = annotatorOf(p.book, &opt)
	p.summary = JudgeSummary{Annotator: p.annotator, Model: opt.Model, Abstained: map[string]int{}, Unusable: map[string]int{}, Failures: map[string]int{}}
	var err error
	if p.ledger, err = openLedger(JudgeDir(d), opt.OnLedger); err != nil {
		return nil, err
	}
	defer p.ledger.close()
	if p.verdicts, err = openVerdicts(d); err != nil {
		return nil, err
	}
	defer p.verdicts.file.Close()
	p.purse = &purse{ceilings: opt.Ceilings, ledger: p.ledger}
	p.profile = firstProfile(opt.Model)
	if known, ok := p.ledger.profile[p.annotator+"\x00"+opt.Endpoint]; ok {
		p.profile = known
	}
	err = p.run(d, t, r)
	s := p.finish()
	if err != nil && s.Stop != nil && errors.Is(err, s.Stop) {
		err = nil
	}
	return s, err
}

// firstProfile is how a model is asked at first: those of some makers take neither a temperature nor the old name of the
// limit.
func firstProfile(model string) profile {
	old := !slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(s string) bool { return len(model) >= len(s) && model[:len(s)] == s })
	return profile{Rung: rungs[0], Temperature: old, CompletionTokens: !old}
}

// rowsOf finds the rows of one episode.
type rowsOf func(episode string) (*episodeRows, []*logs.AttemptRow, error)

// rows looks episodes up in tables that are in memory, or reads each when it is needed.
func (o *JudgeOptions) rows(t *logs.Tables) rowsOf {
	sorted := Options{Book: o.Book, Foreign: o.Foreign}
	if o.Episode == nil {
		byID, attempts := map[string]*episodeRows{}, attemptsOf(t)
		for _, e := range sortOut(t, sorted) {
			byID[e.failed[0].Episode] = e
		}
		return func(id string) (*episodeRows, []*logs.AttemptRow, error) { return byID[id], attempts[id], nil }
	}
	return func(id string) (*episodeRows, []*logs.AttemptRow, error) {
		t, err := o.Episode(id)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range sortOut(t, sorted) {
			if e.failed[0].Episode == id {
				return e, attemptsOf(t)[id], nil
			}
		}
		return nil, nil, nil
	}
}

// attemptsOf sorts the attempts that count by episode.
func attemptsOf(t *logs.Tables) map[string][]*logs.AttemptRow {
	out := map[string][]*logs.AttemptRow{}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Attempt != nil {
			out[a.Episode] = append(out[a.Episode], a)
		}
	}
	return out
}

// open says whether the rules leave an attempt to a judge: they abstain or are unsure. Where every failing check passed
// alone there is nothing to find.
func open(v *logs.VerdictRow) bool {
	if v.Strength == logs.StrengthAbstain {
		return deref(v.AbstainReason) != ReasonUnconfirmed
	}
	return v.Strength == logs.StrengthWeak
}

// run works through the attempts in a drawn order within strata, so that a pass that is stopped has seen a fair sample.
func (p *pass) run(d *logs.RunDir, t *logs.Tables, r *Result) error {
	rows, order := p.opt.rows(t), p.order(r)
	p.summary.Candidates = len(order)
	group, ctx := errgroup.WithContext(p.ctx)
	group.SetLimit(p.opt.Concurrency)
	for _, v := range order {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			it, err := rows.suspect(d, v, p.opt.Plain)
			if err != nil {
				return err
			}
			err = p.one(it)
			p.mu.Lock()
			stop, now := p.stop, p.summary
			p.mu.Unlock()
			if err != nil && stop != nil && errors.Is(err, stop) {
				return p.leave(it)
			}
			if errors.Is(err, errUnanswered) {
				return nil
			}
			if p.opt.OnProgress != nil && err == nil {
				p.opt.OnProgress(now)
			}
			return err
		})
	}
	err := group.Wait()
	if cause := context.Cause(p.ctx); cause != nil {
		return cause
	}
	return err
}

// leave marks an attempt that a ceiling kept from being asked about, unless this judge has said something about it.
func (p *pass) leave(it *suspect) error {
	p.mu.Lock()
	ceiling := p.stop != nil && p.stop.ceiling
	p.mu.Unlock()
	if _, there := p.verdicts.has(p.annotator, it.name); !ceiling || there {
		return nil
	}
	rule := &ruling{}
	rule.abstain(ReasonBudget, "")
	row, err := p.row(it, rule)
	if err != nil {
		return err
	}
	return p.verdicts.put(row)
}

// order draws the attempts to ask about: round after round one of each stratum, which is what the rules say.
func (p *pass) order(r *Result) []*logs.VerdictRow {
	strata := map[string][]*logs.VerdictRow{}
	var names []string
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if !p.opt.All && !open(v) || p.opt.Only != nil && !p.opt.Only(v.Key()) {
			continue
		}
		k := deref(v.Leaf) + "/" + deref(v.AbstainReason)
		if strata[k] == nil {
			names = append(names, k)
		}
		strata[k] = append(strata[k], v)
	}
	slices.Sort(names)
	draw := rand.New(rand.NewPCG(p.opt.Seed, 0x6a75646765))
	for _, k := range names {
		s := strata[k]
		draw.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	var out []*logs.VerdictRow
	for round := 0; ; round++ {
		before := len(out)
		for _, k := range names {
			if round < len(strata[k]) {
				out = append(out, strata[k][round])
			}
		}
		if len(out) == before {
			return out
		}
	}
}

// minPacket is the smallest packet worth sending.
const minPacket = 400

// one finishes with one attempt, unless that was done before.
func (p *pass) one(it *suspect) error {
	p.prepare(it)
	p.count(func(s *JudgeSummary) {
		s.Redacted += it.built.Redacted
		s.Shortened += it.built.Shortened
	})
	p.ledger.mu.Lock()
	done, before := p.ledger.done[p.annotator+"\x00"+it.name]
	p.ledger.mu.Unlock()
	if before && done.Inputs == it.inputs {
		it.again = done.Try
		if p.opt.AskAgain && done.Reason == ReasonIncomplete {
			it.again++
		} else if _, there := p.verdicts.has(p.annotator, it.name); there {
			p.tally(done.Outcome, done.Reason)
			return nil
		}
	}
	if err := p.stopped(); err != nil {
		return err
	}
	rule, err := p.fitting(it)
	if err != nil {
		return err
	}
	row, err := p.row(it, rule)
	if err != nil {
		return err
	}
	if err := p.verdicts.put(row); err != nil {
		return err
	}
	outcome := rule.outcome(it)
	if err := p.ledger.write(entry{Type: entryDone, Annotator: p.annotator, Item: it.name, Inputs: it.inputs, Try: it.again, Outcome: outcome, Reason: rule.reason, Message: clip(rule.why, 200)}); err != nil {
		return err
	}
	p.tally(outcome, rule.reason)
	return nil
}

// fitting asks with smaller and smaller packets until one fits into the window of the model.
func (p *pass) fitting(it *suspect) (*ruling, error) {
	for {
		rule, err := p.verdict(it)
		var f *CallFailure
		if !errors.As(err, &f) {
			return rule, err
		}
		if f.Class != FailTooLong || it.budget <= minPacket {
			rule := &ruling{}
			rule.abstain(ReasonIncomplete, f.Error())
			if f.retryable() { // it may do better next time
				return nil, errUnanswered
			}
			p.failed(f)
			return rule, nil
		}
		it.budget = max(minPacket, it.budget/2)
		p.mu.Lock()
		if p.profile.Tokens == 0 || it.budget < p.profile.Tokens {
			p.profile.Tokens = it.budget
		}
		now := p.profile
		p.mu.Unlock()
		if err := p.ledger.write(entry{Type: entryProfile, Annotator: p.annotator, Endpoint: p.opt.Endpoint, Profile: &now}); err != nil {
			return nil, err
		}
	}
}

// errUnanswered leaves an attempt to the next pass.
var errUnanswered = errors.New("the endpoint gave no answer")

// The outcomes of an attempt that was asked about.
const (
	outcomeJudged  = "judged"
	outcomePartial = "partial"
	outcomeAbstain = "abstain"
)

// outcome is one word, with a mark where the rules have a label that it agrees with or not.
func (r *ruling) outcome(it *suspect) string {
	word := outcomeJudged
	switch {
	case r.reason != "":
		return outcomeAbstain
	case r.leaf == "":
		word = outcomePartial
	}
	if rule := it.rule; rule != nil && rule.L1 != "unknown" {
		if deref(rule.Leaf) == r.leaf || r.leaf == "" && rule.L1 == r.l1 {
			return word + "+"
		}
		return word + "-"
	}
	return word
}

func (p *pass) tally(outcome, reason string) {
	p.count(func(s *JudgeSummary) {
		s.Done++
		mark := outcome[len(outcome)-1]
		switch mark {
		case '+':
			s.Agree++
			outcome = outcome[:len(outcome)-1]
		case '-':
			s.Disagree++
			outcome = outcome[:len(outcome)-1]
		}
		switch outcome {
		case outcomeJudged:
			s.Judged++
		case outcomePartial:
			s.Partial++
		default:
			s.Abstained[reason]++
		}
	})
}

// finish completes the summary.
func (p *pass) finish() *JudgeSummary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.summary
	s.Left, s.Stop, s.Rung = s.Candidates-s.Done, p.stop, p.profile.Rung
	if s.Left > 0 && s.Stop == nil {
		s.Stop = &JudgeError{Text: fmt.Sprintf("the endpoint gave no answer about %d of %d attempts", s.Left, s.Candidates), Way: "run the same command again", Code: 4}
	}
	p.ledger.mu.Lock()
	s.Spent.Calls, s.Spent.Tokens, s.Spent.USD = p.ledger.spent.Calls, p.ledger.spent.Tokens, p.ledger.spent.USD
	p.ledger.mu.Unlock()
	return &s
}

// ShownPacket is exactly what [Judge] would send first about an attempt, as the request that goes to the model.
func ShownPacket(d *logs.RunDir, t *logs.Tables, r *Result, key logs.VerdictKey, opt JudgeOptions) (openai.ChatCompletionRequest, error) {
	opt.fill()
	var none openai.ChatCompletionRequest
	i := slices.IndexFunc(r.Verdicts, func(v logs.VerdictRow) bool { return v.Key() == key })
	if i < 0 {
		return none, fmt.Errorf("%s has no verdict", itemName(key))
	}
	p := &pass{ctx: context.Background(), opt: opt, book: cmp.Or(opt.Book, Codebook()), profile: firstProfile(opt.Model), ledger: &ledger{packets: map[string]int{}}}
	p.annotator = annotatorOf(p.book, &opt)
	it, err := opt.rows(t).suspect(d, &r.Verdicts[i], opt.Plain)
	if err != nil {
		return none, err
	}
	p.prepare(it)
	q := &question{packet: it.packet(packetOptions{}), sheet: p.draw(it.name, "v1"), detail: detailOf(opt.Context), output: opt.MaxOutput}
	return q.request(p.book, opt.Model, p.profile), nil
}
