package logs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/logs"
)

// From the logs of two agents to divided Parquet tables and back: which tools did each agent call, and how did they end?
func ExampleIngestLogs() {
	tables, err := os.MkdirTemp("", "tables")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tables)

	r, err := logs.Open(logs.ReaderOptions{}, "testdata/program/codex-two-turns.jsonl", "testdata/program/claude-two-turns.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if _, err := logs.IngestLogs(context.Background(), r, tables, nil); err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Files() {
		fmt.Printf("%s is of %s, %d bad records\n", filepath.Base(f.Path), f.Format, f.Bad)
	}
	if err := logs.PartitionTables(tables, "config"); err != nil { // events/config=…/part-0.parquet, for DuckDB, polars, Spark
		log.Fatal(err)
	}

	results, err := logs.ParseExpr("kind:tool_result")
	if err != nil {
		log.Fatal(err)
	}
	type row struct { // the columns that are read
		Config string  `col:"config"`
		Tool   *string `col:"tool"`
		Exit   *int    `col:"exit_code"`
	}
	for e, err := range logs.Rows[row](filepath.Join(tables, "events"), results) {
		if err != nil {
			log.Fatal(err)
		}
		exit := "unknown"
		if e.Exit != nil {
			exit = fmt.Sprint(*e.Exit)
		}
		fmt.Printf("%s: %s, exit status %s\n", e.Config, *e.Tool, exit)
	}
	// Output:
	// codex-two-turns.jsonl is of codex, 0 bad records
	// claude-two-turns.jsonl is of claude-code, 0 bad records
	// mock-1+claude-code: Bash, exit status unknown
	// mock-1+claude-code: Bash, exit status 3
	// mock-1+claude-code: Bash, exit status unknown
	// mock-1+codex: exec_command, exit status 0
	// mock-1+codex: exec_command, exit status 3
	// mock-1+codex: exec_command, exit status 0
}
