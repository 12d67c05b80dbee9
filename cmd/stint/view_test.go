package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report/reporttest"
)

// viewing starts the viewer in this process and gives its address, with the token. It ends with the test.
func viewing(t *testing.T, dir string) string {
	t.Helper()
	out, in := io.Pipe()
	var errs bytes.Buffer
	e := &env{Stdin: strings.NewReader(""), Stdout: in, Stderr: &errs, Getenv: os.Getenv, Now: time.Now, Self: "stint", Stint: os.Args[0]}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		code := e.execute(ctx, []string{"view", dir, "--name", "ada"})
		in.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitInterrupted && code != exitDone {
			t.Errorf("view ended with %d: %s", code, errs.String())
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("view printed no address: %v", err)
	}
	return strings.TrimSpace(address)
}

// TestView opens a folder of a run and of ingested tables without a browser.
func TestView(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "session.jsonl", session)
	auditStint(t, exitDone, "", "ingest", filepath.Join(dir, "session.jsonl"), "-o", filepath.Join(dir, "tables"))
	auditStint(t, exitInput, "", "view", filepath.Join(dir, "nothing"))
	auditStint(t, exitInput, "", "view", dir, "--addr", "0.0.0.0:0")
	auditStint(t, exitInput, "", "view", dir, "--name", "adjudicated")
	address := viewing(t, dir)
	root := address[:strings.LastIndex(strings.TrimSuffix(address, "/"), "/")]
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := client.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, _ := get(root + "/"); code != http.StatusForbidden {
		t.Errorf("without the token: %d", code)
	}
	if code, text := get(address + "tables/"); code != 200 || !strings.Contains(text, `content="0;url=/tables/"`) {
		t.Errorf("with the token: %d\n%s", code, text)
	}
	for path, want := range map[string]string{"/": `href="/tables/"`, "/tables/": "codex"} {
		if code, text := get(root + path); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, lacks %q\n%s", path, code, want, text)
		}
	}
	if code, text := get(root + "/tables/audit/"); code != http.StatusNotFound || !strings.Contains(text, "no audit page") {
		t.Errorf("the audit page of a log: %d\n%s", code, text)
	}
}

// foreignRun is the log of another runner: two samples, one of which failed.
const foreignRun = `{"version":2,"status":"success","eval":{"task":"quiz","task_id":"q","run_id":"r","created":"2025-01-01T00:00:00+00:00","model":"other/model"},
"samples":[
{"id":1,"epoch":1,"input":"What is two and two?","target":"4","messages":[{"role":"user","content":"What is two and two?"},{"role":"assistant","content":"Four, <script>alert(1)</script>"}],"output":{"model":"other/model","choices":[{"message":{"role":"assistant","content":"Four"},"stop_reason":"stop"}]},"scores":{"match":{"value":"C","answer":"4"}}},
{"id":2,"epoch":1,"input":"What is two and three?","target":"5","messages":[{"role":"user","content":"What is two and three?"},{"role":"assistant","content":"Six"}],"output":{"model":"other/model","choices":[{"message":{"role":"assistant","content":"Six"},"stop_reason":"stop"}]},"scores":{"match":{"value":"I","answer":"6"}}}
]}`

// TestBrowserView reads a study with simulated agents and a foreign log in Chromium, as people do: sort, filter, drill
// down to the evidence, compare two, label an item, come back by a deep link. No page complains or asks another host.
func TestBrowserView(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("takes many seconds: .ci/run does it")
	}
	run, _ := auditedRun(t)
	dir := filepath.Dir(run)
	writeFile(t, dir, "quiz.json", strings.ReplaceAll(foreignRun, "\n", ""))
	auditStint(t, exitDone, "", "ingest", filepath.Join(dir, "quiz.json"), "-o", filepath.Join(dir, "quiz"))
	address := viewing(t, dir)
	root := address[:strings.LastIndex(strings.TrimSuffix(address, "/"), "/")]
	b := reporttest.Open(t, address, ".studies", 1200)
	v := &viewed{t, b, root}
	v.list()
	evidence := v.drillDown()
	v.compares()
	v.labels(run)
	v.foreign()
	b.Go(root+evidence, "#verdict")
	b.Wait("the way to the verdict", `document.querySelector("#verdict").textContent.includes("How this was decided")`)
	b.Check(root + "/")
}

// viewed is the viewer in a browser.
type viewed struct {
	t    *testing.T
	b    *reporttest.Browser
	root string
}

func (v *viewed) texts(selector string) []string {
	v.t.Helper()
	return reporttest.Eval[[]string](v.b, `[...document.querySelectorAll("`+selector+`")].map(e => e.textContent.trim())`)
}

// list sorts and filters the episodes.
func (v *viewed) list() {
	t, b := v.t, v.b
	t.Helper()
	b.Press("j", "j", "\r") // quiz, then run
	b.Wait("the study", `location.pathname === "/run/" && document.querySelectorAll("#heat .cell").length === 10`)
	if class := reporttest.Eval[string](b, `getComputedStyle(document.querySelector("#heat .heat0, #heat .cell")).backgroundColor`); class == "rgba(0, 0, 0, 0)" {
		t.Error("the cells of the heat map have no colour")
	}
	b.Click(`#episodes th:nth-child(4) a`)
	b.Wait("the order by turns", `document.querySelector("#episodes th:nth-child(4)").ariaSort === "descending"`)
	turns := v.texts("#episode-rows td:nth-child(4)")
	if len(turns) != 10 || turns[0] < turns[9] {
		t.Errorf("sorted by turns: %v", turns)
	}
	b.Press("/")
	b.Wait("the field", `document.activeElement.name === "filter"`)
	reporttest.Eval[string](b, `document.activeElement.value = ""`) // where the driver types the key after its page took it
	b.Press("end_l1:drift", "\r")
	b.Wait("the filtered list", `new URL(location).searchParams.get("filter") === "end_l1:drift"`)
	ends := v.texts("#episode-rows td:nth-child(5)")
	if len(ends) == 0 || len(ends) == 10 {
		t.Errorf("filtered by drift: %v", ends)
	}
	for _, end := range ends {
		if !strings.HasPrefix(strings.TrimLeft(end, "● "), "drift.") {
			t.Errorf("filtered by drift: %q", end)
		}
	}
}

// drillDown goes from a cell to the evidence by keyboard and links, and gives the address of the attempt.
func (v *viewed) drillDown() string {
	t, b := v.t, v.b
	t.Helper()
	b.Click("#episode-rows tr:first-child a")
	b.Wait("the episode", `document.querySelector("#turns tr") !== null`)
	b.Click("#ended a") // why
	b.Wait("the attempt", `document.querySelector("#verdict .path") !== null`)
	if marks := v.texts("#checks mark"); len(marks) == 0 {
		t.Error("no difference between expected and actual is marked")
	}
	at := reporttest.Eval[string](b, `location.pathname`)
	href := reporttest.Eval[string](b, `document.querySelector(".evidence .place a").getAttribute("href")`)
	b.Go(v.root+href, "main h1")
	b.Wait("the line of the transcript", `location.hash.startsWith("#event-") && document.querySelector(location.hash) !== null`)
	b.Go(v.root+at, ".evidence")
	href = reporttest.Eval[string](b, `[...document.querySelectorAll(".evidence .place a")].find(a => a.textContent === "the bytes").getAttribute("href")`)
	b.Go(v.root+href, "main h1")
	if text := reporttest.Eval[string](b, `document.querySelector("#range").textContent`); !strings.Contains(text, `"type":"grade.end"`) {
		t.Errorf("the bytes of the first evidence: %q", text)
	}
	return at
}

// compares puts two configurations side by side by the form of the study.
func (v *viewed) compares() {
	t, b := v.t, v.b
	t.Helper()
	b.Go(v.root+"/run/", "#heat")
	b.Click(".controls form button")
	b.Wait("the comparison", `document.querySelectorAll("#both tr").length > 1`)
	if heads := v.texts(".both thead th"); len(heads) != 4 || heads[1] == heads[2] {
		t.Errorf("side by side: %q", heads)
	}
}

// labels labels one item in the audit page.
func (v *viewed) labels(run string) {
	t, b := v.t, v.b
	t.Helper()
	b.Go(v.root+"/run/", "#heat")
	b.Click(`.controls a[href="/run/audit/"]`)
	b.Wait("the question who labels", `location.pathname === "/run/audit/" && !document.querySelector("#who").hidden && document.querySelector("#name").value === "ada"`)
	b.Click("#who button")
	b.Wait("the first item", `document.querySelectorAll("#evidence .text").length > 0`)
	b.Press("d", "1", "\r")
	b.Wait("the second item", `document.querySelector("#place").textContent.includes("item 2 of")`)
	labels, bad, err := classify.ReadAuditLabels(&logs.RunDir{Root: run})
	if err != nil || bad != 0 || len(labels) != 1 || labels[0].Annotator != "ada" {
		t.Errorf("labels %+v, %d bad, %v", labels, bad, err)
	}
}

// foreign goes down to the failing check of a log that stint did not write.
func (v *viewed) foreign() {
	t, b := v.t, v.b
	t.Helper()
	b.Go(v.root+"/quiz/?sort=turns", "#heat")
	if cells := v.texts("#heat .cell"); len(cells) != 2 {
		t.Errorf("cells of the log: %q", cells)
	}
	b.Click("#episode-rows tr:first-child a")
	b.Wait("the episode", `document.querySelector("#turns tr") !== null`)
	b.Click(".attempts a")
	b.Wait("the attempt", `document.querySelector("#checks") !== null`)
	if got := v.texts("#checks .sides code"); len(got) != 2 || got[0] != "5" || got[1] != "6" {
		t.Errorf("expected and actual: %q", got)
	}
	b.Click(".ways a")
	b.Wait("the transcript", `document.querySelector("h1").textContent === "Transcript"`)
	if text := reporttest.Eval[string](b, `document.querySelector("main").textContent`); !strings.Contains(text, "What is two and three?") {
		t.Errorf("the transcript: %q", text)
	}
}
