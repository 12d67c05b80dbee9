package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A browser is Chromium with one page of a report open, and everything it complained about or asked for.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	said     []string // errors and console messages
	requests []string
}

// openPage opens a page from disk, of the given width. The test skips where there is no Chromium.
func openPage(t *testing.T, path string, width int64, dark bool) *browser {
	t.Helper()
	return openURL(t, (&url.URL{Scheme: "file", Path: path}).String(), "footer", width, dark)
}

// openURL opens an address and waits until it has what a selector finds.
func openURL(t *testing.T, address, ready string, width int64, dark bool) *browser {
	t.Helper()
	program := os.Getenv("STINT_TEST_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		missing(t, "chromium (on PATH, or named by STINT_TEST_CHROMIUM)")
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(t, chromedp.EmulateViewport(width, 900))
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(t, b, network.Enable, network.EnableParams{})
	call(t, b, log.Enable, cdp.Empty{})
	call(t, b, runtime.Enable, cdp.Empty{})
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.do(t, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS(ready)))
	return b
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, "console."+string(e.Type))
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// call sends one command of the protocol.
func call[P, R any](t *testing.T, b *browser, cmd cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, cmd, params); err != nil {
		t.Fatalf("%s: %v", cmd.Method, err)
	}
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// click clicks on the first element that a CSS selector finds.
func (b *browser) click(t *testing.T, selector string) {
	t.Helper()
	b.do(t, chromedp.Click(chromedp.CSS(selector)))
}

// eval runs an expression in the page.
func eval[T any](t *testing.T, b *browser, expr string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// check holds that the page complained about nothing and asked for nothing but itself.
func (b *browser) check(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console holds %q", b.said)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, "file:///") && r != "data:," {
			t.Errorf("the page asked for %s", r)
		}
	}
	if len(b.requests) == 0 {
		t.Error("not even the page was asked for: nothing was watched")
	}
}

// cellsOf lists the shown cells of a column, without their footnote marks.
func cellsOf(table string, i int) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#table-%s tbody tr:not(.hidden):not(.inplace)")].map(r => {
		const cell = r.cells[%d].cloneNode(true);
		cell.querySelectorAll(".marks").forEach(m => m.remove());
		return cell.textContent;
	})`, table, i)
}

// TestBrowser opens a report as its readers do: it sorts by click and by key, filters, opens footnotes in place,
// leads from numbers to their runs, and copies tables, without an error and without a request.
func TestBrowser(t *testing.T) {
	set := judged(harnesses(true))
	for i := range set.Rows {
		if row := &set.Rows[i]; strings.Contains(row.Config, "builtin") {
			row.Config = strings.Replace(row.Config, "builtin", hostileNames()[1], 1)
		}
	}
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Study: hostileNames()[0], Comparison: mustCompare(t, set, CompareOptions{Episodes: true})}); err != nil {
		t.Fatal(err)
	}
	b := openPage(t, filepath.Join(dir, "index.html"), 1200, false)
	if got := eval[string](t, b, `document.querySelector("h1").textContent`); got != hostileNames()[0] {
		t.Errorf("title %q", got)
	}
	means := cellsOf("configurations", 2)
	head := `#table-configurations thead tr:last-child th:nth-child(3)`
	want := eval[[]string](t, b, means)
	if len(want) != 3 || want[0] != "58.0" || want[2] != "8.7" {
		t.Fatalf("means %v", want)
	}
	b.click(t, head+" button")
	b.click(t, head+" button")
	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	if got := eval[[]string](t, b, means); !slices.Equal(got, reversed) || eval[string](t, b, `document.querySelector("`+head+`").getAttribute("aria-sort")`) != "ascending" {
		t.Errorf("sorted by two clicks: %v", got)
	}
	b.do(t, chromedp.Focus(chromedp.CSS(head+" button")), chromedp.KeyEvent("\r"))
	if got := eval[[]string](t, b, means); !slices.Equal(got, want) {
		t.Errorf("a third time, by the keyboard, gives the first order: %v", got)
	}

	b.click(t, `#table-configurations a.note`)
	if got := eval[string](t, b, `document.querySelector("#table-configurations .inplace").textContent`); !strings.Contains(got, "was stopped by the provider") {
		t.Errorf("the footnote in place says %q", got)
	}

	b.do(t, chromedp.SendKeys(chromedp.CSS(`#table-episodes input`), "opencode s07"))
	if got := eval[[]string](t, b, cellsOf("episodes", 4)); !slices.Equal(got, []string{"stopped (provider)"}) {
		t.Errorf("filtered runs: %v", got)
	}
	b.do(t, chromedp.Focus(chromedp.CSS(`#table-episodes input`)), chromedp.KeyEvent("\x1b"))
	if got := eval[[]string](t, b, cellsOf("episodes", 4)); len(got) != 60 {
		t.Errorf("the escape key shows %d of 60 runs", len(got))
	}
	b.click(t, `#table-configurations tbody tr:first-child a.runs[data-runs$=drift]`)
	ends := eval[[]string](t, b, cellsOf("episodes", 4))
	if len(ends) != 12 || slices.ContainsFunc(ends, func(s string) bool { return s != "drift" }) {
		t.Errorf("the twelve drifted runs of opencode: %v", ends)
	}
	deep := eval[string](t, b, `location.href`)
	b.click(t, `#table-episodes .only`)
	if got := eval[[]string](t, b, cellsOf("episodes", 4)); len(got) != 60 {
		t.Errorf("without the selection %d of 60 runs are shown", len(got))
	}
	b.do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(deep), chromedp.WaitReady(chromedp.CSS(`#table-episodes .only`)))
	if got := eval[[]string](t, b, cellsOf("episodes", 4)); !slices.Equal(got, ends) || eval[string](t, b, `document.querySelector("#table-episodes .only").textContent`) != "only opencode, drift ×" {
		t.Errorf("the kept address shows %v", got)
	}
	b.click(t, `#table-family-1 tbody tr:first-child a.runs`)
	if got := eval[[]string](t, b, cellsOf("episodes", 1)); len(got) != 40 || got[0] != "s01" || got[1] != "s01" || got[39] != "s20" {
		t.Errorf("the runs of a pair, side by side: %v", got)
	}

	eval[bool](t, b, `(navigator.clipboard.writeText = s => { window.copied = s; return Promise.resolve(); }, true)`)
	b.click(t, `#table-configurations [data-copy=latex]`)
	if got := eval[string](t, b, `window.copied`); !strings.HasPrefix(got, "\\begin{tabular}{lrrrr") || !strings.Contains(got, "58.0 & 41.8--74.3") || strings.Contains(got, "58.01") {
		t.Errorf("copied as LaTeX:\n%s", got)
	}
	b.check(t)
}

// TestBrowserWidths holds that no page is wider than its window, on a phone and on a desk, in light and dark.
func TestBrowserWidths(t *testing.T) {
	sets := []string{"hostile", "40"}
	if os.Getenv("STINT_REQUIRE") == "" { // the large one takes seconds; .ci/run tries both
		sets = sets[:1]
	}
	for _, name := range sets {
		dir := filepath.Join(t.TempDir(), "report")
		if err := Write(dir, Input{Study: strings.Repeat("x", 300), Comparison: mustCompare(t, awkwardSets()[name], CompareOptions{Episodes: true})}); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{390, 1280} {
			b := openPage(t, filepath.Join(dir, "index.html"), width, width == 390)
			if got := eval[int64](t, b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s: the page is %d wide in a window of %d", name, got, width)
			}
			want := "rgb(255, 255, 255)"
			if width == 390 {
				want = "rgb(20, 23, 26)"
			}
			if got := eval[string](t, b, `getComputedStyle(document.body).backgroundColor`); got != want {
				t.Errorf("%s: background %s, want %s", name, got, want)
			}
			b.check(t)
		}
	}
}
