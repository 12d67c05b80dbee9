package classify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Completer is a model that can be asked.
type Completer interface {
	CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
}

// The classes of a [CallFailure].
const (
	FailRateLimit   = "rate_limit"  // too many requests; waiting helps
	FailQuota       = "quota"       // the account has nothing left; waiting does not help
	FailUnavailable = "unavailable" // 5xx, network, an answer that is no answer
	FailTimeout     = "timeout"     // no answer in time; it may be paid for
	FailCut         = "cut"         // the answer broke off; it may be paid for
	FailAuth        = "auth"        // the key is refused
	FailNotFound    = "not_found"   // no such model, or no such address
	FailTooLong     = "too_long"    // the request does not fit into the model's window
	FailRefused     = "refused"     // any other 4xx
)

// CallFailure says why a call brought no answer.
type CallFailure struct {
	Class      string
	Status     int           // of HTTP; 0 = none
	RetryAfter time.Duration // as the endpoint asked; 0 = not at all
	Message    string        // one line without secrets
}

func (e *CallFailure) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", e.Class, e.Status, e.Message)
	}
	return e.Class + ": " + e.Message
}

// retryable says whether the same request may succeed later.
func (e *CallFailure) retryable() bool {
	switch e.Class {
	case FailRateLimit, FailUnavailable, FailTimeout, FailCut:
		return true
	}
	return slices.Contains([]int{408, 409, 425}, e.Status)
}

// paid says whether the endpoint may charge for it.
func (e *CallFailure) paid() bool { return e.Class == FailTimeout || e.Class == FailCut }

var quotaText = regexp.MustCompile(`(?i)\bquota\b|usage limit|billing|insufficient[_ ](?:balance|credit|funds)|credit balance|out of credit|payment required`)

// failureOf reads an error of the completer.
func (p *pass) failureOf(ctx context.Context, err error) *CallFailure {
	if errors.Is(context.Cause(ctx), errCallTimeout) {
		return &CallFailure{Class: FailTimeout, Message: fmt.Sprintf("no answer within %s", p.opt.Timeout)}
	}
	var f *CallFailure
	if !errors.As(err, &f) {
		if p.opt.Failure != nil {
			f = p.opt.Failure(err)
		}
		if f == nil {
			f = &CallFailure{Class: FailUnavailable, Message: clip(err.Error(), 200)}
		}
	}
	if f.Class == FailRateLimit && quotaText.MatchString(f.Message) {
		f.Class = FailQuota
	}
	return f
}

var errCallTimeout = errors.New("the call took too long")

// grace is how long a call that is under way may go on after an interrupt.
const grace = 4 * time.Second

// maxTries bounds how often a request is sent before the call counts as failed; failuresInRow how many calls may fail
// one after the other before the pass pauses; maxWait what an endpoint may ask to wait before it does.
const (
	maxTries      = 6
	failuresInRow = 5
	maxWait       = 10 * time.Minute
)

// call asks one question, unless its answer was paid for before. Step names the question among those about an attempt.
func (p *pass) call(it *suspect, step string, q *question) (*reply, error) {
	base := entry{Annotator: p.annotator, Item: it.name, Inputs: it.inputs, Step: step, Packet: q.packet.Budget}
	if r, ok := p.ledger.answered(base); ok {
		p.count(func(s *JudgeSummary) { s.Reused++ })
		return r, nil
	}
	for {
		if err := p.stopped(); err != nil {
			return nil, err
		}
		prof := p.manners()
		req := q.request(p.book, p.opt.Model, prof)
		e := base
		var err error
		if e.Key, err = p.key(req, prof.Rung, step); err != nil {
			return nil, err
		}
		if r := p.ledger.kept(e.Key, ""); r != nil {
			p.count(func(s *JudgeSummary) { s.Reused++ })
			return r, nil
		}
		r, err := p.send(e, req, prof)
		var f *CallFailure
		if errors.As(err, &f) && p.adapt(prof, f) {
			continue
		}
		return r, err
	}
}

// key identifies a call by everything that goes into it.
func (p *pass) key(req openai.ChatCompletionRequest, rung, step string) (string, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return "", fmt.Errorf("encoding a request for the judge: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n", p.opt.Endpoint, rung, step)
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// upper is the most that a request can take: what its bytes can be in tokens, and the whole output it may have.
func (p *pass) upper(req openai.ChatCompletionRequest) (tokens int64, usd *float64) {
	p.ledger.mu.Lock()
	ratio := p.ledger.ratio
	p.ledger.mu.Unlock()
	if ratio *= 1.25; ratio == 0 {
		ratio = 0.5
	}
	in := int64(float64(requestBytes(req))*min(ratio, 1)) + 64
	out := int64(allowance(req))
	return in + out, p.price(in, 0, out)
}

func (p *pass) price(in, cached, out int64) *float64 {
	if p.opt.Price == nil {
		return nil
	}
	return p.opt.Price(in, cached, out)
}

// send sends a request until it is answered, or does not help.
func (p *pass) send(e entry, req openai.ChatCompletionRequest, prof profile) (*reply, error) {
	for try := 1; ; try++ {
		r, f, err := p.once(e, req, prof)
		if r != nil || err != nil {
			return r, err
		}
		switch {
		case f.Class == FailQuota:
			return nil, p.end(&JudgeError{Text: "the account of the judge has nothing left: " + f.Error(), Way: "run the same command again when it has", Code: 4})
		case f.Class == FailAuth:
			return nil, p.end(&JudgeError{Text: "the judge's endpoint refuses the key: " + f.Error(), Way: "check the variable named by --key-env, and --base-url", Code: 1})
		case f.Class == FailNotFound:
			return nil, p.end(&JudgeError{Text: "the judge's endpoint does not know what is asked for: " + f.Error(), Way: "check --base-url (it usually ends with /v1) and the name of the model", Code: 1})
		case !f.retryable():
			return nil, f
		case f.RetryAfter > maxWait:
			return nil, p.end(&JudgeError{Text: fmt.Sprintf("the endpoint asks to wait for %s: %s", f.RetryAfter, f), Way: "run the same command again then", Code: 4})
		case try == maxTries:
			p.failed(f)
			return nil, f
		}
		wait := f.RetryAfter
		if wait <= 0 { // full jitter: workers that failed together do not come back together
			wait = time.Duration(rand.Int64N(int64(min(p.opt.MinWait<<(try-1), time.Minute)) + 1))
		}
		if err := p.opt.Sleep(p.ctx, wait); err != nil {
			return nil, err
		}
		if err := p.stopped(); err != nil {
			return nil, err
		}
	}
}

// failed counts calls that failed after all their tries.
func (p *pass) failed(f *CallFailure) {
	p.mu.Lock()
	p.inRow++
	n := p.inRow
	p.mu.Unlock()
	if n >= failuresInRow {
		way := "run the same command again when the endpoint answers"
		if strings.Contains(strings.ToLower(f.Message), "<html") {
			way = "check --base-url (it usually ends with /v1): this is a page for people; or " + way
		}
		_ = p.end(&JudgeError{Text: fmt.Sprintf("%d calls in a row got no answer; the last: %s", n, f), Way: way, Code: 4})
	}
}

// once sends a request one time. The error is for what is not the endpoint's doing.
func (p *pass) once(e entry, req openai.ChatCompletionRequest, prof profile) (*reply, *CallFailure, error) {
	if err := p.gate.enter(p.ctx); err != nil {
		return nil, nil, err
	}
	if err := p.stopped(); err != nil {
		p.gate.leave(false, false)
		return nil, nil, err
	}
	e.Type = entryCall
	e.Tokens, e.USD = p.upper(req)
	if err := p.purse.reserve(&e); err != nil {
		p.gate.leave(false, false)
		var c *ceilingError
		if errors.As(err, &c) {
			err = p.end(&JudgeError{Text: c.Error(), Way: "raise --max-" + c.what + " and run the same command again: what was answered is kept", Code: 4, ceiling: true})
		}
		return nil, nil, err
	}
	p.count(func(s *JudgeSummary) { s.Calls++ })
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(p.ctx))
	defer cancel(nil)
	timer := time.AfterFunc(p.opt.Timeout, func() { cancel(errCallTimeout) })
	defer timer.Stop()
	stop := context.AfterFunc(p.ctx, func() { time.AfterFunc(grace, func() { cancel(context.Cause(p.ctx)) }) })
	defer stop()
	resp, err := p.opt.Completer.CreateChatCompletion(ctx, req)
	end := e
	var r *reply
	var f *CallFailure
	if err == nil {
		if r, err = replyOf(resp, prof.Rung); err != nil {
			f = &CallFailure{Class: FailCut, Message: err.Error()}
		}
	} else if p.ctx.Err() != nil && ctx.Err() != nil {
		f = &CallFailure{Class: FailCut, Message: "interrupted"}
	} else {
		f = p.failureOf(ctx, err)
	}
	if r == nil {
		end.Type, end.Class, end.Message = entryLost, f.Class, clip(f.Error(), 300)
		if !f.paid() {
			end.Tokens, end.USD = 0, nil
		}
		p.count(func(s *JudgeSummary) { s.Failures[f.Class]++; s.took(end.Tokens, end.USD) })
		err = p.purse.settle(e, end)
		p.gate.leave(f.Class == FailRateLimit, false)
		if err == nil && p.ctx.Err() != nil {
			err = context.Cause(p.ctx)
		}
		return nil, f, err
	}
	if r.Input > 0 || r.Output > 0 { // else nobody says what it took
		end.Tokens, end.USD = r.Input+r.Output, p.price(r.Input-r.Cached, r.Cached, r.Output)
	}
	end.Type, end.Bytes, end.Input = entryAnswer, requestBytes(req), r.Input
	if end.Reply, err = p.ledger.keep(e.Key, r); err == nil {
		err = p.purse.settle(e, end)
	}
	p.count(func(s *JudgeSummary) { s.took(end.Tokens, end.USD) })
	p.gate.leave(false, true)
	p.mu.Lock()
	p.inRow = 0
	p.mu.Unlock()
	return r, nil, err
}

// manners is what is known of the endpoint by now.
func (p *pass) manners() profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.profile
}

var (
	limitText       = regexp.MustCompile(`(?i)max_?completion_?tokens`)
	oldLimitText    = regexp.MustCompile(`(?i)\bmax_tokens\b`)
	temperatureText = regexp.MustCompile(`(?i)temperature`)
)

// adapt changes the manners by what a refusal says; false = it says nothing that helps.
func (p *pass) adapt(used profile, f *CallFailure) bool {
	if f.Class != FailRefused || f.Status != 0 && f.Status != 400 && f.Status != 422 && f.Status != 501 && f.Status != 415 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.profile != used {
		return true // another call has found out
	}
	now := used
	at := slices.Index(rungs, used.Rung)
	switch {
	case !used.CompletionTokens && limitText.MatchString(f.Message):
		now.CompletionTokens = true
	case used.CompletionTokens && limitText.MatchString(f.Message) && !oldLimitText.MatchString(f.Message):
		now.CompletionTokens = false
	case used.Temperature && temperatureText.MatchString(f.Message):
		now.Temperature = false
	case at >= 0 && at < len(rungs)-1:
		now.Rung = rungs[at+1]
	default:
		return false
	}
	p.profile = now
	if err := p.ledger.write(entry{Type: entryProfile, Annotator: p.annotator, Endpoint: p.opt.Endpoint, Profile: &now}); err != nil {
		return false
	}
	return true
}
