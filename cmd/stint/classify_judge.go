package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// judgeFlags are what classify is told about a judge.
type judgeFlags struct {
	model, baseURL, keyEnv, prices, show string
	name                                 string // of a model of the study, which model is the id of
	maxUSD                               float64
	maxCalls, maxTokens                  int64
	packet, context, maxOutput, votes    int
	jobs                                 int
	timeout                              time.Duration
	seed                                 uint64
	all, again, plain                    bool
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.model, "judge", "", "`model` that is asked where the rules leave the cause open")
	fs.StringVar(&f.baseURL, "base-url", "", "base `URL` of the judge's OpenAI-compatible endpoint; not needed for a model of the run's study")
	fs.StringVar(&f.keyEnv, "key-env", "", "`name` of the environment variable that holds its key")
	fs.Float64Var(&f.maxUSD, "max-usd", 0, "ceiling in dollars for all calls of judges on this run, earlier ones included")
	fs.Int64Var(&f.maxCalls, "max-calls", 0, "ceiling in requests")
	fs.Int64Var(&f.maxTokens, "max-tokens", 0, "ceiling in tokens")
	fs.StringVar(&f.prices, "prices", "", "price table, instead of the run's")
	fs.StringVar(&f.show, "show-packet", "", "print exactly what the judge would be sent about `ID`, and ask nobody")
	fs.IntVar(&f.packet, "packet-tokens", 0, "budget of one packet of evidence (default 12000)")
	fs.IntVar(&f.context, "context", 0, "tokens of the judge's window; a packet never takes more than four fifths of it")
	fs.IntVar(&f.maxOutput, "max-output", 0, "tokens of one answer (default 2048)")
	fs.IntVar(&f.votes, "max-votes", 5, "most votes about one attempt: 1, 3 or 5")
	fs.IntVar(&f.jobs, "jobs", 0, "requests at once (default 4)")
	fs.DurationVar(&f.timeout, "timeout", 0, "wait so long for one answer (default 5m)")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of order, codes and votes")
	fs.BoolVar(&f.all, "all", false, "ask the judge about every failed attempt; what the rules know for certain still counts")
	fs.BoolVar(&f.again, "ask-again", false, "ask the judge again where its answer could not be used")
	fs.BoolVar(&f.plain, "no-redact", false, "send secrets as they are; only to an endpoint on this machine")
}

// check refuses combinations before any work.
func (f *judgeFlags) check() error {
	switch {
	case f.votes != 1 && f.votes != 3 && f.votes != 5:
		return inputErrorf("give --max-votes 1, 3 or 5", "%d votes cannot have two thirds that are more than one half", f.votes)
	case f.maxUSD < 0 || f.maxCalls < 0 || f.maxTokens < 0 || f.packet < 0 || f.context < 0 || f.maxOutput < 0 || f.jobs < 0 || f.timeout < 0:
		return inputErrorf("leave the flag out for its default", "a ceiling or size of the judge is below zero")
	case f.model == "" && f.show == "" && (f.baseURL != "" || f.keyEnv != "" || f.again || f.all || f.maxUSD > 0 || f.maxCalls > 0 || f.maxTokens > 0):
		return inputErrorf("add --judge MODEL", "these flags are about a judge, and none is named")
	case f.plain && !loopback(f.baseURL):
		return inputErrorf("leave --no-redact out, or judge by an endpoint on this machine", "secrets are sent to no other machine")
	}
	return nil
}

// fromStudy fills in what the run's study says about a model of that name, where no flag does.
func (f *judgeFlags) fromStudy(d *logs.RunDir) {
	st, err := study.LoadFrozen(d)
	if err != nil || f.baseURL != "" {
		return // a run without a study file says nothing, and a given address is meant
	}
	m := st.Model(f.model)
	if m == nil || m.URL == "" || m.API != "" && m.API != "chat" {
		return
	}
	f.baseURL, f.keyEnv = m.URL, cmp.Or(f.keyEnv, m.KeyEnv)
	f.context, f.name = cmp.Or(f.context, m.Context), f.model
	f.model = cmp.Or(m.ID, f.model)
	if j := st.Judge; j != nil && j.Model == f.name && f.maxUSD == 0 {
		f.maxUSD = j.MaxUSD
	}
}

// loopback says whether an address is on this machine.
func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// options turns the flags into those of the judge.
func (f *judgeFlags) options(e *env, d *classified) (classify.JudgeOptions, error) {
	f.fromStudy(d.RunDir)
	opt := classify.JudgeOptions{Model: f.model, Endpoint: strings.TrimRight(f.baseURL, "/"), PacketTokens: f.packet, Context: f.context, MaxOutput: f.maxOutput, MaxVotes: f.votes,
		Concurrency: f.jobs, Timeout: f.timeout, Seed: f.seed, All: f.all, AskAgain: f.again, Plain: f.plain, Failure: judgeFailure, MinWait: e.testOnlyJudgeWait, Book: d.book, Foreign: d.foreign != nil,
		Ceilings: classify.Ceilings{Calls: f.maxCalls, Tokens: f.maxTokens, USD: f.maxUSD}}
	if opt.Model == "" {
		opt.Model = "judge"
	}
	if e.testOnlyAfterAppend != nil {
		opt.OnLedger = func() { e.testOnlyAfterAppend(0) }
	}
	if f.show != "" {
		return opt, nil
	}
	if f.baseURL == "" {
		return opt, inputErrorf(`give --base-url, for example "http://127.0.0.1:8000/v1"`, "where is the judge %s? The study has no model of that name with a url and api chat", clean(f.model))
	}
	prices, err := f.priceTable(d.RunDir)
	if err != nil {
		return opt, err
	}
	day := e.Now()
	opt.Price = func(input, cached, output int64) *float64 {
		u := logs.Usage{In: &input, Cached: &cached, Out: &output}
		usd, _ := prices.Cost(f.model, day, u)
		if usd == nil && f.name != "" {
			usd, _ = prices.Cost(f.name, day, u)
		}
		return usd
	}
	if opt.Price(1, 0, 1) == nil && f.maxCalls == 0 && f.maxTokens == 0 {
		return opt, inputErrorf("give --max-calls or --max-tokens, or the price with --prices FILE", "the price of the judge %s is not known, so no ceiling in dollars can be kept", clean(f.model))
	}
	if opt.Price(1, 0, 1) == nil && f.maxUSD > 0 {
		return opt, inputErrorf("give its price with --prices FILE, or leave --max-usd out", "the price of the judge %s is not known, so --max-usd cannot be kept", clean(f.model))
	}
	m := gateway.Model{Name: f.model, URL: f.baseURL}
	if f.keyEnv != "" {
		if m.Key = e.Getenv(f.keyEnv); m.Key == "" {
			return opt, inputErrorf("export "+f.keyEnv+"=… and run again", "the environment variable %s, which holds the key, is not set", clean(f.keyEnv))
		}
	}
	opt.Completer, err = gateway.NewClient(gateway.Options{Model: m, Now: e.Now})
	return opt, err
}

func (f *judgeFlags) priceTable(d *logs.RunDir) (*logs.Prices, error) {
	if f.prices != "" {
		return logs.LoadPrices(f.prices)
	}
	if p, err := logs.LoadPrices(d.PricesFile()); err == nil {
		return p, nil
	}
	return logs.BuiltinPrices(), nil
}

// judgeFailure reads an error of the gateway.
func judgeFailure(err error) *classify.CallFailure {
	var setup *gateway.SetupError
	if errors.As(err, &setup) {
		return &classify.CallFailure{Class: classify.FailRefused, Message: setup.Reason}
	}
	var p *gateway.ProviderError
	if !errors.As(err, &p) {
		return nil
	}
	f := &classify.CallFailure{Status: p.Status, RetryAfter: p.RetryAfter, Message: p.Message, Class: map[string]string{
		gateway.ClassRateLimit: classify.FailRateLimit, gateway.ClassQuota: classify.FailQuota, gateway.ClassProviderError: classify.FailUnavailable,
		gateway.ClassAuth: classify.FailAuth, gateway.ClassContextLength: classify.FailTooLong, gateway.ClassCutStream: classify.FailCut,
	}[p.Class]}
	switch {
	case f.Class == "" && p.Status == http.StatusNotFound:
		f.Class = classify.FailNotFound
	case f.Class == "":
		f.Class = classify.FailRefused
	}
	return f
}

// showPacket prints the request that would be sent about an attempt.
func (f *judgeFlags) showPacket(ctx context.Context, e *env, dir string) error {
	d, err := openClassified(dir)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.useBook(); err != nil {
		return err
	}
	a, err := d.find(ctx, e, f.show)
	if err != nil {
		return err
	}
	opt, err := f.options(e, d)
	if err != nil {
		return err
	}
	req, err := classify.ShownPacket(d.RunDir, a.tables, a.Result, a.key, opt)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(req)
}

// judge asks the model and reports how it went. What it answered is in the tables afterwards.
func (f *judgeFlags) judge(ctx context.Context, e *env, d *classified, verdicts []logs.VerdictRow) (*classify.JudgeSummary, error) {
	opt, err := f.options(e, d)
	if err != nil {
		return nil, err
	}
	last := time.Time{}
	opt.OnProgress = func(s classify.JudgeSummary) {
		if !e.terminal() || e.Now().Sub(last) < 200*time.Millisecond && s.Done < s.Candidates {
			return
		}
		last = e.Now()
		fmt.Fprintf(e.Stderr, "\r\x1b[Kasking %s: %d of %d attempts, %d calls, %d tokens", clean(f.model), s.Done, s.Candidates, s.Calls, s.Tokens)
		if s.Done == s.Candidates {
			fmt.Fprintln(e.Stderr)
		}
	}
	opt.Episode = func(id string) (*logs.Tables, error) {
		t, _, err := d.read(id)
		return t, err
	}
	return classify.Judge(ctx, d.RunDir, nil, &classify.Result{Verdicts: verdicts}, opt)
}

// printJudge says what a pass of a judge came to.
func printJudge(w io.Writer, s *classify.JudgeSummary) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "\njudge %s, asked as %s\n", clean(s.Annotator), s.Rung)
	fmt.Fprintf(w, "  %s to ask about: %d labelled, %d with a level only, %d abstained, %d left\n", plural(s.Candidates, "attempt"), s.Judged, s.Partial, s.Done-s.Judged-s.Partial, s.Left)
	say := func(what string, m map[string]int) {
		if len(m) > 0 {
			var parts []string
			for _, n := range sortedNames(m) {
				parts = append(parts, fmt.Sprintf("%s %d", clean(n), m[n]))
			}
			fmt.Fprintf(w, "  %s: %s\n", what, strings.Join(parts, ", "))
		}
	}
	say("abstained because", s.Abstained)
	say("answers that could not be used", s.Unusable)
	say("requests without an answer", s.Failures)
	if s.BadQuotes > 0 {
		fmt.Fprintf(w, "  quotes that are not in the packet, none of them published: %d\n", s.BadQuotes)
	}
	if s.Flagged > 0 {
		fmt.Fprintf(w, "  attempts whose text speaks to the judge, asked again with these lines masked: %d\n", s.Flagged)
	}
	if s.Redacted > 0 {
		fmt.Fprintf(w, "  secrets replaced in what it is shown: %d\n", s.Redacted)
	}
	if s.Shortened > 0 {
		fmt.Fprintf(w, "  texts too long for what it is shown, cut in the middle: %d\n", s.Shortened)
	}
	if s.Agree+s.Disagree > 0 {
		fmt.Fprintf(w, "  of %d with a label of the rules the judge gives the same to %d\n", s.Agree+s.Disagree, s.Agree)
	}
	fmt.Fprintf(w, "  %s now, %s taken from earlier passes, %d tokens, $%.4f; all passes: %s, %d tokens, $%.4f\n",
		plural(s.Calls, "request"), plural(s.Reused, "answer"), s.Tokens, s.USD, plural(int(s.Spent.Calls), "request"), s.Spent.Tokens, s.Spent.USD)
}

// endJudge is the error of a pass that is not complete.
func endJudge(s *classify.JudgeSummary) error {
	if s == nil || s.Stop == nil {
		return nil
	}
	return s.Stop
}

func judgeFile(d *logs.RunDir) string { return clean(filepath.Join(d.VerdictsDir(), "judge.jsonl")) }
