package study

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTemplateParses(t *testing.T) {
	s, err := Parse("study.yaml", []byte(Template()))
	if err != nil {
		t.Fatal(err)
	}
	if !s.OfflineOnly() {
		t.Error("the template needs a model server")
	}
	if n := len(s.Configs); n != 3 {
		t.Errorf("%d configurations, want 3", n)
	}
	if len(s.Families) != 1 || len(s.Families[0].Pairs) != 2 {
		t.Errorf("families %+v", s.Families)
	}
}

// Every commented-out example of the template must be right as well: a user takes the "# " away.
func TestTemplateExamplesParse(t *testing.T) {
	marked := regexp.MustCompile(`(?m)^( *)# (agent:|sandbox:|  kind:|  runtimes:|  limits:|budgets:|  attempt:|  episode:|  study:|gateway:|jobs:|repeats:|mode:|expect:|  - \{|judge:|prices:|my-model:|  url:|  key_env:|  id:|  context:|  max_output:|  temperature:|  tools:|schedule:|delivery:|- \{)`)
	full := marked.ReplaceAllString(Template(), "$1$2")
	dir := t.TempDir()
	prices := "- {model: my-model-2026, usd_per_mtok: {input: 1, output: 2}}\n"
	if err := os.WriteFile(filepath.Join(dir, "prices.yaml"), []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(filepath.Join(dir, "study.yaml"), []byte(full))
	if err != nil {
		t.Fatalf("%v\n%s", err, full)
	}
	if len(s.Configs) != 6 || len(s.Families) != 4 || s.Judge == nil || s.Budgets.StudyUSD != 2500 {
		t.Errorf("configs %d, families %d, judge %v, budgets %+v", len(s.Configs), len(s.Families), s.Judge, s.Budgets)
	}
	if strings.Count(full, "\n  # ")+strings.Count(full, "\n# ") != 4 { // lines two and three of the head, one remark, and set:, which goes with no changes; see TestSet
		t.Errorf("some examples were not tried:\n%s", full)
	}
}

func TestSchemaHasTheTemplatesKeys(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatalf("the schema is no JSON: %v", err)
	}
	nodes, err := parseNodes(newSource("t", []byte(Template())), []byte(Template()))
	if err != nil {
		t.Fatal(err)
	}
	inSchema(t, "", nodes, root)
	for _, key := range []string{"version", "name", "scenarios", "configs"} {
		if !slices.Contains(root["required"].([]any), any(key)) {
			t.Errorf("%s is not required by the schema", key)
		}
	}
}

// inSchema walks a document and a schema together and reports keys that the schema does not have.
func inSchema(t *testing.T, path string, n *node, s map[string]any) {
	t.Helper()
	if alternatives, ok := s["anyOf"].([]any); ok {
		for _, alternative := range alternatives {
			a := alternative.(map[string]any)
			if (n.kind == kindMapping) == (a["type"] == "object") && (n.kind == kindList) == (a["type"] == "array") {
				inSchema(t, path, n, a)
				return
			}
		}
		t.Errorf("%s: no alternative of the schema fits", path)
		return
	}
	switch n.kind {
	case kindList:
		items, ok := s["items"].(map[string]any)
		if !ok {
			t.Errorf("%s: the schema has no list here", path)
			return
		}
		for _, i := range n.items {
			inSchema(t, path+"[]", i, items)
		}
	case kindMapping:
		properties, _ := s["properties"].(map[string]any)
		free, _ := s["additionalProperties"].(map[string]any)
		for _, e := range n.entries {
			sub, ok := properties[e.key].(map[string]any)
			if !ok && free != nil {
				sub, ok = free, true
			}
			if !ok {
				t.Errorf("%s.%s is not in the schema", path, e.key)
				continue
			}
			inSchema(t, path+"."+e.key, e.value, sub)
		}
	}
}

func TestDemoStudy(t *testing.T) {
	s, err := Parse("demo.yaml", DemoStudy(1<<64-1))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range s.Configs {
		names = append(names, c.Name)
	}
	want := []string{"weak+simulated/none/r0", "weak+simulated/minimal/r2", "weak+simulated/detailed/r2", "weak+simulated/detailed/r10"}
	if !slices.Equal(names, want) {
		t.Errorf("configurations %q, want %q", names, want)
	}
	if s.Seed != 1<<64-1 || s.Scenarios.Count != 8 || s.TurnsMax() != 13 || len(s.Families) != 1 || len(s.Families[0].Pairs) != 3 {
		t.Errorf("%+v", s)
	}
	p, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Episodes) != 32 || p.Families[0].Cannot {
		t.Errorf("%d episodes, families %+v", len(p.Episodes), p.Families)
	}
}
