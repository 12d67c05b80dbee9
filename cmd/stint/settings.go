package main

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/stint-bench/stint/report"
)

// settings are the lines of the study file, in its order, each with the keys that lead to it; nil without one. The
// configurations and the name are left out: a report shows them anyway.
func (s *comparedSource) settings() []report.Setting {
	if s.frozen == nil {
		return nil
	}
	var file yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(s.frozen.Source, &file, yaml.UseOrderedMap()); err != nil {
		return nil // the study could be read, so this cannot happen
	}
	var out []report.Setting
	for _, item := range file {
		if key := fmt.Sprint(item.Key); key != "configs" && key != "name" {
			out = flatten(out, key, item.Value)
		}
	}
	return out
}

// flatten adds the lines below a key.
func flatten(out []report.Setting, key string, value any) []report.Setting {
	switch v := value.(type) {
	case yaml.MapSlice:
		for _, item := range v {
			out = flatten(out, key+"."+fmt.Sprint(item.Key), item.Value)
		}
		return out
	case []any:
		words := make([]string, len(v))
		for i := range v {
			switch v[i].(type) {
			case yaml.MapSlice, []any:
				for k := range v {
					out = flatten(out, fmt.Sprintf("%s[%d]", key, k+1), v[k])
				}
				return out
			}
			words[i] = fmt.Sprint(v[i])
		}
		return append(out, report.Setting{Key: key, Value: strings.Join(words, ", ")})
	case nil:
		return append(out, report.Setting{Key: key, Value: "null"})
	}
	return append(out, report.Setting{Key: key, Value: fmt.Sprint(value)})
}
