package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// provenSet is the set whose proof is part of the repository.
var provenSet = filepath.Join("testdata", "scenarios")

// provenAgain is what makes set and proof anew when the generators have changed.
const provenAgain = "rm -r cmd/stint/testdata/scenarios; go run ./cmd/stint scenario new --seed 20260619 --changes 100 --count 20 -o cmd/stint/testdata/scenarios && " +
	"go run ./cmd/stint scenario check cmd/stint/testdata/scenarios --json > cmd/stint/testdata/proof.json && rm -r cmd/stint/testdata/scenarios/proof"

// TestCommittedProof holds the proof of the set in testdata against the set, and the set against what the generators
// make of it: the first scenario here, all of them where CI asks for it. A proof of other content proves nothing.
func TestCommittedProof(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "proof.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := suite.DecodeReport(b)
	if err != nil {
		t.Fatal(err)
	}
	set, err := suite.ReadSet(provenSet)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(r.Versions, suite.Versions()) {
		t.Fatalf("the proof is of the generators %v, these are %v; anew: %s", r.Versions, suite.Versions(), provenAgain)
	}
	if len(r.Scenarios) != len(set.Files) || r.Accepted() != len(set.Files) || r.MinScore != suite.MinScore || r.Total.Reference != 0 || r.Total.Red != r.Total.RedNeeded {
		t.Errorf("%d of %d scenarios accepted, bar %g, total %+v", r.Accepted(), len(set.Files), r.MinScore, r.Total)
	}
	for i, f := range set.Files {
		s := r.Scenarios[i]
		if s.Name != f.Name || s.Content != f.Content || s.Seed != f.Seed || s.Turns != f.Changes+1 || s.Worst < suite.MinScore || s.Mutants != s.Killed+len(s.Survived) {
			t.Errorf("%s: content %.12s, the proof is of %s, content %.12s: %+v", f.Name, f.Content, s.Name, s.Content, s.Tally)
		}
		if st, err := os.Stat(set.Path(i)); err != nil || st.Size() > 150_000 {
			t.Errorf("%s: %v, or larger than 150 kB", f.Name, err)
		}
		if i > 0 && os.Getenv("STINT_REQUIRE") == "" {
			continue
		}
		if _, err := f.Make(t.Context(), set.Path(i), 0); err != nil {
			t.Errorf("%v\nanew: %s", err, strings.ReplaceAll(provenAgain, " && ", " &&\n  "))
		}
	}
}
