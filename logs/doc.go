// Package logs holds what a study leaves behind and turns it into tables.
//
// It promises three things. The journal of an episode is the only truth about it: append-only,
// hash-chained, and repaired after a crash by cutting a torn tail and nothing else. Everything that
// is too large for a line is a blob, addressed by the SHA-256 of its content. Tables are a pure
// function of journals and blobs, so they can be deleted and rebuilt at any time, and [Digest] says
// whether two runs gave the same results.
//
// It assumes one writer per run directory (the command holds a lock) and treats all content as
// hostile: sizes are bounded, symlinks are never followed, and unknown is null, never zero.
//
// From a run directory to numbers:
//
//	d, err := logs.OpenRunDir("runs/demo")        // study.yaml, episodes/
//	t, problems, err := logs.ReadRun(d, nil)      // journals → rows, sorted by key
//	err = logs.WriteTables(d.TablesDir(), t)      // episodes.parquet, turns.parquet, …
//	set, err := t.Outcomes("turns_passed")        // rows → what the statistics take
//
// A table that did not come from stint enters by [ReadOutcomes], which takes CSV, TSV, JSON lines
// or Parquet.
package logs
