package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// priceHint says what a price table looks like.
const priceHint = "an entry is {model: NAME, from: YYYY-MM-DD, usd_per_mtok: {input: 1.0, cached: 0.2, cache_write: 1.0, output: 3.2}, source: URL}"

// loadPrices reads the table that --prices names; nil for "".
func loadPrices(path string) (*logs.Prices, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, inputErrorf("name a YAML file; "+priceHint, "--prices: there is no %s", clean(path))
	case err == nil && !info.Mode().IsRegular():
		return nil, inputErrorf("name the YAML file itself, for example the prices.yaml of a run directory", "--prices: %s is no file", clean(path))
	}
	p, err := logs.LoadPrices(path)
	if err != nil {
		return nil, err
	}
	if p.Len() == 0 {
		return nil, inputErrorf(priceHint, "--prices: %s holds no price", clean(path))
	}
	return p, nil
}

// reprice prices the tokens of the tables anew, and says of which models the table knows nothing.
func (s *comparedSource) reprice(e *env, p *logs.Prices, path string) error {
	names := func(string) []string { return nil }
	if s.frozen != nil {
		names = func(model string) []string {
			if m := s.frozen.Model(model); m != nil && m.ID != "" {
				return []string{m.ID}
			}
			return nil
		}
	}
	models := s.tables.Reprice(p, names)
	s.options.Notes = append(s.options.Notes, report.Warning{Code: report.CodeRepriced,
		Text: fmt.Sprintf("dollars are those of the price table %s, by the day on which an episode began, not those that were recorded", clean(p.Name()))})
	var without []string
	for _, m := range models {
		if len(m.Days) == 0 {
			continue
		}
		text := fmt.Sprintf("the price table %s has no price for %s%s, so what it cost is unknown", clean(p.Name()), clean(m.Model), onDays(m.Days))
		s.options.Notes = append(s.options.Notes, report.Warning{Code: report.CodeNoPrice, Text: text})
		if len(m.As) > 0 {
			e.say("%s", text)
			continue
		}
		without = append(without, clean(m.Model)+onDays(m.Days))
	}
	if len(without) > 0 && len(without) == len(models) {
		return inputErrorf(priceHint+"; the model is looked up by its id, its name in the study, and the name the provider returned",
			"--prices: %s has no price for any model of this study: %s", clean(path), strings.Join(without, ", "))
	}
	for _, name := range without {
		e.say("the price table %s has no price for %s, so what it cost is unknown", clean(p.Name()), name)
	}
	return nil
}

// onDays words the first and the last day of a price that is missing.
func onDays(days []string) string {
	switch {
	case days[1] == "":
		return ""
	case days[0] == days[1]:
		return " on " + days[0]
	case days[0] == "":
		return " until " + days[1]
	}
	return " from " + days[0] + " to " + days[1]
}
