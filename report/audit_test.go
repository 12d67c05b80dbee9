package report

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// TestBrowserAudit labels by keyboard an item whose evidence is hostile: it is shown as text and nothing of it runs.
func TestBrowserAudit(t *testing.T) {
	const episode = "0123456789ab"
	hostile := `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	attempt, no := 0, false
	tables := &logs.Tables{
		Episodes: []logs.EpisodeRow{{Episode: episode}},
		Attempts: []logs.AttemptRow{{Episode: episode, Attempt: &attempt, Passed: &no}},
		Checks:   []logs.CheckRow{{Episode: episode, Check: "k", Status: "fail", Request: hostile, Expected: "200", Actual: "500"}},
	}
	d := &logs.RunDir{Root: t.TempDir()}
	a := classify.NewAuditor(d, tables, classify.Codebook(), &classify.AuditSample{Items: []classify.AuditItem{{ID: "i001", Episode: episode}, {ID: "i002", Attention: "rate-limit"}}})
	page := &AuditPage{Auditor: a, Token: "t0ken", Person: "ada", Now: time.Now}
	server := httptest.NewServer(page)
	defer server.Close()
	page.Hosts = LoopbackHosts(server.Listener.Addr())

	b := openURL(t, server.URL+"/t0ken/", "#who", 1200, false)
	wait := func(what, expr string) {
		t.Helper()
		for range 200 {
			if eval[bool](t, b, expr) {
				return
			}
			time.Sleep(25 * time.Millisecond)
		}
		t.Fatalf("%s: not seen; the page says %q", what, eval[string](t, b, `document.body.innerText`))
	}
	wait("the question who labels", `!document.querySelector("#who").hidden && document.querySelector("#name").value === "ada"`)
	b.click(t, "#who button")
	wait("the first item", `document.querySelectorAll("#evidence .text").length > 0`)
	if text := eval[string](t, b, `document.querySelector("#evidence").textContent`); !strings.Contains(text, hostile) {
		t.Errorf("the hostile request is not shown as it is: %s", text)
	}
	press := func(keys string) {
		t.Helper()
		b.do(t, chromedp.KeyEvent(keys))
	}
	press("d")
	press("1")
	wait("the definition of the label", `document.querySelector("#leaves [aria-pressed=true]")?.dataset.leaf === "drift.too_lax"`)
	press("\r")
	wait("the second item", `document.querySelector("#place").textContent.includes("item 2 of 2")`)
	press("c")
	press("\r")
	wait("the end", `document.querySelector("#said").textContent.includes("last item")`)
	if title := eval[string](t, b, `document.title`); title != "stint audit" {
		t.Errorf("a script of the evidence ran: the title is %q", title)
	}
	labels, bad, err := classify.ReadAuditLabels(d)
	if err != nil || bad != 0 || len(labels) != 2 || labels[0].Label() != "drift.too_lax" || labels[1].Label() != classify.StratumAbstain || labels[1].Item != "i002" {
		t.Errorf("labels %+v, %d bad, %v", labels, bad, err)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, server.URL+"/t0ken/") && r != "data:," && !strings.HasSuffix(r, "/favicon.ico") {
			t.Errorf("the page asked for %s", r)
		}
	}
}
