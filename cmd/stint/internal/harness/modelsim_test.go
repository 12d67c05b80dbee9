package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func someScenario(t testing.TB, delivery string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Generate(scenario.Options{Seed: 5, Changes: 3, Name: "s01", Delivery: delivery})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func coder(t testing.TB, rules string, scenarios ...*scenario.Scenario) *Coder {
	t.Helper()
	parsed, err := ParseSimRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCoder(CoderOptions{Scenarios: scenarios, Rules: parsed, Files: func(s *scenario.Schema) (map[string]string, error) {
		b, err := json.Marshal(s)
		return map[string]string{"a.json": string(b) + "\n", startFile: "#!/bin/sh\n"}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tools(t testing.TB, schema string) []SimTool {
	t.Helper()
	var v []SimTool
	if err := json.Unmarshal([]byte(schema), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const bashTool = `[{"Name":"bash","Schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]`

// TestSimShells holds the call to the tools that agents offer: names and required arguments as their requests
// have them.
func TestSimShells(t *testing.T) {
	for name, c := range map[string]struct{ tools, want string }{
		"mini-swe": {bashTool, `bash {"command":"ls"}`},
		"opencode": {`[{"Name":"read","Schema":{"properties":{"filePath":{"type":"string"}}}},{"Name":"bash","Schema":{"properties":{"command":{"type":"string"},"description":{"type":"string"},"timeout":{"type":"number"}},"required":["command","description"]}}]`,
			`bash {"command":"ls","description":"List"}`},
		"qwen-code": {`[{"Name":"run_shell_command","Schema":{"properties":{"command":{"type":"string"},"is_background":{"type":"boolean"}},"required":["command","is_background"]}}]`,
			`run_shell_command {"command":"ls","is_background":false}`},
		"openhands": {`[{"Name":"terminal","Schema":{"properties":{"command":{"type":"string"},"security_risk":{"type":"string","enum":["UNKNOWN","LOW","MEDIUM","HIGH"]},"timeout":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["command","security_risk"]}}]`,
			`terminal {"command":"ls","security_risk":"LOW"}`},
		"kimi":        {`[{"Name":"Shell","Schema":{"properties":{"command":{"type":"string"},"timeout":{"type":"integer","minimum":1,"maximum":30}},"required":["command","timeout"]}}]`, `Shell {"command":"ls","timeout":30}`},
		"codex shell": {`[{"Name":"shell","Schema":{"properties":{"command":{"type":"array","items":{"type":"string"}}},"required":["command"]}}]`, `shell {"command":["bash","-lc","ls"]}`},
		"codex exec":  {`[{"Name":"write_stdin","Schema":{"properties":{"session_id":{"type":"number"}}}},{"Name":"exec_command","Schema":{"properties":{"cmd":{"type":"string"}},"required":["cmd"]}}]`, `exec_command {"cmd":"ls"}`},
		"claude":      {`[{"Name":"BashOutput","Schema":{"properties":{"bash_id":{"type":"string"}}}},{"Name":"Bash","Schema":{"properties":{"command":{"type":"string"}},"required":["command"]}}]`, `Bash {"command":"ls"}`},
		"cline":       {`[{"Name":"run_commands","Schema":{"properties":{"commands":{"type":"array","items":{"type":"string"}}},"required":["commands"]}}]`, `run_commands {"commands":["ls"]}`},
		"unknown":     {`[{"Name":"my_shell","Schema":{"properties":{"script":{"type":["null","string"]},"tags":{"type":"array"},"extra":{"type":"object"}},"required":["script","tags","extra"]}}]`, `my_shell {"extra":{},"script":"ls","tags":[]}`},
		"none":        {`[{"Name":"write_file","Schema":{"properties":{"path":{"type":"string"},"content":{"type":"string"}}}},{"Name":"file_editor","Schema":{"properties":{"command":{"type":"string"},"path":{"type":"string"}}}}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			call, ok := shellCall(tools(t, c.tools), "ls", "List")
			got := call.Name + " " + call.Arguments
			if !ok {
				got = ""
			}
			if got != c.want {
				t.Errorf("called %s, want %s", got, c.want)
			}
		})
	}
	r := SimRequest{Messages: []SimMessage{{Role: "system", Text: "Working directory: /srv."}},
		Tools: tools(t, `[{"Name":"str_replace_editor","Schema":{"properties":{"command":{"type":"string","enum":["view","create"]},"path":{"type":"string"},"file_text":{"type":"string"},"security_risk":{"type":"string","enum":["LOW"]}},"required":["command","path","security_risk"]}}]`)}
	call, ok := fileCall(r, "a.txt", "x")
	if want := `{"command":"create","file_text":"x","path":"/srv/a.txt","security_risk":"LOW"}`; !ok || call.Arguments != want {
		t.Errorf("called %s, want %s", call.Arguments, want)
	}
}

// talk plays an agent with a shell: it carries out what the coder calls until the coder has finished.
func talk(t *testing.T, c *Coder, r SimRequest, dir string) (SimRequest, string, int) {
	t.Helper()
	for n := range 30 {
		a := c.Answer(r)
		if a.Status >= 400 {
			t.Fatalf("the coder answers %d %s", a.Status, a.Body)
		}
		r.Messages = append(r.Messages, SimMessage{Role: "assistant", Text: a.Content, Calls: a.Calls})
		if len(a.Calls) == 0 {
			return r, a.Content, n
		}
		for _, call := range a.Calls {
			var v struct{ Command string }
			if err := json.Unmarshal([]byte(call.Arguments), &v); err != nil {
				t.Fatal(err)
			}
			text := "tried"
			if !strings.Contains(v.Command, tryCommand) {
				cmd := exec.Command("bash", "-c", v.Command)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				text = fmt.Sprint(string(out), err)
			}
			r.Messages = append(r.Messages, SimMessage{Role: "tool", Text: text, CallID: call.ID})
		}
	}
	t.Fatal("the coder does not end")
	return r, "", 0
}

func TestCoderTurns(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs bash")
	}
	for _, delivery := range []string{"delta", "delta+file", "full"} {
		for _, fresh := range []bool{false, true} {
			sc := someScenario(t, delivery)
			other, err := scenario.Generate(scenario.Options{Seed: 6, Changes: 3, Delivery: delivery})
			if err != nil {
				t.Fatal(err)
			}
			c, dir := coder(t, "wrong@2", other, sc), t.TempDir()
			r := SimRequest{Tools: tools(t, bashTool)}
			for _, st := range sc.Steps {
				if delivery == "delta+file" {
					if err := os.WriteFile(filepath.Join(dir, "SPEC.md"), []byte(scenario.WithToolchain(st.Spec, "Available: Python 3.11.")), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if fresh {
					r.Messages = nil
				}
				r.Messages = append(r.Messages, SimMessage{Role: "user", Text: "<task>\n" + strings.ReplaceAll(st.Request, "\n", "\n  ") + "</task>"}, SimMessage{Role: "user", Text: "<reminder>Be careful.</reminder>"})
				wants := []*scenario.Schema{st.Schema}
				if st.Turn == 2 {
					wants = []*scenario.Schema{lacking(sc, 2), st.Schema}
				}
				for attempt, want := range wants {
					if attempt > 0 {
						if fresh && delivery == "delta+file" {
							r.Messages = nil // then only SPEC.md tells which turn it is
						}
						r.Messages = append(r.Messages, SimMessage{Role: "user", Text: feedbackText + ": 3 of 9 checks passed.\n"})
					}
					var calls int
					if r, _, calls = talk(t, c, r, dir); calls < 3 {
						t.Errorf("%s turn %d: done after %d calls", delivery, st.Turn, calls)
					}
					raw, err := json.Marshal(want)
					if err != nil {
						t.Fatal(err)
					}
					got, err := os.ReadFile(filepath.Join(dir, "a.json"))
					if err != nil || string(got) != string(raw)+"\n" {
						t.Errorf("%s, fresh %v, turn %d.%d: the wrong program was written, %d bytes, want %d (%v)", delivery, fresh, st.Turn, attempt, len(got), len(raw)+1, err)
					}
				}
			}
			if info, err := os.Stat(filepath.Join(dir, startFile)); err != nil || info.Mode().Perm()&0o111 == 0 {
				t.Errorf("start.sh: %v", err)
			}
		}
	}
}

// TestCoderRetriesAnew: an agent that starts anew for every attempt shows one feedback only; the second retry is known from
// the first by what the first has written.
func TestCoderRetriesAnew(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs bash")
	}
	sc := someScenario(t, "delta+file")
	c, dir := coder(t, "hopeless@1.0,hopeless@1.1,hopeless@2.0", sc), t.TempDir()
	for turn, wants := range [][]*scenario.Schema{{sc.Steps[0].Schema}, {lacking(sc, 1), lacking(sc, 1), sc.Steps[1].Schema}, {lacking(sc, 2), sc.Steps[2].Schema}} {
		if err := os.WriteFile(filepath.Join(dir, "SPEC.md"), []byte(sc.Steps[turn].Spec), 0o644); err != nil {
			t.Fatal(err)
		}
		for attempt, want := range wants {
			text := sc.Steps[turn].Request
			if attempt > 0 {
				text = feedbackText + ": 3 of 9 checks passed.\n"
			}
			talk(t, c, SimRequest{Tools: tools(t, bashTool), Messages: []SimMessage{{Role: "user", Text: text}}}, dir)
			raw, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "a.json")); err != nil || string(got) != string(raw)+"\n" {
				t.Errorf("turn %d.%d: the wrong program was written, %d bytes, want %d (%v)", turn, attempt, len(got), len(raw)+1, err)
			}
			if start, err := os.ReadFile(filepath.Join(dir, startFile)); err != nil || !strings.HasSuffix(string(start), fmt.Sprintf("\n# made in turn %d.%d\n", turn, attempt)) {
				t.Errorf("turn %d.%d: start.sh is %q (%v)", turn, attempt, start, err)
			}
		}
	}
}

func TestCoderLost(t *testing.T) {
	c := coder(t, "perfect", someScenario(t, ""))
	for name, r := range map[string]SimRequest{
		"no tools":   {Messages: []SimMessage{{Role: "user", Text: "Find a title for: hello"}}},
		"summary":    {Tools: tools(t, bashTool), Messages: []SimMessage{{Role: "user", Text: "Summarise all this. Do not call any tools."}}},
		"other spec": {Tools: tools(t, bashTool), Messages: []SimMessage{{Role: "user", Text: "hello"}, {Role: "tool", Text: "specification: " + strings.Repeat("ab", 32)}}},
		"no shell":   {Tools: tools(t, `[{"Name":"think","Schema":{}}]`), Messages: []SimMessage{{Role: "user", Text: "hello"}}},
	} {
		if a := c.Answer(r); len(a.Calls) > 0 || a.Content == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	a := c.Answer(SimRequest{Tools: tools(t, bashTool), Messages: []SimMessage{{Role: "user", Text: "hello"}}})
	if len(a.Calls) != 1 || !strings.Contains(a.Calls[0].Arguments, "SPEC.md") {
		t.Errorf("without a known request: %+v", a)
	}
	sum := sha256.Sum256([]byte(c.opt.Scenarios[0].Steps[1].Spec))
	p, ok := c.place(SimRequest{Messages: []SimMessage{{Role: "user", Text: "hello"}, {Role: "tool", Text: "x\nspecification: " + hex.EncodeToString(sum[:]) + "\n"}}})
	if !ok || p.turn != 1 {
		t.Errorf("by the digest: %+v %v", p, ok)
	}
	submit := SimRequest{Tools: tools(t, bashTool), Messages: []SimMessage{{Role: "system", Text: "End with echo " + submitMark}, {Role: "user", Text: c.opt.Scenarios[0].Steps[0].Request},
		{Role: "assistant", Calls: []SimCall{{Arguments: "# turn 0.0, step 99 of 3"}}}}}
	if a := c.Answer(submit); len(a.Calls) != 1 || !strings.Contains(a.Calls[0].Arguments, "echo "+submitMark) {
		t.Errorf("ending by a command: %+v", a)
	}
}

func TestSimRules(t *testing.T) {
	one, two, zero := 1, 2, 0
	rules, err := ParseSimRules("wrong@1, rate-limit@2.1*2,loop*0")
	want := []SimRule{{Do: "wrong", Turn: &one}, {Do: "rate-limit", Turn: &two, Attempt: &one, Times: &two}, {Do: "loop", Times: &zero}}
	if diff := cmp.Diff(want, rules); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	rules, err = ReadSimRules("s.yaml", []byte("- {do: wrong, turn: 1}\n- do: rate-limit\n  turn: 2\n  attempt: 1\n  times: 2\n- {do: loop, times: 0}\n"))
	if diff := cmp.Diff(want, rules); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "nope", "wrong@x", "wrong@1.y", "loop*-1", "loop*z"} {
		if _, err := ParseSimRules(bad); err == nil || !strings.Contains(err.Error(), "script") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"- {do: nope}", "- {dos: wrong}", "{do: wrong}", "- {do: wrong, chance: 2}", "- {do: wrong, turn: -1}"} {
		if _, err := ReadSimRules("s.yaml", []byte(bad)); err == nil || !strings.Contains(err.Error(), "s.yaml") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// A chance is drawn once for a turn, and about as often as it says.
	sc := someScenario(t, "")
	c, err := NewCoder(CoderOptions{Scenarios: []*scenario.Scenario{sc}, Rules: []SimRule{{Do: "hopeless", Chance: 0.3}}})
	if err != nil {
		t.Fatal(err)
	}
	hits := 0
	for i := range 1000 {
		p := simPlace{turn: i}
		first, again := c.wrong("m", p), c.wrong("m", p)
		if first {
			hits++
		}
		if first != again {
			t.Fatal("the draw changes")
		}
	}
	if hits < 250 || hits > 350 {
		t.Errorf("%d of 1000", hits)
	}
}

// TestModelSimStreams puts what is streamed together again and holds it against the whole answer.
func TestModelSimStreams(t *testing.T) {
	answers := []SimAnswer{
		{Content: "Grüße – done", Reasoning: "because", Completion: 7},
		{Calls: []SimCall{{ID: "a", Name: "bash", Arguments: `{"command":"ls ä"}`}, {Name: "bash", Arguments: `{"comm`}}},
		{}, SimError(429, "rate_limit", "slow"), {Content: strings.Repeat("long ", 100), CutAt: 500}, {HangUp: true}, {Body: " "},
	}
	var at atomic.Int64
	srv := httptest.NewServer(&ModelSim{Answer: func(SimRequest) SimAnswer { return answers[at.Load()] }})
	defer srv.Close()
	for i, a := range answers {
		at.Store(int64(i))
		body := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
		resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if a.HangUp {
			if err == nil {
				t.Error("no break")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if (err != nil) != (a.CutAt > 0) || resp.StatusCode != max(a.Status, 200) {
			t.Errorf("answer %d: %d %v", i, resp.StatusCode, err)
		}
		if a.Body != "" || a.Code != "" || a.CutAt > 0 {
			if a.CutAt > 0 && len(b) != a.CutAt {
				t.Errorf("cut after %d bytes", len(b))
			}
			continue
		}
		var text, reasoning string
		arguments := map[int]string{}
		for line := range bytes.Lines(b) {
			data, ok := bytes.CutPrefix(line, []byte("data: "))
			if !ok || bytes.HasPrefix(data, []byte("[DONE]")) {
				continue
			}
			var v struct {
				Choices []struct {
					Delta struct {
						Content   string
						Reasoning string `json:"reasoning_content"`
						ToolCalls []struct {
							Index    int
							Function struct{ Arguments string }
						} `json:"tool_calls"`
					}
				}
			}
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			for _, c := range v.Choices {
				text, reasoning = text+c.Delta.Content, reasoning+c.Delta.Reasoning
				for _, x := range c.Delta.ToolCalls {
					arguments[x.Index] += x.Function.Arguments
				}
			}
		}
		if text != a.Content || reasoning != a.Reasoning || !bytes.HasSuffix(b, []byte("data: [DONE]\n\n")) {
			t.Errorf("answer %d: %q %q from %s", i, text, reasoning, b)
		}
		for k, call := range a.Calls {
			if arguments[k] != call.Arguments {
				t.Errorf("answer %d: arguments %q", i, arguments[k])
			}
		}
	}
}
