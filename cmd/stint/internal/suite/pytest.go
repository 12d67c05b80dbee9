package suite

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

//go:embed pytest.py.tmpl
var pytestText string

// pytestData is what the template of the pytest file needs. All texts but the first three are Python literals.
type pytestData struct {
	Title, File, Content string
	Worlds               []pytestWorld
	Checks               []pytestCheck
	Clauses              []pytestClause
}

type pytestWorld struct {
	Name  string
	Steps []string
}

type pytestCheck struct {
	ID, World, Title, Clauses string
	Steps                     []string
}

type pytestClause struct{ ID, Text string }

// Pytest returns the suite as a stand-alone pytest file that needs only the standard library beside pytest. The name is
// the scenario's, content its hash.
func (s *Suite) Pytest(name, content string) ([]byte, error) {
	t, err := template.New("pytest").Parse(pytestText)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the pytest file: %w", err)
	}
	d := pytestData{Title: fmt.Sprintf("%s, turn %d", name, s.Turn), File: fmt.Sprintf("test_%s_turn%d.py", name, s.Turn), Content: content}
	for _, w := range s.Worlds {
		d.Worlds = append(d.Worlds, pytestWorld{pyText(w.Name), pySteps(w.Setup)})
	}
	for _, c := range s.Checks {
		d.Checks = append(d.Checks, pytestCheck{pyText(c.ID), pyText(c.World), pyText(c.Title), pyTexts(c.Clauses), pySteps(c.Steps)})
	}
	for _, c := range s.Clauses {
		d.Clauses = append(d.Clauses, pytestClause{pyText(c.ID), pyText(c.Text)})
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("writing the pytest file of %s: %w", d.Title, err)
	}
	return b.Bytes(), nil
}

// pyText writes a string as a Python literal. Go quotes as Python does, as long as everything beyond ASCII is
// escaped: \x, \u and \U mean the same in both.
func pyText(s string) string { return strconv.QuoteToASCII(s) }

func pyTexts(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = pyText(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func pySteps(steps []Step) []string {
	out := make([]string, len(steps))
	for i, st := range steps {
		setup := "False"
		if st.Setup {
			setup = "True"
		}
		out[i] = fmt.Sprintf("(%s, %s, %s, %d, %s, %s, %s, %s, %s)", pyText(st.Method), pyText(st.Target()), pyText(string(st.Body)), st.Status,
			pyText(st.Match), pyText(string(st.Expect)), pyText(st.Capture), pyText(st.Above), setup)
	}
	return out
}
