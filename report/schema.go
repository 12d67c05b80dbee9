package report

import (
	_ "embed"
	"slices"
)

// summarySchema is made from the declarations and comments of the types that summary.json is written from; the test of
// this file makes it again and compares.
//
//go:embed summary.schema.json
var summarySchema []byte

// SummarySchema returns the JSON schema (draft 2020-12) of summary.json, with what every key means.
func SummarySchema() []byte { return slices.Clone(summarySchema) }
