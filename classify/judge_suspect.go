package classify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stint-bench/stint/logs"
)

// suspect is one failed attempt that a judge is asked about.
type suspect struct {
	name   string
	key    logs.VerdictKey
	rule   *logs.VerdictRow // what the rules say
	known  *failure
	parts  builder // with everything but the options of a packet
	inputs string  // hash of what the judge is asked about
	budget int     // tokens of a packet
	again  int     // how often it was asked again from the start

	built    *Packet
	builtFor packetOptions
}

// packet builds what is shown of the attempt, or returns the one that was built last if it is the same.
func (it *suspect) packet(opt packetOptions) *Packet {
	b := it.parts
	opt.tokens, opt.plain = it.budget, it.parts.opt.plain
	if it.built != nil && it.builtFor.tokens == opt.tokens && it.builtFor.masked == opt.masked && slices.Equal(it.builtFor.asked, opt.asked) {
		return it.built
	}
	b.opt = opt
	it.built, it.builtFor = b.build(), opt
	return it.built
}

// hidden says whether a range of events holds any that the packet does not show.
func (it *suspect) hidden(p *Packet, r *answerRange) bool {
	if r.From < 0 || r.To < r.From {
		return false
	}
	for i := r.From; i <= min(r.To, r.From+50, len(it.known.events)-1); i++ {
		if p.item(fmt.Sprintf("e%d", i)) == nil {
			return true
		}
	}
	return false
}

// suspect gathers what a packet about the attempt of a verdict is made from.
func (rows rowsOf) suspect(d *logs.RunDir, v *logs.VerdictRow, plain bool) (*suspect, error) {
	e, attempts, err := rows(v.Episode)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("asking about %s: no attempt of its episode failed", itemName(v.Key()))
	}
	return newSuspect(d, e, attempts, v, plain)
}

// newSuspect gathers what a packet about an attempt is made from.
func newSuspect(d *logs.RunDir, e *episodeRows, attempts []*logs.AttemptRow, v *logs.VerdictRow, plain bool) (*suspect, error) {
	it := &suspect{name: itemName(v.Key()), key: v.Key(), rule: v}
	i := slices.IndexFunc(e.failed, func(a *logs.AttemptRow) bool { return a.Turn == v.Turn && *a.Attempt == v.Attempt })
	if i < 0 {
		return nil, fmt.Errorf("asking about %s: it is not among the failed attempts", it.name)
	}
	a := e.failed[i]
	files := &placeReader{root: d.Root}
	defer files.close()
	cs, missing := e.clausesOf(d, a)
	f := e.failure(d, a, files, cs, missing)
	if _, err := f.decide(); err != nil {
		return nil, err
	}
	sha := map[logs.Place]string{}
	for _, c := range f.checks {
		sha[c.Place] = files.sha(c.Place)
	}
	f.sha = func(p logs.Place) string { return sha[p] }
	it.known = f
	it.parts = builder{f: f, red: newRedactor(e.episode, v.Episode, plain), opt: packetOptions{plain: plain}}
	if t := e.turns[a.Turn]; t != nil {
		it.parts.change = deref(t.ChangeText)
	}
	// The workspace of a simulated agent is no code: it names the faults that were planted.
	if e.episode == nil || e.episode.Harness != "simulated" {
		it.parts.files, it.parts.others = changesOf(d, attempts, a)
	}
	return it, nil
}

// maxChanged bounds a file whose changes are shown.
const maxChanged = 256 << 10

// changesOf compares what the turn began with and what the attempt left. What cannot be read is not shown.
func changesOf(d *logs.RunDir, attempts []*logs.AttemptRow, a *logs.AttemptRow) ([]logs.FileChange, int) {
	if a.Snapshot == nil || *a.Snapshot == "" {
		return nil, 0
	}
	before := ""
	var last *logs.AttemptRow
	for _, o := range attempts {
		if o.Turn < a.Turn && o.Snapshot != nil && (last == nil || o.Turn > last.Turn || o.Turn == last.Turn && o.Offset > last.Offset) {
			last, before = o, *o.Snapshot
		}
	}
	blobs, err := logs.OpenBlobs(filepath.Join(d.EpisodeDir(a.Episode), "blobs"))
	if err != nil {
		return nil, 0
	}
	changes, others, err := logs.ChangedFiles(blobs, before, *a.Snapshot, maxChanged)
	if err != nil {
		return nil, 0
	}
	return changes, others
}

// prepare fixes what a suspect is asked with. The hash of its inputs is that of the packet as configured, so that a
// smaller packet for a small window is no other question.
func (p *pass) prepare(it *suspect) {
	it.budget = p.opt.PacketTokens
	sum := sha256.Sum256([]byte(p.annotator + "\n" + it.packet(packetOptions{}).hash()))
	it.inputs = hex.EncodeToString(sum[:])
	if p.opt.Context > 0 { // at most four fifths of the window, with the instructions and the answer
		codebook := p.draw("", "").instructions(p.book, detailOf(p.opt.Context), rungText)
		it.budget = max(minPacket, min(it.budget, p.opt.Context*8/10-tokens(kindFacts, len(codebook))-2*p.opt.MaxOutput))
	}
	p.mu.Lock()
	if t := p.profile.Tokens; t > 0 {
		it.budget = min(it.budget, t)
	}
	p.mu.Unlock()
	p.ledger.mu.Lock()
	if r := p.ledger.ratio; r > 0.5 { // a model whose tokens are shorter than estimated
		it.budget = max(minPacket, int(float64(it.budget)*0.5/r))
	}
	if t := p.ledger.packets[p.annotator+"\x00"+it.name+"\x00"+it.inputs]; t > 0 {
		it.budget = t
	}
	p.ledger.mu.Unlock()
}
