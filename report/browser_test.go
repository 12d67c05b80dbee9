package report

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/stint-bench/stint/report/reporttest"
)

// openPage opens a page from disk, in a window of the given width.
func openPage(t *testing.T, path string, width int64, dark bool) *reporttest.Browser {
	t.Helper()
	b := reporttest.Open(t, (&url.URL{Scheme: "file", Path: path}).String(), "footer", width)
	if dark {
		b.Screen(width, "dark", "")
	}
	return b
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
	if got := reporttest.Eval[string](b, `document.querySelector("h1").textContent`); got != hostileNames()[0] {
		t.Errorf("title %q", got)
	}
	means := cellsOf("configurations", 2)
	head := `#table-configurations thead tr:last-child th:nth-child(3)`
	want := reporttest.Eval[[]string](b, means)
	if len(want) != 3 || want[0] != "58.0" || want[2] != "8.7" {
		t.Fatalf("means %v", want)
	}
	b.Click(head + " button")
	b.Click(head + " button")
	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	if got := reporttest.Eval[[]string](b, means); !slices.Equal(got, reversed) || reporttest.Eval[string](b, `document.querySelector("`+head+`").getAttribute("aria-sort")`) != "ascending" {
		t.Errorf("sorted by two clicks: %v", got)
	}
	b.Do(chromedp.Focus(chromedp.CSS(head+" button")), chromedp.KeyEvent("\r"))
	if got := reporttest.Eval[[]string](b, means); !slices.Equal(got, want) {
		t.Errorf("a third time, by the keyboard, gives the first order: %v", got)
	}

	b.Click(`#table-configurations a.note`)
	if got := reporttest.Eval[string](b, `document.querySelector("#table-configurations .inplace").textContent`); !strings.Contains(got, "was stopped by the provider") {
		t.Errorf("the footnote in place says %q", got)
	}

	b.Do(chromedp.SendKeys(chromedp.CSS(`#table-episodes input`), "opencode s07"))
	if got := reporttest.Eval[[]string](b, cellsOf("episodes", 4)); !slices.Equal(got, []string{"stopped (provider)"}) {
		t.Errorf("filtered runs: %v", got)
	}
	b.Do(chromedp.Focus(chromedp.CSS(`#table-episodes input`)), chromedp.KeyEvent("\x1b"))
	if got := reporttest.Eval[[]string](b, cellsOf("episodes", 4)); len(got) != 60 {
		t.Errorf("the escape key shows %d of 60 runs", len(got))
	}
	b.Click(`#table-configurations tbody tr:first-child a.runs[data-runs$=drift]`)
	ends := reporttest.Eval[[]string](b, cellsOf("episodes", 4))
	if len(ends) != 12 || slices.ContainsFunc(ends, func(s string) bool { return s != "drift" }) {
		t.Errorf("the twelve drifted runs of opencode: %v", ends)
	}
	deep := reporttest.Eval[string](b, `location.href`)
	b.Click(`#table-episodes .only`)
	if got := reporttest.Eval[[]string](b, cellsOf("episodes", 4)); len(got) != 60 {
		t.Errorf("without the selection %d of 60 runs are shown", len(got))
	}
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(deep), chromedp.WaitReady(chromedp.CSS(`#table-episodes .only`)))
	if got := reporttest.Eval[[]string](b, cellsOf("episodes", 4)); !slices.Equal(got, ends) || reporttest.Eval[string](b, `document.querySelector("#table-episodes .only").textContent`) != "only opencode, drift ×" {
		t.Errorf("the kept address shows %v", got)
	}
	b.Click(`#table-family-1 tbody tr:first-child a.runs`)
	if got := reporttest.Eval[[]string](b, cellsOf("episodes", 1)); len(got) != 40 || got[0] != "s01" || got[1] != "s01" || got[39] != "s20" {
		t.Errorf("the runs of a pair, side by side: %v", got)
	}

	reporttest.Eval[bool](b, `(navigator.clipboard.writeText = s => { window.copied = s; return Promise.resolve(); }, true)`)
	b.Click(`#table-configurations [data-copy=latex]`)
	if got := reporttest.Eval[string](b, `window.copied`); !strings.HasPrefix(got, "\\begin{tabular}{lrrrr") || !strings.Contains(got, "58.0 & 41.8--74.3") || strings.Contains(got, "58.01") {
		t.Errorf("copied as LaTeX:\n%s", got)
	}
	b.Check("file:///")
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
			if got := reporttest.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s: the page is %d wide in a window of %d", name, got, width)
			}
			want := "rgb(255, 255, 255)"
			if width == 390 {
				want = "rgb(20, 23, 26)"
			}
			if got := reporttest.Eval[string](b, `getComputedStyle(document.body).backgroundColor`); got != want {
				t.Errorf("%s: background %s, want %s", name, got, want)
			}
			b.Check("file:///")
		}
	}
}
