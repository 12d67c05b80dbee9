// Package reporttest opens pages in Chromium, for tests: it drives them as their readers do and hears what they complain
// about and ask for.
package reporttest

import (
	"context"
	"os"
	"os/exec"
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

// A Browser is Chromium with one page open, and everything the page complained about or asked for.
type Browser struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	said     []string // errors and console messages
	requests []string
}

// Open opens an address in a window of the given width and waits until it has what a CSS selector finds. Where there is
// no Chromium the test is skipped, or fails if STINT_REQUIRE is set.
func Open(t testing.TB, address, ready string, width int64) *Browser {
	t.Helper()
	program := os.Getenv("STINT_TEST_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal("CI installs chromium; it is not here")
		}
		t.Skip("needs chromium (on PATH, or named by STINT_TEST_CHROMIUM)")
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
	b := &Browser{t: t, ctx: ctx}
	b.Do(chromedp.EmulateViewport(width, 900))
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.Go(address, ready)
	return b
}

func (b *Browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, "console."+string(e.Type))
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// call sends one command of the protocol.
func call[P, R any](b *Browser, cmd cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, cmd, params); err != nil {
		b.t.Fatalf("%s: %v", cmd.Method, err)
	}
}

// Do takes steps of chromedp.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Go opens another address and waits until it has what a CSS selector finds, and its scripts have run.
func (b *Browser) Go(address, ready string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS(ready)))
	b.Wait("the page with its scripts", "true")
}

// Click clicks on the first element that a CSS selector finds.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Press types keys into whatever has the focus.
func (b *Browser) Press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.Do(chromedp.KeyEvent(k))
	}
}

// Screen makes the window so wide, light or dark, and as on paper if media is "print".
func (b *Browser) Screen(width int64, scheme, media string) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, 900))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// Picture is the whole page as PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// Eval runs an expression in the page.
func Eval[T any](b *Browser, expr string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		b.t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// Wait waits until a page is loaded and an expression is true in it.
func (b *Browser) Wait(what, expr string) {
	b.t.Helper()
	for range 400 {
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && (`+expr+`)`)); err == nil && ok {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	b.t.Fatalf("%s: not seen; the page %s says %q", what, Eval[string](b, `location.href`), Eval[string](b, `document.body.innerText`))
}

// Check holds that no page complained about anything, and that nothing was asked for but addresses that begin with base.
func (b *Browser) Check(base string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		b.t.Errorf("the console holds %q", b.said)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, base) && r != "data:," {
			b.t.Errorf("a page asked for %s", r)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("not even the page was asked for: nothing was watched")
	}
}
