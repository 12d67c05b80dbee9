package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// auditedStudy has ends of drift and of infrastructure.
const auditedStudy = `version: 1
name: audited
seed: 11
scenarios: {count: 5, changes: 4}
configs:
  - {model: weak, harness: simulated, feedback: none, retries: 0}
  - {model: weak, harness: simulated, feedback: minimal, retries: 1}
models:
  weak: {simulate: weak, transport: inproc}
agent: {process_retries: 0}
sandbox: none
`

// auditStint runs the command in this process with lines to read.
func auditStint(t *testing.T, want int, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	return stintHere(t, want, &env{Stdin: strings.NewReader(stdin), Getenv: os.Getenv}, args...)
}

// stintHere runs the command in this process, in an environment that lacks only what is the same for all.
func stintHere(t *testing.T, want int, e *env, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e.Stdout, e.Stderr, e.Now, e.Self, e.Stint = &out, &errs, time.Now, "stint", os.Args[0]
	if got := e.execute(context.Background(), args); got != want {
		t.Fatalf("stint %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// auditedRun makes a classified run with a sample.
func auditedRun(t *testing.T) (dir string, s *classify.AuditSample) {
	t.Helper()
	dir = t.TempDir()
	study := writeFile(t, dir, "study.yaml", auditedStudy)
	dir = filepath.Join(dir, "run")
	auditStint(t, exitDone, "", "run", study, "-o", dir, "-q")
	auditStint(t, exitInput, "", "audit", "sample", dir) // there are no verdicts yet
	auditStint(t, exitDone, "", "classify", dir, "-q")
	auditStint(t, exitInput, "", "audit", "tty", dir, "--name", "ada") // and no sample
	auditStint(t, exitDone, "", "audit", "sample", dir)
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = classify.ReadAuditSample(d); err != nil || s == nil {
		t.Fatalf("sample %v, %v", s, err)
	}
	return dir, s
}

// truths are the answers of somebody who agrees with every verdict.
func truths(s *classify.AuditSample) []string {
	var out []string
	for _, it := range s.Items {
		label := it.Stratum
		for _, a := range classify.Attentions() {
			if a.Name == it.Attention {
				label = a.Leaf
			}
		}
		if label == classify.StratumAbstain {
			label = "c"
		}
		out = append(out, label)
	}
	return out
}

// TestAuditByPeople is an audit from the sample to the report: two people, one who stops and goes on, a dispute that
// is settled, and a rebuild of the verdicts that touches no label.
func TestAuditByPeople(t *testing.T) {
	dir, s := auditedRun(t)
	answers := truths(s)
	auditStint(t, exitDone, strings.Join(answers[:3], "\n")+"\nq\n", "audit", "tty", dir, "--name", "ada")
	out, _ := auditStint(t, exitDone, strings.Join(answers[3:], "\n")+"\n", "audit", "tty", dir, "--name", "ada")
	if !strings.Contains(out, fmt.Sprintf("── item 4 of %d", len(s.Items))) || strings.Contains(out, "── item 3 of") {
		t.Errorf("the second session does not go on with item 4:\n%.400s", out)
	}
	for _, word := range []string{"weak", "simulated", "minimal", "none/r0"} {
		if strings.Contains(strings.ReplaceAll(out, "simulated agent", ""), word) {
			t.Errorf("an item shows %q: whoever labels must not know what was run", word)
		}
	}
	if out, _ = auditStint(t, exitDone, "", "audit", "tty", dir, "--name", "ada"); !strings.Contains(out, "every item has a label of yours") {
		t.Errorf("a third session: %s", out)
	}
	wrong := append([]string{}, answers...)
	for i, it := range s.Items {
		if it.Ordinary() && wrong[i] != "bench.verifier" {
			wrong[i] = "bench.verifier"
			break
		}
	}
	auditStint(t, exitDone, strings.Join(wrong, "\n")+"\n", "audit", "tty", dir, "--name", "bob")

	var r classify.AuditReport
	report := func() {
		t.Helper()
		text, _ := auditStint(t, exitDone, "", "audit", "report", dir, "--json")
		r = classify.AuditReport{}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
	}
	report()
	if r.Labelled != r.Items || r.Twice != r.Items || len(r.Disputed) != 1 || len(r.Errors) != 0 || len(r.People) != 2 {
		t.Errorf("labelled %d and twice %d of %d, disputed %v, errors %v", r.Labelled, r.Twice, r.Items, r.Disputed, r.Errors)
	}
	if p := r.People[0]; p.Name != "ada" || p.Labelled != r.Items || p.Repeats == 0 || p.Same != p.Repeats || p.Attention == 0 || p.Right != p.Attention {
		t.Errorf("ada: %+v", p)
	}
	before := readAll(t, filepath.Join(dir, "verdicts", "people.jsonl"))
	if out, _ = auditStint(t, exitDone, "bench.verifier\n", "audit", "tty", dir, "--adjudicate"); !strings.Contains(out, "somebody said bench.verifier") {
		t.Errorf("what people said is not shown to whoever settles it:\n%s", out)
	}
	report()
	if len(r.Disputed) != 0 || len(r.Errors) != 1 || r.Errors[0].Label != "bench.verifier" {
		t.Errorf("after settling: disputed %v, errors %+v", r.Disputed, r.Errors)
	}
	for _, p := range r.Prevalence {
		if p.Label == "bench" && (*p.Raw.Value != 0 || *p.Corrected.Value <= 0 || p.Corrected.CI == nil || !p.Few) {
			t.Errorf("share of bench: %+v", p)
		}
	}

	if err := os.Remove(filepath.Join(dir, "verdicts", "rules.jsonl")); err != nil {
		t.Fatal(err)
	}
	auditStint(t, exitDone, "", "classify", dir, "-q")
	after := readAll(t, filepath.Join(dir, "verdicts", "people.jsonl"))
	if !strings.HasPrefix(after, before) || strings.Count(after, "\n") != strings.Count(before, "\n")+1 {
		t.Error("a rebuild of the verdicts touched the labels of people")
	}
	// What people settled counts: the tables say who decided the end.
	if text, _ := auditStint(t, exitDone, "", "explain", dir, r.Errors[0].Verdict); !strings.Contains(text, "person adjudicated: bench.verifier") {
		t.Errorf("explain does not show the label of people:\n%s", text)
	}
	if text, _ := auditStint(t, exitDone, "", "audit", "report", dir); !strings.Contains(text, "corrected: post-stratified") || !strings.Contains(text, "people (rows) and people (columns)") {
		t.Errorf("the report in words:\n%s", text)
	}
	auditStint(t, exitInput, "", "audit", "sample", dir, "--n", "3")
	auditStint(t, exitDone, "", "audit", "sample", dir, "--n", "3", "--replace")
	report()
	if r.Labelled != r.Items || r.Items != 3 {
		t.Errorf("labels are lost with another sample: %d of %d", r.Labelled, r.Items)
	}
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAuditPage asks the page as a browser does, and as those do who should not.
func TestAuditPage(t *testing.T) {
	p := newAuditedPage(t)
	code, text, header := p.ask("GET", "/secret/", "", nil)
	if code != 200 || !strings.Contains(text, "audit.js") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(text) || !strings.Contains(header.Get("Content-Security-Policy"), "script-src 'self';") {
		t.Errorf("the page: %d %s", code, header)
	}
	p.refuses()
	p.shows()
	p.takesLabelsAtOnce()
	p.mendsTornLines()
	auditStint(t, exitInput, "", "audit", "serve", p.run.Root, "--addr", "0.0.0.0:0")
	auditStint(t, exitInput, "", "audit", "serve", p.run.Root, "--name", "adjudicated")
}

// auditedPage is the page of a run, served, with an item and the label that ada gives it.
type auditedPage struct {
	t      *testing.T
	run    *logs.RunDir
	server *httptest.Server
	item   string
	label  string
}

func newAuditedPage(t *testing.T) *auditedPage {
	t.Helper()
	dir, s := auditedRun(t)
	d, a, err := openAudit(&env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: os.Getenv, Now: time.Now, Self: "stint"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	page := &report.AuditPage{Auditor: a, Token: "secret", Now: time.Now}
	p := &auditedPage{t: t, run: d, server: httptest.NewServer(page)}
	t.Cleanup(p.server.Close)
	page.Hosts = report.LoopbackHosts(p.server.Listener.Addr())
	for _, it := range s.Items {
		if it.Ordinary() {
			p.item = it.ID
		}
	}
	p.label = fmt.Sprintf(`{"person":"ada","item":%q,"label":"drift.too_lax","quotes":[],"note":"","seconds":3}`, p.item)
	return p
}

func (p *auditedPage) ask(method, path, body string, change func(*http.Request)) (int, string, http.Header) {
	p.t.Helper()
	r, err := http.NewRequest(method, p.server.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	b.ReadFrom(resp.Body)
	return resp.StatusCode, b.String(), resp.Header
}

// refuses sends what is refused and must leave no label behind.
func (p *auditedPage) refuses() {
	t, label := p.t, p.label
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		want               int
	}{
		"foreign host":    {"GET", "/secret/", "", func(r *http.Request) { r.Host = "evil.example" }, 421},
		"no token":        {"GET", "/", "", nil, 403},
		"wrong token":     {"GET", "/secreu/state", "", nil, 403},
		"another site":    {"GET", "/secret/state", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"foreign origin":  {"POST", "/secret/label", label, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"a form":          {"POST", "/secret/label", label, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"method":          {"DELETE", "/secret/label", "", nil, 405},
		"no such file":    {"GET", "/secret/../../etc/passwd", "", nil, 404},
		"no such item":    {"GET", "/secret/item?id=i999", "", nil, 400},
		"no such label":   {"POST", "/secret/label", strings.Replace(label, "drift.too_lax", "drift.nonsense", 1), nil, 400},
		"reserved name":   {"POST", "/secret/label", strings.Replace(label, "ada", "adjudicated", 1), nil, 400},
		"invented quote":  {"POST", "/secret/label", strings.Replace(label, `"quotes":[]`, `"quotes":[{"id":"facts","quote":"it was the weather"}]`, 1), nil, 400},
		"a huge label":    {"POST", "/secret/label", strings.Replace(label, `"note":""`, `"note":"`+strings.Repeat("x", 300<<10)+`"`, 1), nil, 413},
		"unknown field":   {"POST", "/secret/label", strings.Replace(label, `"note"`, `"nose"`, 1), nil, 400},
		"search too long": {"GET", "/secret/log?id=" + p.item + "&q=" + strings.Repeat("x", 300), "", nil, 400},
	} {
		if code, text, _ := p.ask(c.method, c.path, c.body, c.change); code != c.want {
			t.Errorf("%s: %d, want %d: %s", name, code, c.want, text)
		}
	}
	if labels, _, err := classify.ReadAuditLabels(p.run); err != nil || len(labels) != 0 {
		t.Fatalf("%d labels were written by requests that were refused, %v", len(labels), err)
	}
}

// shows asks for the evidence of the item and for a word of its log.
func (p *auditedPage) shows() {
	t := p.t
	_, text, _ := p.ask("GET", "/secret/item?id="+p.item, "", nil)
	var v classify.AuditView
	if err := json.Unmarshal([]byte(text), &v); err != nil || len(v.Texts) == 0 || v.Texts[0].ID != "facts" || v.Log == 0 {
		t.Fatalf("item: %v\n%s", err, text)
	}
	if _, text, _ = p.ask("GET", "/secret/log?id="+p.item+"&q=suite", "", nil); !strings.Contains(text, `"found":`) || strings.Contains(text, `"found":0`) {
		t.Errorf("the log is not found by a word of it: %s", text)
	}
}

// takesLabelsAtOnce: two people label at the same time, and one of them in two windows.
func (p *auditedPage) takesLabelsAtOnce() {
	t := p.t
	var wg sync.WaitGroup
	for _, who := range []string{"ada", "bob", "bob"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				body := strings.Replace(p.label, "ada", who, 1)
				r, _ := http.NewRequest("POST", p.server.URL+"/secret/label", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != 200 {
					t.Errorf("%s: %v, %v", who, resp, err)
				}
			}
		}()
	}
	wg.Wait()
	labels, bad, err := classify.ReadAuditLabels(p.run)
	if err != nil || bad != 0 || len(labels) != 15 {
		t.Fatalf("%d labels and %d bad lines, %v", len(labels), bad, err)
	}
	most := map[string]int{}
	for _, l := range labels {
		most[l.Annotator] = max(most[l.Annotator], l.Revision)
	}
	if most["ada"] != 5 || most["bob"] != 10 {
		t.Errorf("revisions %v", most)
	}
}

// mendsTornLines: a line that was being written when stint was killed goes; one that a person wrote without an end stays.
func (p *auditedPage) mendsTornLines() {
	t := p.t
	path := filepath.Join(p.run.VerdictsDir(), "people.jsonl")
	whole := readAll(t, path)
	for _, tail := range []string{`{"episode":"`, strings.TrimSpace(whole[:strings.Index(whole, "\n")])} {
		if err := os.WriteFile(path, []byte(whole+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, text, _ := p.ask("POST", "/secret/label", p.label, nil); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		want := 16
		if json.Valid([]byte(tail)) {
			want = 17
		}
		if labels, bad, err := classify.ReadAuditLabels(p.run); err != nil || bad != 0 || len(labels) != want {
			t.Errorf("after %.20s…: %d labels, %d bad, want %d", tail, len(labels), bad, want)
		}
	}
}
