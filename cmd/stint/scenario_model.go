package main

import (
	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// choosing is the model that chooses the changes of a set.
func (f *scenarioNew) choosing(e *env) (*suite.ChoosingModel, error) {
	m := gateway.Model{Name: f.model, URL: f.baseURL, MaxOutput: f.maxOutput}
	if f.heat {
		m.Temperature = &f.temperature
	}
	if f.keyEnv != "" {
		if m.Key = e.Getenv(f.keyEnv); m.Key == "" {
			return nil, inputErrorf("export "+f.keyEnv+"=… and run again", "the environment variable %s, which holds the key, is not set", clean(f.keyEnv))
		}
	}
	client, err := gateway.NewClient(gateway.Options{Model: m, Retry: true, ProviderWait: f.providerWait, Now: e.Now})
	if err != nil {
		return nil, err
	}
	return &suite.ChoosingModel{Completer: client, Invalid: gateway.Unreadable, ID: f.model, Temperature: m.Temperature, MaxOutput: f.maxOutput}, nil
}
