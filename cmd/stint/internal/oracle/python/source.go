package python

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// The parts of every server that do not depend on the schema: values, queries and tables before the generated code,
// HTTP after it.
var (
	//go:embed head.py
	head string
	//go:embed tail.py
	tail string
)

// File is the name of the server's only source file.
const File = "server.py"

// Start returns start.sh for a folder that holds [File].
func Start() string { return "#!/bin/sh\nexec python3 " + File + "\n" }

// Source returns the server of a schema as one file of Python 3.8 or later. The same schema gives the same bytes.
func Source(s *scenario.Schema) []byte { return SourceWith(s, Options{}) }

// Options says what is wrong with a server. The zero value is a correct one.
type Options struct {
	Flaws  []Flaw // those that Flaw.Supported does not know are left out
	Switch string // how the server as a process misbehaves: one of the Switch constants, "" = not at all
	After  int    // of SwitchCrash and SwitchFlaky: a number of requests
}

// SourceWith returns the server of a schema with something wrong in it.
func SourceWith(s *scenario.Schema, opt Options) []byte {
	p := &program{schema: mutated(s, opt.Flaws), flaws: opt.Flaws}
	p.line(0, "#!/usr/bin/env python3")
	p.line(0, "%s", strconv.Quote("HTTP service for "+strings.ReplaceAll(s.Domain, "_", " ")+"."))
	p.text(head)
	p.errorBody()
	p.tables()
	for i := range p.schema.Entities {
		p.entity(&p.schema.Entities[i])
	}
	for i := range p.schema.Analytics {
		p.statistic(&p.schema.Analytics[i])
	}
	p.routes(opt.Switch)
	p.text(opt.process(tail))
	return []byte(p.out.String())
}

// program is one server that is being written.
type program struct {
	schema *scenario.Schema
	flaws  []Flaw
	out    strings.Builder
	paths  []string // the lines of the table of routes
}

// line writes one line, so many levels deep.
func (p *program) line(depth int, format string, args ...any) {
	p.out.WriteString(strings.Repeat("    ", depth))
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
}

func (p *program) text(s string) {
	p.out.WriteString("\n\n" + strings.TrimSpace(s) + "\n")
}

// function begins a top-level function.
func (p *program) function(name, params string) {
	p.line(0, "")
	p.line(0, "")
	p.line(0, "def %s(%s):", name, params)
}

// route names the function that answers a method and path; * stands for an id.
func (p *program) route(method, path, function string) {
	p.paths = append(p.paths, fmt.Sprintf("%s: %s,", quote(method+" "+path), function))
}

func (p *program) routes(broken string) {
	p.function("health", "call")
	if broken == SwitchUnhealthy {
		p.line(1, `return 503, error_body("internal", None)`)
	} else {
		p.line(1, `return 200, {"status": "ok"}`)
	}
	p.line(0, "")
	p.line(0, "")
	p.line(0, "ROUTES = {")
	p.line(1, `"GET /health": health,`)
	for _, r := range p.paths {
		p.line(1, "%s", r)
	}
	p.line(0, "}")
}

// tables writes the store: a table per collection, and how they refer to each other.
func (p *program) tables() {
	p.line(0, "")
	p.line(0, "")
	for i := range p.schema.Entities {
		e := &p.schema.Entities[i]
		p.line(0, "%s = Table()", table(e))
		if p.has(DeleteSoft, e.UID, "") {
			p.line(0, "%s.deleted = {}", table(e))
		}
	}
	p.line(0, "")
	p.line(0, "REFERENCES = [")
	for i := range p.schema.Entities {
		e := &p.schema.Entities[i]
		for j := range e.Fields {
			f := &e.Fields[j]
			if t := p.schema.Entity(f.Target); f.Type == scenario.Ref && t != nil {
				p.line(1, "(%s, %s, %s, %s),", table(e), quote(f.Name), table(t), quote(string(f.OnDelete)))
			}
		}
	}
	p.line(0, "]")
}

// table is the variable that holds the rows of an entity. All generated names keep their parts apart by a double
// underscore, which no public name contains.
func table(e *scenario.Entity) string { return "table_" + e.Name }

// quote writes a string literal that Go and Python read alike.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// literal writes a value as the server keeps it.
func literal(f *scenario.Field, v *scenario.Value) string {
	if v == nil {
		return "None"
	}
	switch f.Type {
	case scenario.Boolean:
		return truth(v.Bool)
	case scenario.Integer, scenario.Decimal, scenario.Ref:
		return strconv.FormatInt(v.Int, 10)
	case scenario.Date:
		return quote(scenario.FormatDate(v.Int))
	}
	return quote(v.Str)
}

// bound writes a limit of a field in the units in which the server keeps its values.
func bound(f *scenario.Field, limit int64) string {
	return literal(f, &scenario.Value{Int: limit})
}

// cell is an expression: a field of the row at hand.
func cell(f *scenario.Field) string { return `row[` + quote(f.Name) + `]` }
