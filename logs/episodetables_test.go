package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestEpisodeTables: the rows of an episode are those of the whole tables, in their order, wherever they stand in the
// files, and one row group of a table at a time is held.
func TestEpisodeTables(t *testing.T) {
	all := &Tables{}
	for n := range 40 {
		id := fmt.Sprintf("%012x", n)
		all.Episodes = append(all.Episodes, EpisodeRow{Episode: id, Config: "c", Scenario: "s"})
		all.Turns = append(all.Turns, TurnRow{Episode: id})
		all.Attempts = append(all.Attempts, AttemptRow{Episode: id, Attempt: new(int)})
		if n%2 == 0 {
			all.Checks = append(all.Checks, CheckRow{Episode: id, Check: "k1", Clauses: []string{"c1"}}, CheckRow{Episode: id, Check: "k2", Clauses: []string{}})
			all.Clauses = append(all.Clauses, ClauseRow{Episode: id, Clause: "c1"})
		}
	}
	big := make([]byte, 40<<10)
	for seq := range 4 { // every episode is in several row groups
		for n := range 40 {
			for i := range big {
				big[i] = 'a' + byte((i*7+n+seq)%26)
			}
			all.Events = append(all.Events, EventRow{Episode: all.Episodes[n].Episode, Seq: seq, Text: string(big)})
		}
	}
	dir := t.TempDir()
	if err := WriteTables(dir, all); err != nil {
		t.Fatal(err)
	}
	e, err := OpenEpisodeTables(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if groups := e.events.p.r.NumRowGroups(); groups < 2 {
		t.Fatalf("%d row groups", groups)
	}
	ids := e.IDs()
	if slices.Sort(ids); len(ids) != 40 || ids[7] != all.Episodes[7].Episode {
		t.Errorf("episodes %v", ids)
	}
	for _, n := range []int{0, 39, 7, 8} {
		id := all.Episodes[n].Episode
		got, err := e.Episode(id)
		if err != nil {
			t.Fatal(err)
		}
		want := &Tables{Episodes: all.Episodes[n : n+1], Turns: all.Turns[n : n+1], Attempts: all.Attempts[n : n+1]}
		for _, c := range all.Checks {
			if c.Episode == id {
				want.Checks = append(want.Checks, c)
			}
		}
		for _, c := range all.Clauses {
			if c.Episode == id {
				want.Clauses = append(want.Clauses, c)
			}
		}
		for _, ev := range all.Events {
			if ev.Episode == id {
				want.Events = append(want.Events, ev)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
		if row := e.Row(id); row == nil || row.Episode != id {
			t.Errorf("row of %s: %+v", id, row)
		}
	}
	if got, err := e.Episode("ffffffffffff"); err != nil || len(got.Episodes)+len(got.Events) != 0 || e.Row("ffffffffffff") != nil {
		t.Errorf("an episode that is not there: %+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events.parquet"), []byte("PAR1 no"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEpisodeTables(dir); err == nil {
		t.Error("a broken table is opened")
	}
}
