package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
)

func newIngestCmd(e *env) *cobra.Command {
	var opt ingestFlags
	cmd := &cobra.Command{
		Use:   "ingest PATH... [-o DIR]",
		Short: "Journals and any agent's logs to tables (Parquet)",
		Long: `ingest reads the journals of a run directory, the agents' logs they name and the
verdicts, and writes its tables: episodes, turns, clauses, attempts, checks, events and
verdicts, as Parquet files that DuckDB, polars and pandas read. The tables can be
deleted and made again at any time; the journals are the only truth.

It does the same for what other runners and agents leave behind: files, folders,
patterns, - for standard input, packed with gzip or zstd or not. A file's content, not
its name, shows what it is; ingest says what it took each file for, and DIR/files.json
keeps that. A record that cannot be read is listed with file, line and reason, and is a
row of the events; records of an unknown kind are kept as they are. Of a text the table
of events has the first 256 bytes, and file, offset, length and SHA-256 of the record;
--text puts the whole text in.

The formats: ` + formatNames() + `.`,
		Example: "  " + e.Self + " ingest runs/demo\n  " + e.Self + " ingest runs/demo/episodes -o tables",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.partition != "" {
				if err := logs.CheckPartition(opt.partition); err != nil {
					return err
				}
			}
			if d, err := logs.OpenRunDir(args[0]); err == nil && len(args) == 1 && opt.format == "" {
				return ingestRun(e, d, opt)
			}
			return ingestLogs(cmd.Context(), e, args, opt)
		},
	}
	cmd.Flags().StringVarP(&opt.out, "out", "o", "", "folder for the tables (default DIR/tables of a run directory)")
	cmd.Flags().StringVar(&opt.format, "format", "", "read every file as this format")
	cmd.Flags().StringVar(&opt.partition, "partition-by", "", "divide every table by a column of episodes: TABLE/config=…/part-0.parquet")
	cmd.Flags().BoolVar(&opt.text, "text", false, "whole texts of events in their table; otherwise their first 256 bytes, and where the whole lies")
	cmd.Flags().BoolVar(&opt.strict, "strict", false, "exit 3 if any record could not be read")
	columnFlags(cmd, &opt.columns)
	return cmd
}

// ingest reads the run directory dir.
func ingest(e *env, dir, out string, strict bool) error {
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		return err
	}
	return ingestRun(e, d, ingestFlags{out: out, strict: strict})
}

func ingestRun(e *env, d *logs.RunDir, opt ingestFlags) error {
	start, out := e.Now(), opt.out
	if opt.partition != "" && out == "" {
		return inputErrorf("for example: -o parts", "divided tables need a folder of their own: say with -o where they go")
	}
	if out == "" {
		out = d.TablesDir()
	}
	n, problems, err := logs.IngestRun(d, out, logs.IngestOptions{OnEpisode: readProgress(e)})
	if err != nil {
		return fmt.Errorf("writing the tables to %s: %w", out, err)
	}
	if opt.partition != "" {
		if err := logs.PartitionTables(out, opt.partition); err != nil {
			return err
		}
	}
	sayProblems(e, problems)
	fmt.Fprintf(e.Stdout, "%s: %d episodes, %d turns, %d attempts, %d failed checks\n", out,
		n.Episodes, n.Turns, n.Attempts, n.Checks)
	if e.Verbose {
		e.say("read and written in %s", e.Now().Sub(start).Round(time.Millisecond))
	}
	e.next("compare %s", shellQuote(d.Root))
	if opt.strict && len(problems) > 0 {
		return &exitError{code: exitGate, err: fmt.Errorf("--strict: %d records could not be read", len(problems))}
	}
	return nil
}

// readRun reads all journals of a run, with progress on a terminal, and names every record that could not be read.
func readRun(e *env, d *logs.RunDir) (*logs.Tables, error) {
	t, problems, err := logs.ReadRun(d, readProgress(e))
	if err != nil {
		return nil, err
	}
	sayProblems(e, problems)
	return t, nil
}

// openRun opens a run directory and reads its journals as readRun does.
func openRun(e *env, dir string) (*logs.RunDir, *logs.Tables, error) {
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		return nil, nil, err
	}
	t, err := readRun(e, d)
	return d, t, err
}

// readProgress counts journals on a terminal; elsewhere it is nil.
func readProgress(e *env) func(done, total int) {
	if !e.terminal() {
		return nil
	}
	return func(done, total int) {
		if done == total {
			fmt.Fprint(e.Stderr, "\r\x1b[K")
			return
		}
		if done%16 == 0 {
			fmt.Fprintf(e.Stderr, "\rreading journals %d/%d", done, total)
		}
	}
}

func sayProblems(e *env, problems []logs.Problem) {
	const shown = 20
	for i, p := range problems {
		if i == shown {
			e.say("%d more records could not be read", len(problems)-shown)
			break
		}
		e.say("%s", clean(p.String()))
	}
}
