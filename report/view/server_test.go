package view

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// madeTables writes a folder of tables: two configurations on two scenarios, one of them with a failed turn.
func madeTables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := logs.WriteTables(dir, madeStudy()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ptr[T any](v T) *T { return &v }

// hostile is a name that would be a script in a page that does not escape.
const hostile = "<script>alert(1)</script>\u202e\x1b[31m"

func madeStudy() *logs.Tables {
	t := &logs.Tables{}
	for _, e := range []struct {
		id, config, scenario string
		passed               int
	}{{"aaaaaaaaaaaa", "m+h/none/r0", "s01", 1}, {"bbbbbbbbbbbb", "m+h/detailed/r2", "s01", 2}, {"cccccccccccc", "m+h/none/r0", hostile, 0}} {
		row := logs.EpisodeRow{Episode: e.id, Config: e.config, Scenario: e.scenario, Repeat: 1, TurnsMax: 2, TurnsPassed: ptr(e.passed), Validity: logs.ValidityValid, EndReason: ptr("failed"), Model: "m", Harness: "h"}
		if e.passed == 2 {
			row.EndReason = ptr(logs.StatusCapped)
		}
		t.Episodes = append(t.Episodes, row)
		for n := range min(e.passed+1, 2) {
			ok := n < e.passed
			t.Turns = append(t.Turns, logs.TurnRow{Episode: e.id, Turn: n, Operation: "add_field:1", ChangeText: ptr("Add a field.\n" + hostile), Passed: &ok, AttemptsUsed: ptr(1), Checks: 3})
			t.Attempts = append(t.Attempts, logs.AttemptRow{Episode: e.id, Turn: n, Attempt: ptr(0), Kind: "first", Passed: &ok, GradeReason: ptr("checks"), Completion: ptr("clean")})
			if !ok {
				t.Checks = append(t.Checks,
					logs.CheckRow{Episode: e.id, Turn: n, Attempt: 0, Check: "k1", Clauses: []string{"c1"}, Status: "fail", Request: "GET /a " + hostile, Expected: `200; name = "ada"`, Actual: `404; name = "bob"`},
					logs.CheckRow{Episode: e.id, Turn: n, Attempt: 0, Check: "k2", Clauses: []string{"c1"}, Status: "not_run"})
			}
		}
	}
	return t
}

const token = "0123456789abcdef"

// served is a server of a folder, and a browser with its cookie.
type served struct {
	t      *testing.T
	server *httptest.Server
	cookie *http.Cookie
}

func serve(t *testing.T, dir string) *served {
	t.Helper()
	v := &served{t: t, server: httptest.NewUnstartedServer(nil)}
	s, err := New(Options{Dir: dir, Token: token, Hosts: report.LoopbackHosts(v.server.Listener.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	v.server.Config.Handler = s
	v.server.Start()
	t.Cleanup(v.server.Close)
	code, _, header := v.ask("/"+token+"/x", nil)
	if c, err := http.ParseSetCookie(header.Get("Set-Cookie")); err == nil {
		v.cookie = c
	}
	if code != 200 || v.cookie == nil || !v.cookie.HttpOnly || v.cookie.SameSite != http.SameSiteStrictMode {
		t.Fatalf("entering: %d, %v", code, header)
	}
	return v
}

// ask asks for a page, without following where it leads.
func (v *served) ask(path string, change func(*http.Request)) (int, string, http.Header) {
	v.t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = v.server.Listener.Addr().String()
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	v.server.Config.Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

// page asks for a page that has to be there.
func (v *served) page(path string) string {
	v.t.Helper()
	code, text, header := v.ask(path, nil)
	if code != 200 {
		v.t.Fatalf("%s: %d\n%s", path, code, text)
	}
	if p := header.Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'self';") || strings.Contains(p, "unsafe") {
		v.t.Errorf("%s: policy %q", path, p)
	}
	return text
}

// TestRefuses sends what is not answered.
func TestRefuses(t *testing.T) {
	v := serve(t, madeTables(t))
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"foreign host":  {"/", func(r *http.Request) { r.Host = "evil.example" }, 421},
		"no cookie":     {"/", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		"wrong token":   {"/" + token + "0/", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		"another site":  {"/", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"method":        {"/", func(r *http.Request) { r.Method = "DELETE" }, 405},
		"no such study": {"/nope/", nil, 404},
		"no such page":  {"/_/../../etc/passwd", nil, 404},
		"no such asset": {"/_/x", nil, 404},
	} {
		if code, text, _ := v.ask(c.path, c.change); code != c.want {
			t.Errorf("%s: %d, want %d: %.200s", name, code, c.want, text)
		}
	}
	_, text, _ := v.ask("/"+token+"//evil.example/", nil)
	if strings.Contains(text, `url=//`) || strings.Contains(text, `href="//`) {
		t.Errorf("the token leads to another host:\n%s", text)
	}
}

// TestPages opens every page, from the list to an attempt.
func TestPages(t *testing.T) {
	v := serve(t, madeTables(t))
	code, _, header := v.ask("/", nil)
	home := header.Get("Location")
	if code != http.StatusSeeOther || home == "" {
		t.Fatalf("a single study is opened at once: %d %v", code, header)
	}
	for path, want := range map[string]string{
		home:                            `href="` + home + `e/aaaaaaaaaaaa"`,
		home + "e/aaaaaaaaaaaa":         `href="` + home + `e/aaaaaaaaaaaa/t/1/a/0"`,
		home + "e/aaaaaaaaaaaa/t/1":     "Add a field.",
		home + "e/aaaaaaaaaaaa/t/1/a/0": `<mark>404</mark>; name = &#34;<mark>bob</mark>&#34;`,
		home + "compare?scenario=s01&a=m%2Bh%2Fnone%2Fr0&b=m%2Bh%2Fdetailed%2Fr2": "2 turns were reached on both sides, 1 of them went differently",
		home + "?filter=" + query(`config:"m+h/detailed/r2"`):                     "1 episode, 1 to 1",
		home + "?filter=full+s01":                                                 "0 episodes",
		home + "?filter=nose:x":                                                   "unknown key",
		home + "?sort=-turns":                                                     `aria-sort="descending"`,
		"/_/view.css":                                                             "--drift:var(--c",
		"/_/view.js":                                                              "use strict",
	} {
		text := v.page(path)
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, text)
		}
		if strings.Contains(text, "<script>") || strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("%s: what a run holds is not shown as text:\n%s", path, text)
		}
	}
}

// TestHeatMapIsBounded shows what fits on a page of very many configurations and scenarios, and says what it left out.
func TestHeatMapIsBounded(t *testing.T) {
	for _, c := range []struct{ configs, scenarios, down, across, left, aside int }{
		{3, 40, 3, 40, 0, 0}, {3, 41, 41, 3, 0, 0}, {2, 500, 400, 2, 100, 0}, {50, 60, 50, 40, 0, 20}, {0, 0, 0, 0, 0, 0},
	} {
		o := &overview{}
		for i := range c.configs {
			for k := range c.scenarios {
				o.Episodes = append(o.Episodes, logs.EpisodeRow{Config: fmt.Sprintf("c%02d", i), Scenario: fmt.Sprintf("s%03d", k), TurnsMax: 1, TurnsPassed: ptr(k % 2)})
			}
		}
		m := heatOf(&study{Slug: "x"}, o)
		if len(m.Down) != c.down || len(m.Across) != c.across || m.Left != c.left || m.Aside != c.aside {
			t.Errorf("%d × %d: %d lines, %d columns, %d and %d left out; want %+v", c.configs, c.scenarios, len(m.Down), len(m.Across), m.Left, m.Aside, c)
		}
		for _, row := range m.Down {
			if len(row.Cells) != c.across || len(row.Cells[0].Runs) != 1 {
				t.Errorf("%d × %d: the line %s has %d cells", c.configs, c.scenarios, row.Full, len(row.Cells))
				break
			}
		}
	}
}
