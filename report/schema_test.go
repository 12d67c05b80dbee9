package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stint-bench/stint/classify"
)

// A schemaMaker reads declarations and makes the schema of what they are written to as JSON.
type schemaMaker struct {
	structs map[string]*ast.StructType
	docs    map[string]string
	defs    map[string]any
}

type object = map[string]any

// schemaConstants are keys that hold one of a few words.
var schemaConstants = map[string][]string{
	"Report.schema":       {ReportSchema},
	"Comparison.schema":   {CompareSchema},
	"AuditReport.schema":  {classify.AuditReportSchema},
	"PairResult.decision": {DecisionAhead, DecisionBehind, DecisionUndecided, DecisionCannot},
}

func (m *schemaMaker) load(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					if st, ok := spec.Type.(*ast.StructType); ok {
						m.structs[spec.Name.Name], m.docs[spec.Name.Name] = st, schemaText(g.Doc.Text())
					}
				}
			}
		}
	}
}

var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// schemaText is a comment as a description.
func schemaText(s string) string {
	s = docLink.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1")
	return regexp.MustCompile(`\bnil\b`).ReplaceAllString(s, "null")
}

// of is the schema of a type.
func (m *schemaMaker) of(e ast.Expr) object {
	switch t := e.(type) {
	case *ast.Ident:
		switch t.Name {
		case "string":
			return object{"type": "string"}
		case "int", "int64", "uint64":
			return object{"type": "integer"}
		case "float64":
			return object{"type": "number"}
		case "bool":
			return object{"type": "boolean"}
		}
		m.define(t.Name)
		return object{"$ref": "#/$defs/" + t.Name}
	case *ast.SelectorExpr:
		m.define(t.Sel.Name)
		return object{"$ref": "#/$defs/" + t.Sel.Name}
	case *ast.StarExpr:
		in := m.of(t.X)
		if kind, ok := in["type"].(string); ok {
			in["type"] = []string{kind, "null"}
		}
		return in
	case *ast.ArrayType:
		out := object{"type": "array", "items": m.of(t.Elt)}
		if l, ok := t.Len.(*ast.BasicLit); ok {
			n, _ := strconv.Atoi(l.Value)
			out["minItems"], out["maxItems"] = n, n
		}
		return out
	case *ast.MapType:
		return object{"type": "object", "additionalProperties": m.of(t.Value)}
	}
	panic(fmt.Sprintf("a %T is not written to JSON", e))
}

// define adds a struct.
func (m *schemaMaker) define(name string) {
	if m.defs[name] != nil {
		return
	}
	m.defs[name] = object{} // it may hold itself
	props, required := object{}, []string{}
	for _, f := range m.structs[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		key, option, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		p := m.of(f.Type)
		text := strings.TrimSpace(schemaText(f.Doc.Text()) + " " + schemaText(f.Comment.Text()))
		if kind, ok := p["type"].(string); ok && strings.Contains(text, "null") {
			p["type"] = []string{kind, "null"}
		}
		if _, ref := p["$ref"]; ref && strings.Contains(text, "null") {
			p = object{"anyOf": []object{p, {"type": "null"}}}
		}
		if text != "" {
			p["description"] = text
		}
		if words := schemaConstants[name+"."+key]; words != nil {
			p["enum"] = words
		}
		props[key] = p
		if option != "omitempty" {
			required = append(required, key)
		}
	}
	m.defs[name] = object{"type": "object", "description": m.docs[name], "properties": props, "required": required, "additionalProperties": false}
}

// TestSummarySchema: the schema is that of the types as they are.
func TestSummarySchema(t *testing.T) {
	m := &schemaMaker{structs: map[string]*ast.StructType{}, docs: map[string]string{}, defs: object{}}
	m.load(t, filepath.Join("..", "classify"))
	m.load(t, ".")
	m.define("Report")
	root := m.defs["Report"].(object)
	delete(m.defs, "Report")
	root["$schema"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", m.defs
	root["title"] = "summary.json of stint report (" + ReportSchema + ")"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, filepath.Join("..", "summary.schema.json"), append(b, '\n'))
}

// conforms says what in v is not as the schema wants it; it knows the words of JSON schema that ours uses.
func conforms(root, schema object, v any, at string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		return conforms(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), v, at)
	}
	if any, ok := schema["anyOf"].([]any); ok {
		var out []string
		for _, s := range any {
			if out = conforms(root, s.(object), v, at); len(out) == 0 || v != nil {
				break // the first alternative is what it usually is
			}
		}
		return out
	}
	var kinds []string
	switch k := schema["type"].(type) {
	case string:
		kinds = []string{k}
	case []any:
		for _, s := range k {
			kinds = append(kinds, s.(string))
		}
	}
	kind := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object", reflect.Invalid: "null"}[reflect.ValueOf(v).Kind()]
	if n, ok := v.(float64); ok && n == float64(int64(n)) && slices.Contains(kinds, "integer") {
		kind = "integer"
	}
	if !slices.Contains(kinds, kind) {
		return []string{fmt.Sprintf("%s is %s, not %v", at, kind, kinds)}
	}
	var out []string
	if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, v) {
		out = append(out, fmt.Sprintf("%s is %v, none of %v", at, v, words))
	}
	switch v := v.(type) {
	case []any:
		if n, ok := schema["maxItems"].(float64); ok && len(v) != int(n) {
			out = append(out, fmt.Sprintf("%s has %d items", at, len(v)))
		}
		for i, item := range v {
			out = append(out, conforms(root, schema["items"].(object), item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case object:
		props, _ := schema["properties"].(object)
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := v[key.(string)]; !ok {
				out = append(out, fmt.Sprintf("%s.%s is missing", at, key))
			}
		}
		for _, key := range sortedKeys(v) {
			switch p, ok := props[key].(object); {
			case ok:
				out = append(out, conforms(root, p, v[key], at+"."+key)...)
			case schema["additionalProperties"] == false:
				out = append(out, fmt.Sprintf("%s.%s is not in the schema", at, key))
			default:
				out = append(out, conforms(root, schema["additionalProperties"].(object), v[key], at+"."+key)...)
			}
		}
	}
	return out
}

// TestSummariesConform: what is written is what the schema says, and anything else is found.
func TestSummariesConform(t *testing.T) {
	var schema object
	if err := json.Unmarshal(SummarySchema(), &schema); err != nil {
		t.Fatal(err)
	}
	money, tables := billed()
	c := mustCompare(t, judged(harnesses(true)), CompareOptions{Episodes: true, Families: declared()})
	inputs := map[string]Input{
		"all":   {Comparison: c, Tables: someTables(), Redacted: &Redaction{}, With: &OtherStudy{Comparison: c}, Audit: &classify.AuditReport{Schema: classify.AuditReportSchema}},
		"money": {Comparison: mustCompare(t, money, CompareOptions{Episodes: true}), Tables: tables},
		"empty": {Comparison: mustCompare(t, newSet(10), CompareOptions{Episodes: true})},
	}
	for name, set := range awkwardSets() {
		inputs[name] = Input{Comparison: mustCompare(t, set, CompareOptions{})}
	}
	for name, in := range inputs {
		rep := &Report{Schema: ReportSchema, Comparison: in.Comparison, Figures: []FigureRecord{{Name: "x", Files: []string{"x.svg"}}}, Runs: []RunSummary{}, Audit: in.Audit, Redacted: in.Redacted}
		if in.Tables != nil {
			rep.Runs = SummarizeRuns(in.Tables)
		}
		var err error
		if rep.Costs, err = in.Comparison.Costs(in.Tables); err != nil {
			t.Fatal(err)
		}
		if in.With != nil {
			rep.With = besideOf(t, in)
		}
		b, err := summaryBytes(rep)
		if err != nil {
			t.Fatal(err)
		}
		var v object
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		for _, problem := range conforms(schema, schema, v, "summary") {
			if name == "all" && strings.HasPrefix(problem, "summary.audit.") && strings.Contains(problem, " is null, not [array]") {
				continue // package classify fills its lists; this report is empty
			}
			t.Errorf("%s: %s", name, problem)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"headline"`, `"headlines"`, "summary.headline is missing"},
		{`"headline"`, `"headlines"`, "summary.headlines is not in the schema"},
		{`"m": 3`, `"m": 3.5`, "is number, not [integer]"},
		{`"decision": "a>b"`, `"decision": "maybe"`, "is maybe, none of"},
		{ReportSchema, "stint.report/2", "none of [stint.report/1]"},
	} {
		b, err := summaryBytes(&Report{Schema: ReportSchema, Comparison: inputs["all"].Comparison, Figures: []FigureRecord{}, Runs: []RunSummary{}, Costs: []CostSummary{}})
		if err != nil || !bytes.Contains(b, []byte(c.old)) {
			t.Fatal(err, c.old)
		}
		var v object
		if err := json.Unmarshal(bytes.ReplaceAll(b, []byte(c.old), []byte(c.new)), &v); err != nil {
			t.Fatal(err)
		}
		if got := conforms(schema, schema, v, "summary"); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s for %s: %q, want %q", c.new, c.old, got, c.want)
		}
	}
}
