package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// ShardsName is the file that makes a folder one of shards.
const ShardsName = "shards.json"

const shardsSchema = "stint.shards/1"

// maxShardsFile bounds a shards.json that is read.
const maxShardsFile = 256 << 20

// Shards says how a study was dealt out. It is the content of shards.json.
type Shards struct {
	Schema   string         `json:"schema"`
	Study    string         `json:"study"`
	StudySHA string         `json:"study_sha"` // SHA-256 of study.yaml, hex
	Stint    string         `json:"stint"`     // version that dealt
	N        int            `json:"shards"`
	Episodes []DealtEpisode `json:"episodes"` // in the order in which they are started
}

// DealtEpisode is one episode and its shard.
type DealtEpisode struct {
	Episode  string `json:"episode"` // id
	Shard    int    `json:"shard"`   // from 1
	Config   string `json:"config"`
	Scenario string `json:"scenario"`
	Content  string `json:"content"` // hash of the scenario
	Repeat   int    `json:"repeat"`
}

// MakeOptions say how a study is dealt out.
type MakeOptions struct {
	N       int
	Dir     string           // where the shards are described; out/ below it is where the examples put their runs
	Version string           // of stint; "" = from the build
	Now     func() time.Time // nil = time.Now
	Getenv  func(string) string
	Stderr  io.Writer
}

// Make freezes the study in a folder, generates its scenarios, deals its episodes out to n shards and writes the
// examples for schedulers. The same call again changes nothing; another study or number of shards is refused.
func Make(ctx context.Context, s *study.Study, opt MakeOptions) (*Shards, error) {
	if opt.Version == "" {
		opt.Version = study.BuildVersion()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	dealt, err := s.Deal(opt.N)
	if err != nil {
		return nil, err
	}
	d := &logs.RunDir{Root: opt.Dir}
	if err := mayMake(d, s, opt.N); err != nil {
		return nil, err
	}
	held, err := s.Hold(opt.Dir, opt.Now())
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if err := s.Generate(ctx, held, study.RunOptions{Dir: opt.Dir, Now: opt.Now, Getenv: opt.Getenv, Stderr: opt.Stderr}); err != nil {
		return nil, err
	}
	contents, err := s.Contents(d)
	if err != nil {
		return nil, err
	}
	sh := &Shards{Schema: shardsSchema, Study: s.Name, StudySHA: hashOf(s.Source), Stint: opt.Version, N: opt.N}
	for i, e := range s.Episodes() {
		content := contents[e.Scenario]
		sh.Episodes = append(sh.Episodes, DealtEpisode{
			Episode: logs.EpisodeID(s.Name, e.Config, content, e.Repeat), Shard: dealt[i],
			Config: e.Config, Scenario: e.ScenarioName(), Content: content, Repeat: e.Repeat,
		})
	}
	return sh, sh.write(s, opt.Dir)
}

// mayMake refuses a folder in which something else was begun.
func mayMake(d *logs.RunDir, s *study.Study, n int) error {
	old, err := ReadShards(d.Root)
	if err != nil {
		return err
	}
	if old == nil {
		if _, err := os.Lstat(d.StudyFile()); err == nil {
			return &study.InputError{File: d.Root, Message: "this is a run directory", Advice: "choose a new folder for the shards with -o"}
		}
		return nil
	}
	if old.StudySHA != hashOf(s.Source) || old.N != n {
		return &study.InputError{File: d.Root, Advice: "choose a new folder with -o",
			Message: fmt.Sprintf("the study %s was dealt out to %d shards here; another study or number of shards needs another folder", old.Study, old.N)}
	}
	return nil
}

// write writes the examples and then shards.json, whose presence says that all is there.
func (sh *Shards) write(s *study.Study, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("finding the folder of the shards: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, outName), 0o755); err != nil {
		return fmt.Errorf("making the folder of the shards' runs: %w", err)
	}
	b, err := json.MarshalIndent(sh, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the shards: %w", err)
	}
	x := newExample(s, sh, abs)
	for _, f := range []struct {
		name string
		text []byte
	}{{SlurmName, x.slurm()}, {KubernetesName, x.kubernetes()}, {ShardsName, append(b, '\n')}} {
		if err := study.WriteWhole(filepath.Join(dir, f.name), f.text); err != nil {
			return err
		}
	}
	return nil
}

// ReadShards reads how the study in a folder was dealt out; nil if the folder is not one of shards.
func ReadShards(dir string) (*Shards, error) {
	path := filepath.Join(dir, ShardsName)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading how the study was dealt out: %w", err)
	}
	bad := func(format string, args ...any) error {
		return &study.InputError{File: path, Message: fmt.Sprintf(format, args...), Advice: "run stint shard again, into a new folder"}
	}
	if !st.Mode().IsRegular() || st.Size() > maxShardsFile {
		return nil, bad("this is no file that stint shard wrote")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading how the study was dealt out: %w", err)
	}
	var sh Shards
	if err := json.Unmarshal(b, &sh); err != nil {
		return nil, bad("this is no file that stint shard wrote: %v", err)
	}
	switch {
	case sh.Schema != shardsSchema:
		return nil, bad("the format is %q; this stint reads %s", sh.Schema, shardsSchema)
	case sh.N < 1 || len(sh.Episodes) < sh.N:
		return nil, bad("%d shards of %d episodes cannot be", sh.N, len(sh.Episodes))
	}
	return &sh, nil
}

// Fits refuses shards that were made of another study or other scenarios than the folder holds now, or by another
// version of stint: the episodes would not be those of the other shards.
func (sh *Shards) Fits(s *study.Study, dir, version string) error {
	path := filepath.Join(dir, ShardsName)
	if version == "" {
		version = study.BuildVersion()
	}
	if sh.Stint != version {
		return &study.InputError{File: path, Message: fmt.Sprintf("the shards were made by stint %s; this is %s", sh.Stint, version),
			Advice: "use the same stint on every machine, or make the shards again, in a new folder"}
	}
	if sh.StudySHA != hashOf(s.Source) {
		return &study.InputError{File: path, Message: fmt.Sprintf("the shards were made of another study than %s is now", s.Path), Advice: "run stint shard again, into a new folder"}
	}
	contents, err := s.Contents(&logs.RunDir{Root: dir})
	if err != nil {
		return err
	}
	episodes := s.Episodes()
	if len(episodes) != len(sh.Episodes) {
		return &study.InputError{File: path, Message: fmt.Sprintf("it deals out %d episodes, but the study has %d", len(sh.Episodes), len(episodes)), Advice: "run stint shard again, into a new folder"}
	}
	for i, e := range episodes {
		x := sh.Episodes[i]
		if x.Config != e.Config || x.Scenario != e.ScenarioName() || x.Repeat != e.Repeat || x.Shard < 1 || x.Shard > sh.N {
			return &study.InputError{File: path, Message: fmt.Sprintf("it has %s/%s#%d where the study has %v", x.Config, x.Scenario, x.Repeat, e), Advice: "run stint shard again, into a new folder"}
		}
		if x.Content != contents[e.Scenario] {
			return &study.InputError{File: filepath.Join(dir, "scenarios", x.Scenario+".json"), Advice: "restore the file from a copy, or run stint shard again, into a new folder",
				Message: fmt.Sprintf("scenario %s has the content %.12s, but was dealt out with %.12s", x.Scenario, contents[e.Scenario], x.Content)}
		}
	}
	return nil
}

// Dealt tells the shard of a planned episode.
func (sh *Shards) Dealt() func(study.PlannedEpisode) int {
	of := map[string]int{}
	for _, x := range sh.Episodes {
		of[fmt.Sprintf("%s/%s#%d", x.Config, x.Scenario, x.Repeat)] = x.Shard
	}
	return func(e study.PlannedEpisode) int { return of[e.String()] }
}

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
