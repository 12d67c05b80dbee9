package study

import (
	"fmt"

	"github.com/stint-bench/stint/logs"
)

// selectEpisodes returns the episodes that a run is asked for, in the order of the plan.
func (s *Study) selectEpisodes(opt RunOptions) ([]PlannedEpisode, error) {
	episodes, err := s.ofShard(opt)
	if err != nil || opt.Only == "" {
		return episodes, err
	}
	const advice = "for example --only model:glm-5 or --only 'scenario:(s01 OR s02)'"
	expr, err := logs.ParseExpr(opt.Only)
	if err != nil {
		return nil, &InputError{File: "--only", Message: err.Error(), Advice: advice}
	}
	var out []PlannedEpisode
	for _, e := range episodes {
		ok, err := expr.Match(func(key string) (string, bool) { return s.column(e, key) })
		if err != nil {
			return nil, &InputError{File: "--only", Message: err.Error(), Advice: advice}
		}
		if ok {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, &InputError{File: "--only", Message: fmt.Sprintf("%s chooses none of the %s", opt.Only, number(len(episodes), "episode")), Advice: advice}
	}
	return out, nil
}

// ofShard returns the episodes of the shard, or all.
func (s *Study) ofShard(opt RunOptions) ([]PlannedEpisode, error) {
	all := s.order()
	if opt.Shard.N == 0 {
		return all, nil
	}
	dealt := opt.Dealt
	if dealt == nil {
		shards, err := s.Deal(opt.Shard.N)
		if err != nil {
			return nil, err
		}
		of := map[PlannedEpisode]int{}
		for i, e := range all {
			of[e] = shards[i]
		}
		dealt = func(e PlannedEpisode) int { return of[e] }
	}
	var out []PlannedEpisode
	for _, e := range all {
		if dealt(e) == opt.Shard.K {
			out = append(out, e)
		}
	}
	return out, nil
}

// column gives an expression the columns of `episodes` that are known before an episode runs.
func (s *Study) column(e PlannedEpisode, key string) (string, bool) {
	switch key {
	case "study":
		return s.Name, true
	case "scenario":
		return scenarioName(e.Scenario), true
	case "repeat":
		return fmt.Sprint(e.Repeat), true
	case "mode":
		return s.Mode, true
	}
	return s.Config(e.Config).column(key)
}
