package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/fleet"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// open reads the study that run is given, as a file, a run directory or a folder of shards, and says where it runs.
func (f *runFlags) open(name string) (s *study.Study, dir string, err error) {
	if f.shardText != "" {
		if f.shard, err = study.ParseShard(f.shardText); err != nil {
			return nil, "", err
		}
	}
	f.again = "run " + shellQuote(name)
	in := ""
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		if s, in, err = f.openDir(name); err != nil {
			return nil, "", err
		}
	} else if s, err = study.Load(name); err != nil {
		return nil, "", err
	}
	if f.shard.N > 0 {
		f.again += " --shard " + f.shard.String()
		in = filepath.Join("runs", fmt.Sprintf("%s-%d-of-%d", s.Name, f.shard.K, f.shard.N))
	}
	if f.grade != "" {
		f.again += " --grade " + shellQuote(f.grade)
	}
	if f.dir != "" {
		f.again += " -o " + shellQuote(f.dir)
	}
	return s, cmp.Or(f.dir, in, filepath.Join("runs", s.Name)), nil
}

// openDir reads the study of a run directory, which goes on in place, or of a folder of shards.
func (f *runFlags) openDir(name string) (s *study.Study, in string, err error) {
	d, err := logs.OpenRunDir(name)
	if err != nil {
		return nil, "", err
	}
	if s, err = study.LoadFrozen(d); err != nil {
		return nil, "", err
	}
	sh, err := fleet.ReadShards(name)
	if err != nil {
		return nil, "", err
	}
	if f.dir != "" || sh != nil {
		f.from = d
	}
	if sh == nil {
		return s, name, nil
	}
	if err := sh.Fits(s, name, ""); err != nil {
		return nil, "", err
	}
	switch {
	case f.shard.N == 0 && f.dir == "":
		return nil, "", inputErrorf(fmt.Sprintf("for example --shard 1/%d; or -o DIR to run all of it", sh.N), "%s holds the shards of a study", clean(name))
	case f.shard.N > 0 && f.shard.N != sh.N:
		return nil, "", inputErrorf(fmt.Sprintf("for example --shard 1/%d", sh.N), "%s was dealt out to %d shards, not %d", clean(name), sh.N, f.shard.N)
	}
	f.dealt = sh.Dealt()
	return s, "", nil
}
