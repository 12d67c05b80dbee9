package study

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// checkPrograms looks whether the programs of the study are installed in the versions of their files, and keeps them
// as they are until release is called.
func (w *work) checkPrograms(ctx context.Context) (release func(), err error) {
	w.installer = harness.Installer{Getenv: w.opt.Getenv, Say: func(format string, args ...any) {
		fmt.Fprintf(w.opt.Stderr, "stint: "+format+"\n", args...)
	}}
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	needed := map[string]bool{}
	for _, c := range w.study.Configs {
		needed[c.Harness] = needed[c.Harness] || w.configs[c.Name]
	}
	for _, name := range slices.Sorted(maps.Keys(w.study.Harnesses)) {
		if !needed[name] {
			continue
		}
		r, err := w.installer.Use(ctx, w.study.Harnesses[name])
		if err != nil {
			return release, err
		}
		held = append(held, r)
		if err := w.installer.Check(ctx, w.study.Harnesses[name]); err != nil {
			return release, err
		}
	}
	return release, nil
}

// openGateway opens the programs' way to their models.
func (w *work) openGateway() error {
	if len(w.study.Harnesses) == 0 {
		return nil
	}
	var err error
	w.proxy, err = gateway.NewProxy(gateway.ProxyOptions{Now: w.opt.Now})
	return err
}

// close ends what all episodes shared.
func (w *work) close() error {
	if w.proxy == nil {
		return nil
	}
	return w.proxy.Close()
}

// model is how a configuration's model is called.
func (w *work) model(c Config) gateway.Model {
	m := w.study.Model(c.Model)
	g := gateway.Model{Name: m.Name, API: m.API, ID: m.ID, URL: m.URL, Context: m.Context, MaxOutput: m.MaxOutput, Temperature: m.Temperature, Tools: c.Tools}
	if m.KeyEnv != "" {
		g.Key = w.opt.Getenv(m.KeyEnv)
	}
	return g
}

// agent sets up what answers for a configuration. One agent serves all its episodes.
func (w *work) agent(c Config) (harness.Agent, error) {
	s := w.study
	calls := gateway.Options{Retry: s.Gateway.Retry, ProviderWait: s.Gateway.ProviderWait, Prices: s.Prices, Now: w.opt.Now}
	switch c.Harness {
	case harnessReference:
		return harness.NewReference(), nil
	case harnessSimulated:
		m := s.Model(c.Model)
		return harness.NewSimulated(harness.SimOptions{Preset: m.Simulate, Transport: m.Transport, Delay: m.Delay})
	case harnessBuiltin:
		return harness.NewBuiltin(harness.BuiltinOptions{Model: w.model(c), Tools: c.Tools, Gateway: calls})
	}
	if f := s.Harnesses[c.Harness]; f != nil {
		return harness.NewProgram(harness.ProgramOptions{File: f, Model: w.model(c), Gateway: calls, Proxy: w.proxy, Installer: w.installer})
	}
	return nil, fmt.Errorf("harness %s is not available in this version of stint", c.Harness)
}

// used names the program around the model, with the hash of the file that describes it.
func (w *work) used(name string, a harness.Agent) logs.HarnessUsed {
	u := logs.HarnessUsed{Name: a.Name(), Version: a.Version()}
	if f := w.study.Harnesses[name]; f != nil {
		u.FileSHA = f.SHA()
	}
	return u
}
