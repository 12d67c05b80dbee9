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
times = {"episodes": "started", "events": "time"} # DuckDB hands out times with zones only with a package more
for name in ("episodes", "turns", "clauses", "attempts", "checks", "events", "verdicts"):
    path = f"{sys.argv[1]}/{name}.parquet"
    rel = duckdb.sql(f"select * from read_parquet('{path}')")
    without = f"exclude ({times[name]})" if name in times else ""
    rows = len(duckdb.sql(f"select * {without} from read_parquet('{path}')").fetchall())
    frame = pl.read_parquet(path)
    length = "sum(length)"
    out[name] = {
        "duckdb": [rows, sorted(rel.columns), int(duckdb.sql(f"select coalesce({length}, 0) from read_parquet('{path}')").fetchall()[0][0])],
        "polars": [frame.height, sorted(frame.columns), int(frame["length"].sum())],
    }
path = f"{sys.argv[1]}/episodes.parquet"
out["turns_passed"] = {
    "duckdb": duckdb.sql(f"select sum(turns_passed) from read_parquet('{path}')").fetchall()[0][0],
    "polars": pl.read_parquet(path)["turns_passed"].sum(),
}
path = f"{sys.argv[1]}/checks.parquet"
out["check_clauses"] = {
    "duckdb": duckdb.sql(f"select sum(len(clauses)) from read_parquet('{path}')").fetchall()[0][0],
    "polars": int(pl.read_parquet(path)["clauses"].list.len().sum()),
}
# The same tables divided by configuration, and as Arrow files.
for name in ("episodes", "checks", "turns"):
    parts = f"{sys.argv[2]}/{name}/*/*.parquet"
    rows = duckdb.sql(f"select config, count(*), sum(length) from read_parquet('{parts}', hive_partitioning = true) group by config order by config").fetchall()
    frame = pl.scan_parquet(f"{sys.argv[2]}/{name}", hive_partitioning=True).group_by("config").agg(pl.len(), pl.col("length").sum()).sort("config").collect()
    out["parts of " + name] = {"duckdb": [[c, n, int(l)] for c, n, l in rows], "polars": [list(r) for r in frame.rows()]}
    arrow, parquet = pl.read_ipc(f"{sys.argv[3]}/{name}.arrow", memory_map=False), pl.read_parquet(f"{sys.argv[1]}/{name}.parquet")
    assert arrow.equals(parquet), name
print(json.dumps(out))
`

// TestTablesInOtherReaders holds our Parquet files to what DuckDB and polars make of them.
func TestTablesInOtherReaders(t *testing.T) {
	python := require(t, "STINT_TEST_PYTHON", "a Python with duckdb and polars")
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	stint(t, dir, 0, "classify", "run", "-q") // so that there are verdicts
	stint(t, dir, 0, "ingest", "run", "-q")
	stint(t, dir, 0, "ingest", "run", "-o", "parts", "--partition-by", "config", "-q")
	tables, err := logs.ReadTablesWith(filepath.Join(dir, "run", "tables"), logs.ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := logs.WriteArrow(filepath.Join(dir, "arrow"), tables); err != nil {
		t.Fatal(err)
	}

	var errs bytes.Buffer
	cmd := exec.Command(python, "-c", readersScript, filepath.Join(dir, "run", "tables"), filepath.Join(dir, "parts"), filepath.Join(dir, "arrow"))
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
	passed, clauses := 0, 0
	for _, e := range tables.Episodes {
		passed += *e.TurnsPassed
	}
	for _, c := range tables.Checks {
		clauses += len(c.Clauses)
	}
	want := map[string]int{"episodes": len(tables.Episodes), "turns": len(tables.Turns), "clauses": len(tables.Clauses), "attempts": len(tables.Attempts),
		"checks": len(tables.Checks), "events": len(tables.Events), "verdicts": len(tables.Verdicts)}
	for name, n := range want {
		if rows := got[name]["polars"].([]any)[0]; rows != float64(n) || n == 0 {
			t.Errorf("%s: polars reads %v rows, we wrote %d", name, rows, n)
		}
	}
	if got["turns_passed"]["duckdb"] != float64(passed) || got["check_clauses"]["duckdb"] != float64(clauses) || clauses == 0 {
		t.Errorf("DuckDB sums %v turns passed and %v clauses, we %d and %d", got["turns_passed"]["duckdb"], got["check_clauses"]["duckdb"], passed, clauses)
	}
	configs := map[string]int{}
	for _, e := range tables.Episodes {
		configs[e.Config]++
	}
	parts := got["parts of episodes"]["duckdb"].([]any)
	for _, p := range parts {
		if p := p.([]any); p[1] != float64(configs[p[0].(string)]) {
			t.Errorf("of %v DuckDB counts %v episodes, we %v", p[0], p[1], configs)
		}
	}
	if len(parts) != len(configs) {
		t.Errorf("DuckDB finds the configurations %v, we %v", parts, configs)
	}
	if info, err := os.Stat(filepath.Join(dir, "run", "tables", "episodes.parquet")); err != nil || info.Size() == 0 {
		t.Error("episodes.parquet is empty", err)
	}
}
