package report

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report/reporttest"
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

	b := reporttest.Open(t, server.URL+"/t0ken/", "#who", 1200)
	b.Wait("the question who labels", `!document.querySelector("#who").hidden && document.querySelector("#name").value === "ada"`)
	b.Click("#who button")
	b.Wait("the first item", `document.querySelectorAll("#evidence .text").length > 0`)
	if text := reporttest.Eval[string](b, `document.querySelector("#evidence").textContent`); !strings.Contains(text, hostile) {
		t.Errorf("the hostile request is not shown as it is: %s", text)
	}
	b.Press("d")
	b.Press("1")
	b.Wait("the definition of the label", `document.querySelector("#leaves [aria-pressed=true]")?.dataset.leaf === "drift.too_lax"`)
	b.Press("\r")
	b.Wait("the second item", `document.querySelector("#place").textContent.includes("item 2 of 2")`)
	b.Press("c")
	b.Press("\r")
	b.Wait("the end", `document.querySelector("#said").textContent.includes("last item")`)
	if title := reporttest.Eval[string](b, `document.title`); title != "stint audit" {
		t.Errorf("a script of the evidence ran: the title is %q", title)
	}
	labels, bad, err := classify.ReadAuditLabels(d)
	if err != nil || bad != 0 || len(labels) != 2 || labels[0].Label() != "drift.too_lax" || labels[1].Label() != classify.StratumAbstain || labels[1].Item != "i002" {
		t.Errorf("labels %+v, %d bad, %v", labels, bad, err)
	}
	b.Check(server.URL + "/t0ken/")
}
