// Package study turns one YAML file into episodes that have been run.
//
// A study is configurations × scenarios × repeats. Load reads study.yaml strictly: every key is known,
// every value has its place, and a complaint names file, line and column, shows the line with a caret and
// says the way out. The lists of an entry of `configs` are multiplied out to configurations
// (MODEL+HARNESS/FEEDBACK/rK) and the declared families to pairs of configurations, so that everything
// that can be wrong about a study is known before anything runs. Plan says what it will cost at most and
// what it can find at all. Run keeps the run directory: a lock, the frozen study.yaml, the price table, the
// scenarios with their content hashes, and a pool that runs every episode that has no end yet.
//
//	study.yaml ─ Load ─▶ Study ─ Plan ─▶ Plan ─ Run ─▶ runs/NAME/episodes/ID/journal.jsonl
//
// The package decides nothing about an attempt or a grade; that is the episode's. It assumes that one
// process at a time works in a run directory and makes sure of it with the lock.
package study
