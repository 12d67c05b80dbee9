package classify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// A redactor replaces what must not leave the process by typed placeholders. The same secret gets the same placeholder
// throughout an episode, and none that tells anything elsewhere. The zero value of plain redacts.
type redactor struct {
	key   []byte
	names []*regexp.Regexp // of model and harness: the judge must not know them
	plain bool             // redact nothing but the names
}

func newRedactor(episode *logs.EpisodeRow, id string, plain bool) *redactor {
	sum := sha256.Sum256([]byte("stint judge\x00" + id))
	r := &redactor{key: sum[:], plain: plain}
	if episode == nil {
		return r
	}
	names := append(strings.Split(deref(episode.ModelReturned), ", "), episode.Model, episode.Harness)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, n := range slices.Compact(names) {
		// A word such as "weak" says nothing, and masking it would spoil sentences.
		if len(n) >= 6 || len(n) >= 4 && strings.ContainsAny(n, "-0123456789") {
			r.names = append(r.names, regexp.MustCompile(`(?i)`+regexp.QuoteMeta(strings.ToValidUTF8(n, "\uFFFD"))))
		}
	}
	return r
}

// The shapes of what logs.Secrets does not know, since its texts must stay readable: a judge needs none of it. The last
// group is what goes.
var redactShapes = []struct {
	kind string
	re   *regexp.Regexp
}{
	{"key", regexp.MustCompile(`\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|\b(?:sk|pk)-[A-Za-z0-9_-]{16,}|\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|\bdop_v1_[a-f0-9]{20,}|\bya29\.[A-Za-z0-9_-]{10,}|\bglpat-[A-Za-z0-9_-]{10,}|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bshp(?:at|ss|ca)_[a-fA-F0-9]{16,}|\bAC[a-f0-9]{32}\b|\bhf_[A-Za-z0-9]{16,}|\bAIza[A-Za-z0-9_-]{20,}|\bgh[opusr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bnpm_[A-Za-z0-9]{20,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}`)},
	{"token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]+)?`)},
	{"token", regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=_.~-]{8,})`)},
	{"cookie", regexp.MustCompile(`(?i)\b(?:set-)?cookie["']?\s*[:=]\s*\\?["']?([^\r\n"'\\]{4,})`)},
	{"password", regexp.MustCompile(`(?i)[A-Za-z0-9_-]*(?:passw(?:or)?d|passphrase|passwd|pwd|secret|credential|private[_-]?key|api[_-]?key|apikey|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|session[_-]?(?:id|token|key)|client[_-]?secret)[A-Za-z0-9_-]*\\?["']?\s*(?:[:=]|=>|:=)\s*\\?["']?([^\s"'\\,;&){}\]<>]{4,})`)},
	{"password", regexp.MustCompile(`(?i)(?:--?(?:password|passwd|token|secret|api-key)[ =]|\bsshpass\s+-p\s*|\bcurl\b[^\n]{0,80}\s-u\s*[^\s:]{1,40}:)\\?["']?([^\s"'\\]{4,})`)},
	{"userinfo", regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://([^\s/"'\\@<>]{1,200}:[^\s/"'\\@<>]{1,200})@`)},
	{"email", regexp.MustCompile(`\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}\b`)},
	{"home", regexp.MustCompile(`(?:/home/|/Users/|[A-Za-z]:\\{1,2}Users\\{1,2})([A-Za-z0-9._-]{1,64})`)},
	{"host", regexp.MustCompile(`\b((?:[a-z0-9-]{1,63}\.){1,6}(?:internal|local|lan|corp|intranet|compute\.amazonaws\.com))\b`)},
	{"pem", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
}

// codeValue tells a piece of code from a secret in a password field: a call, a type, a variable, a constant word.
var codeValue = regexp.MustCompile(`(?i)^(?:none|null|nil|true|false|undefined|required|optional|string|str|bytes|text|varchar|str\b.*|os\.|process\.|env\b|getenv|self\.|this\.|request\.|req\.|body\.|data\.|config\.|args\.|\$\{|\$\(|\$[A-Z_]+$|%s|\{|\[redacted|[A-Za-z_][A-Za-z0-9_.]*\(|\d{1,3}$)`)

// joint is where a text is broken off in the middle of a word: a line end, with a backslash or as \n, or two strings
// put together.
var joint = regexp.MustCompile(`["']\s*\+?\s*(?:\\?\r?\n|\\n)?\s*["']|\\?\r?\n[ \t]*|\\n[ \t]*`)

// gapMark is where a text lost its middle; what is cut off there may be half a secret.
var gapMark = regexp.MustCompile(`\n\[… \d+ bytes left out …\]\n`)

type secretSpan struct {
	start, end int
	kind       string
}

// redact returns the text with placeholders, and without ANSI codes, which say nothing and hide where a word begins.
func (r *redactor) redact(m mapped) mapped {
	var codes []edit
	for _, c := range ansiCode.FindAllStringIndex(m.text, -1) {
		codes = append(codes, edit{c[0], c[1], ""})
	}
	m = m.splice(codes)
	spans := r.secrets(m.text)
	edits := make([]edit, 0, len(spans))
	at := 0
	for _, s := range spans {
		if s.start < at {
			continue
		}
		edits = append(edits, edit{s.start, s.end, r.placeholder(s.kind, m.text[s.start:s.end])})
		at = s.end
	}
	return m.splice(edits)
}

// placeholders are what stands in a packet where a secret was.
var placeholders = regexp.MustCompile(`\[[a-z]+-[0-9a-f]{4}\]`)

// placeholder names the kind and a keyed hash, which is too short to be turned back.
func (r *redactor) placeholder(kind, secret string) string {
	if kind == "name" {
		return "[name]"
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(joint.ReplaceAllString(secret, "")))
	return "[" + kind + "-" + hex.EncodeToString(mac.Sum(nil)[:2]) + "]"
}

// secrets returns what goes, in order; where spans overlap they are one.
func (r *redactor) secrets(s string) []secretSpan {
	var spans []secretSpan
	if !r.plain {
		spans = secretsOf(s)
		spans = append(spans, brokenSecrets(s, spans)...)
		for _, gap := range gapMark.FindAllStringIndex(s, -1) {
			spans = append(spans, cutTokens(s, gap)...)
		}
	}
	for _, n := range r.names {
		spans = append(spans, wordsOf(s, n)...)
	}
	slices.SortFunc(spans, func(a, b secretSpan) int { return a.start - b.start })
	var out []secretSpan
	for _, x := range spans {
		if n := len(out); n > 0 && x.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
			continue
		}
		out = append(out, x)
	}
	return out
}

func secretsOf(s string) []secretSpan {
	var spans []secretSpan
	for _, p := range logs.Secrets(s) {
		spans = append(spans, secretSpan{p[0], p[1], "secret"})
	}
	for _, shape := range redactShapes {
		for _, m := range shape.re.FindAllStringSubmatchIndex(s, -1) {
			start, end := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				start, end = m[2], m[3]
			}
			if shape.kind == "password" && codeValue.MatchString(s[start:end]) {
				continue
			}
			spans = append(spans, secretSpan{start, end, shape.kind})
		}
	}
	return spans
}

// brokenSecrets finds secrets that go over a line end or over two strings put together: those of the text without its
// joints that are longer than what was found with them.
func brokenSecrets(s string, whole []secretSpan) []secretSpan {
	joints := joint.FindAllStringIndex(s, -1)
	edits := make([]edit, 0, len(joints))
	for _, j := range joints {
		if j[0] > 0 && j[1] < len(s) && secretByte(s[j[0]-1]) && secretByte(s[j[1]]) {
			edits = append(edits, edit{j[0], j[1], ""})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	joined := unchanged(s).splice(edits)
	var out []secretSpan
	for _, x := range secretsOf(joined.text) {
		start, end := joined.source(x.start, x.end)
		for _, e := range edits {
			if start >= e.start || e.end >= end {
				continue
			}
			// The next line belongs to it if the first alone is no secret, or if it looks like more of one.
			known := slices.ContainsFunc(whole, func(w secretSpan) bool { return w.start <= e.start && w.end >= e.start })
			if known && !mixed(s[e.end:end]) {
				end = e.start
			}
		}
		if start < end {
			out = append(out, secretSpan{start, end, x.kind})
		}
	}
	return out
}

func secretByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_-+/=.", c) >= 0
}

// mixed says whether a text looks drawn: letters and digits in one run of at least eight.
func mixed(s string) bool {
	n := 0
	for n < len(s) && secretByte(s[n]) {
		n++
	}
	return n >= 8 && strings.ContainsAny(s[:n], "0123456789") && strings.IndexFunc(s[:n], func(r rune) bool { return r >= 'A' && r <= 'z' }) >= 0
}

// cutTokens are the words beside a gap that may be parts of a secret.
func cutTokens(s string, gap []int) []secretSpan {
	from, to := gap[0], gap[1]
	for from > 0 && secretByte(s[from-1]) {
		from--
	}
	for to < len(s) && secretByte(s[to]) {
		to++
	}
	var out []secretSpan
	for _, p := range [][2]int{{from, gap[0]}, {gap[1], to}} {
		if word := s[p[0]:p[1]]; mixed(word) || len(word) >= 24 {
			out = append(out, secretSpan{p[0], p[1], "cut"})
		}
	}
	return out
}

// wordsOf finds a name where it stands as a word of its own.
func wordsOf(s string, name *regexp.Regexp) []secretSpan {
	var out []secretSpan
	word := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z')
	}
	for _, m := range name.FindAllStringIndex(s, -1) {
		if !word(m[0]-1) && !word(m[1]) {
			out = append(out, secretSpan{m[0], m[1], "name"})
		}
	}
	return out
}
