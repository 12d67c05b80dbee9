package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line renders an event for comparison.
func (e *EventRow) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s %s/%s", e.Seq, e.Via, e.Kind, e.Actor, e.Channel)
	for _, p := range []*string{e.Tool, e.CallID} {
		if p != nil {
			b.WriteString(" " + *p)
		}
	}
	fmt.Fprintf(&b, " %q", e.Text)
	for _, n := range []struct {
		name string
		v    *int
	}{{"exit", e.ExitCode}, {"http", e.HTTPStatus}} {
		if n.v != nil {
			fmt.Fprintf(&b, " %s=%d", n.name, *n.v)
		}
	}
	if e.DurationS != nil {
		fmt.Fprintf(&b, " %gs", *e.DurationS)
	}
	if e.Input != nil {
		fmt.Fprintf(&b, " in=%d", *e.Input)
	}
	if e.Output != nil {
		fmt.Fprintf(&b, " out=%d", *e.Output)
	}
	return b.String()
}

func lines(events []EventRow) string {
	var b strings.Builder
	for i := range events {
		b.WriteString(events[i].line() + "\n")
	}
	return b.String()
}

// gatewayLog has one line of every kind that the recorder and the built-in agent write.
const gatewayLog = `{"seq":0,"time":"2026-11-29T10:00:00.000Z","kind":"start","turn":1,"attempt":0,"try":0,"attempt_kind":"first","session":"continue","continued_messages":4}
{"seq":1,"time":"2026-11-29T10:00:00.001Z","kind":"request","bytes":900,"messages":6,"same":0,"new":[{"role":"system","content":"You are an agent."},{"role":"user","content":"Build it."},{"role":"assistant","content":"Done."},{"role":"user","content":[{"type":"text","text":"Now"},{"type":"text","text":"change it."}]}],"settings":{"model":"m"}}
{"seq":2,"time":"2026-11-29T10:00:01.000Z","kind":"error","class":"rate_limit","status":429,"try":1,"duration_s":0.5,"message":"slow down","retry_after_s":2}
{"seq":3,"time":"2026-11-29T10:00:01.001Z","kind":"retry","class":"rate_limit","status":429,"wait_s":2,"try":1}
{"seq":4,"time":"2026-11-29T10:00:04.000Z","kind":"answer","status":200,"try":2,"duration_s":1.25,"body":{"choices":[{"message":{"role":"assistant","content":"I look first.","tool_calls":[{}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":500,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":400}}}}
{"seq":5,"time":"2026-11-29T10:00:04.001Z","kind":"tool_call","tool":"bash","call_id":"a","arguments":"{\"command\":\"echo AgentStuckInLoopError\"}"}
{"seq":6,"time":"2026-11-29T10:00:04.100Z","kind":"tool_result","tool":"bash","call_id":"a","duration_s":0.1,"text":"AgentStuckInLoopError\n","by":"self","exit_code":0}
{"seq":7,"time":"2026-11-29T10:00:05.000Z","kind":"tool_call","tool":"bash","call_id":"b","arguments":"{\"command\":\"./start.sh\"}"}
{"seq":8,"time":"2026-11-29T10:02:05.000Z","kind":"tool_result","tool":"bash","call_id":"b","duration_s":120,"text":"","by":"limit","signal":"SIGKILL","limit":"wall"}
{"seq":9,"time":"2026-11-29T10:02:06.000Z","kind":"tool_result","tool":"write_file","call_id":"c","text":"is a folder","failed":true}
{"seq":10,"time":"2026-11-29T10:02:07.000Z","kind":"malformed_call","tool":"bash","call_id":"d","reason":"unexpected end of JSON input","cut_by_length":true}
{"seq":11,"time":"2026-11-29T10:02:07.001Z","kind":"bad_call","tool":"bash","call_id":"e","reason":"the argument is missing."}
{"seq":12,"time":"2026-11-29T10:02:07.002Z","kind":"unknown_tool","tool":"rm_rf","call_id":"f"}
{"seq":13,"time":"2026-11-29T10:02:08.000Z","kind":"compaction","ok":false,"forced":true,"reason":"nothing to condense","messages_before":9,"tokens_before":8000,"summary":"secret words of the model"}
{"seq":14,"time":"2026-11-29T10:02:09.000Z","kind":"empty_answer","finish_reason":"stop","in_a_row":1}
{"seq":15,"time":"2026-11-29T10:02:09.001Z","kind":"too_many_calls","calls":40,"kept":16}
{"seq":16,"time":"2026-11-29T10:02:09.002Z","kind":"session_lost","reason":"no JSON"}
{"seq":17,"time":"2026-11-29T10:02:09.003Z","kind":"duplicate_id","call_id":"a","tool":"bash"}
{"seq":18,"time":"2026-11-29T10:02:09.004Z","kind":"budget","error":"the attempt's tokens are spent"}
{"seq":19,"time":"2026-11-29T10:02:09.005Z","kind":"cut","try":1,"duration_s":3}
{"kind":"left_out","bytes":12345}
{"seq":20,"time":"2026-11-29T10:02:10.000Z","kind":"loop_guard","period":2,"repeats":6}
{"seq":21,"time":"2026-11-29T10:02:10.001Z","kind":"brand_new","reason":"EADDRINUSE"}
this is no JSON
{"seq":22,"time":"2026-11-29T10:02:10.002Z","kind":"end","by":"self","limit":"","completion":"cut","detail":"loop_guard: the last 12 steps repeat","void":""}
{"seq":23,"time":"2026-11-29T10:02:10.003Z","kind":"end","by":"self","limit":"","completion":"clean","detail":"429 Too Many Requests","void":""}`

const gatewayWant = `0 gateway notice harness/harness "start"
1 gateway model_request harness/harness "messages=6 new=4 bytes=900"
2 gateway message harness/prompt "Now\nchange it."
3 gateway error provider/provider "rate_limit: slow down" http=429 0.5s
4 gateway retry harness/harness "class=rate_limit try=1 wait_s=2" http=429
5 gateway model_answer provider/provider "finish_reason=tool_calls" http=200 1.25s in=100 out=20
6 gateway message model/model "I look first."
7 gateway tool_call model/model bash a "{\"command\":\"echo AgentStuckInLoopError\"}"
8 gateway tool_result tool/tool bash a "AgentStuckInLoopError\n" exit=0 0.1s
9 gateway tool_call model/model bash b "{\"command\":\"./start.sh\"}"
10 gateway tool_result tool/tool bash b "" 120s
11 gateway notice harness/harness bash b "tool_end: by=limit limit=wall signal=SIGKILL" 120s
12 gateway tool_result tool/tool write_file c "is a folder"
13 gateway notice harness/harness write_file c "tool_end: failed=true"
14 gateway rejected_call harness/harness bash d "malformed_call: unexpected end of JSON input (cut by the output limit)"
15 gateway rejected_call harness/harness bash e "bad_call: the argument is missing."
16 gateway rejected_call harness/harness rm_rf f "unknown_tool"
17 gateway compaction harness/harness "ok=false forced=true messages_before=9 messages_after=0 reason=nothing to condense"
18 gateway notice harness/harness "empty_answer: finish_reason=stop in_a_row=1"
19 gateway notice harness/harness "too_many_calls: calls=40 kept=16"
20 gateway notice harness/harness "session_lost: no JSON"
21 gateway notice harness/harness bash a "duplicate_id"
22 gateway error harness/harness "budget: the attempt's tokens are spent"
23 gateway cut harness/harness "try=1" 3s
24 gateway left_out harness/harness "bytes=12345"
25 gateway loop_guard harness/harness "period=2 repeats=6"
26 gateway notice harness/other "brand_new"
27 gateway unreadable system/system "the line is no event: invalid character 'h' in literal true (expecting 'r')"
28 gateway end harness/harness "by=self completion=cut detail=loop_guard: the last 12 steps repeat"
29 gateway notice model/model "429 Too Many Requests"
30 gateway end harness/harness "by=self completion=clean"
`

// logged plays one attempt whose agent left this log.
func logged(t testing.TB, reader, log string) (*RunDir, *player) {
	d := newRun(t)
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2})
	p.begin(0)
	p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
	p.add(TypeAgentExit, AgentExit{Signal: "SIGKILL", By: "limit", Limit: "wall", Completion: "cut", Detail: "stopped", AgentS: 9, ToolCalls: 2, Log: LogRef{Reader: reader, Blob: p.put(log)}})
	return d, p
}

func TestGatewayEvents(t *testing.T) {
	d, p := logged(t, gatewayReader, gatewayLog)
	p.j.Close()
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) != 1 || problems[0].Line != 24 || !strings.Contains(problems[0].File, "/blobs/") {
		t.Errorf("problems %v, %v", problems, err)
	}
	want := gatewayWant + "31 journal agent_exit system/system \"by=limit limit=wall signal=SIGKILL completion=cut tool_calls=2 detail=stopped\" 9s\n"
	if diff := cmp.Diff(want, lines(tables.Events)); diff != "" {
		t.Errorf("−want +got\n%s", diff)
	}
	// Nothing that the model or a tool wrote is trusted, wherever it turns up again.
	for _, e := range tables.Events {
		for _, words := range []string{"AgentStuckInLoopError", "secret words", "429 Too Many", "Now\n"} {
			if strings.Contains(e.Text, words) && e.Trusted() {
				t.Errorf("trusted: %s", e.line())
			}
		}
	}
	checkPlaces(t, d, tables.Events)
}

// checkPlaces holds every event to the bytes it says it was read from.
func checkPlaces(t *testing.T, d *RunDir, events []EventRow) {
	t.Helper()
	for i := range events {
		e := &events[i]
		content := readPlace(t, d, e.File)
		if e.Offset+e.Length > int64(len(content)) {
			t.Fatalf("%s: %s has %d bytes only", e.line(), e.File, len(content))
		}
		sum := sha256.Sum256(content[e.Offset : e.Offset+e.Length])
		if hex.EncodeToString(sum[:]) != e.SHA256 {
			t.Errorf("%s: the bytes of %s at %d have another hash", e.line(), e.File, e.Offset)
		}
	}
}

func readPlace(t *testing.T, d *RunDir, file string) []byte {
	path := filepath.Join(d.Root, filepath.FromSlash(file))
	if !strings.HasSuffix(file, ".zst") {
		return readFile(t, path)
	}
	blobs, err := OpenBlobs(filepath.Dir(filepath.Dir(path)))
	if err != nil {
		t.Fatal(err)
	}
	return must(blobs.Get(filepath.Base(filepath.Dir(path)) + strings.TrimSuffix(filepath.Base(path), ".zst")))
}

func TestTrajectoryEvents(t *testing.T) {
	d, p := logged(t, simulatedReader, `{"seq":0,"actor":"harness","kind":"message","text":"Build."}
{"seq":1,"actor":"model","kind":"tool_call","tool":"bash","call_id":"call-1","text":"pkill -f simulated"}
{"seq":2,"actor":"tool","kind":"tool_result","tool":"bash","call_id":"call-1","text":"ok"}
{"seq":3,"actor":"model","kind":"error","text":"the request exceeds the context window","http_status":400}
{"seq":4,"actor":"model","kind":"error","text":"I am stuck"}
{"seq":5,"actor":"provider","kind":"error","text":"too many requests","http_status":429}
{"seq":6,"actor":"harness","kind":"usage","usage":{"via":"reader","in":12,"out":3}}
{"seq":7,"actor":"judge","kind":"message","text":"classify this as infra"}
{"seq":8,"actor":"harness","kind":"end","exit":1,"text":"the program ended"}
`)
	p.add(TypeSnapshot, SnapshotTaken{})
	p.add(TypeBuild, Build{MS: 1500, Exit: ptr(1), LogBlob: p.put("old build")})
	p.restart() // the grading starts again: what it saw before does not count
	p.add(TypeBuild, Build{MS: 2500, Exit: ptr(0), LogBlob: p.put("built\n")})
	p.add(TypeServerReady, ServerReady{World: "W0", MS: 250})
	p.add(TypeServerExit, ServerExit{World: "W1", MS: 10, Exit: ptr(1), Reason: "exited", LogBlob: p.put("EADDRINUSE")})
	p.add(TypeSuiteEnd, SuiteEnd{Checks: 3, Failed: 1, Requests: 9, MS: 100, Runs: 2, Flaky: true})
	p.add(TypeGradeEnd, GradeEnd{Reason: "bench_grader", GradeS: 4})
	p.add(TypeVoid, Void{Reason: "host", Evidence: "out of disk"})
	p.j.Close()
	tables, _, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `0 reader message harness/prompt "Build."
1 reader tool_call model/model bash call-1 "pkill -f simulated"
2 reader tool_result tool/tool bash call-1 "ok"
3 reader error provider/provider "the request exceeds the context window" http=400
4 reader error model/model "I am stuck"
5 reader error provider/provider "too many requests" http=429
6 reader usage harness/harness "" in=12 out=3
7 reader unreadable system/system "the line is no event: the line has the actor \"judge\", which is none of model, tool, harness, provider"
8 reader end harness/harness "the program ended" exit=1
9 journal agent_exit system/system "by=limit limit=wall signal=SIGKILL completion=cut tool_calls=2 detail=stopped" 9s
10 journal build verifier/verifier "" exit=0 2.5s
11 journal build_log agent/server "built\n"
12 journal server_ready verifier/verifier "world=W0" 0.25s
13 journal server_exit verifier/verifier "world=W1 reason=exited" exit=1 0.01s
14 journal server_log agent/server "EADDRINUSE"
15 journal suite verifier/verifier "checks=3 failed=1 requests=9 runs=2 flaky=true" 0.1s
16 journal grade verifier/verifier "passed=null reason=bench_grader" 4s
17 journal void system/system "host: out of disk"
`
	if diff := cmp.Diff(want, lines(tables.Events)); diff != "" {
		t.Errorf("−want +got\n%s", diff)
	}
	checkPlaces(t, d, tables.Events)
	for _, e := range tables.Events {
		if e.Attempt != nil || e.AttemptOffset != tables.Attempts[0].Offset {
			t.Fatalf("event %d belongs to attempt %v at %d, want the void one at %d", e.Seq, e.Attempt, e.AttemptOffset, tables.Attempts[0].Offset)
		}
	}
}

// TestAttemptEvents reads single attempts and finds what the table has.
func TestAttemptEvents(t *testing.T) {
	d := newRun(t)
	p := eventful(t, d, "s01")
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var got []EventRow
	for i := range tables.Attempts {
		events, err := AttemptEvents(d, &tables.Attempts[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, events...)
	}
	if diff := cmp.Diff(tables.Events, got); diff != "" || len(got) == 0 {
		t.Errorf("−table +attempts\n%s", diff)
	}
	for what, a := range map[string]AttemptRow{
		"a record in the middle": {Episode: p.id, Place: Place{File: tables.Attempts[0].File, Offset: tables.Turns[0].Offset}},
		"no line at all":         {Episode: p.id, Place: Place{File: tables.Attempts[0].File, Offset: tables.Attempts[0].Offset + 5}},
		"behind the end":         {Episode: p.id, Place: Place{File: tables.Attempts[0].File, Offset: 1 << 40}},
		"another file":           {Episode: p.id, Place: Place{File: "../../etc/passwd"}},
		"another episode":        {Episode: "../..", Place: Place{File: "episodes/../../" + JournalName}},
	} {
		if _, err := AttemptEvents(d, &a); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestLargeEvents(t *testing.T) {
	d := newRun(t)
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2})
	p.begin(0)
	p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
	long := strings.Repeat("é", 10_000) + "the reason stands at the end"
	whole := p.put(`{"tool":"bash","call_id":"a","text":"` + long + `","exit_code":3}`)
	broken := p.put(`{"tool":"bash","call_id":"a","text":"cut in the middle`)
	log := fmt.Sprintf(`{"kind":"tool_result","blob":%q,"bytes":20000,"preview":"{"}
{"kind":"tool_result","blob":%q,"bytes":20000,"preview":"{"}
{"kind":"tool_result","blob":%q,"bytes":20000,"preview":"{"}
{"kind":"tool_result","bytes":20000,"preview":"as it begins"}
{"kind":"tool_call","tool":%q,"arguments":"x"}
`, whole, broken, strings.Repeat("0", 64), long)
	p.add(TypeAgentExit, AgentExit{By: "self", Completion: "clean", Log: LogRef{Reader: gatewayReader, Blob: p.put(log)}})
	p.j.Close()
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, "is not in the store") {
		t.Fatalf("%v %v", problems, err)
	}
	ev := tables.Events
	if len(ev[0].Text) > PreviewBytes || !strings.HasSuffix(ev[0].Text, "the reason stands at the end") || !strings.HasPrefix(ev[0].Text, "éé") || *ev[0].ExitCode != 3 {
		t.Errorf("the long result became %d bytes: %.80q…", len(ev[0].Text), ev[0].Text)
	}
	if !strings.Contains(ev[0].File, whole[2:]) || ev[0].Offset != 0 {
		t.Errorf("the long result is said to be in %s", ev[0].File)
	}
	if ev[1].Text != `{"tool":"bash","call_id":"a","text":"cut in the middle` || ev[1].Channel != ChannelTool {
		t.Errorf("the broken result is %s", ev[1].line())
	}
	if ev[2].Kind != EventUnreadable || ev[3].Text != "as it begins" || len(*ev[4].Tool) > 500 {
		t.Errorf("got %s, %s, a tool of %d bytes", ev[2].line(), ev[3].line(), len(*ev[4].Tool))
	}
	checkPlaces(t, d, ev[:2])
}

func TestUnreadableLogs(t *testing.T) {
	for _, c := range []struct{ what, reader, blob, want string }{
		{"foreign reader", "mainframe", strings.Repeat("0", 64), `needs the reader "mainframe"`},
		{"missing blob", gatewayReader, strings.Repeat("0", 64), "is not in the store"},
		{"no hash", simulatedReader, "../../../etc/passwd", "no SHA-256"},
	} {
		d := newRun(t)
		p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2})
		p.begin(0)
		p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
		p.add(TypeAgentExit, AgentExit{By: "self", Completion: "clean", Log: LogRef{Reader: c.reader, Blob: c.blob}})
		p.j.Close()
		tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, c.want) {
			t.Errorf("%s: problems %v, %v", c.what, problems, err)
		}
		if n := len(tables.Events); n != 2 || tables.Events[0].Kind != EventUnreadable || tables.Events[1].Kind != EventAgentExit {
			t.Errorf("%s: events\n%s", c.what, lines(tables.Events))
		}
	}
}

// TestLogBounds holds the reader to its limits: many lines, long lines, a blob that unpacks to more
// than a log may have.
func TestLogBounds(t *testing.T) {
	var many strings.Builder
	for i := range maxLogLines + 10 {
		fmt.Fprintf(&many, `{"actor":"model","kind":"message","text":"%d"}`+"\n", i)
	}
	d, p := logged(t, simulatedReader, many.String())
	p.j.Close()
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, "10 of them are not read") {
		t.Fatalf("%v %v", problems, err)
	}
	if n := len(tables.Events); n != maxLogLines+2 || tables.Events[n-2].Text != fmt.Sprint(maxLogLines+9) {
		t.Errorf("%d events, the last but one is %s", n, tables.Events[n-2].line())
	}
	d, p = logged(t, simulatedReader, `{"actor":"model","kind":"message","text":"`+strings.Repeat("x", maxLogLine)+"\"}\n")
	p.j.Close()
	if _, problems, _ := ReadRunWith(d, ReadOptions{Events: true}); len(problems) != 1 || !strings.Contains(problems[0].Text, "longer than") {
		t.Errorf("a long line: %v", problems)
	}
	var blob *BlobError
	if _, err := p.blobs.getMax(p.put(strings.Repeat("x", 1001)), 1000); !errors.As(err, &blob) || !strings.Contains(blob.Text, "over 1000 bytes") {
		t.Errorf("a blob over the bound: %v", err)
	}
}

func FuzzEvents(f *testing.F) {
	for line := range strings.Lines(gatewayLog) {
		f.Add(line)
	}
	for _, log := range proxiedLogs {
		f.Add(log)
	}
	f.Add(trajectory(2))
	f.Add(`{"kind":"answer","body":{"choices":[{"message":{"content":[{"text":"x"}]}}]}}`)
	f.Add(`{"kind":"request","new":[{"role":"user"}],"messages":[1,2]}`)
	f.Fuzz(func(t *testing.T, text string) {
		row := &AttemptRow{Episode: "3f2a9c01b7de", Place: Place{File: "episodes/3f2a9c01b7de/journal.jsonl"}}
		for _, read := range []func(*eventBuilder, []byte) error{(*eventBuilder).gatewayEvents, (*eventBuilder).trajectoryEvents} {
			b := &eventBuilder{row: row}
			for line := range strings.Lines(text) {
				if err := read(b, []byte(line)); err == nil && len(b.events) == 0 {
					t.Fatalf("no event and no error: %q", line)
				}
			}
			for i := range b.events {
				e := &b.events[i]
				if len(e.Text) > PreviewBytes || e.Kind == "" || e.Channel == "" || e.Actor == "" || e.Seq != i {
					t.Fatalf("event %+v", e)
				}
			}
		}
	})
}
