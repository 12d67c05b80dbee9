package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shardedStudy has 24 episodes that need no process.
const shardedStudy = `version: 1
name: sharded
seed: 5
scenarios: {count: 6, changes: 1}
configs:
  - {model: [weak, strong], harness: simulated, feedback: [minimal, detailed], retries: 1}
models:
  weak: {simulate: weak, transport: inproc}
  strong: {simulate: strong, transport: inproc}
analysis:
  families:
    - {name: models, by: model, within: [feedback]}
`

// TestShardsCollectToTheSameDigest deals 24 episodes out to four shards. One is killed with kill -9 when its journals
// have reached record k and is started again, one runs in two folders, and the folders are collected in two steps: the
// digest is that of an undisturbed local run, and what was done twice is named.
func TestShardsCollectToTheSameDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", shardedStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "whole", "-q")
	want, records := digests(t, filepath.Join(dir, "whole"))

	stint(t, dir, 0, "shard", "study.yaml", "-n", "4", "-o", "shards", "-q")
	k := 1 + rand.New(rand.NewPCG(20261130, 12)).IntN(records/5)
	killed := command(t, dir, []string{fmt.Sprintf("%s=%d", killAtVar, k)}, "run", "shards", "--shard", "2/4", "-o", "out/2", "-q")
	if err := killed.Run(); err == nil {
		t.Fatalf("k = %d of %d: the shard was not killed", k, records)
	}
	for _, run := range []string{"1/4 out/1", "2/4 out/2", "3/4 out/3", "3/4 out/3again"} {
		shard, out, _ := strings.Cut(run, " ")
		stint(t, dir, 0, "run", "shards", "--shard", shard, "-o", out, "-q")
	}
	_, said := stint(t, dir, exitIncomplete, "collect", "out/1", "out/2", "out/3again", "-o", "together")
	if !strings.Contains(said, "run shard 4 of 4 again") || strings.Count(said, "missing, shard 4/4") != 6 {
		t.Errorf("an incomplete collection said:\n%s", said)
	}
	stint(t, dir, 0, "run", "study.yaml", "--shard", "4/4", "-o", "out/4", "-q")
	_, said = stint(t, dir, 0, "collect", "out/1", "out/2", "out/3", "out/3again", "out/4", "-o", "together")
	if strings.Count(said, "wasted: out/3/episodes/") != 6 || !strings.Contains(said, "24 of 24 episodes have an end; 6 added, 0 replaced, 18 kept") {
		t.Errorf("the collection said:\n%s", said)
	}
	got, _ := digests(t, filepath.Join(dir, "together"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("k = %d: digests differ (-local +collected):\n%s", k, diff)
	}
	_, said = stint(t, dir, 0, "run", "together")
	if !strings.Contains(said, "together is complete: nothing to do") {
		t.Errorf("a run in the collected folder said:\n%s", said)
	}

	before := treeOf(t, filepath.Join(dir, "together"))
	stint(t, dir, 0, "collect", "out/1", "out/2", "out/3", "out/3again", "out/4", "-o", "together", "-q")
	if diff := cmp.Diff(before, treeOf(t, filepath.Join(dir, "together"))); diff != "" {
		t.Errorf("collecting again changed files:\n%s", diff)
	}
}

// treeOf lists the files of a folder with sizes and times.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out[path] = fmt.Sprintf("%d %v", info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
