package study

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/logs"
)

func TestParseShard(t *testing.T) {
	t.Parallel()
	if s, err := ParseShard("3/8"); err != nil || s != (Shard{3, 8}) || s.String() != "3/8" {
		t.Errorf("3/8: %v, %v", s, err)
	}
	for _, bad := range []string{"", "3", "0/8", "9/8", "-1/8", "3/8/9", "03/8", "3 / 8", "1/9999999"} {
		var e *InputError
		if s, err := ParseShard(bad); !errors.As(err, &e) || e.Advice == "" {
			t.Errorf("%q: %v, %v", bad, s, err)
		}
	}
}

// TestDeal: every episode goes to one shard, and no shard has more than one episode's cost above another.
func TestDeal(t *testing.T) {
	t.Parallel()
	s := mustParse(t, strings.Replace(small, "count: 4, changes: 1", "count: 40, changes: 9", 1))
	costs, err := s.costs()
	if err != nil {
		t.Fatal(err)
	}
	if costs["strong+simulated/none/r0"] <= costs["sim+simulated/none/r0"] {
		t.Errorf("an agent that comes further is not expected to cost more: %v", costs)
	}
	for _, n := range []int{1, 3, 7, 80} {
		dealt, err := s.Deal(n)
		if err != nil {
			t.Fatal(err)
		}
		load, largest := make([]int64, n), int64(0)
		for i, e := range s.Episodes() {
			load[dealt[i]-1] += costs[e.Config]
			largest = max(largest, costs[e.Config])
		}
		least, most := int64(math.MaxInt64), int64(0)
		for _, l := range load {
			least, most = min(least, l), max(most, l)
		}
		if most-least > largest || least == 0 {
			t.Errorf("%d shards: from %d to %d, an episode costs at most %d", n, least, most, largest)
		}
	}
	for _, n := range []int{0, -1, 81} {
		var e *InputError
		if _, err := s.Deal(n); !errors.As(err, &e) {
			t.Errorf("%d shards: %v", n, err)
		}
	}
}

// TestRunShards: the shards together run every episode once, each with its part of the budgets, in a folder of its own.
func TestRunShards(t *testing.T) {
	t.Parallel()
	root, ran := t.TempDir(), map[string]int{}
	for k := 1; k <= 3; k++ {
		f := &fakeLoop{}
		sum, err := start(t, filepath.Join(root, Shard{k, 3}.String()), small, f, RunOptions{Shard: Shard{k, 3}})
		if err != nil {
			t.Fatal(err)
		}
		if sum.Episodes != sum.Valid || sum.Episodes < 2 || sum.Episodes > 3 {
			t.Errorf("shard %d: %+v", k, sum)
		}
		for _, l := range f.ran {
			ran[l]++
		}
	}
	for _, e := range mustParse(t, small).Episodes() {
		if ran[e.String()] != 1 {
			t.Errorf("%v ran %d times", e, ran[e.String()])
		}
	}
	var e *InputError
	if _, err := start(t, filepath.Join(root, "1/3"), small, &fakeLoop{}, RunOptions{Shard: Shard{2, 3}}); !errors.As(err, &e) || !strings.Contains(err.Error(), "holds the shard 1/3, not 2/3") {
		t.Errorf("another shard in the same folder: %v", err)
	}
	if s, err := ShardOf(&logs.RunDir{Root: filepath.Join(root, "2/3")}); err != nil || s != (Shard{2, 3}) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestShardBudgets: money and episodes of one model at once are divided, unless they are given for the shard.
func TestShardBudgets(t *testing.T) {
	t.Parallel()
	s := mustParse(t, strings.Replace(small, "jobs: {episodes: 2}", "jobs: {episodes: 8, per_model: 6}\nbudgets: {study: {usd: 90}}", 1))
	for _, tt := range []struct {
		opt      RunOptions
		usd      float64
		perModel int
	}{
		{RunOptions{}, 90, 6},
		{RunOptions{Shard: Shard{1, 3}}, 30, 2},
		{RunOptions{Shard: Shard{1, 8}}, 11.25, 1},
		{RunOptions{Shard: Shard{1, 3}, MaxUSD: 50, PerModel: 4}, 50, 4},
		{RunOptions{Shard: Shard{1, 3}, MaxUSD: 500}, 90, 2},
		{RunOptions{PerModel: 9, MaxUSD: 7}, 7, 9},
	} {
		w := &work{study: s, opt: tt.opt}
		if w.limitUSD() != tt.usd || w.perModel() != tt.perModel {
			t.Errorf("%+v: $%g and %d, want $%g and %d", tt.opt, w.limitUSD(), w.perModel(), tt.usd, tt.perModel)
		}
	}
	var usd []float64 // that the loops of a shard may spend
	f := &fakeLoop{usd: 20, act: func(_ context.Context, s episode.Spec) error {
		err := s.Spent(logs.Usage{})
		usd = append(usd, 1)
		return err
	}}
	text := strings.Replace(small, "jobs: {episodes: 2}", "jobs: {episodes: 1}\nbudgets: {study: {usd: 90}}", 1)
	sum, err := start(t, filepath.Join(t.TempDir(), "one"), text, f, RunOptions{Shard: Shard{1, 3}})
	if err != nil || sum.BudgetReached == nil || len(usd) != 2 { // 20 of 30 is room for another one
		t.Errorf("%+v, %v, %d episodes began", sum, err, len(usd))
	}
}
