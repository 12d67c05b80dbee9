package classify

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A mapped text remembers where its bytes came from, so that a place in what was sent leads back to the source.
type mapped struct {
	text   string
	pieces []piece // in order; bytes in none of them were put in
}

// piece is a run of n bytes at out that was copied from in.
type piece struct{ out, in, n int }

// edit replaces text[start:end].
type edit struct {
	start, end int
	with       string
}

func unchanged(s string) mapped { return mapped{s, []piece{{0, 0, len(s)}}} }

// splice makes the edits, which are in order and do not overlap.
func (m mapped) splice(edits []edit) mapped {
	if len(edits) == 0 {
		return m
	}
	var out mapped
	var b strings.Builder
	at := 0
	keep := func(to int) {
		for _, p := range m.pieces {
			from, end := max(p.out, at), min(p.out+p.n, to)
			if from < end {
				out.pieces = append(out.pieces, piece{b.Len() + from - at, p.in + from - p.out, end - from})
			}
		}
		b.WriteString(m.text[at:to])
	}
	for _, e := range edits {
		if e.start < at {
			continue
		}
		keep(e.start)
		b.WriteString(e.with)
		at = e.end
	}
	keep(len(m.text))
	out.text = b.String()
	return out
}

// source leads a span of the text back to the source. What was put in leads to what stands next to it.
func (m mapped) source(from, to int) (int, int) {
	start, end := -1, -1
	for _, p := range m.pieces {
		if p.out+p.n > from && start < 0 {
			start = p.in + max(0, from-p.out)
		}
		if p.out < to {
			end = p.in + min(p.n, to-p.out)
		}
	}
	if start < 0 || end < start {
		return 0, 0
	}
	return start, end
}

// normal is a text without the differences that do not count: ANSI codes are gone, a run of white space is one space.
// Letters stay as they are: neither case nor look-alikes are folded.
type normal struct {
	text string
	at   []int // for every byte, its offset in the text that was normalised; one more at the end
}

var ansiCode = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")

func normalise(s string) normal {
	var b strings.Builder
	var n normal
	codes := ansiCode.FindAllStringIndex(s, -1)
	space := true // leading space goes
	for i := 0; i < len(s); {
		if len(codes) > 0 && codes[0][0] == i {
			i = codes[0][1]
			codes = codes[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch r {
		case ' ', '\t', '\n', '\r', '\v', '\f', '\u00a0', '\u2028', '\u2029':
			if !space {
				b.WriteByte(' ')
				n.at = append(n.at, i)
			}
			space = true
		default:
			b.WriteString(s[i : i+size])
			for k := range size {
				n.at = append(n.at, i+k)
			}
			space = false
		}
		i += size
	}
	n.text = strings.TrimSuffix(b.String(), " ")
	n.at = append(n.at[:len(n.text)], len(s))
	if len(n.text) > 0 {
		// The end is the byte after the last one that counts.
		n.at[len(n.text)] = n.at[len(n.text)-1] + 1
	}
	return n
}

// The shortest quote that counts unless it is a whole line, and the shortest part beside an ellipsis.
const (
	minQuote = 16
	minPart  = 12
)

var ellipsis = regexp.MustCompile(`\s*(?:…|\.\.\.|\[(?:…|\.\.\.)[^\]]{0,40}\])\s*`)

// find looks for a quote, which is normalised, and returns its span in the text that was normalised.
func (n *normal) find(quote string) (from, to int, ok bool) {
	if i := strings.Index(n.text, quote); i >= 0 {
		return n.at[i], n.end(i + len(quote)), true
	}
	parts := ellipsis.Split(quote, -1)
	if len(parts) < 2 {
		return 0, 0, false
	}
	at := 0
	from = -1
	for k, p := range parts {
		if p == "" && (k == 0 || k == len(parts)-1) {
			continue
		}
		if utf8.RuneCountInString(p) < minPart {
			return 0, 0, false
		}
		i := strings.Index(n.text[at:], p)
		if i < 0 {
			return 0, 0, false
		}
		if from < 0 {
			from = n.at[at+i]
		}
		at += i + len(p)
		to = n.end(at)
	}
	return from, to, from >= 0
}

func (n *normal) end(i int) int {
	if i == 0 {
		return 0
	}
	return n.at[i-1] + 1
}

// wholeLine says whether a quote is a whole line of the text.
func wholeLine(text, quote string) bool {
	for line := range strings.Lines(text) {
		if l := normalise(line); l.text == quote && quote != "" {
			return true
		}
	}
	return false
}

// Quote is a quote that was found where it was said to be, or elsewhere in the packet.
type Quote struct {
	Item  *Item
	Text  string // normalised
	Role  string // cause, effect, counter
	Moved bool   // found elsewhere than it was said to be
	From  int    // its span in the source of the item
	To    int
}

// verifier checks quotes against the packet as it was sent.
type verifier struct {
	packet *Packet
	prompt string // normalised: what the prompt itself says is no evidence
	texts  []normal
}

func newVerifier(p *Packet, prompt string) *verifier {
	v := &verifier{packet: p, prompt: normalise(prompt).text}
	for _, it := range p.Items {
		v.texts = append(v.texts, normalise(it.text.text))
	}
	return v
}

// The reasons for which a quote does not count.
const (
	quoteShort  = "it is shorter than 16 characters and no whole line"
	quotePrompt = "it stands in the instructions"
	quoteNone   = "it is not in the packet"
)

// check returns the quote with its place, or why it does not count.
func (v *verifier) check(id, text, role string) (*Quote, string) {
	q := normalise(text).text
	switch {
	case q == "":
		return nil, quoteShort
	case strings.Contains(v.prompt, q):
		return nil, quotePrompt
	case strings.Contains(q, leftOut):
		return nil, quoteNone
	}
	long := utf8.RuneCountInString(q) >= minQuote
	try := func(i int) *Quote {
		it := v.packet.Items[i]
		if it.Kind == kindSkeleton || !long && !wholeLine(it.text.text, q) {
			return nil
		}
		from, to, ok := v.texts[i].find(q)
		if !ok {
			return nil
		}
		from, to = it.text.source(from, to)
		return &Quote{Item: it, Text: q, Role: role, Moved: it.ID != id, From: from, To: to}
	}
	for i, it := range v.packet.Items {
		if it.ID == id {
			if found := try(i); found != nil {
				return found, ""
			}
		}
	}
	// Found elsewhere: what the agent may have written comes first, so that a wrong pointer gains no trust.
	for _, trusted := range []bool{false, true} {
		for i, it := range v.packet.Items {
			if it.Trusted == trusted && it.ID != id {
				if found := try(i); found != nil {
					return found, ""
				}
			}
		}
	}
	if !long {
		return nil, quoteShort
	}
	return nil, quoteNone
}
