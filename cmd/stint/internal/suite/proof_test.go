package suite

import (
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func TestAccept(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 12, Name: "s01"})
		if err != nil {
			t.Fatal(err)
		}
		var suites []*Suite
		for turn := range sc.Steps {
			s, err := Generate(sc, turn)
			if err != nil {
				t.Fatal(err)
			}
			suites = append(suites, s)
		}
		p, err := Accept(sc, suites)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Err(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, tp := range p.Turns {
			b, _ := suites[tp.Turn].Encode()
			t.Logf("seed %d turn %d %-28s clauses %d checks %d requests %d bytes %d mutants %d killed %d red %d %v", seed, tp.Turn, tp.Operation, tp.Clauses, tp.Checks, tp.Requests, len(b), tp.Mutants, tp.Killed, tp.Red, tp.Survivors)
		}
	}
}
