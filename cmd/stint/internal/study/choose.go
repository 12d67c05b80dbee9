package study

import (
	"context"
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// samplerKey reports that the variable with the key of the model that chooses the scenarios is not set.
func (s *Study) samplerKey(getenv func(string) string) error {
	if m := s.Model(s.Scenarios.Model); m != nil {
		return s.modelKey(m, getenv)
	}
	return nil
}

// choosing is the model of the study that chooses its scenarios. It is asked outside the budgets of episodes.
func (w *work) choosing() (*suite.ChoosingModel, error) {
	s := w.study
	if s.Scenarios.Sampler != suite.SamplerLLM || s.set != nil {
		return nil, nil
	}
	if err := s.samplerKey(w.opt.Getenv); err != nil {
		return nil, err
	}
	m := w.model(Config{Model: s.Scenarios.Model})
	client, err := gateway.NewClient(gateway.Options{Model: m, Retry: s.Gateway.Retry, ProviderWait: s.Gateway.ProviderWait, Now: w.opt.Now})
	if err != nil {
		return nil, err
	}
	return &suite.ChoosingModel{Completer: client, ID: m.ID, Temperature: m.Temperature, MaxOutput: m.MaxOutput, Invalid: gateway.Unreadable}, nil
}

// choose lets a model choose the scenario, which is proven, since no test of ours has seen such a sequence before.
func (l *library) choose(ctx context.Context, opt scenario.Options) (*suite.Material, *suite.File, error) {
	sc, chosen, err := suite.Choose(ctx, l.dir.ScenariosDir(), opt, *l.choosing)
	if err != nil {
		return nil, nil, err
	}
	made, err := suite.Make(ctx, sc, 1)
	if err != nil {
		return nil, nil, err
	}
	p, err := suite.Prove(ctx, made, suite.ProveOptions{Jobs: 1})
	if err != nil {
		return nil, nil, err
	}
	if err := p.Err(); err != nil {
		return nil, nil, &InputError{File: l.study.Path, Message: fmt.Sprintf("scenario %s, as the model chose it, is not accepted: %v", opt.Name, err),
			Advice: "stint scenario new --sampler llm makes a set and replaces such scenarios; the study then names it with set:"}
	}
	f := suite.NewFile(made, opt.Schedule, suite.SamplerLLM)
	f.Chosen = chosen
	return made, f, nil
}
