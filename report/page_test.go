package report

import (
	"encoding/xml"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// pageOf returns the page of a report.
func pageOf(t testing.TB, in Input) string {
	t.Helper()
	rep, figures, err := newReport(in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rep.page(in, figures)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// awkwardSets are the inputs of which a report must be right, readable and inert.
func awkwardSets() map[string]*logs.OutcomeSet {
	sets := figureSets()
	for _, name := range []string{"26", "deep", "studied", "four", "no cap"} {
		delete(sets, name) // what they are about is in the figures alone
	}
	half := newSet(20)
	for i := range 6 {
		row := addRun(half, "a", strconv.Itoa(i), 1, float64(i), "stopped", "")
		row.Incomplete = i > 2
		addRun(half, "b", strconv.Itoa(i), 1, float64(2*i), "", "")
	}
	sets["half-written"] = half
	sets["no failures"] = judged(onePair(13, []float64{13, 13, 13}, []float64{13, 13, 13}))
	hostile := newSet(20)
	for i, name := range hostileNames() {
		for k := range 7 {
			addRun(hostile, name, name+strconv.Itoa(k), 1, float64((i*3+k*k)%20), "", "")
		}
	}
	sets["hostile"] = judged(hostile)
	return sets
}

// hostileNames hold what HTML, scripts, CSS, TeX, Markdown, CSV and terminals act on.
func hostileNames() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style></svg><svg onload=alert(1)>`, `{{.Title}} ${x} javascript:alert(1)`,
		"\x1b]8;;http://example.com\x07x\x1b[2J", `\input{x}$\write18{y}$`, "=HYPERLINK(\"http://example.com\")", strings.Repeat("x", 300), strings.Repeat("long ", 60), "\u202eevil\u2066",
	}
}

var (
	scriptTag = regexp.MustCompile(`(?i)<script`)
	fetched   = regexp.MustCompile(`(?i)\s(?:src|href|xlink:href|action|data)="([^"]*)"|url\(([^)]*)\)|@import`)
)

// checkPage holds that a page is self-contained and inert.
func checkPage(t *testing.T, name, page string) {
	t.Helper()
	if n := len(scriptTag.FindAllString(page, -1)); n != 1 {
		t.Errorf("%s: %d script elements", name, n)
	}
	for _, m := range fetched.FindAllStringSubmatch(page, -1) {
		target := m[1] + m[2]
		local := strings.HasPrefix(target, "#") || target == "data:," || strings.HasPrefix(target, "figures/") || target == "summary.json" || target == "results.tex"
		if !local {
			t.Errorf("%s: the page points to %q", name, m[0])
		}
	}
	body := page[strings.Index(page, "<body>"):strings.Index(page, "<script>")]
	if strings.ContainsAny(page, "\x1b\x07\u202e\u2066") {
		t.Errorf("%s: control or bidirectional characters", name)
	}
	if strings.Contains(page, "NaN") && !strings.Contains(page, "isNaN") || strings.Contains(page, "%!") {
		t.Errorf("%s: NaN or a broken format", name)
	}
	for _, must := range []string{`http-equiv="Content-Security-Policy"`, "default-src 'none'", "sha256-", `<h2>What was run</h2>`, "<figcaption>"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#39;", "'"), must) {
			t.Errorf("%s: the page does not hold %s", name, must)
		}
	}
	checkSections(t, name, body)
}

// checkSections holds that the elements of the body are closed in order, the ids are distinct, and nothing is a handler.
func checkSections(t *testing.T, name, body string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(body + "</body>"))
	dec.Strict, dec.AutoClose, dec.Entity = true, []string{"input", "br"}, xml.HTMLEntity
	ids := make(map[string]bool)
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			if strings.Contains(err.Error(), "element <main> closed by </body>") {
				return // the rest of main stands after the script
			}
			t.Errorf("%s: the body is not well formed: %v", name, err)
			return
		}
		if e, ok := tok.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
					t.Errorf("%s: a handler %s=%q of %s", name, a.Name.Local, a.Value, e.Name.Local)
				}
				if a.Name.Local == "id" {
					if ids[a.Value] {
						t.Errorf("%s: id %q twice", name, a.Value)
					}
					ids[a.Value] = true
				}
			}
		}
	}
}

func TestPagesOfAwkwardSets(t *testing.T) {
	for name, set := range awkwardSets() {
		t.Run(name, func(t *testing.T) {
			in := Input{Study: "study <b>" + hostileNames()[0], Comparison: mustCompare(t, set, CompareOptions{Episodes: true}), Again: "stint report '<i>'"}
			page := pageOf(t, in)
			checkPage(t, name, page)
			if len(page) > 5e6 {
				t.Errorf("the page has %d bytes", len(page))
			}
		})
	}
}

// TestPageSays holds what the first screen and the sections must tell.
func TestPageSays(t *testing.T) {
	set := judged(harnesses(true))
	for i := range set.Rows {
		usd := 10.0
		set.Rows[i].USD = &usd
	}
	page := pageOf(t, Input{Study: "three harnesses", Comparison: mustCompare(t, set, CompareOptions{Episodes: true, Families: declared()}), Tables: someTables()})
	at := 0
	for _, want := range []string{
		"<h1>three harnesses</h1>", "How long do 3 configurations keep a growing program correct?", "opencode passed 58.0 of 101 turns on average",
		`id="figure-mean-turns"`, "58.0 of 101", "5 of 60", "drift : infra", "dollars per passed turn", "Who lasts how long", `id="table-configurations"`, `id="figure-still-going"`, `id="figure-heat-map"`,
		"<h2>What is significant</h2>", `id="table-family-1"`, `id="figure-pairwise-matrix"`, "paired Prentice–Wilcoxon", "<h2>Why they fail</h2>", `id="figure-causes"`, "<h2>What it cost</h2>", "<h2>Methods</h2>", `id="note-1"`,
		"<h2>What was run</h2>", `id="table-episodes"`,
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("the page does not hold %q after byte %d", want, at)
		}
		at += i
	}
	if strings.Contains(page, "retry-curve") {
		t.Error("a retry curve without attempts")
	}
}

// TestPageOfOutcomes: a plain file gets the parts its data allow.
func TestPageOfOutcomes(t *testing.T) {
	set := newSet(0)
	set.ValueName = "score"
	addRuns(set, "a", 0, 0.41, 0.5, 0.62, 0.3, 0.77, 0.58)
	addRuns(set, "b", 0, 0.31, 0.4, 0.65, 0.2, 0.7, 0.5)
	page := pageOf(t, Input{Study: "scores", Comparison: mustCompare(t, set, CompareOptions{})})
	for _, absent := range []string{"still-going", "retry-curve", "figure-causes", "drift : infra", "dollars per passed turn", "What it cost", "Why they fail", "turns passed"} {
		body := page[strings.Index(page, "<body>"):strings.Index(page, "<script>")]
		if strings.Contains(body, absent) {
			t.Errorf("the page of plain scores holds %q", absent)
		}
	}
	for _, want := range []string{"Which of 2 configurations reaches what in 6 scenarios?", `id="figure-heat-map"`, `id="table-family-1"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

// TestPageInTheDark holds that every colour on the background has its partner with the contrast of a mark, and
// that an inlined figure has no colour of the light theme left but those of heat map and matrix.
func TestPageInTheDark(t *testing.T) {
	page := inTheDark()[0][1]
	for _, p := range inTheDark()[1:] {
		l, d := p[1], page
		contrast := (luminance(l) + 0.05) / (luminance(d) + 0.05)
		least := 3.0
		switch p[0] {
		case lightTheme().grid, lightTheme().stopped, lightTheme().other:
			least = 1.4 // grid, and greys that carry no meaning alone
		case lightTheme().text:
			least = 4.5
		}
		if contrast < least {
			t.Errorf("%s in the dark has a contrast of %.2f", hexOf(p[0]), contrast)
		}
	}
	f, err := Forest(mustCompare(t, harnesses(false), CompareOptions{Episodes: true}))
	if err != nil {
		t.Fatal(err)
	}
	if m := svgColour.FindString(inlineSVG(f.SVG, f.Title)); m != "" {
		t.Errorf("the colour %s does not change in the dark", m)
	}
}

var element = regexp.MustCompile(`<[a-z]+[\s>/]`)

// TestReportOfManyEpisodes holds the promise of size for 26 configurations × 20 scenarios × 101 turns, and tells the time:
// 5 s on a quiet machine with two cores.
func TestReportOfManyEpisodes(t *testing.T) {
	set := studied(26, 20, 10, 101)
	tables := &logs.Tables{}
	for i := range set.Rows {
		row := &set.Rows[i]
		usd := float64(i) / 100
		row.USD = &usd
		n := int64(1000 * (i + 1))
		e := logs.EpisodeRow{Episode: "e" + strconv.Itoa(10000+i), Config: row.Config, Scenario: row.Scenario, Repeat: row.Repeat, Model: "model", Harness: "harness", HarnessVersion: "1.0",
			Feedback: "detailed", Retries: 10, Session: "continue", Validity: "valid", Sandbox: "bubblewrap 0.8", CostUSD: &usd}
		e.Input, e.Output = &n, &n
		tables.Episodes = append(tables.Episodes, e)
	}
	start, dir := time.Now(), filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Study: "full", Comparison: mustCompare(t, set, CompareOptions{Episodes: true}), Tables: tables}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	page := readTree(t, dir)["index.html"]
	if len(page) > 5e6 {
		t.Errorf("the page has %d bytes", len(page))
	}
	n := len(element.FindAllString(page, -1))
	if n > 20_000 {
		t.Errorf("the page has %d elements", n)
	}
	for _, name := range []string{"mean-turns", "still-going", "heat-map", "pairwise-matrix", "paired-differences", "retry-curve", "failure-rates", "causes", "power", "ranks"} {
		if !strings.Contains(page, `id="figure-`+name+`"`) {
			t.Errorf("the page has no figure %s", name)
		}
	}
	t.Logf("%d bytes, %d elements in %v", len(page), n, took)
}
