package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// A session is a log of another program, line by line.
type session struct{ lines [][]byte }

func (s *session) add(kind string, content any) {
	b, err := json.Marshal(map[string]any{"type": kind, "parentUuid": nil, "uuid": fmt.Sprint("u", len(s.lines)), "sessionId": "5e551011-0000-4000-8000-000000000000", "version": "2.1.0", "cwd": "/w",
		"timestamp": fmt.Sprintf("2026-01-31T14:%02d:%02d.000Z", len(s.lines)/60%60, len(s.lines)%60), "message": map[string]any{"role": kind, "content": content, "model": "m", "id": fmt.Sprint("m", len(s.lines))}})
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, append(b, '\n'))
}

func (s *session) call(id, command, output string) {
	s.add("assistant", []any{map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": command}}})
	s.add("user", []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": output}})
}

// ingested writes the session beside a folder of the tables that are made of it.
func (s *session) ingested(t *testing.T) (dir, log string) {
	t.Helper()
	root := t.TempDir()
	log = filepath.Join(root, "session.jsonl")
	if err := os.WriteFile(log, bytes.Join(s.lines, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := logs.Open(logs.ReaderOptions{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir = filepath.Join(root, "tables")
	if _, err := logs.IngestLogs(context.Background(), r, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir, log
}

const (
	half     = "HALFPAIR" // stands for half a pair of UTF-16 in the log
	noUTF8   = "NOTUTF8"
	needle   = "n33dle-in-the-middle"
	longText = 40_000
)

// hostileSession holds everything that must stay inert and be seen.
func hostileSession() *session {
	s := &session{}
	s.add("user", "Please fix it. <script>alert('prompt')</script>")
	s.add("assistant", []any{map[string]any{"type": "text", "text": "On it: <img src=x onerror=alert(1)> \u001b[2J\u202egpj.exe\u200b\ufeff and \u0000 " + half + " " + noUTF8}})
	s.call("c1", `echo "</pre></details><script>alert(2)</script>"`, "</pre><svg onload=alert(3)>\r\n"+strings.Repeat("Z\u0300\u0301\u0302\u0303\u0304\u0305", 3))
	s.call("c2", "cat big", strings.Repeat("x", longText/2)+needle+strings.Repeat("y", longText/2))
	s.add("assistant", []any{map[string]any{"type": "text", "text": "Done."}})
	for i, l := range s.lines {
		l = bytes.ReplaceAll(l, []byte(half), []byte(`\ud800`))
		s.lines[i] = bytes.ReplaceAll(l, []byte(noUTF8), []byte("\xff\xfe"))
	}
	return s
}

// attemptOf is the address of the only attempt of the only episode.
func attemptOf(t *testing.T, v *served) string {
	t.Helper()
	_, _, header := v.ask("/", nil)
	home := header.Get("Location")
	for _, pattern := range []string{`/e/[0-9a-f]{12}`, `/t/0`, `/a/[0-9o]+`} {
		at := regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(home, "/")) + `[^"?#]*` + pattern + `"`).FindString(v.page(home))
		if home = strings.TrimSuffix(at, `"`); home == "" {
			t.Fatalf("no link to %s", pattern)
		}
	}
	return home
}

// links are the addresses in a page that match.
func links(page, pattern string) (out []string) {
	for _, m := range regexp.MustCompile(`href="(`+pattern+`)"`).FindAllStringSubmatch(page, -1) {
		out = append(out, strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(m[1]))
	}
	return out
}

// elements are what a page of logs may consist of; anything else came from a log.
var elements = regexp.MustCompile(`^/?(html|head|meta|title|link|script|body|a|header|nav|ol|ul|li|output|button|main|h1|h2|h3|p|b|i|q|form|label|input|select|option|details|summary|pre|code|span|article|section|time|dialog|dl|div|dt|dd|kbd|table|thead|tbody|tr|td|th|mark|br|strong)$`)

// inert fails if a page holds anything that a log could have put there.
func inert(t *testing.T, path, page string) {
	t.Helper()
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%s: %d scripts", path, n)
	}
	for _, m := range regexp.MustCompile(`<(/?[a-zA-Z0-9]+)([^>]*)`).FindAllStringSubmatch(page, -1) {
		if !elements.MatchString(m[1]) || strings.Contains(strings.ToLower(m[2]), " on") && !strings.Contains(m[2], `class="`) && !strings.Contains(m[2], " open") {
			t.Errorf("%s: element %s", path, m[0])
		}
	}
	for _, r := range page {
		if hidden(r) {
			t.Errorf("%s: a hidden character %U", path, r)
			return
		}
	}
	if !strings.Contains(page, "</html>") || strings.ContainsRune(page, '\uFFFD') && !strings.Contains(path, "transcript") {
		t.Errorf("%s: cut, or with bytes that are no UTF-8", path)
	}
}

// TestHostileTranscript reads a hostile log on every page that shows it.
func TestHostileTranscript(t *testing.T) {
	dir, log := hostileSession().ingested(t)
	v := serve(t, dir)
	a := attemptOf(t, v)
	transcript := v.page(a + "/transcript")
	inert(t, "transcript", transcript)
	for _, want := range []string{
		"&lt;script&gt;alert(&#39;prompt&#39;)&lt;/script&gt;", `<i class="esc">\x1b</i>[2J<i class="esc">\u202e</i>gpj.exe<i class="esc">\u200b\ufeff</i>`, `<i class="esc">\x00</i>`,
		"<summary><b>Bash</b> <code>echo &#34;&lt;/pre&gt;", "&lt;/pre&gt;&lt;svg onload=alert(3)&gt;", `<i class="esc">\x0d</i>`, "The whole text</a>",
		`id="event-0"`, "model</b>", "14:00:01</time>",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("the transcript lacks %q", want)
		}
	}
	if strings.Contains(transcript, needle) {
		t.Fatal("the long text is not cut, so this test shows nothing")
	}

	texts := links(transcript, `[^"]*/text\?seq=\d+`)
	found := false
	for _, path := range texts {
		page := v.page(path)
		inert(t, path, page)
		found = found || strings.Contains(page, needle) && strings.Contains(page, "bytes 0 to "+num(longText+len(needle)))
	}
	if !found {
		t.Errorf("no whole text among %v holds what was left out", texts)
	}
	said := v.page(a + "/text?seq=1")
	inert(t, "text", said)
	if want := `<i class="esc">\ud800</i> <i class="esc">\xff\xfe</i>`; !strings.Contains(said, want) {
		t.Errorf("the whole text lacks %s:\n%s", want, said)
	}

	raws := links(transcript, `[^"]*/raw\?[^"]*`)
	if len(raws) < 5 {
		t.Fatalf("%d links to bytes", len(raws))
	}
	for _, path := range raws {
		for _, as := range []string{"", "&as=hex", "&as=text"} {
			page := v.page(path + as)
			inert(t, path+as, page)
			if !strings.Contains(page, "the bytes have the hash that the row has") {
				t.Errorf("%s: the hash was not found right", path)
			}
		}
	}
	if page := v.page(raws[1]); !strings.Contains(page, "no UTF-8, so it is shown in hex") || !strings.Contains(page, "ff fe") {
		t.Errorf("bytes that are no UTF-8 are not shown in hex:\n%s", page)
	}

	// The file changes: that is said, and nothing else of the machine is to be had.
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, bytes.ReplaceAll(b, []byte("Please"), []byte("Plague")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{raws[0], a + "/text?seq=0"} {
		if page := v.page(path); !strings.Contains(page, "the file has changed since") {
			t.Errorf("%s: a changed file is not seen:\n%s", path, page)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{raws[0], a + "/text?seq=0"} {
		if page := v.page(path); !strings.Contains(page, "it is not there any more") {
			t.Errorf("%s: a file that is gone is not missed:\n%s", path, page)
		}
	}
	for _, file := range []string{"/etc/passwd", "../../../etc/passwd", dir + "/files.json", log + "/../tables/files.json"} {
		page := v.page(a + "/raw?offset=0&length=10&file=" + query(file))
		if !strings.Contains(page, "none of the files that these tables were made of") {
			t.Errorf("%s is shown:\n%s", file, page)
		}
	}
	for _, bad := range []string{"/raw", "/raw?file=x&offset=-1&length=1", "/raw?file=x&offset=9223372036854775807&length=9223372036854775807", "/text", "/text?seq=x", "/line?offset=1"} {
		if code, _, _ := v.ask(a+bad, nil); code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, code)
		}
	}
}

// TestSearchEpisode finds words in what a transcript shows, in what it leaves out, and page by page.
func TestSearchEpisode(t *testing.T) {
	s := hostileSession()
	for i := range 120 {
		s.call(fmt.Sprint("d", i), fmt.Sprintf("echo Wörd %d", i), "ok")
	}
	dir, log := s.ingested(t)
	v := serve(t, dir)
	a := attemptOf(t, v)
	episode := a[:strings.Index(a, "/t/")]
	search := func(words string) string {
		t.Helper()
		page := v.page(episode + "/search?q=" + query(words))
		inert(t, "search "+words, page)
		return page
	}
	if page := search("N33DLE"); !strings.Contains(page, "in the part that the transcript leaves out") || !strings.Contains(page, "<mark>n33dle</mark>-in-the-middle") {
		t.Errorf("what is left out is not found:\n%s", page)
	}
	if page := search("<SCRIPT>"); strings.Count(page, "<mark>&lt;script&gt;</mark>") < 2 {
		t.Errorf("markup is not found:\n%s", page)
	}
	if page := search("nowhere at all"); !strings.Contains(page, "No line holds these words") || !strings.Contains(page, "No failing check") {
		t.Errorf("nothing is not said:\n%s", page)
	}
	var seen []string
	path := episode + "/search?q=" + query("wÖrd")
	for path != "" {
		page := v.page(path)
		hits := links(page, `[^"]*/transcript\?[^"]*`)
		if len(hits) == 0 || !strings.Contains(page, "<mark>Wörd</mark>") {
			t.Fatalf("%s finds nothing:\n%s", path, page)
		}
		seen = append(seen, hits...)
		path = ""
		if on := links(page, `[^"]*/search\?[^"]*from=[^"]*`); len(on) > 0 {
			path = on[0]
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d hits, want 120", len(seen))
	}
	last, id, _ := strings.Cut(seen[len(seen)-1], "#")
	if page := v.page(last); !strings.Contains(page, `id="`+id+`"`) || !strings.Contains(page, "<mark>Wörd</mark> 119") || !strings.Contains(page, "<details open>") {
		t.Errorf("the hit is not on the page it leads to:\n%s", page)
	}
	for _, bad := range []string{"x", "1.2", "1.2.3x", "-"} {
		if code, _, _ := v.ask(episode+"/search?q=a&from="+bad, nil); code != http.StatusBadRequest {
			t.Errorf("from=%s: %d", bad, code)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if page := search(needle); !strings.Contains(page, "long texts were searched only as far") {
		t.Errorf("that a log is gone is not said:\n%s", page)
	}
}

// TestHugeTexts reads a log with a text of 50 MB, which no reader takes, and one of 10 MB: pages stay small and hold what
// they say.
func TestHugeTexts(t *testing.T) {
	s := &session{}
	s.add("user", "Go.")
	s.call("c1", "cat ten", strings.Repeat("ten megabytes <b>\u202e ", 480_000)+"END")
	s.call("c2", "cat fifty", strings.Repeat("fifty megabytes of output ", 2_000_000)+"END")
	dir, _ := s.ingested(t)
	v := serve(t, dir)
	a := attemptOf(t, v)
	open := func(path string) string {
		t.Helper()
		page := v.page(path)
		if len(page) > 2<<20 {
			t.Errorf("%s has %d bytes", path, len(page))
		}
		inert(t, path, page)
		return page
	}
	transcript := open(a + "/transcript")
	if !strings.Contains(transcript, "<b>unreadable</b>") {
		t.Errorf("the line that nothing reads is not shown:\n%s", transcript)
	}
	texts := links(transcript, `[^"]*/text\?seq=\d+`)
	if len(texts) != 1 {
		t.Fatalf("whole texts %v", texts)
	}
	later := links(open(texts[0]), `\?seq=[^"]*`)
	if len(later) != 1 || !strings.Contains(open(a+"/text"+later[0]), "megabytes &lt;b&gt;") {
		t.Errorf("the text goes on at %v", later)
	}
	if end := open(texts[0] + "&from=999999999"); !strings.Contains(end, "END</pre>") {
		t.Errorf("the end of the text:\n%.2000s", end)
	}
	raws := links(transcript, `[^"]*/raw\?[^"]*`)
	for _, other := range links(open(raws[len(raws)-1]), `\?[^"]*from=[^"]*`)[:1] {
		open(a + "/raw" + other)
	}
	if page := open(raws[len(raws)-1] + "&from=52000000"); !strings.Contains(page, "fifty megabytes") || !strings.Contains(page, "the bytes have the hash") {
		t.Errorf("the end of 50 MB:\n%.2000s", page)
	}
}

func TestShownText(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"echo \"a\"\nls"}`:                                          "echo \"a\"\nls",
		`{"path":"a.py","old":"x\ny","n":3}`:                                    "path: a.py\nold:\nx\ny\nn: 3\n",
		`{"command":"cat \u003e f` + "\n[… 9 bytes left out …]\n" + `\"end\""}`: "cat > f\n[… 9 bytes left out …]\n\"end\"\"}",
		"cat SPEC.md": "cat SPEC.md", `{"a":`: `{"a":`, "{}": "{}",
	} {
		if got := shownText(logs.EventToolCall, in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
		if got := shownText(logs.EventToolResult, in); got != in {
			t.Errorf("a result became %q", got)
		}
	}
}

// TestTranscriptPages goes through a long transcript by its links, and opens deep links.
func TestTranscriptPages(t *testing.T) {
	s := &session{}
	s.add("user", "Go.")
	for i := range 260 {
		s.call(fmt.Sprint("c", i), fmt.Sprintf("step %d.", i), "ok")
	}
	dir, _ := s.ingested(t)
	v := serve(t, dir)
	a := attemptOf(t, v)
	path, steps, pages := a+"/transcript?kind=calls", "", 0
	for path != "" {
		page := v.page(path)
		steps += page
		pages++
		path = ""
		if on := regexp.MustCompile(`<a href="([^"]*)" rel="next">`).FindStringSubmatch(page); on != nil {
			path = strings.ReplaceAll(on[1], "&amp;", "&")
		}
	}
	if pages != 3 {
		t.Errorf("%d pages, want 3", pages)
	}
	for i := range 260 {
		if n := strings.Count(steps, fmt.Sprintf("<code>step %d.</code>", i)); n != 1 {
			t.Fatalf("step %d stands %d times", i, n)
		}
	}
	page := v.page(a + "/transcript?at=400")
	if !strings.Contains(page, `id="event-400"`) {
		t.Errorf("the page of event 400 lacks it")
	}
	code, _, header := v.ask(a+"/transcript?kind=trouble&at=1", nil)
	if code != http.StatusSeeOther || !strings.Contains(header.Get("Location"), "via=all&at=1#event-1") {
		t.Errorf("a line of another view: %d %v", code, header)
	}
	for _, at := range []string{"99999", "-1", "x"} {
		if page := v.page(a + "/transcript?at=" + at); !strings.Contains(page, `id="event-0"`) {
			t.Errorf("at=%s does not lead to the beginning", at)
		}
	}
}
