package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

const testFile = `
name: tested
version: 1.0.0
protocol: chat
prefix: .
probe: {run: [tested, --version]}
first: [tested, "{{.Prompt}}"]
next: [tested, --resume, "{{.Session}}", "{{.Prompt}}"]
session: {chosen: true}
files:
  - {path: .config/tested/settings.json, text: '{"url": {{json .URL}}, "context": {{.Context}}}'}
logs:
  - {name: chat.jsonl, path: ".tested/*/{{.Session}}.jsonl", new: true}
ends:
  - {exit: [7], completion: cut, detail: its own limit}
  - {in: stdout, last: [result, error], json: is_error, is: ["false"], completion: clean}
  - {in: stdout, last: [result, error], json: error.name, is: [TooLong], completion: cut, say: error.name, detail: context_overflow, damaged: true}
  - {in: stderr, match: 'gave up', exit: [0], completion: empty}
  - {in: chat.jsonl, json: state, completion: cut, say: state}
clean: [.cache, .tested/tmp/, ".tested/*.sqlite*", ".config/*/secret"]
`

func parsed(t *testing.T, text string) *File {
	t.Helper()
	f, err := ParseFile("tested.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEndRules reads the end of a program from its own record.
func TestEndRules(t *testing.T) {
	t.Parallel()
	f := parsed(t, testFile)
	zero, seven := 0, 7
	for name, c := range map[string]struct {
		exit           *int
		stdout, stderr string
		chat           string
		want           ownEnd
	}{
		"its limit":     {&seven, `{"type":"result","is_error":false}`, "", "", ownEnd{"cut", "its own limit", false}},
		"clean":         {&zero, "hello\n" + `{"type":"result","is_error":false}` + "\n" + `{"type":"other","is_error":true}` + "\nbye\n", "", "", ownEnd{"clean", "", false}},
		"the last":      {&zero, `{"type":"result","is_error":false}` + "\n" + `{"type":"error","error":{"name":"TooLong"}}`, "", "", ownEnd{"cut", "context_overflow: TooLong", true}},
		"gave up":       {&zero, "", "it gave up\n", "", ownEnd{"empty", "", false}},
		"gave up badly": {nil, "", "it gave up\n", "", ownEnd{"cut", "its own log does not say how it ended (SIGKILL): it gave up", false}},
		"its file":      {&zero, "", "", `{"state": "half \n way"}`, ownEnd{"cut", "half way", false}},
		"nothing":       {&zero, "", "", "", ownEnd{"cut", "its own log does not say how it ended (exit code 0)", false}},
		"not JSON":      {&zero, "{\"type\":\"result\"", "", "", ownEnd{"cut", "its own log does not say how it ended (exit code 0)", false}},
	} {
		w := &work{program: &program{opt: ProgramOptions{File: f}}, exit: sandbox.Exit{Code: c.exit, Signal: "SIGKILL", Stderr: []byte(c.stderr)},
			logs: []logs.LogFile{{Name: "stdout", Data: []byte(c.stdout)}, {Name: "stderr", Data: []byte(c.stderr)}}}
		if c.exit != nil {
			w.exit.Signal = ""
		}
		if c.chat != "" {
			w.logs = append(w.logs, logs.LogFile{Name: "chat.jsonl", Data: []byte(c.chat)})
		}
		if got := w.own(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	trim := Trim{List: "messages", Time: "info.time.created"}
	doc := `{"info":{"id":1},"messages":[{"info":{"time":{"created":999}}},{"info":{"time":{"created":1000}}},{"odd":true}]}`
	got, err := trim.apply([]byte(doc), time.UnixMilli(1000))
	if want := `{"info":{"id":1},"messages":[{"info":{"time":{"created":1000}}},{"odd":true}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{"", "[1]", `{"messages":5}`, `{"other":[]}`} {
		if _, err := trim.apply([]byte(bad), time.Time{}); err == nil {
			t.Errorf("%q was trimmed", bad)
		}
	}
}

// TestHomeOfAnEnemy lets the agent put links, folders and pipes where stint reads and writes: nothing outside of HOME is
// touched or read, and stint's own files come out right.
func TestHomeOfAnEnemy(t *testing.T) {
	t.Parallel()
	f := parsed(t, testFile)
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(outside, filepath.Join(dir, ".config")))
	must(os.Symlink(outside, filepath.Join(dir, ".stint")))
	must(os.Symlink(secret, filepath.Join(dir, conversationFile)))
	must(os.Symlink(outside, filepath.Join(dir, ".cache")))
	must(os.MkdirAll(filepath.Join(dir, ".tested", "a"), 0o755))
	must(os.Symlink(secret, filepath.Join(dir, ".tested", "a", "s1.jsonl")))
	h, err := openHome(dir)
	must(err)
	defer h.close()
	r := Request{Episode: "0123456789ab", Session: SessionContinue}
	if s, goesOn := h.conversation(f, r); goesOn || s != "" {
		t.Errorf("a link names the conversation %q", s)
	}
	v := &Values{URL: "http://x/v1", Context: 5, Session: "s1"}
	if err := h.prepare(f, v, true); err != nil {
		t.Fatal(err)
	}
	must(h.remember(f, r, "s1", true))
	must(os.WriteFile(filepath.Join(dir, ".tested/state_5.sqlite-wal"), nil, 0o600))
	must(os.Symlink(secret, filepath.Join(dir, ".tested/logs.sqlite")))
	must(os.Symlink(outside, filepath.Join(dir, ".config/elsewhere")))
	must(h.clean(f.Clean))
	if left, err := filepath.Glob(filepath.Join(dir, ".tested/*.sqlite*")); len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if name, err := h.newest(f.Logs[0].Path, v, time.Time{}); name != "" || err != nil {
		t.Errorf("a link is the log %q, %v", name, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, ".config/tested/settings.json"))
	if err != nil || string(b) != `{"url": "http://x/v1", "context": 5}` {
		t.Errorf("settings %q, %v", b, err)
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) != 1 {
		t.Errorf("outside are %v, %v", left, err)
	}
	if b, _ := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("the secret is %q", b)
	}
	if s, goesOn := h.conversation(f, r); !goesOn || s != "s1" {
		t.Errorf("the conversation is %q, %v", s, goesOn)
	}
	if _, goesOn := h.conversation(f, Request{Session: SessionFresh, Turn: 1}); goesOn {
		t.Error("a new turn goes on although every turn is fresh")
	}
	if _, goesOn := h.conversation(f, Request{Session: SessionFresh, Turn: 0}); !goesOn {
		t.Error("a retry does not go on")
	}
	for range 2 { // the second time there is nothing to forget
		must(h.remember(f, r, "s1", false))
		if s, goesOn := h.conversation(f, r); goesOn {
			t.Errorf("the conversation %q goes on although it is damaged", s)
		}
	}
	for _, text := range []string{`{"session":"--flag"}`, `{"session":"../x"}`, `{"turn":`, strings.Repeat("x", 5000)} {
		must(h.write(conversationFile, text))
		if s, goesOn := h.conversation(f, r); goesOn {
			t.Errorf("%.20q names the conversation %q", text, s)
		}
	}
}

func TestChosenSession(t *testing.T) {
	a, b := chosenSession(Request{Episode: "a"}), chosenSession(Request{Episode: "b"})
	if a == b || a != chosenSession(Request{Episode: "a"}) || len(a) != 36 || a[14] != '4' || !strings.ContainsRune("89ab", rune(a[19])) || !sessionForm.MatchString(a) {
		t.Errorf("sessions %s, %s", a, b)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"session by two":   {"{chosen: true}", "{chosen: true, match: '(x)'}", "session has chosen and match"},
		"no group":         {"{chosen: true}", "{match: 'x'}", "must have one group"},
		"nothing follows":  {"next: [tested, --resume, \"{{.Session}}\", \"{{.Prompt}}\"]", "", "session without next"},
		"completion":       {"completion: empty", "completion: done", `ends[3].completion "done"`},
		"unknown log":      {"in: chat.jsonl", "in: chat.json", "is none of stdout, stderr, chat.jsonl"},
		"nowhere":          {"{in: stderr, match", "{match", "lacks what to look at"},
		"absolute":         {".tested/tmp", "/etc", "leads out of HOME"},
		"no pattern":       {".tested/tmp/", "'.tested/[x'", "is no pattern"},
		"log twice":        {"logs:\n", "logs:\n  - {name: stdout, path: x}\n", "stands twice"},
		"not a map":        {testFile, "- a", "harness file tested.yaml"},
		"installed twice":  {"prefix: .", "install: {npm: [a], pip: b}", "npm and pip"},
		"no interpreter":   {"prefix: .", "install: {pip: b}", "without install.python"},
		"two places":       {"prefix: .", "prefix: .\ninstall: {npm: [a]}", "has install and prefix"},
		"no place":         {"prefix: .", "", "neither install nor prefix"},
		"broken template":  {"{{.Prompt}}", "{{.Prompt", "unclosed action"},
		"foreign function": {"{{.Prompt}}", "{{env .Prompt}}", "not defined"},
	} {
		_, err := ParseFile("tested.yaml", []byte(strings.Replace(testFile, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Load("opencod", ""); err == nil || !strings.Contains(err.(*FileError).Hint(), "opencode") {
		t.Errorf("an unknown name: %v", err)
	}
}
