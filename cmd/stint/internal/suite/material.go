package suite

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Versions are those of the generators that make a scenario's content.
func Versions() map[string]string {
	return map[string]string{"scenario": scenario.Version, "suite": Version, "oracle": oracle.Version}
}

// Material is a scenario with the suites of all its turns.
type Material struct {
	Scenario *scenario.Scenario
	Suites   []*Suite
	Encoded  [][]byte // the suites' canonical bytes
	Content  string   // [ContentHash]
}

// Make generates the suites of a scenario, jobs turns at once; 0 = as many as there are processors.
func Make(ctx context.Context, sc *scenario.Scenario, jobs int) (*Material, error) {
	m := &Material{Scenario: sc, Suites: make([]*Suite, len(sc.Steps)), Encoded: make([][]byte, len(sc.Steps))}
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for turn := range sc.Steps {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := Generate(sc, turn)
			if err != nil {
				return err
			}
			b, err := s.Encode()
			if err != nil {
				return fmt.Errorf("encoding the suite of scenario %s, turn %d: %w", sc.Name, turn, err)
			}
			m.Suites[turn], m.Encoded[turn] = s, b
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	m.Content = ContentHash(sc, m.Suites)
	return m, nil
}

// Bytes is the size of all suites.
func (m *Material) Bytes() int {
	n := 0
	for _, b := range m.Encoded {
		n += len(b)
	}
	return n
}
