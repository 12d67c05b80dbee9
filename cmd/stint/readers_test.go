package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// readersScript reads every table with DuckDB and with polars and prints, per table and reader, the rows, the
// columns and two sums that need the values to be right.
const readersScript = `
import json, sys
import duckdb, polars as pl
out = {}
for name in ("episodes", "turns", "attempts", "checks"):
    path = f"{sys.argv[1]}/{name}.parquet"
    rel = duckdb.sql(f"select * from read_parquet('{path}')")
    rows = len(duckdb.sql(f"select * exclude (started) from read_parquet('{path}')").fetchall()) if name == "episodes" else len(rel.fetchall())
    frame = pl.read_parquet(path)
    length = "sum(length)"
    out[name] = {
        "duckdb": [rows, sorted(rel.columns), int(duckdb.sql(f"select {length} from read_parquet('{path}')").fetchone()[0])],
        "polars": [frame.height, sorted(frame.columns), int(frame["length"].sum())],
    }
path = f"{sys.argv[1]}/episodes.parquet"
out["turns_passed"] = {
    "duckdb": duckdb.sql(f"select sum(turns_passed) from read_parquet('{path}')").fetchone()[0],
    "polars": pl.read_parquet(path)["turns_passed"].sum(),
}
path = f"{sys.argv[1]}/checks.parquet"
out["clauses"] = {
    "duckdb": duckdb.sql(f"select sum(len(clauses)) from read_parquet('{path}')").fetchone()[0],
    "polars": int(pl.read_parquet(path)["clauses"].list.len().sum()),
}
print(json.dumps(out))
`

// TestTablesInOtherReaders holds our Parquet files to what DuckDB and polars make of them.
func TestTablesInOtherReaders(t *testing.T) {
	python := require(t, "STINT_TEST_PYTHON", "a Python with duckdb and polars")
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	stint(t, dir, 0, "ingest", "run", "-q")

	var errs bytes.Buffer
	cmd := exec.Command(python, "-c", readersScript, filepath.Join(dir, "run", "tables"))
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading with DuckDB and polars: %v\n%s", err, errs.String())
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	for name, by := range got {
		if diff := cmp.Diff(by["duckdb"], by["polars"]); diff != "" {
			t.Errorf("%s: DuckDB and polars differ (-DuckDB +polars):\n%s", name, diff)
		}
	}
	tables, err := logs.ReadTables(filepath.Join(dir, "run", "tables"))
	if err != nil {
		t.Fatal(err)
	}
	passed, clauses := 0, 0
	for _, e := range tables.Episodes {
		passed += *e.TurnsPassed
	}
	for _, c := range tables.Checks {
		clauses += len(c.Clauses)
	}
	want := map[string]int{"episodes": len(tables.Episodes), "turns": len(tables.Turns), "attempts": len(tables.Attempts), "checks": len(tables.Checks)}
	for name, n := range want {
		if rows := got[name]["polars"].([]any)[0]; rows != float64(n) || n == 0 {
			t.Errorf("%s: polars reads %v rows, we wrote %d", name, rows, n)
		}
	}
	if got["turns_passed"]["duckdb"] != float64(passed) || got["clauses"]["duckdb"] != float64(clauses) || clauses == 0 {
		t.Errorf("DuckDB sums %v turns passed and %v clauses, we %d and %d", got["turns_passed"]["duckdb"], got["clauses"]["duckdb"], passed, clauses)
	}
	if info, err := os.Stat(filepath.Join(dir, "run", "tables", "episodes.parquet")); err != nil || info.Size() == 0 {
		t.Error("episodes.parquet is empty", err)
	}
}
