package study

import (
	"fmt"
	"math"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// Expectation is an entry of expect: what the author of a study expects of some configurations. Only the plan reads it.
// Nil is what it does not say.
type Expectation struct {
	Filter *logs.Expr // nil = every configuration

	Turns   *float64 // mean turns passed
	Repair  *float64 // share of retries that pass
	Tokens  *float64 // of an attempt, all kinds
	Cached  *float64 // share of them read from a cache
	Output  *float64 // share of them put out
	Seconds *float64 // of an attempt, grading included
	Disk    *float64 // bytes of an attempt

	line int
}

func expectKeys() *section {
	return &section{where: "an entry of expect", keys: []key{
		{name: "filter", doc: "which configurations are meant, for example model:glm-5 (default: all)", form: formText},
		{name: "turns", doc: "mean turns passed", form: formNumber},
		{name: "repair", doc: "share of retries that pass (default: the simulated agents', by feedback)", form: formShare},
		{name: "tokens", doc: "tokens of one attempt, all kinds", form: formSize},
		{name: "cached", doc: "share of the tokens that a cache provides (default 0)", form: formShare},
		{name: "output", doc: "share of the tokens that the model puts out; without it dollars are unknown", form: formShare},
		{name: "wall", doc: "time of one attempt, grading included", form: formDuration},
		{name: "disk", doc: "bytes kept of one attempt", form: formSize},
	}}
}

// readExpect reads what the plan may expect.
func (s *Study) readExpect(root *node) error {
	list := root.get("expect")
	if list == nil {
		return nil
	}
	for _, n := range list.items {
		e := Expectation{line: n.place.line}
		if f := n.get("filter"); f != nil {
			expr, err := logs.ParseExpr(f.text)
			if err == nil {
				_, err = expr.Match(s.Configs[0].column)
			}
			if err != nil {
				return s.src.errorAt(f.place, "for example filter: 'model:glm-5 retries:2'", "the filter cannot be used: %v", err)
			}
			e.Filter = &expr
		}
		for name, to := range map[string]**float64{"turns": &e.Turns, "repair": &e.Repair, "cached": &e.Cached, "output": &e.Output} {
			if v := n.get(name); v != nil {
				*to = ptr(numberOr(v, 0))
			}
		}
		for name, to := range map[string]**float64{"tokens": &e.Tokens, "disk": &e.Disk} {
			if v := n.get(name); v != nil {
				*to = ptr(float64(sizeOr(v, 0)))
			}
		}
		if v := n.get("wall"); v != nil {
			e.Seconds = ptr(durationOr(v, 0).Seconds())
		}
		if e.Turns != nil && (*e.Turns <= 0 || *e.Turns >= float64(s.TurnsMax())) {
			return s.src.errorAt(n.get("turns").place, "leave out what nobody expects", "turns: %g is not between 0 and %d, the turns there are", *e.Turns, s.TurnsMax())
		}
		if e.Cached != nil && e.Output != nil && *e.Cached+*e.Output > 1 {
			return s.src.errorAt(n.get("output").place, "they are shares of all tokens of an attempt", "cached and output are more than all tokens")
		}
		s.Expect = append(s.Expect, e)
	}
	return nil
}

// rates are what one attempt of a configuration is expected to achieve and take. Nil means unknown.
type rates struct {
	first, retry           *float64 // share of a turn's first attempts, and of its retries, that pass
	input, cached, written *float64 // tokens of an attempt
	output                 *float64
	seconds                *float64 // of an attempt, grading included
	bytes                  *float64 // of an attempt
	passFrom, costFrom     string   // where they are taken from
}

// declared are the rates that the study's own expectations give a configuration: of every figure the first entry that fits.
func (s *Study) declared(c *Config) (rates, error) {
	var e Expectation
	from := func(old string, line int) string {
		if old != "" {
			return old
		}
		return fmt.Sprintf("line %d", line)
	}
	var r rates
	for _, x := range s.Expect {
		if x.Filter != nil {
			if fits, err := x.Filter.Match(c.column); err != nil || !fits {
				continue // a filter that does not fit one column was refused when it was read
			}
		}
		for _, p := range []struct{ to, from **float64 }{{&e.Turns, &x.Turns}, {&e.Repair, &x.Repair}, {&e.Tokens, &x.Tokens}, {&e.Cached, &x.Cached}, {&e.Output, &x.Output}, {&e.Seconds, &x.Seconds}, {&e.Disk, &x.Disk}} {
			if *p.to == nil && *p.from != nil {
				*p.to = *p.from
				if p.from == &x.Turns {
					r.passFrom = from(r.passFrom, x.line)
				} else if p.from != &x.Repair {
					r.costFrom = from(r.costFrom, x.line)
				}
			}
		}
	}
	if e.Turns != nil {
		success, err := stats.SuccessForMean(*e.Turns, 0, s.TurnsMax())
		if err != nil {
			return r, fmt.Errorf("expected turns of %s: %w", c.Name, err)
		}
		repair := harness.RetryRepairs(c.Feedback)
		if e.Repair != nil {
			repair = *e.Repair
		}
		// A turn fails when its first attempt and every retry do.
		fail := min(1, (1-success)/math.Pow(1-repair, float64(c.Retries)))
		r.first, r.retry = ptr(1-fail), ptr(repair)
		if fail == 1 && c.Retries > 0 { // so many failures that retries repair less than was said
			r.retry = ptr(1 - math.Pow(1-success, 1/float64(c.Retries)))
		}
	}
	if e.Tokens != nil && e.Output != nil {
		cached := 0.0
		if e.Cached != nil {
			cached = *e.Cached
		}
		r.input, r.cached, r.written = ptr(*e.Tokens*(1-cached-*e.Output)), ptr(*e.Tokens*cached), ptr(0.0)
		r.output = ptr(*e.Tokens * *e.Output)
	} else if e.Tokens != nil {
		r.input = e.Tokens // the kinds are not known, so no price is
	}
	r.seconds, r.bytes = e.Seconds, e.Disk
	return r, nil
}

// Expected is what a configuration is expected to do and take over all its episodes. Nil means unknown.
type Expected struct {
	Turns    *float64 // mean turns passed by an episode; nil under teleport
	Attempts *float64
	Tokens   *float64
	USD      *float64
	Hours    *float64 // of one episode after the other
	Bytes    *float64
	From     string
}

// expected multiplies rates out for a configuration.
func (s *Study) expected(c *Config, r rates) Expected {
	e := Expected{From: r.from()}
	turns := float64(s.TurnsMax())
	episodes := float64(s.Scenarios.Count * s.Repeats)
	if r.first != nil && (r.retry != nil || c.Retries == 0) {
		failing, perTurn := 1-*r.first, 1.0
		for range c.Retries {
			perTurn += failing
			failing *= 1 - *r.retry
		}
		tried, success := turns, 1-failing
		if s.Mode == episode.ModeFailStop && failing > 0 {
			tried = (1 - math.Pow(success, turns)) / failing
		}
		e.Attempts = ptr(tried * perTurn * episodes)
		switch {
		case failing == 0:
			e.Turns = &turns
		case s.Mode != episode.ModeTeleport: // the number of the first failed turn
			e.Turns = ptr(success * (1 - math.Pow(success, turns)) / failing)
		}
	}
	if e.Attempts == nil {
		return e
	}
	times := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		return ptr(*v * *e.Attempts)
	}
	if r.input != nil {
		all := *r.input
		for _, v := range []*float64{r.cached, r.written, r.output} {
			if v != nil {
				all += *v
			}
		}
		e.Tokens = times(&all)
	}
	if m := s.Model(c.Model); m == nil || m.Simulate != "" {
		e.Tokens = ptr(0.0)
	}
	e.USD = times(s.usdOf(c, r))
	e.Bytes = times(r.bytes)
	if e.Hours = times(r.seconds); e.Hours != nil {
		*e.Hours /= time.Hour.Seconds()
	}
	return e
}

// expectOf fills in what a configuration is expected to do and take.
func (s *Study) expectOf(c *Config, like *Like, cp *ConfigPlan) error {
	r, err := s.declared(c)
	if err != nil {
		return err
	}
	if like != nil {
		r = like.rates(c, r)
	}
	if r.from() == "" {
		return nil
	}
	e := s.expected(c, r)
	cp.Expected = &e
	if cp.AttemptsExpected == nil {
		cp.AttemptsExpected = e.Attempts
	}
	return nil
}

// expectWall adds up the hours: no shorter than the episodes of any model after each other, as far as jobs.per_model
// keeps them apart.
func (p *Plan) expectWall(s *Study) {
	all, byModel := 0.0, map[string]float64{}
	for i, c := range p.Configs {
		if c.Expected == nil || c.Expected.Hours == nil {
			return
		}
		all += *c.Expected.Hours
		byModel[s.Configs[i].Model] += *c.Expected.Hours
	}
	wall := all / float64(p.Jobs)
	if s.Jobs.PerModel > 0 {
		for _, h := range byModel {
			wall = max(wall, h/float64(s.Jobs.PerModel))
		}
	}
	p.Wall = &wall
}

// usdOf is what one attempt costs, nil if price or tokens are not known.
func (s *Study) usdOf(c *Config, r rates) *float64 {
	m := s.Model(c.Model)
	if m == nil || m.Simulate != "" {
		return ptr(0.0)
	}
	if s.Prices == nil || r.input == nil || r.output == nil {
		return nil
	}
	const many = 1e6 // prices are of whole tokens
	whole := func(v *float64) *int64 {
		if v == nil {
			return nil
		}
		n := int64(*v * many)
		return &n
	}
	usd, _ := s.Prices.Cost(m.ID, latestDay, logs.Usage{In: whole(r.input), Cached: whole(r.cached), CacheWrite: whole(r.written), Out: whole(r.output)})
	if usd == nil {
		return nil
	}
	return ptr(*usd / many)
}

// from says where rates were taken from.
func (r rates) from() string {
	switch {
	case r.passFrom == r.costFrom || r.costFrom == "":
		return r.passFrom
	case r.passFrom == "":
		return r.costFrom
	}
	return r.passFrom + "; costs: " + r.costFrom
}
