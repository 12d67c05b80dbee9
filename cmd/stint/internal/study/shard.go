package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// Shard is one of N parts of a study, for a process that works on nothing else. The zero value is the whole study.
type Shard struct{ K, N int } // 1 ≤ K ≤ N

// maxShards bounds a slip of the finger.
const maxShards = 100000

var shardForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/([1-9][0-9]{0,5})$`)

// ParseShard reads k/n.
func ParseShard(text string) (Shard, error) {
	m := shardForm.FindStringSubmatch(text)
	if m == nil {
		return Shard{}, &InputError{File: "--shard", Message: fmt.Sprintf("%q is no shard", text), Advice: "write k/n: --shard 3/8 is the third of eight shards"}
	}
	k, _ := strconv.Atoi(m[1]) // the form has checked them
	n, _ := strconv.Atoi(m[2])
	if k > n {
		return Shard{}, &InputError{File: "--shard", Message: fmt.Sprintf("there is no shard %d of %d", k, n), Advice: fmt.Sprintf("shards are numbered from 1/%d to %d/%d", n, n, n)}
	}
	return Shard{k, n}, nil
}

// String is k/n.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.K, s.N) }

// Episodes lists the episodes of the study in the order in which they are started, the same in every mode of running.
func (s *Study) Episodes() []PlannedEpisode { return s.order() }

// Deal gives every episode, in the order of [Study.Episodes], to one of n shards and returns the shards' numbers, from
// 1: each goes to the shard that has the least to do so far, by expected cost. So every shard gets its episodes in the
// interleaved order, and an early stop of all leaves comparable data.
func (s *Study) Deal(n int) ([]int, error) {
	episodes := s.order()
	if n < 1 || n > min(len(episodes), maxShards) {
		return nil, &InputError{File: s.Path, Message: fmt.Sprintf("the study has %s, which cannot be dealt out to %d shards", number(len(episodes), "episode"), n),
			Advice: fmt.Sprintf("choose from 1 to %d shards", min(len(episodes), maxShards))}
	}
	costs, err := s.costs()
	if err != nil {
		return nil, err
	}
	load := make([]int64, n)
	out := make([]int, len(episodes))
	for i, e := range episodes {
		least := 0
		for k := range load {
			if load[k] < load[least] {
				least = k
			}
		}
		load[least] += costs[e.Config]
		out[i] = least + 1
	}
	return out, nil
}

// costs are the expected costs of one episode by configuration, in thousandths of hours, else of attempts: in one of
// the two for all. Whole numbers, so that every machine deals alike.
func (s *Study) costs() (map[string]int64, error) {
	var hours, attempts, most []float64
	episodes := float64(s.Scenarios.Count * s.Repeats)
	for i := range s.Configs {
		c := &s.Configs[i]
		cp := s.planConfig(*c)
		if err := s.expectOf(c, nil, &cp); err != nil {
			return nil, err
		}
		most = append(most, float64(cp.AttemptsMost)/episodes)
		if cp.AttemptsExpected != nil {
			attempts = append(attempts, *cp.AttemptsExpected/episodes)
		}
		if cp.Expected != nil && cp.Expected.Hours != nil {
			hours = append(hours, *cp.Expected.Hours/episodes)
		}
	}
	use := most
	for _, better := range [][]float64{attempts, hours} {
		if len(better) == len(s.Configs) {
			use = better
		}
	}
	out := map[string]int64{}
	for i, c := range s.Configs {
		out[c.Name] = max(1, int64(math.Round(use[i]*1000)))
	}
	return out, nil
}

// shardName is the file of a run directory that says which shard it is.
const shardName = "shard.json"

// shardFile is its content.
type shardFile struct {
	Schema string `json:"schema"`
	K      int    `json:"shard"`
	N      int    `json:"of"`
}

const shardSchema = "stint.shard/1"

// ShardOf reads which shard a run directory was made for; the zero Shard is none.
func ShardOf(d *logs.RunDir) (Shard, error) {
	path := filepath.Join(d.Root, shardName)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Shard{}, nil
	}
	var b []byte
	if err == nil && st.Mode().IsRegular() && st.Size() < 4096 {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return Shard{}, fmt.Errorf("reading which shard this is: %w", err)
	}
	var f shardFile
	if json.Unmarshal(b, &f) != nil || f.Schema != shardSchema || f.K < 1 || f.K > f.N {
		return Shard{}, &InputError{File: path, Message: "this does not say which shard the folder holds", Advice: "remove the file; stint run --shard writes it again"}
	}
	return Shard{f.K, f.N}, nil
}

// keepShard records which shard a run directory holds, and refuses another one.
func keepShard(d *logs.RunDir, s Shard) error {
	if s.N == 0 {
		return nil
	}
	have, err := ShardOf(d)
	switch {
	case err != nil || have == s:
		return err
	case have.N > 0:
		return &InputError{File: d.Root, Message: fmt.Sprintf("this folder holds the shard %v, not %v", have, s), Advice: "give every shard a folder of its own with -o"}
	}
	b, err := json.Marshal(shardFile{shardSchema, s.K, s.N})
	if err != nil {
		return fmt.Errorf("encoding which shard this is: %w", err)
	}
	return suite.WriteWhole(filepath.Join(d.Root, shardName), append(b, '\n'))
}

// part is what a shard may use of something that the whole study shares.
func (s Shard) part(whole float64) float64 {
	if s.N == 0 {
		return whole
	}
	return whole / float64(s.N)
}

// partOf is part for a number of episodes at once: never none.
func (s Shard) partOf(whole int) int {
	if s.N == 0 || whole == 0 {
		return whole
	}
	return max(1, whole/s.N)
}
