package classify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// The kinds of items of a packet.
const (
	kindFacts    = "facts"
	kindCheck    = "check"
	kindClause   = "clause"
	kindChange   = "change"
	kindEvent    = "event"
	kindDiff     = "diff"
	kindSkeleton = "skeleton"
)

// Item is one piece of evidence as a judge sees it.
type Item struct {
	ID      string // e112 is the event with seq 112, k3 a check, a clause has its own id
	Kind    string
	Channel string
	Trusted bool // the agent under test had no hand in the text

	text     mapped // as sent; it leads back to the text of its source
	event    *logs.EventRow
	check    *logs.CheckRow
	evidence Evidence
	section  int
}

// Packet is everything that a judge is told about one failed attempt, within a budget of tokens.
type Packet struct {
	ID      string // the answer must repeat it
	Items   []*Item
	Omitted []string // what did not fit, in words
	Flagged bool     // a text that the agent could write speaks to the reader of the packet
	Budget  int      // tokens

	Redacted  int // placeholders for secrets in it
	Shortened int // texts that lost their middle
}

// leftOut marks what is cut out of a text.
const leftOut = "left out …"

// The sections of a packet, in the order in which they are filled. What a section does not use rolls down to the next;
// the quotas are those of a budget of 12,000 tokens.
const (
	sectionFacts = iota
	sectionGroups
	sectionClauses
	sectionEnd
	sectionMatched
	sectionDiff
	sectionSkeleton
	sectionFirst
	sectionAsked
	sections
)

var quotas = [sections]int{300, 1500, 1200, 3000, 2500, 2500, 800, 200, 0}

// leasts are the smallest quotas.
var leasts = [sections]int{sectionFacts: 130, sectionGroups: 180}

const defaultPacketTokens = 12000

// packetOptions say how a packet is made.
type packetOptions struct {
	tokens int      // budget; 0 = 12,000
	plain  bool     // nothing is redacted
	masked bool     // texts that speak to the reader are masked
	asked  [][2]int // ranges of events that the judge asked for
}

// builder fills a packet.
type builder struct {
	f       *failure
	opt     packetOptions
	red     *redactor
	files   []logs.FileChange
	others  int
	change  string
	packet  *Packet
	section int
	left    int // tokens of the section
	seen    map[int]bool
	omitted [sections]int
}

// tokenBytes is how many bytes of a text a token is taken for: three of prose, two of code and JSON.
func tokenBytes(kind string) int {
	if kind == kindClause || kind == kindChange || kind == kindFacts {
		return 3
	}
	return 2
}

// tokens estimates the tokens of n bytes.
func tokens(kind string, n int) int {
	per := tokenBytes(kind)
	return (n + per - 1) / per
}

// itemTokens is what the frame of an item takes.
const itemTokens = 18

// build makes the packet of a failed attempt that has been decided about.
func (b *builder) build() *Packet {
	if b.opt.tokens <= 0 {
		b.opt.tokens = defaultPacketTokens
	}
	b.packet = &Packet{Budget: b.opt.tokens}
	b.seen = map[int]bool{}
	fill := [sections]func(){b.facts, b.checks, b.clauses, b.ending, b.matched, b.diff, b.skeleton, b.first, b.asked}
	quota := quotas
	if len(b.opt.asked) > 0 {
		quota[sectionAsked], quota[sectionEnd], quota[sectionDiff] = 3500, 1500, 500
	}
	order := []int{sectionFacts, sectionGroups, sectionClauses, sectionAsked, sectionEnd, sectionMatched, sectionDiff, sectionSkeleton, sectionFirst}
	left, total := 0, b.opt.tokens
	for _, s := range order {
		// However small a packet is, it holds the facts and a failing check.
		own := max(quota[s]*b.opt.tokens/defaultPacketTokens, leasts[s])
		before := min(left+own, total)
		b.section, b.left = s, before
		fill[s]()
		left, total = b.left, total-(before-b.left)
		if n := b.omitted[s]; n > 0 {
			b.packet.Omitted = append(b.packet.Omitted, fmt.Sprintf("%d %s", n, omittedNames[s]))
		}
	}
	for _, it := range b.packet.Items {
		b.packet.Redacted += len(placeholders.FindAllStringIndex(it.text.text, -1))
		if gapMark.MatchString(it.text.text) {
			b.packet.Shortened++
		}
	}
	b.packet.ID = b.packet.hash()[:10]
	return b.packet
}

var omittedNames = [sections]string{"facts", "failing checks", "clauses", "of the last events", "notable events", "parts of the diff", "lines of the outline", "of the first events", "events that were asked for"}

// add puts an item in, shortened to what is left. It reports false if there is no room.
func (b *builder) add(it *Item, text string, most int) bool {
	most = min(most, b.left-itemTokens)
	const least = 24 // tokens; less says nothing
	if most < least && tokens(it.Kind, len(text)) > most {
		b.omitted[b.section]++
		return false
	}
	m := b.clean(it, text)
	it.text, it.section = shorten(m, most*tokenBytes(it.Kind)), b.section
	b.left -= itemTokens + tokens(it.Kind, len(it.text.text))
	b.packet.Items = append(b.packet.Items, it)
	return true
}

// maxRaw bounds the text that is looked at for one item.
const maxRaw = 64 << 10

// clean redacts a text, and masks what speaks to its reader.
func (b *builder) clean(it *Item, text string) mapped {
	m := shorten(unchanged(text), maxRaw) // before it is redacted, with the mark that the redactor knows
	if !utf8.ValidString(m.text) {
		m = unchanged(strings.ToValidUTF8(m.text, "\uFFFD"))
	}
	m = b.red.redact(m)
	if it.Trusted || it.Kind == kindSkeleton {
		return m
	}
	return b.unspoken(m)
}

// unspoken notes text that speaks to its reader, and masks it if it is to be.
func (b *builder) unspoken(m mapped) mapped {
	if spans := b.f.book.spokenTo(m.text); len(spans) > 0 {
		b.packet.Flagged = true
		if b.opt.masked {
			m = m.splice(spans)
		}
	}
	return m
}

// shorten keeps 60 % of the room for the head and 40 % for the tail.
func shorten(m mapped, most int) mapped {
	if len(m.text) <= most {
		return m
	}
	const mark = 40 // bytes of the marker
	room := max(most-mark, 20)
	head, tail := room*6/10, len(m.text)-room*4/10
	for head > 0 && !utf8.RuneStart(m.text[head]) {
		head--
	}
	for tail < len(m.text) && !utf8.RuneStart(m.text[tail]) {
		tail++
	}
	return m.splice([]edit{{head, tail, fmt.Sprintf("\n[… %d bytes "+leftOut+"]\n", tail-head)}})
}

// hash identifies the packet by what it says.
func (p *Packet) hash() string {
	h := sha256.New()
	for _, it := range p.Items {
		fmt.Fprintf(h, "%d %s %s %s %d\n%s\n", it.section, it.ID, it.Kind, it.Channel, len(it.text.text), it.text.text)
	}
	fmt.Fprintf(h, "%q\n", p.Omitted)
	return hex.EncodeToString(h.Sum(nil))
}

// render writes the packet as a JSON array of objects. Section order is that of the argument; the nonce in the names of
// the fields cannot be known to whoever wrote a text, and no text can close the array.
func (p *Packet) render(nonce string, order []int) string {
	var b bytes.Buffer
	item := func(id, channel, text string) {
		if b.Len() > 0 {
			b.WriteString(",\n")
		} else {
			b.WriteString("[")
		}
		fmt.Fprintf(&b, `{"id_%s":%s,"channel_%s":%s,"text_%s":%s}`, nonce, quoteJSON(id), nonce, quoteJSON(channel), nonce, quoteJSON(text))
	}
	item("packet", "packet", "packet_id: "+p.ID)
	for _, s := range order {
		for _, it := range p.Items {
			if it.section == s {
				item(it.ID, it.Channel, it.text.text)
			}
		}
	}
	if len(p.Omitted) > 0 {
		item("omitted", "packet", "not shown: "+strings.Join(p.Omitted, ", "))
	}
	b.WriteString("]")
	return b.String()
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// item returns the item with this id, or nil.
func (p *Packet) item(id string) *Item {
	if i := slices.IndexFunc(p.Items, func(it *Item) bool { return it.ID == id }); i >= 0 {
		return p.Items[i]
	}
	return nil
}
