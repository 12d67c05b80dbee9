// Package fleet runs one study on many machines.
//
// A study is dealt out to shards: Make freezes it in a folder with its scenarios, says in shards.json which episode
// belongs to which shard, and writes a Slurm script and a Kubernetes Job as examples. Every shard is an ordinary run of
// its part in a folder of its own. Collect puts the folders together again: it takes one journal per episode by a fixed
// rule, whichever shards overlapped, died or ran twice.
//
//	study.yaml ─ Make ─▶ shards/ ─ stint run --shard k/n ─▶ out/k … ─ Collect ─▶ runs/NAME
//
// It assumes that the machines share no lock and no clock. What it promises is that the collected folder holds the
// results of a single undisturbed run of a simulated study, and that nothing which was paid for goes uncounted.
package fleet
