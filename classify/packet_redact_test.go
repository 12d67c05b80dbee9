package classify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// secretKinds make secrets of twenty kinds, all of them invented.
var secretKinds = []struct {
	name string
	make func(r *rand.Rand) (secret, text string)
}{
	{"OpenAI key", keyed("sk-proj-", 40)},
	{"Anthropic key", keyed("sk-ant-api03-", 50)},
	{"GitHub token", keyed("ghp_", 36)},
	{"GitHub fine-grained token", keyed("github_pat_", 50)},
	{"GitLab token", keyed("glpat-", 20)},
	{"Slack token", keyed("xoxb-", 30)},
	{"Stripe key", keyed("sk_live_", 24)},
	{"AWS key id", func(r *rand.Rand) (string, string) {
		s := "AKIA" + drawn(r, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
		return s, s
	}},
	{"AWS secret", func(r *rand.Rand) (string, string) {
		s := drawn(r, 40, alnum)
		return s, "aws_secret_access_key = " + s
	}},
	{"Google key", keyed("AIza", 35)},
	{"Hugging Face token", keyed("hf_", 34)},
	{"npm token", keyed("npm_", 36)},
	{"JSON web token", func(r *rand.Rand) (string, string) {
		s := "eyJ" + drawn(r, 20, alnum) + ".eyJ" + drawn(r, 40, alnum) + "." + drawn(r, 30, alnum)
		return s, s
	}},
	{"bearer", func(r *rand.Rand) (string, string) { s := drawn(r, 32, alnum); return s, "Authorization: Bearer " + s }},
	{"basic", func(r *rand.Rand) (string, string) {
		s := drawn(r, 24, alnum)
		return s, "Authorization: Basic " + s + "=="
	}},
	{"password", func(r *rand.Rand) (string, string) {
		s := drawn(r, 12, alnum)
		return s, "DB_PASSWORD=" + s
	}},
	{"URL user info", func(r *rand.Rand) (string, string) {
		s := drawn(r, 14, alnum)
		return s, "postgres://admin:" + s + "@db.example.com/books"
	}},
	{"cookie", func(r *rand.Rand) (string, string) {
		s := drawn(r, 24, alnum)
		return s, "Cookie: session=" + s
	}},
	{"e-mail", func(r *rand.Rand) (string, string) {
		s := strings.ToLower(drawn(r, 9, "abcdefghijklmnop")) + "@mail.example.org"
		return s, "written by " + s
	}},
	{"home folder", func(r *rand.Rand) (string, string) {
		s := drawn(r, 8, "abcdefghijklmnopqrstuvwxyz")
		return s, "/home/" + s + "/src/app.py"
	}},
}

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func drawn(r *rand.Rand, n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[r.IntN(len(from))]
	}
	return string(b)
}

func keyed(prefix string, n int) func(*rand.Rand) (string, string) {
	return func(r *rand.Rand) (string, string) {
		s := prefix + drawn(r, n, alnum)
		return s, s
	}
}

// settings put a secret into code, JSON, headers, logs, and over a line end.
var settings = []func(text string) string{
	func(s string) string { return "client = connect(\"" + s + "\", timeout=3)" },
	func(s string) string { return `{"env": {"value": "` + s + `"}, "id": 17}` },
	func(s string) string { return `{\"arguments\":\"{\\\"v\\\":\\\"` + s + `\\\"}\"}` },
	func(s string) string { return "GET /books HTTP/1.1\r\nX-Note: " + s + "\r\n\r\n" },
	func(s string) string { return "2026-01-02 INFO using " + s + " now" },
	func(s string) string { return s },
	func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
	func(s string) string { return "export V='" + s + "'" },
}

// TestRedact: two hundred secrets of twenty kinds do not leave the process; what checks are about does.
func TestRedact(t *testing.T) {
	draw := rand.New(rand.NewPCG(10, 10))
	red := newRedactor(nil, "0123456789ab", false)
	n := 0
	for k, kind := range secretKinds {
		for i := range 10 {
			secret, text := kind.make(draw)
			in := settings[(i+k)%len(settings)](text)
			// A long secret may be broken at a line end, or written as two strings.
			if i >= 8 && len(secret) >= 24 && strings.HasSuffix(text, secret) {
				at := strings.Index(in, secret) + len(secret)/2
				in = in[:at] + []string{"\n", "\" +\n    \""}[i%2] + in[at:]
			}
			out := red.redact(unchanged(in)).text
			for from := 0; from+12 <= len(secret); from++ {
				if strings.Contains(out, secret[from:from+12]) {
					t.Errorf("%s: %q of %q is left of %q", kind.name, secret[from:from+12], out, in)
					break
				}
			}
			if len(secret) < 12 && strings.Contains(out, secret) {
				t.Errorf("%s: %q is left in %q", kind.name, secret, out)
			}
			n++
		}
	}
	if n != 200 {
		t.Errorf("%d secrets", n)
	}
	secret, _ := secretKinds[0].make(draw)
	one := red.redact(unchanged("a " + secret)).text
	if again := red.redact(unchanged("b " + secret)).text; one[2:] != again[2:] {
		t.Errorf("the same secret is %q and %q", one, again)
	}
	if other := newRedactor(nil, "ba9876543210", false).redact(unchanged("a " + secret)).text; one == other {
		t.Error("another episode has the same placeholder")
	}
}

// TestRedactKeepsEvidence: ids, hashes, requests and code stay as they are, and quotes lead back to the source.
func TestRedactKeepsEvidence(t *testing.T) {
	draw := rand.New(rand.NewPCG(11, 11))
	red := newRedactor(nil, "0123456789ab", false)
	changed, n := 0, 0
	for range 400 {
		uuid := fmt.Sprintf("%s-%s-4%s-8%s-%s", drawn(draw, 8, "0123456789abcdef"), drawn(draw, 4, "0123456789abcdef"), drawn(draw, 3, "0123456789abcdef"), drawn(draw, 3, "0123456789abcdef"), drawn(draw, 12, "0123456789abcdef"))
		for _, id := range []string{uuid, drawn(draw, 40, "0123456789abcdef"), fmt.Sprint(draw.IntN(1 << 30)), "k" + fmt.Sprint(draw.IntN(400)) + ".put", "c" + fmt.Sprint(draw.IntN(400))} {
			text := []string{`{"id":"` + id + `","pages":3}`, "GET /books/" + id, "id = " + id + "\nnext line", "expected " + id + ", got nothing"}[draw.IntN(4)]
			n++
			if !strings.Contains(red.redact(unchanged(text)).text, id) {
				changed++
			}
		}
	}
	if changed*100 >= n {
		t.Errorf("%d of %d ids are changed", changed, n)
	}
	for _, code := range []string{"password = request.form['password']", "if token is None:\n    raise ValueError", "secret: str = Field(...)", "api_key=os.environ['KEY']", "def set_password(self, password):"} {
		if got := red.redact(unchanged(code)).text; got != code && !strings.Contains(got, "password(self") {
			t.Errorf("code %q became %q", code, got)
		}
	}
	m := red.redact(unchanged("first DB_PASSWORD=hunter2hunter2 then the disk went away for good"))
	at := strings.Index(m.text, "the disk went away")
	if from, to := m.source(at, at+18); from != 38 || to != 56 {
		t.Errorf("a quote after a placeholder leads to %d–%d in %q", from, to, m.text)
	}
}

// TestRedactCut: what a clipped text leaves of a secret goes too.
func TestRedactCut(t *testing.T) {
	secret := drawn(rand.New(rand.NewPCG(1, 2)), 60, alnum)
	text := "api token sk-" + secret[:20] + "\n[… 812 bytes left out …]\n" + secret[30:] + " and so on"
	if out := newRedactor(nil, "x", false).redact(unchanged(text)).text; strings.Contains(out, secret[5:15]) || strings.Contains(out, secret[35:45]) || !strings.HasSuffix(out, " and so on") {
		t.Errorf("%q", out)
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("DB_PASSWORD=x1y2z3\nsk-abcdefghijklmnop\" +\n \"qrstuv", "opencode")
	f.Add("\x1b[0m\xff…", "")
	f.Add("0", "000\xca")
	f.Fuzz(func(t *testing.T, s, name string) {
		red := newRedactor(&logs.EpisodeRow{Harness: name}, "x", false)
		m := red.redact(unchanged(s))
		for _, p := range m.pieces {
			if m.text[p.out:p.out+p.n] != s[p.in:p.in+p.n] {
				t.Fatalf("a piece of %q is not from %q", m.text, s)
			}
		}
		n := normalise(m.text)
		if len(n.at) != len(n.text)+1 || !slices.IsSorted(n.at) {
			t.Fatalf("%d places for %d bytes", len(n.at), len(n.text))
		}
		if n.text != "" {
			if from, to, ok := n.find(n.text); !ok || from > to || to > len(m.text) {
				t.Fatalf("a text is not found in itself: %d–%d of %d", from, to, len(m.text))
			}
		}
	})
}
