package study

import (
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
)

// agent sets up what answers for a configuration. One agent serves all its episodes.
func (w *work) agent(c Config) (harness.Agent, error) {
	s := w.study
	switch c.Harness {
	case harnessReference:
		return harness.NewReference(), nil
	case harnessSimulated:
		m := s.Model(c.Model)
		return harness.NewSimulated(harness.SimOptions{Preset: m.Simulate, Transport: m.Transport})
	case harnessBuiltin:
		m := s.Model(c.Model)
		g := gateway.Model{
			Name: m.Name, ID: m.ID, URL: m.URL, Context: m.Context, MaxOutput: m.MaxOutput, Temperature: m.Temperature, Tools: c.Tools,
		}
		if m.KeyEnv != "" {
			g.Key = w.opt.Getenv(m.KeyEnv)
		}
		return harness.NewBuiltin(harness.BuiltinOptions{
			Model: g, Tools: c.Tools,
			Gateway: gateway.Options{Retry: s.Gateway.Retry, ProviderWait: s.Gateway.ProviderWait, Prices: s.Prices, Now: w.opt.Now},
		})
	}
	return nil, fmt.Errorf("harness %s is not available in this version of stint", c.Harness)
}
