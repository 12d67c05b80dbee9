package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// Plan is what a study will do, known before anything runs.
type Plan struct {
	Study     string
	Mode      string
	Scenarios int
	Changes   int
	Repeats   int
	Jobs      int              // episodes at once
	Episodes  []PlannedEpisode // in the order in which they are started
	Configs   []ConfigPlan     // in the order of the study
	Families  []FamilyPlan
	StudyUSD  float64  // budgets.study.usd; 0 = no limit
	Wall      *float64 // expected hours, with so many episodes at once; nil if unknown
	Warnings  []string
}

// PlannedEpisode is one episode to come.
type PlannedEpisode struct {
	Config   string
	Scenario int // index from 0; scenario s01 is 0
	Repeat   int // from 1
}

// ConfigPlan is the cost of one configuration over all its episodes. Nil means unknown.
type ConfigPlan struct {
	Config           string
	Episodes         int
	AttemptsExpected *float64 // of a simulated agent from its preset, else as Expected
	AttemptsMost     int64    // every turn reached and every retry used; voids not counted
	TokensMost       *float64 // as budgets.attempt.tokens allows; 0 for agents that ask no model
	USDMost          *float64 // if every one of these tokens were an output token, bounded by budgets.episode
	WallMost         time.Duration
	Expected         *Expected // nil if nothing is
}

// FamilyPlan is what a declared family can find at all.
type FamilyPlan struct {
	Name    string
	Outcome string
	Pairs   [][2]string
	N       int     // scenarios: the pairs of one test
	Alpha   float64 // family-wise
	// MinP is the smallest two-sided p of one exact signed-rank test of N differences, Least the same after
	// Holm's correction, when all members of the family reach it.
	MinP, Least float64
	Cannot      bool         // Least > Alpha: nothing can be significant
	NeedNonZero int          // scenarios with a difference that every pair needs
	Finds       []Detectable // see [Plan.ComputePower]
	// Told is the number of pairs whose two means are expected, Found how many of them differ so much that 80 % of
	// repetitions find it. Both are filled in by ComputePower.
	Told, Found int
}

// Detectable is the mean that the better of two configurations must reach to be told from a baseline in 80 % of
// repetitions of the study. Needed is nil if no difference is found that often.
type Detectable struct {
	Baseline float64 // mean turns
	Needed   *float64
}

// Assumptions of ComputePower: the spread of scenarios in logits of a turn's success, and simulated studies per value.
const (
	planSpread  = 0.5
	planStudies = 1000
)

// ComputePower fills in, for every family that can find anything, which difference in turns it would find, for a
// baseline that passes a twentieth, a quarter and half of the turns. It simulates studies and takes seconds.
func (p *Plan) ComputePower() error {
	turns := p.Changes + 1
	for i := range p.Families {
		f := &p.Families[i]
		if f.Cannot || f.Outcome != "turns_passed" {
			continue
		}
		for _, share := range []float64{0.05, 0.25, 0.5} {
			mean := max(share*float64(turns), 0.5)
			success, err := stats.SuccessForMean(mean, planSpread, turns)
			if err != nil {
				continue // so few turns that no such mean exists
			}
			r, err := stats.MDE(stats.PowerModel{SuccessA: success, ScenarioSD: planSpread, Cap: turns},
				stats.StudyPlan{Scenarios: f.N, Repeats: p.Repeats, Tests: len(f.Pairs), Alpha: f.Alpha, Studies: planStudies}, 0)
			if err != nil {
				return fmt.Errorf("power of the family %q: %w", f.Name, err)
			}
			d := Detectable{Baseline: mean}
			if r.Defined {
				d.Needed = &r.Mean
			}
			f.Finds = append(f.Finds, d)
		}
		if err := p.expectPairs(f); err != nil {
			return err
		}
	}
	return nil
}

// expectPairs counts the pairs of a family that are found as expected.
func (p *Plan) expectPairs(f *FamilyPlan) error {
	turns := p.Changes + 1
	success := map[string]float64{}
	for _, c := range p.Configs {
		if c.Expected == nil || c.Expected.Turns == nil {
			continue
		}
		if v, err := stats.SuccessForMean(*c.Expected.Turns, planSpread, turns); err == nil { // else it is 0 or all
			success[c.Config] = v
		}
	}
	for _, pair := range f.Pairs {
		a, knownA := success[pair[0]]
		b, knownB := success[pair[1]]
		if !knownA || !knownB {
			continue
		}
		r, err := stats.PowerSim(stats.PowerModel{SuccessA: a, SuccessB: b, ScenarioSD: planSpread, Cap: turns},
			stats.StudyPlan{Scenarios: f.N, Repeats: p.Repeats, Tests: len(f.Pairs), Alpha: f.Alpha, Studies: planStudies})
		if err != nil {
			return fmt.Errorf("power of %s against %s: %w", pair[0], pair[1], err)
		}
		f.Told++
		if r.Power >= 0.8 {
			f.Found++
		}
	}
	return nil
}

// Plan computes order, costs and attainability. It runs nothing and reads nothing.
func (s *Study) Plan() (*Plan, error) { return s.PlanLike(nil) }

// PlanLike is [Study.Plan] with what earlier runs tell; nil = nothing.
func (s *Study) PlanLike(like *Like) (*Plan, error) {
	p := &Plan{
		Study: s.Name, Mode: s.Mode, Scenarios: s.Scenarios.Count, Changes: s.Scenarios.Changes, Repeats: s.Repeats,
		Jobs: s.jobs(0), Episodes: s.order(), StudyUSD: s.Budgets.StudyUSD,
	}
	for _, c := range s.Configs {
		cp := s.planConfig(c)
		if err := s.expectOf(&c, like, &cp); err != nil {
			return nil, err
		}
		p.Configs = append(p.Configs, cp)
	}
	p.expectWall(s)
	if like != nil && like.Turns < s.TurnsMax() {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s has at most %s in an episode and this study %d: a conversation grows over its turns, and so does what an attempt takes",
			strings.Join(like.Dirs, ", "), number(like.Turns, "turn"), s.TurnsMax()))
	}
	for _, f := range s.Families {
		fp, err := s.planFamily(f)
		if err != nil {
			return nil, err
		}
		p.Families = append(p.Families, fp)
	}
	return p, nil
}

// JobsOr is the number of episodes at once: what the command line says, else the study, else the machine.
func (s *Study) JobsOr(flag int) int { return s.jobs(flag) }

func (s *Study) jobs(flag int) int {
	switch {
	case flag > 0:
		return flag
	case s.Jobs.Episodes > 0:
		return s.Jobs.Episodes
	}
	return min(4, 2*runtime.NumCPU())
}

// order lists the episodes as they are started: scenario by scenario in a seeded order, so that an early stop
// leaves scenarios which every configuration has finished, and the repeats of a scenario after each other,
// since hosted models change over days; inside a repeat the configurations are shuffled.
func (s *Study) order() []PlannedEpisode {
	r := rand.New(rand.NewPCG(s.Seed, suite.Hash64("order of episodes", s.Name)))
	out := make([]PlannedEpisode, 0, s.Scenarios.Count*s.Repeats*len(s.Configs))
	for _, sc := range r.Perm(s.Scenarios.Count) {
		for rep := 1; rep <= s.Repeats; rep++ {
			for _, c := range r.Perm(len(s.Configs)) {
				out = append(out, PlannedEpisode{Config: s.Configs[c].Name, Scenario: sc, Repeat: rep})
			}
		}
	}
	return out
}

// planConfig multiplies out what one configuration may cost.
func (s *Study) planConfig(c Config) ConfigPlan {
	episodes := s.Scenarios.Count * s.Repeats
	perTurn := int64(1 + c.Retries + c.ProcessRetries)
	most := int64(episodes) * int64(s.TurnsMax()) * perTurn
	cp := ConfigPlan{Config: c.Name, Episodes: episodes, AttemptsMost: most, WallMost: saturate(float64(most) * float64(s.AttemptWall(c)))}
	if a, ok := s.expectedAttempts(c); ok {
		total := a * float64(episodes)
		cp.AttemptsExpected = &total
	}
	zero := 0.0
	m := s.Model(c.Model)
	if m == nil || m.Simulate != "" {
		cp.TokensMost, cp.USDMost = &zero, &zero
		return cp
	}
	if s.Budgets.Tokens > 0 {
		tokens := float64(most) * float64(s.Budgets.Tokens)
		cp.TokensMost = &tokens
		cp.USDMost = s.priceOf(m, tokens)
	}
	if limit := s.Budgets.EpisodeUSD * float64(episodes); limit > 0 && (cp.USDMost == nil || *cp.USDMost > limit) {
		cp.USDMost = &limit
	}
	return cp
}

// saturate keeps durations that no clock can hold at the longest one.
func saturate(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// priceOf is what a number of tokens costs if all of them were output, or nil if the price is unknown.
func (s *Study) priceOf(m *Model, tokens float64) *float64 {
	if s.Prices == nil {
		return nil
	}
	million, zero := int64(1e6), int64(0)
	usd, _ := s.Prices.Cost(m.ID, latestDay, logs.Usage{In: &zero, Cached: &zero, CacheWrite: &zero, Out: &million, Reasoning: &zero})
	if usd == nil {
		return nil
	}
	total := *usd * tokens / 1e6
	return &total
}

// expectedAttempts is the mean number of attempts of one episode of a simulated or the reference agent,
// without the spread between scenarios; ok is false for real models.
func (s *Study) expectedAttempts(c Config) (attempts float64, ok bool) {
	if c.Harness == harnessReference {
		return float64(s.TurnsMax()), true
	}
	m := s.Model(c.Model)
	if m == nil || m.Simulate == "" {
		return 0, false
	}
	unassisted, _ := harness.PresetFails(m.Simulate)
	failing, repair := unassisted-harness.LostTurn, harness.RetryRepairs(c.Feedback)
	perTurn := 1.0
	for range c.Retries {
		perTurn += failing + harness.LostTurn
		failing *= 1 - repair
	}
	fail := failing + harness.LostTurn
	if s.Mode != episode.ModeFailStop {
		return perTurn * float64(s.TurnsMax()), true
	}
	turns := (1 - math.Pow(1-fail, float64(s.TurnsMax()))) / fail
	return turns * perTurn, true
}

// planFamily says what a family can reach when every scenario differs in the same direction.
func (s *Study) planFamily(f Family) (FamilyPlan, error) {
	n := s.Scenarios.Count
	minP := math.Min(1, math.Ldexp(2, -n)) // the two extreme sign patterns of 2^n
	tests := make([]stats.Test, len(f.Pairs))
	for i, p := range f.Pairs {
		tests[i] = stats.Test{ID: p[0] + " − " + p[1], P: minP, MinP: minP}
	}
	r, err := stats.Family(tests, stats.FamilyOptions{Alpha: s.Analysis.Alpha})
	if err != nil {
		return FamilyPlan{}, fmt.Errorf("planning the family %q: %w", f.Name, err)
	}
	return FamilyPlan{
		Name: f.Name, Outcome: f.Outcome, Pairs: f.Pairs, N: n, Alpha: r.Alpha,
		MinP: minP, Least: r.MinAttainable, Cannot: r.AllCannot, NeedNonZero: r.NeedNonZero,
	}, nil
}

// CheckKeys adds a warning if a key variable that the run will need is not set.
func (p *Plan) CheckKeys(s *Study, getenv func(string) string) {
	if err := s.CheckKeys(getenv); err != nil {
		msg, _, _ := strings.Cut(err.Error(), "\n")
		p.Warnings = append(p.Warnings, msg)
	}
}
