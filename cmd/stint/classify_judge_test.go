package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// judgedStudy has failed attempts of drift and some of infrastructure.
const judgedStudy = `version: 1
name: judged
seed: 11
scenarios: {count: 2, changes: 5}
mode: continue
` + weakConfigs

// judgeRun makes a run with failed attempts.
func judgeRun(t *testing.T) string { return judgeRunOf(t, judgedStudy) }

func judgeRunOf(t *testing.T, study string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", study)
	judgeStint(t, exitDone, "run", filepath.Join(dir, "study.yaml"), "-o", filepath.Join(dir, "run"), "-q")
	return filepath.Join(dir, "run")
}

// judgeKey is the key that no test may find anywhere.
const judgeKey = "sk-judge-0123456789abcdef0123"

// judgeStint runs the command in this process, with a judge that waits no second for an endpoint.
func judgeStint(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	return stintHere(t, want, &env{Stdin: strings.NewReader(""), testOnlyJudgeWait: time.Millisecond, Getenv: func(name string) string {
		if name == "JUDGE_KEY" {
			return judgeKey
		}
		return os.Getenv(name)
	}}, args...)
}

// judgeServer is an endpoint that answers as a model that reads well: it names the first failing check and quotes it.
type judgeServer struct {
	*httptest.Server
	t   *testing.T
	way func(n int, w http.ResponseWriter, answer string) bool // true = it has answered

	mu     sync.Mutex
	bodies []string
	whole  []string // that were answered
}

func newJudgeServer(t *testing.T) *judgeServer {
	t.Helper()
	s := &judgeServer{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *judgeServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+judgeKey {
		s.t.Errorf("%s with %q: %v", r.URL, r.Header.Get("Authorization"), err)
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	n, way := len(s.bodies), s.way
	s.mu.Unlock()
	answer, err := readWell(body)
	if err != nil {
		s.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if way != nil && way(n, w, answer) {
		return
	}
	s.mu.Lock()
	s.whole = append(s.whole, string(body))
	s.mu.Unlock()
	fmt.Fprint(w, chatAnswer(answer, "stop"))
}

func (s *judgeServer) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

var judgeCode = regexp.MustCompile(`(?m)^([A-Z]{2}[0-9]): (.*)$`)

// readWell answers a judge's request: drift.too_lax with a quote of the first check, else infra.provider_error with one of
// what a provider said, or that it cannot tell.
func readWell(body []byte) (string, error) {
	var r struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	var items []map[string]string
	if err := json.Unmarshal(body, &r); err != nil || len(r.Messages) < 2 {
		return "", fmt.Errorf("no request of a judge: %w", err)
	}
	if err := json.Unmarshal([]byte(r.Messages[1].Content), &items); err != nil {
		return "", fmt.Errorf("the packet: %w", err)
	}
	code := func(leaf string) string {
		for _, m := range judgeCode.FindAllStringSubmatch(r.Messages[0].Content, -1) {
			if strings.HasPrefix(m[2], classify.Codebook().Leaf(leaf).Definition[:20]) {
				return m[1]
			}
		}
		return "?"
	}
	field := func(it map[string]string, name string) string {
		for k, v := range it {
			if strings.HasPrefix(k, name+"_") {
				return v
			}
		}
		return ""
	}
	packet, answer := "", map[string]any{"violated_requirement": nil, "first_bad_event": nil, "label": code(classify.LeafInsufficient), "runner_up": nil,
		"recovered_events": []int{}, "need": nil, "certainty": "high", "abstain_reason": "no_checks", "summary": "x",
		"evidence": []any{map[string]string{"event": "facts", "quote": "how the agent ended", "role": "cause"}}}
	for _, it := range items {
		switch text := field(it, "text"); field(it, "id") {
		case "packet":
			packet = strings.TrimPrefix(text, "packet_id: ")
		case "k1":
			clause, _, _ := strings.Cut(strings.TrimPrefix(text, "clauses: "), "\n")
			clause, _, _ = strings.Cut(clause, ",")
			_, request, _ := strings.Cut(text, "request: ")
			request, _, _ = strings.Cut(request, "\n")
			answer["label"], answer["violated_requirement"], answer["abstain_reason"] = code("drift.too_lax"), clause, nil
			answer["evidence"] = []any{map[string]string{"event": "k1", "quote": "request: " + request[:min(len(request), 60)], "role": "cause"}}
		default:
			if strings.HasPrefix(field(it, "channel"), "provider · error") && answer["violated_requirement"] == nil {
				answer["label"], answer["abstain_reason"] = code("infra.provider_error"), nil
				answer["evidence"] = []any{map[string]string{"event": field(it, "id"), "quote": text, "role": "cause"}}
			}
		}
	}
	answer["packet_id"] = packet
	b, err := json.Marshal(answer)
	return string(b), err
}

// TestClassifyJudge: a judge is asked through a real endpoint; what it says is shown, in the tables, and paid for once.
func TestClassifyJudge(t *testing.T) {
	run := judgeRun(t)
	s := newJudgeServer(t)
	args := []string{"classify", run, "--judge", "tiny", "--base-url", s.URL + "/v1", "--key-env", "JUDGE_KEY", "--max-calls", "500", "--all"}
	judgeStint(t, exitInput, append(slices.Clone(args[:6]), "--key-env", "JUDGE_KEY")...) // a judge of unknown price without a ceiling
	judgeStint(t, exitDone, "classify", run, "-q")
	rules, err := os.ReadFile(filepath.Join(run, "verdicts", "rules.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs := judgeStint(t, exitDone, args...)
	n := s.calls()
	d, err := logs.OpenRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := logs.ReadTables(d.TablesDir())
	if err != nil {
		t.Fatal(err)
	}
	judged, failed := 0, 0
	id := ""
	for _, v := range tables.Verdicts {
		if v.AnnotatorKind != logs.AnnotatorJudge {
			failed++
			continue
		}
		var ev []classify.Evidence
		if err := json.Unmarshal([]byte(v.Evidence), &ev); err != nil {
			t.Fatal(err)
		}
		if v.Strength == logs.StrengthJudged {
			judged++
			id = fmt.Sprintf("%s@%d.%d", v.Episode, v.Turn, v.Attempt)
			if len(ev) == 0 || !strings.HasPrefix(ev[0].Quote, "request: ") || ev[0].SHA256 == "" || ev[0].File == "" || !strings.HasPrefix(v.Annotator, "tiny:") {
				t.Errorf("%+v", v)
			}
		}
	}
	if judged == 0 || failed < 5 || !strings.Contains(out, fmt.Sprintf("%d attempts to ask about", failed)) || !strings.Contains(out, "of the rules the judge gives the same to") {
		t.Errorf("%d judged of %d\n%s", judged, failed, out)
	}
	if !strings.Contains(errs, "judge.jsonl") {
		t.Errorf("stderr: %s", errs)
	}
	if out, _ := judgeStint(t, exitDone, "explain", run, id); !strings.Contains(out, "judge tiny:") || !strings.Contains(out, "cause: “request: ") || !strings.Contains(out, "← counts") {
		t.Errorf("explain %s:\n%s", id, out)
	}
	// What is shown is what was sent, but for the key, which is nowhere.
	shown, _ := judgeStint(t, exitDone, "classify", run, "--show-packet", id, "--judge", "tiny")
	var a, b any
	if err := json.Unmarshal([]byte(shown), &a); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.bodies, func(body string) bool { return json.Unmarshal([]byte(body), &b) == nil && cmp.Equal(a, b) }) {
		t.Errorf("the packet that is shown was not sent:\n%s", shown)
	}
	judgeStint(t, exitDone, args...)
	if s.calls() != n {
		t.Errorf("%d calls for what was answered", s.calls()-n)
	}
	if after, err := os.ReadFile(filepath.Join(run, "verdicts", "rules.jsonl")); err != nil || !bytes.Equal(rules, after) {
		t.Errorf("the verdicts of the rules are other bytes: %v", err)
	}
	err = filepath.WalkDir(filepath.Join(run, "verdicts"), func(path string, _ os.DirEntry, err error) error {
		if text, readErr := os.ReadFile(path); readErr == nil && strings.Contains(string(text), judgeKey) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil || strings.Contains(out+errs+shown, judgeKey) {
		t.Errorf("the key is printed, or %v", err)
	}
}

// TestClassifyJudgeEndpoints: what endpoints do wrong is said, leaves no verdict, and the same command goes on later.
func TestClassifyJudgeEndpoints(t *testing.T) {
	run := judgeRun(t)
	fail := func(status int, body string) func(int, http.ResponseWriter, string) bool {
		return func(_ int, w http.ResponseWriter, _ string) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	say := func(content func(string) string) func(int, http.ResponseWriter, string) bool {
		return func(_ int, w http.ResponseWriter, answer string) bool {
			fmt.Fprint(w, chatAnswer(content(answer), "stop"))
			return true
		}
	}
	for name, tt := range map[string]struct {
		way  func(int, http.ResponseWriter, string) bool
		exit int
		says string
	}{
		"HTML": {fail(200, "<html><body>Sign in</body></html>"), exitIncomplete, "check --base-url (it usually ends with /v1): this is a page"},
		"quota": {fail(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota"}}`), exitIncomplete,
			"nothing left"},
		"wrong key": {fail(401, `{"error":{"message":"Incorrect API key provided: `+judgeKey+`"}}`), exitFailed, "--key-env"},
		"half an answer": {func(_ int, w http.ResponseWriter, answer string) bool {
			w.Header().Set("Content-Length", "9999")
			fmt.Fprint(w, chatAnswer(answer, "stop")[:60])
			return true
		}, exitIncomplete, "cut"},
		"hangs":             {func(int, http.ResponseWriter, string) bool { time.Sleep(120 * time.Millisecond); return false }, exitIncomplete, "no answer within 50ms"},
		"cut JSON":          {say(func(answer string) string { return answer[:40] }), exitDone, "judge_incomplete"},
		"echoes the packet": {say(func(string) string { return `[{"id_0":"packet","text_0":"packet_id: x"}]` }), exitDone, "judge_incomplete"},
		"no temperature, no schema": {func(n int, w http.ResponseWriter, _ string) bool {
			switch n {
			case 1:
				return fail(400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0"}}`)(n, w, "")
			case 2, 3:
				return fail(400, `{"error":{"message":"response_format: json_schema is not supported by this model"}}`)(n, w, "")
			}
			return false
		}, exitDone, "asked as json_object"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(filepath.Join(run, "verdicts")); err != nil {
				t.Fatal(err)
			}
			s := newJudgeServer(t)
			s.way = tt.way
			args := []string{"classify", run, "--judge", "tiny", "--base-url", s.URL + "/v1", "--key-env", "JUDGE_KEY", "--max-calls", "400", "--all", "--jobs", "1", "--timeout", "50ms"}
			if name != "hangs" {
				args[len(args)-1] = "20s"
			}
			out, errs := judgeStint(t, tt.exit, args...)
			if !strings.Contains(out+errs, tt.says) || strings.Contains(out+errs, judgeKey) || strings.Contains(out+errs, "<html>\n") {
				t.Errorf("stdout:\n%s\nstderr:\n%s", out, errs)
			}
			if judged := judgedRows(t, run); (tt.exit == exitDone && name != "cut JSON" && name != "echoes the packet") != (judged > 0) {
				t.Errorf("%d rows of the judge with a label", judged)
			}
			if tt.exit != exitDone {
				s.way = nil
				judgeStint(t, exitDone, append(args[:len(args)-2:len(args)-2], "--max-calls", "900")...)
				if judgedRows(t, run) == 0 {
					t.Error("the same command does not go on")
				}
			}
		})
	}
}

func judgedRows(t *testing.T, run string) (n int) {
	t.Helper()
	rows, problems, err := logs.ReadVerdicts(&logs.RunDir{Root: run})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, v := range rows {
		if v.AnnotatorKind == logs.AnnotatorJudge && v.Strength == logs.StrengthJudged {
			n++
		}
	}
	return n
}

// TestClassifyJudgeKilled ends a pass by kill -9 when its ledger has reached line k and starts the same command again:
// the rows are those of an unbroken pass, and no answer is paid for twice.
func TestClassifyJudgeKilled(t *testing.T) {
	run := judgeRun(t)
	s := newJudgeServer(t)
	pass := func(extra ...string) {
		t.Helper()
		cmd := command(t, filepath.Dir(run), append(extra, "JUDGE_KEY="+judgeKey), "classify", "run", "--judge", "tiny", "--base-url", s.URL+"/v1", "--key-env", "JUDGE_KEY", "--max-calls", "500", "--all", "--jobs", "1", "-q")
		if out, err := cmd.CombinedOutput(); (err != nil) != (len(extra) > 0) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	state := func() (rows []logs.VerdictRow, rules string, digest map[string]string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(run, "verdicts", "rules.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		rows, problems, err := logs.ReadVerdicts(&logs.RunDir{Root: run})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		for i := range rows {
			rows[i].Place = logs.Place{}
		}
		digest, _ = digests(t, run)
		return rows, string(b), digest
	}
	pass()
	wantRows, wantRules, wantDigest := state()
	asked := len(s.whole)
	ledger, err := os.ReadFile(filepath.Join(run, "verdicts", "judge", "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(ledger, []byte("\n"))
	kills := 3
	if os.Getenv("STINT_REQUIRE") != "" {
		kills = 20
	}
	people := writeFile(t, filepath.Join(run, "verdicts"), "people.jsonl", "")
	rng := rand.New(rand.NewPCG(20261129, 10))
	for range kills {
		for _, name := range []string{"judge", "judge.jsonl", "rules.jsonl"} {
			if err := os.RemoveAll(filepath.Join(run, "verdicts", name)); err != nil {
				t.Fatal(err)
			}
		}
		s.whole = nil
		k := 1 + rng.IntN(lines)
		pass(fmt.Sprintf("%s=%d", killAtVar, k))
		pass()
		rows, rules, digest := state()
		if diff := cmp.Diff(wantRows, rows); diff != "" || rules != wantRules || !cmp.Equal(wantDigest, digest) {
			t.Errorf("killed at line %d: %s\ndigest %v, want %v", k, diff, digest, wantDigest)
		}
		if len(s.whole) != asked {
			t.Errorf("killed at line %d: %d answers are paid for instead of %d", k, len(s.whole), asked)
		}
	}
	if _, err := os.Stat(people); err != nil {
		t.Error(err)
	}
}

// TestClassifyJudgeFlags: bad combinations are refused before anything is asked.
func TestClassifyJudgeFlags(t *testing.T) {
	run := judgeRun(t)
	for _, bad := range [][]string{
		{"--base-url", "http://127.0.0.1:1/v1"}, {"--judge", "m"}, {"--judge", "m", "--base-url", "ftp://x", "--max-calls", "1"},
		{"--judge", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-usd", "1"}, {"--judge", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-calls", "1", "--max-votes", "2"},
		{"--judge", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-calls", "-1"}, {"--judge", "m", "--base-url", "https://example.com/v1", "--max-calls", "1", "--no-redact"},
		{"--judge", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-calls", "1", "--key-env", "STINT_TEST_NO_SUCH_KEY"}, {"--show-packet", "nothing"},
	} {
		judgeStint(t, exitInput, append([]string{"classify", run}, bad...)...)
	}
}

// askedModel passes requests on to a real model and counts those that were answered whole, by what they ask. It lets the
// model keep what it has read: an answer that was cut is asked for again, and reading takes longest.
type askedModel struct {
	*httptest.Server
	mu       sync.Mutex
	answered map[string]int
}

// askedBody is the key of a request's body in its context.
type askedBody struct{}

func newAskedModel(t *testing.T, base string) *askedModel {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	m := &askedModel{answered: map[string]int{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		ModifyResponse: func(r *http.Response) error {
			answer, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(answer))
			if body, ok := r.Request.Context().Value(askedBody{}).(string); ok && err == nil && r.StatusCode == http.StatusOK {
				m.mu.Lock()
				m.answered[body]++
				m.mu.Unlock()
			}
			return err
		}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the asking program was killed
		}
		kept := append([]byte(`{"cache_prompt":true,`), bytes.TrimPrefix(body, []byte("{"))...)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(kept)), int64(len(kept))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askedBody{}, string(body))))
	}))
	t.Cleanup(m.Close)
	return m
}

// TestRealModelJudges lets a real small model, served on loopback, judge at least twenty failures that were planted, with a
// kill -9 in the middle. It is no judge: what counts is that nothing it says is taken for more than it is, and that nothing
// is paid for twice. So that it takes two minutes, an answer has little room, and most of them are cut.
func TestRealModelJudges(t *testing.T) { realModelJudges(t, "32") }

// TestRealModelAnswers is the same with room for whole answers, whose quotes are looked up.
func TestRealModelAnswers(t *testing.T) { realModelJudges(t, "300") }

func realModelJudges(t *testing.T, room string) {
	t.Helper()
	model := newAskedModel(t, require(t, "STINT_TEST_MODEL_URL", "a local model"))
	run := judgeRunOf(t, strings.Replace(judgedStudy, "changes: 5", "changes: 4", 1)) // just above twenty: each takes seconds
	args := []string{"classify", run, "--judge", "smollm2-135m", "--base-url", model.URL + "/v1", "--max-calls", "400", "--context", "4096", "--packet-tokens", "400", "--max-output", room, "--timeout", "10m",
		"--max-votes", "1", "--jobs", "1", "--all", "--json"}
	began := time.Now()
	killed := command(t, filepath.Dir(run), []string{killAtVar + "=13"}, args...)
	if err := killed.Run(); err == nil || killed.ProcessState.ExitCode() != -1 {
		t.Fatalf("the pass was not killed: %v", err)
	}
	before := len(model.answered)
	t.Logf("killed after %s, %d answers", time.Since(began).Round(time.Second), before)
	var c verdictCounts
	out, _ := judgeStint(t, exitDone, args...)
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %+v", time.Since(began).Round(time.Second), c.Judge)
	for body, n := range model.answered {
		if n > 1 {
			t.Errorf("paid for %d times: %.300s", n, body)
		}
	}
	if before == 0 || int64(c.Judge.Calls) == c.Judge.Spent.Calls {
		t.Errorf("%d answers before the kill, %d of %d calls afterwards", before, c.Judge.Calls, c.Judge.Spent.Calls)
	}
	rows, problems, err := logs.ReadVerdicts(&logs.RunDir{Root: run})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	n := 0
	for _, v := range rows {
		if v.AnnotatorKind != logs.AnnotatorJudge {
			continue
		}
		n++
		switch {
		case v.Strength == logs.StrengthAbstain:
			if v.L1 != "unknown" || v.AbstainReason == nil || v.Evidence != "[]" {
				t.Errorf("%+v", v)
			}
		case v.Strength != logs.StrengthJudged || v.Leaf != nil && classify.Codebook().Leaf(*v.Leaf) == nil:
			t.Errorf("an invalid answer is stored: %+v", v)
		default:
			quotesStand(t, args, &v)
		}
	}
	if n < 20 || c.Judge.Candidates != n || c.Judge.Done != n {
		t.Errorf("%d rows of the judge, want at least 20; %+v", n, c.Judge)
	}
	spent, answered := c.Judge.Spent.Calls, len(model.answered)
	out, _ = judgeStint(t, exitDone, args...)
	c = verdictCounts{}
	if err := json.Unmarshal([]byte(out), &c); err != nil || c.Judge.Calls != 0 || c.Judge.Spent.Calls != spent || len(model.answered) != answered {
		t.Errorf("again: %v, %+v", err, c.Judge)
	}
}

// quotesStand looks every published quote up in the packet that the judge was shown.
func quotesStand(t *testing.T, args []string, v *logs.VerdictRow) {
	t.Helper()
	shown, _ := judgeStint(t, exitDone, append(slices.Clone(args), "--show-packet", fmt.Sprintf("%s@%d.%d", v.Episode, v.Turn, v.Attempt))...)
	var r struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	var items []map[string]string
	var quotes []classify.Evidence
	if err := json.Unmarshal([]byte(shown), &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(r.Messages[1].Content), &items); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(v.Evidence), &quotes); err != nil || len(quotes) == 0 && v.L1 != "unknown" {
		t.Fatalf("%s: %v", v.Evidence, err)
	}
	for _, q := range quotes {
		found := slices.ContainsFunc(items, func(it map[string]string) bool {
			for _, text := range it {
				if strings.Contains(strings.Join(strings.Fields(text), " "), q.Quote) || strings.Contains(q.Quote, "…") || strings.Contains(q.Quote, "...") {
					return true
				}
			}
			return false
		})
		if !found {
			t.Errorf("%q is published and in no packet", q.Quote)
		}
	}
}

// TestClassifyJudgeOfStudy: a judge that is a model of the study needs no address; its id, window and limit are the
// study's.
func TestClassifyJudgeOfStudy(t *testing.T) {
	s := newJudgeServer(t)
	dir := t.TempDir()
	writeFile(t, dir, "prices.yaml", "- {model: reader, from: 2020-01-01, usd_per_mtok: {input: 1.0, output: 4.0}, source: \"made up for this test\"}\n")
	writeFile(t, dir, "study.yaml", strings.Replace(judgedStudy, "models:\n", fmt.Sprintf("models:\n  reader: {api: chat, url: %q, id: reader-0520, key_env: JUDGE_KEY, context: 8k}\n", s.URL+"/v1"), 1)+
		"prices: prices.yaml\njudge: {model: reader, max_usd: 0.02}\n")
	run := filepath.Join(dir, "run")
	judgeStint(t, exitDone, "run", filepath.Join(dir, "study.yaml"), "-o", run, "-q")
	out, errs := judgeStint(t, exitIncomplete, "classify", run, "--judge", "reader", "--all")
	if !strings.Contains(out, "judge reader-0520:") || !strings.Contains(errs, "ceiling of $0.02") || !strings.Contains(errs, "raise --max-usd") {
		t.Errorf("%s\n%s", out, errs)
	}
	for _, body := range s.bodies {
		if !strings.Contains(body, `"model":"reader-0520"`) {
			t.Errorf("asked %s", body[:60])
		}
	}
	judgeStint(t, exitDone, "classify", run, "--judge", "reader", "--all", "--max-usd", "5")
}
