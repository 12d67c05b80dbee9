package classify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

// asked is a request as a judge understands it.
type asked struct {
	packetID string
	items    []askedItem
	codes    map[string]string // leaf → code
	repair   bool
	rung     string
	tokens   int
}

type askedItem struct{ id, channel, text string }

func (a *asked) item(id string) askedItem {
	for _, it := range a.items {
		if it.id == id {
			return it
		}
	}
	return askedItem{}
}

// find returns the first item that holds a text.
func (a *asked) find(text string) askedItem {
	for _, it := range a.items {
		if strings.Contains(it.text, text) && it.id != "outline" {
			return it
		}
	}
	return askedItem{}
}

var codeLine = regexp.MustCompile(`(?m)^([A-Z]{2}[0-9]): (.*)$`)

func understand(r openai.ChatCompletionRequest) (*asked, error) {
	a := &asked{codes: map[string]string{}, repair: len(r.Messages) > 2, rung: rungText, tokens: allowance(r)}
	for _, m := range codeLine.FindAllStringSubmatch(r.Messages[0].Content, -1) {
		for _, l := range Codebook().Leaves {
			// A definition of one leaf can hold the code of another where its name stands.
			if strings.HasPrefix(m[2], l.Definition[:min(24, len(l.Definition))]) {
				a.codes[l.ID] = m[1]
			}
		}
	}
	if r.ResponseFormat != nil {
		a.rung = string(r.ResponseFormat.Type)
	}
	var list []map[string]string
	if err := json.Unmarshal([]byte(r.Messages[1].Content), &list); err != nil {
		return nil, fmt.Errorf("the packet is no JSON: %w", err)
	}
	for _, o := range list {
		var it askedItem
		for k, v := range o {
			switch {
			case strings.HasPrefix(k, "id_"):
				it.id = v
			case strings.HasPrefix(k, "channel_"):
				it.channel = v
			case strings.HasPrefix(k, "text_"):
				it.text = v
			}
		}
		if it.id == "packet" {
			a.packetID = strings.TrimPrefix(it.text, "packet_id: ")
			continue
		}
		a.items = append(a.items, it)
	}
	return a, nil
}

// says is an answer in the form of the schema.
func (a *asked) says(leaf, certainty string, clause any, quotes ...[3]string) string {
	var evidence []map[string]string
	for _, q := range quotes {
		evidence = append(evidence, map[string]string{"event": q[0], "quote": q[1], "role": q[2]})
	}
	b, err := json.Marshal(map[string]any{"packet_id": a.packetID, "evidence": evidence, "violated_requirement": clause, "first_bad_event": nil, "label": a.codes[leaf],
		"runner_up": nil, "recovered_events": []int{}, "need": nil, "certainty": certainty, "abstain_reason": nil, "summary": "so it was"})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// scripted is an endpoint that answers as a function says.
type scripted struct {
	t      *testing.T
	answer func(n int, a *asked) (content, finish string, err error)

	mu   sync.Mutex
	n    int
	paid []string // requests that were answered
	last openai.ChatCompletionRequest
}

func (s *scripted) CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	var resp openai.ChatCompletionResponse
	a, err := understand(r)
	if err != nil {
		s.t.Error(err)
		return resp, err
	}
	s.mu.Lock()
	s.n++
	n := s.n
	s.last = r
	s.mu.Unlock()
	content, finish, err := s.answer(n, a)
	if err != nil {
		return resp, err
	}
	s.mu.Lock()
	b, _ := json.Marshal(r)
	s.paid = append(s.paid, string(b))
	s.mu.Unlock()
	resp.Model = "scripted-1"
	resp.Usage = openai.Usage{PromptTokens: requestBytes(r) / 4, CompletionTokens: 50}
	resp.Choices = []openai.ChatCompletionChoice{{FinishReason: openai.FinishReason(finish), Message: openai.ChatCompletionMessage{Role: "assistant", Content: content}}}
	return resp, nil
}

// strange is what the harness of the open attempts says at their end: no rule knows it.
const strange = "the frobnicator went away and took the session with it, code 77"

// openTables has failed attempts that no rule decides: the agent was cut, and its harness says something unheard of. With
// checks there is a failing check without a clause that any rule would take as strong.
func openTables(n int, events func(i int) []logs.EventRow) *logs.Tables {
	t := &logs.Tables{}
	for i := range n {
		id := fmt.Sprintf("%012x", i)
		t.Episodes = append(t.Episodes, logs.EpisodeRow{Episode: id, Config: "c", Scenario: "s01", Model: "glm-5-0520", Harness: "opencode", Session: "fresh"})
		a := logs.AttemptRow{Episode: id, Turn: 4, Attempt: ptr(0), Passed: ptr(false), GradeReason: ptr("checks"), Completion: ptr("cut"), Place: logs.Place{Offset: 10}}
		t.Attempts = append(t.Attempts, a)
		t.Turns = append(t.Turns, logs.TurnRow{Episode: id, Turn: 4, ChangeText: ptr("A book may have no more than 900 pages from now on."), Passed: ptr(false)})
		t.Clauses = append(t.Clauses, logs.ClauseRow{Episode: id, Clause: "c7", Kind: "range", Title: "book.pages is from 1 to 900", Text: "`pages` of a book is from 1 to 900, both included.", Introduced: 4})
		for k, e := range events(i) {
			e.Episode, e.Turn, e.AttemptOffset, e.Seq, e.Via = id, 4, a.Offset, k, logs.ViaReader
			e.Place = logs.Place{File: "episodes/" + id + "/blobs/aa/bb.zst", Offset: int64(1000 * k), Length: 900}
			e.SHA256 = strings.Repeat("a", 64)
			t.Events = append(t.Events, e)
		}
		t.Checks = append(t.Checks, logs.CheckRow{Episode: id, Turn: 4, Attempt: 0, Check: "k1", Clauses: []string{"c7"}, Category: "x", Intent: "reject", Mutation: "range", Status: "fail",
			Introduced: 4, Age: "new", Request: `POST /books {"pages":901}`, Expected: `400; body = {"error":{"code":"range","field":"pages"}}`, Actual: `201; body = {"id":1,"pages":901}`})
	}
	return t
}

func strangeEvents(i int) []logs.EventRow {
	return []logs.EventRow{
		{Actor: "model", Channel: logs.ChannelModel, Kind: logs.EventMessage, Text: fmt.Sprintf("I will change the range of the pages in file number %d now.", i)},
		{Actor: "model", Channel: logs.ChannelModel, Kind: logs.EventToolCall, CallID: ptr("a"), Tool: ptr("bash"), Text: `{"command":"sed -i s/999/900/ app.py"}`},
		{Actor: "tool", Channel: logs.ChannelTool, Kind: logs.EventToolResult, CallID: ptr("a"), ExitCode: ptr(0), Text: "patched app.py in one place"},
		{Actor: "harness", Channel: logs.ChannelHarness, Kind: logs.EventNotice, Text: strange + fmt.Sprintf(" (session %d)", i)},
	}
}

// honest answers with the leaf and quotes of the harness's words.
func honest(leaf string) func(int, *asked) (string, string, error) {
	return func(_ int, a *asked) (string, string, error) {
		it := a.find("frobnicator")
		return a.says(leaf, "high", nil, [3]string{it.id, strange, "cause"}, [3]string{"k1", `request: POST /books {"pages":901}`, "effect"}), "stop", nil
	}
}

// judgeTables runs a judge over tables in a fresh run directory, or in the given one.
func judgeTables(t *testing.T, dir string, tables *logs.Tables, c Completer, change func(*JudgeOptions)) (*JudgeSummary, []logs.VerdictRow) {
	t.Helper()
	s, rows, err := judgeTry(t, dir, tables, c, change)
	if err != nil {
		t.Fatal(err)
	}
	return s, rows
}

func judgeTry(t *testing.T, dir string, tables *logs.Tables, c Completer, change func(*JudgeOptions)) (*JudgeSummary, []logs.VerdictRow, error) {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	d := &logs.RunDir{Root: dir}
	r, err := Run(context.Background(), d, tables, Options{})
	if err != nil {
		t.Fatal(err)
	}
	opt := JudgeOptions{Model: "scripted", Completer: c, Endpoint: "http://127.0.0.1/v1", Sleep: func(context.Context, time.Duration) error { return nil }}
	if change != nil {
		change(&opt)
	}
	s, err := Judge(context.Background(), d, tables, r, opt)
	rows, problems, readErr := logs.ReadVerdicts(d)
	if readErr != nil || len(problems) > 0 {
		t.Fatal(readErr, problems)
	}
	return s, rows, err
}

// TestJudgeAccepts: a judge that quotes what stands in the packet is heard; its quotes lead to the bytes they come from.
func TestJudgeAccepts(t *testing.T) {
	c := &scripted{t: t, answer: honest("infra.sandbox")}
	dir := t.TempDir()
	s, rows := judgeTables(t, dir, openTables(5, strangeEvents), c, nil)
	if s.Candidates != 5 || s.Judged != 5 || s.Calls != 5 || s.Stop != nil || len(rows) != 5 || s.Spent.Calls != 5 {
		t.Fatalf("%+v, %d rows", s, len(rows))
	}
	for _, v := range rows {
		var ev []Evidence
		if err := json.Unmarshal([]byte(v.Evidence), &ev); err != nil {
			t.Fatal(err)
		}
		if v.AnnotatorKind != logs.AnnotatorJudge || deref(v.Leaf) != "infra.sandbox" || v.Strength != logs.StrengthJudged || !strings.HasPrefix(v.Annotator, "scripted:") ||
			!slices.Equal(v.Votes, []string{"infra.sandbox"}) || !slices.Equal(v.RuleIDs, []string{"J-json_schema"}) {
			t.Errorf("%+v", v)
		}
		if len(ev) != 2 || ev[0].Role != "cause" || ev[0].Quote != strange || ev[0].Offset != 3000 || ev[0].Length != 900 || ev[0].From != 0 || ev[0].To != len(strange) || ev[0].Moved {
			t.Errorf("evidence %s", v.Evidence)
		}
	}
	// The same again asks nobody and writes nothing.
	before, _ := os.ReadFile(filepath.Join(dir, "verdicts", "judge.jsonl"))
	s, _ = judgeTables(t, dir, openTables(5, strangeEvents), c, nil)
	after, _ := os.ReadFile(filepath.Join(dir, "verdicts", "judge.jsonl"))
	if s.Calls != 0 || s.Judged != 5 || c.n != 5 || string(before) != string(after) {
		t.Errorf("%+v, %d calls", s, c.n)
	}
	// Neither does a lost file of verdicts: the answers are paid for.
	if err := os.Remove(filepath.Join(dir, "verdicts", "judge.jsonl")); err != nil {
		t.Fatal(err)
	}
	s, rows = judgeTables(t, dir, openTables(5, strangeEvents), c, nil)
	if s.Calls != 0 || s.Reused != 5 || len(rows) != 5 || c.n != 5 {
		t.Errorf("%+v, %d calls", s, c.n)
	}
}

// TestJudgeHides: what must not steer a judge is not in the request.
func TestJudgeHides(t *testing.T) {
	c := &scripted{t: t, answer: honest("infra.sandbox")}
	judgeTables(t, "", openTables(1, func(i int) []logs.EventRow {
		return append(strangeEvents(i), logs.EventRow{Channel: logs.ChannelHarness, Kind: logs.EventNotice, Text: "opencode asked glm-5-0520 once more"})
	}), c, nil)
	text := c.last.Messages[0].Content + c.last.Messages[1].Content
	for _, hidden := range []string{"glm-5", "opencode", "s01", "infra.", "drift.", "no_rule\"", "S-exit"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q is in the request", hidden)
		}
	}
	if !strings.Contains(text, "[name] asked [name] once more") {
		t.Error("the event itself is lost")
	}
	if len(c.last.Tools) > 0 || len(c.last.Messages) != 2 {
		t.Errorf("%d tools, %d messages", len(c.last.Tools), len(c.last.Messages))
	}
}

// TestJudgeIncomplete: an answer that is not whole, not of the form asked for or about something else is no verdict,
// and is not taken for "nothing found" either.
func TestJudgeIncomplete(t *testing.T) {
	good := func(a *asked) string {
		s, _, _ := honest("infra.sandbox")(0, a)
		return s
	}
	ways := map[string]func(a *asked) (content, finish string){
		"cut by the limit": func(a *asked) (string, string) { return good(a)[:80], "length" },
		"whole but length": func(a *asked) (string, string) { return good(a), "length" },
		"filtered":         func(a *asked) (string, string) { return good(a), "content_filter" },
		"bad JSON":         func(a *asked) (string, string) { return good(a)[:80], "stop" },
		"empty":            func(a *asked) (string, string) { return " ", "stop" },
		"prose":            func(a *asked) (string, string) { return "The sandbox was lost.", "stop" },
		"wrong packet":     func(a *asked) (string, string) { return strings.Replace(good(a), a.packetID, "0000000000", 1), "stop" },
		"echo": func(a *asked) (string, string) {
			b, _ := json.Marshal([]map[string]string{{"id": "packet", "text": a.packetID}})
			return string(b), "stop"
		},
		"no such label": func(a *asked) (string, string) {
			return strings.Replace(good(a), a.codes["infra.sandbox"], "infra.sandbox", 1), "stop"
		},
		"a key too many":  func(a *asked) (string, string) { return strings.Replace(good(a), "{", `{"x":1,`, 1), "stop" },
		"a key too few":   func(a *asked) (string, string) { return strings.Replace(good(a), `"need":null,`, "", 1), "stop" },
		"two answers":     func(a *asked) (string, string) { return good(a) + good(a), "stop" },
		"no quote at all": func(a *asked) (string, string) { return a.says("infra.sandbox", "high", nil), "stop" },
		"a huge answer":   func(a *asked) (string, string) { return strings.Repeat("x", 1<<20), "stop" },
		"text after it":   func(a *asked) (string, string) { return "```json\n" + good(a) + "\n``` as you asked", "stop" },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var limits []int
			c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
				limits = append(limits, a.tokens)
				content, finish := way(a)
				return content, finish, nil
			}}
			dir := t.TempDir()
			s, rows := judgeTables(t, dir, openTables(1, strangeEvents), c, nil)
			if s.Judged+s.Partial != 0 || s.Abstained[ReasonIncomplete] != 1 || s.Calls != 2 || len(s.Unusable) == 0 {
				t.Errorf("%+v", s)
			}
			if len(rows) != 1 || rows[0].Strength != logs.StrengthAbstain || deref(rows[0].AbstainReason) != ReasonIncomplete || rows[0].L1 != "unknown" || rows[0].Evidence != "[]" {
				t.Errorf("%+v", rows)
			}
			if len(limits) != 2 || limits[1] != 2*limits[0] {
				t.Errorf("limits %v: one more try with twice the room", limits)
			}
			// It is not asked again by itself, but if told to, and then it can be answered.
			c.answer = honest("infra.sandbox")
			if s, _ = judgeTables(t, dir, openTables(1, strangeEvents), c, nil); s.Calls != 0 || s.Abstained[ReasonIncomplete] != 1 {
				t.Errorf("again: %+v", s)
			}
			s, rows = judgeTables(t, dir, openTables(1, strangeEvents), c, func(o *JudgeOptions) { o.AskAgain = true })
			if s.Calls != 1 || s.Judged != 1 || len(rows) != 1 || rows[0].Strength != logs.StrengthJudged {
				t.Errorf("asked again: %+v %+v", s, rows)
			}
		})
	}
}

// TestJudgeFence: a fence around a whole answer is no fault of it.
func TestJudgeFence(t *testing.T) {
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		s, f, _ := honest("infra.sandbox")(n, a)
		return "```json\n" + s + "\n```", f, nil
	}}
	if s, _ := judgeTables(t, "", openTables(1, strangeEvents), c, nil); s.Judged != 1 {
		t.Errorf("%+v", s)
	}
}

// TestJudgeTrust: what the agent could write never moves blame away from it, and a drift needs a failing check.
func TestJudgeTrust(t *testing.T) {
	said := "AgentStuckInLoopError: the agent got stuck in a loop, says the harness"
	events := func(i int) []logs.EventRow {
		e := strangeEvents(i)
		e[0].Text, e[2].Text = said, said+" again"
		return e
	}
	for name, tt := range map[string]struct {
		say    func(a *asked) string
		leaf   string
		reason string
	}{
		"model's words":   {say: func(a *asked) string { return a.says("infra.loop_guard", "high", nil, [3]string{"e0", said, "cause"}) }, reason: ReasonUnverified},
		"tool's words":    {say: func(a *asked) string { return a.says("bench.host", "high", nil, [3]string{"e2", said, "cause"}) }, reason: ReasonUnverified},
		"harness's words": {say: func(a *asked) string { return a.says("bench.host", "high", nil, [3]string{"e3", strange, "cause"}) }, leaf: "bench.host"},
		"server's words": {say: func(a *asked) string {
			return a.says("bench.host", "high", nil, [3]string{"k1", `actual: 201; body = {"id":1,"pages":901}`, "cause"})
		}, reason: ReasonUnverified},
		"suite's words": {say: func(a *asked) string {
			return a.says("bench.test_defect", "high", nil, [3]string{"k1", `400; body = {"error":{"code":"range"`, "cause"})
		}, leaf: "bench.test_defect"},
		"counter only": {say: func(a *asked) string { return a.says("bench.host", "high", nil, [3]string{"e3", strange, "counter"}) }, reason: ReasonUnverified},
		"drift with its check": {say: func(a *asked) string {
			return a.says("drift.too_lax", "high", "c7", [3]string{"k1", `actual: 201; body = {"id":1,"pages":901}`, "cause"})
		}, leaf: "drift.too_lax"},
		"drift without clause": {say: func(a *asked) string {
			return a.says("drift.too_lax", "high", nil, [3]string{"k1", `actual: 201; body = {"id":1,"pages":901}`, "cause"})
		}, reason: ReasonUnverified},
		"drift without check": {say: func(a *asked) string { return a.says("drift.too_lax", "high", "c7", [3]string{"e0", said, "cause"}) }, reason: ReasonUnverified},
		"no kill": {say: func(a *asked) string {
			return a.says("infra.broad_kill", "high", nil, [3]string{"e3", strange, "cause"})
		}, reason: ReasonConflict},
		"no compaction": {say: func(a *asked) string {
			return a.says("infra.compaction", "high", nil, [3]string{"e3", strange, "cause"})
		}, reason: ReasonConflict},
		"new clause forgotten": {say: func(a *asked) string {
			return a.says("drift.forgotten", "high", "c7", [3]string{"k1", `actual: 201; body = {"id":1,"pages":901}`, "cause"})
		}, reason: ReasonConflict},
		"instructions": {say: func(a *asked) string {
			return a.says("bench.host", "high", nil, [3]string{"e3", "Everything in text_", "cause"})
		}, reason: ReasonUnverified},
		"cannot tell": {say: func(a *asked) string {
			return a.says(LeafInsufficient, "high", nil, [3]string{"e3", "whatever it may be", "cause"})
		}, reason: ReasonNoRule},
		"moved": {say: func(a *asked) string { return a.says("bench.host", "high", nil, [3]string{"e1", strange, "cause"}) }, leaf: "bench.host"},
		"with an ellipsis": {say: func(a *asked) string {
			return a.says("bench.host", "high", nil, [3]string{"e3", "the frobnicator … took the session", "cause"})
		}, leaf: "bench.host"},
		"case folded": {say: func(a *asked) string {
			return a.says("bench.host", "high", nil, [3]string{"e3", strings.ToUpper(strange), "cause"})
		}, reason: ReasonUnverified},
	} {
		t.Run(name, func(t *testing.T) {
			c := &scripted{t: t, answer: func(_ int, a *asked) (string, string, error) { return tt.say(a), "stop", nil }}
			s, rows := judgeTables(t, "", openTables(1, events), c, func(o *JudgeOptions) { o.MaxVotes = 1 })
			v := rows[0]
			if tt.reason != "" && (v.Strength != logs.StrengthAbstain || deref(v.AbstainReason) != tt.reason || v.Evidence != "[]") {
				t.Errorf("%+v %+v", s, v)
			}
			if tt.leaf != "" && (deref(v.Leaf) != tt.leaf || v.Strength != logs.StrengthJudged) {
				t.Errorf("%+v %+v", s, v)
			}
			if tt.reason == ReasonUnverified && c.n != 2 {
				t.Errorf("%d calls: one chance to mend the quotes", c.n)
			}
			if tt.leaf == "drift.too_lax" && (deref(v.Clause) != "c7" || deref(v.Origin) != OriginNew || deref(v.Mechanism) != tt.leaf) {
				t.Errorf("%+v", v)
			}
			if name == "moved" && !strings.Contains(string(v.Evidence), `"moved":true`) {
				t.Errorf("evidence %s", v.Evidence)
			}
		})
	}
}

// TestJudgeMends: bad quotes are named to the judge, and better ones count.
func TestJudgeMends(t *testing.T) {
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		if !a.repair {
			return a.says("infra.sandbox", "high", nil, [3]string{"e3", "the frobnicator left the building at once", "cause"}), "stop", nil
		}
		return honest("infra.sandbox")(n, a)
	}}
	s, rows := judgeTables(t, "", openTables(1, strangeEvents), c, nil)
	if s.Calls != 2 || s.Judged != 1 || s.BadQuotes != 1 || deref(rows[0].Leaf) != "infra.sandbox" {
		t.Errorf("%+v", s)
	}
	if last := c.last.Messages[3].Content; !strings.Contains(last, "left the building") || !strings.Contains(last, "it is not in the packet") {
		t.Errorf("the judge is told %q", last)
	}
}

// TestJudgeVotes: an unsure judge is asked again, with other codes and in another order; two thirds decide.
func TestJudgeVotes(t *testing.T) {
	for name, tt := range map[string]struct {
		leaves  []string
		calls   int
		l1      string
		leaf    string
		reason  string
		certain string
	}{
		"sure":              {[]string{"infra.sandbox"}, 1, "infra", "infra.sandbox", "", "high"},
		"two agree":         {[]string{"infra.sandbox", "infra.sandbox"}, 2, "infra", "infra.sandbox", "", "low"},
		"two of three":      {[]string{"infra.sandbox", "bench.host", "infra.sandbox"}, 3, "infra", "infra.sandbox", "", "low"},
		"a void one":        {[]string{"infra.sandbox", "", "bench.host", "infra.sandbox"}, 4, "infra", "infra.sandbox", "", "low"},
		"only the level":    {[]string{"infra.sandbox", "infra.agent_exit", "infra.resources"}, 3, "infra", "", "", "medium"},
		"nothing in common": {[]string{"infra.sandbox", "bench.host", LeafInsufficient}, 3, "unknown", LeafInsufficient, ReasonConflict, "low"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
				seen[a.codes["infra.sandbox"]+a.items[0].id] = true
				it := a.find("frobnicator")
				if leaf := tt.leaves[(min(n, 5)-1)%len(tt.leaves)]; leaf == "" || a.repair {
					return a.says("infra.broad_kill", "high", nil, [3]string{it.id, strange, "cause"}), "stop", nil // there was no kill
				}
				return a.says(tt.leaves[(n-1)%len(tt.leaves)], tt.certain, nil, [3]string{it.id, strange, "cause"}), "stop", nil
			}}
			s, rows := judgeTables(t, "", openTables(1, strangeEvents), c, nil)
			v := rows[0]
			if c.n != tt.calls || v.L1 != tt.l1 || deref(v.Leaf) != tt.leaf || deref(v.AbstainReason) != tt.reason || len(v.Votes) != tt.calls {
				t.Errorf("%d calls, %+v", c.n, v)
			}
			if tt.calls > 1 && len(seen) < 2 {
				t.Error("the votes were asked with the same codes in the same order")
			}
			if tt.leaf == "" && (s.Partial != 1 || v.Strength != logs.StrengthJudged) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestJudgeNeeds: a judge can ask for events that the packet does not show.
func TestJudgeNeeds(t *testing.T) {
	events := func(i int) []logs.EventRow {
		var list []logs.EventRow
		for k := range 200 {
			list = append(list, logs.EventRow{Actor: "model", Channel: logs.ChannelModel, Kind: logs.EventMessage, Text: fmt.Sprintf("step %d of a long piece of work", k)})
		}
		return append(list, strangeEvents(i)...)
	}
	c := &scripted{t: t, answer: func(n int, a *asked) (string, string, error) {
		s, f, _ := honest("infra.sandbox")(n, a)
		if n == 1 {
			if a.item("e77").text != "" {
				t.Error("the event is shown anyway")
			}
			return strings.Replace(s, `"need":null`, `"need":{"from":75,"to":79}`, 1), f, nil
		}
		if a.item("e77").text == "" {
			t.Error("the event that was asked for is not shown")
		}
		return s, f, nil
	}}
	if s, _ := judgeTables(t, "", openTables(1, events), c, nil); s.Calls != 2 || s.Judged != 1 {
		t.Errorf("%+v", s)
	}
}
