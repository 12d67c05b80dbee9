// Package logs holds what a study leaves behind and turns it into tables.
//
// It promises three things. The journal of an episode is the only truth about it: append-only,
// hash-chained, and repaired after a crash by cutting a torn tail and nothing else. Everything that
// is too large for a line is a blob, addressed by the SHA-256 of its content. Tables are a pure
// function of journals, blobs and verdicts, so they can be deleted and rebuilt at any time, and
// [Digest] says whether two runs gave the same results.
//
// It assumes one writer per run directory (the command holds a lock) and treats all content as
// hostile: sizes are bounded, symlinks are never followed, and unknown is null, never zero.
//
// From a run directory to numbers:
//
//	d, err := logs.OpenRunDir("runs/demo")        // study.yaml, episodes/
//	n, problems, err := logs.IngestRun(d, d.TablesDir(), logs.IngestOptions{}) // episodes.parquet, …
//	t, problems, err := logs.ReadRun(d, nil)      // or into memory: journals → rows, sorted by key
//	set, err := t.Outcomes("turns_passed")        // rows → what the statistics take
//
// Seven tables follow from the three sources: episodes, turns, clauses, attempts and checks from the
// journals, events from the agents' logs and the journals, verdicts from the files in verdicts/. Every
// row says from which bytes of which file it came. An [EventRow] also says who wrote its text, since the
// agent under test can put anything into its own words: see [EventRow.Trusted]. Of several verdicts on
// one failure [Counting] picks the one that counts.
//
// A table that did not come from stint enters by [ReadOutcomes], which takes CSV, TSV, JSON lines
// or Parquet.
package logs
