package classify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// Options are the options of [Run].
type Options struct {
	// Only restricts the work to the attempts it says yes to; nil = every failed attempt.
	Only func(logs.VerdictKey) bool
	// Book is what to decide with; nil = the embedded [Codebook].
	Book *Taxonomy
	// Foreign says that the tables are those of logs that stint did not write. Then the attempts are looked at as well
	// of which nobody said whether they passed; they get a verdict where the log shows what ended them.
	Foreign bool
	// OnEpisode is told the progress; nil = nobody.
	OnEpisode func(done, total int)
}

// Result is every verdict of the deterministic tier, sorted by key.
type Result struct {
	Verdicts  []logs.VerdictRow
	Unjudged  int // attempts of foreign logs without a result of grading and without a sign that they failed
	decisions map[logs.VerdictKey]*Decision
}

// Decision returns the way to one verdict, or nil if the attempt has none.
func (r *Result) Decision(key logs.VerdictKey) *Decision { return r.decisions[key] }

// Run decides about every failed attempt of a run: those that were graded and did not pass. The tables are those of
// the same run directory; events are read from the agents' logs where they are not among them. The same run gives
// the same verdicts.
func Run(ctx context.Context, d *logs.RunDir, t *logs.Tables, opt Options) (*Result, error) {
	byEpisode := sortOut(t, opt)
	total := len(byEpisode)
	results := make([][]*Decision, total)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	done := make(chan struct{}, total)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		n := 0
		for range done {
			if n++; opt.OnEpisode != nil {
				opt.OnEpisode(n, total)
			}
		}
	}()
	for i, e := range byEpisode {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			results[i], err = e.decide(d)
			done <- struct{}{}
			return err
		})
	}
	err := group.Wait()
	close(done)
	<-finished
	if err != nil {
		return nil, err
	}
	r := &Result{decisions: map[logs.VerdictKey]*Decision{}, Verdicts: []logs.VerdictRow{}}
	for _, list := range results {
		for _, dec := range list {
			if dec.ungraded && (dec.Verdict.L1 == "drift" || dec.Verdict.L1 == "unknown") {
				r.Unjudged++
				continue
			}
			r.Verdicts = append(r.Verdicts, dec.Verdict)
			r.decisions[dec.Verdict.Key()] = dec
		}
	}
	return r, nil
}

// episodeRows are the rows of one episode that has failed attempts.
type episodeRows struct {
	book    *Taxonomy
	foreign bool
	episode *logs.EpisodeRow
	turns   map[int]*logs.TurnRow
	clauses []logs.ClauseRow
	failed  []*logs.AttemptRow
	checks  map[[2]int][]*logs.CheckRow
	events  map[[2]int64][]logs.EventRow // by the turn and the offset of the attempt
	only    func(logs.VerdictKey) bool
}

func sortOut(t *logs.Tables, opt Options) []*episodeRows {
	opt.Book = cmp.Or(opt.Book, Codebook())
	byID := map[string]*episodeRows{}
	var list []*episodeRows
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Attempt == nil || a.Passed == nil && !opt.Foreign || a.Passed != nil && *a.Passed {
			continue
		}
		e := byID[a.Episode]
		if e == nil {
			e = &episodeRows{book: opt.Book, foreign: opt.Foreign, turns: map[int]*logs.TurnRow{}, checks: map[[2]int][]*logs.CheckRow{}, events: map[[2]int64][]logs.EventRow{}, only: opt.Only}
			byID[a.Episode] = e
			list = append(list, e)
		}
		e.failed = append(e.failed, a)
	}
	for i := range t.Episodes {
		if e := byID[t.Episodes[i].Episode]; e != nil {
			e.episode = &t.Episodes[i]
		}
	}
	for i := range t.Turns {
		if e := byID[t.Turns[i].Episode]; e != nil {
			e.turns[t.Turns[i].Turn] = &t.Turns[i]
		}
	}
	for _, c := range t.Clauses {
		if e := byID[c.Episode]; e != nil {
			e.clauses = append(e.clauses, c)
		}
	}
	for i := range t.Checks {
		c := &t.Checks[i]
		if e := byID[c.Episode]; e != nil {
			k := [2]int{c.Turn, c.Attempt}
			e.checks[k] = append(e.checks[k], c)
		}
	}
	for _, ev := range t.Events {
		if e := byID[ev.Episode]; e != nil {
			k := [2]int64{int64(ev.Turn), ev.AttemptOffset}
			e.events[k] = append(e.events[k], ev)
		}
	}
	slices.SortFunc(list, func(a, b *episodeRows) int { return strings.Compare(a.failed[0].Episode, b.failed[0].Episode) })
	for _, e := range list {
		slices.SortStableFunc(e.failed, func(a, b *logs.AttemptRow) int {
			if a.Turn != b.Turn {
				return a.Turn - b.Turn
			}
			return *a.Attempt - *b.Attempt
		})
	}
	return list
}

// decide finds the verdicts of one episode, in order, so that damage to the session can be followed.
func (e *episodeRows) decide(d *logs.RunDir) ([]*Decision, error) {
	files := &placeReader{root: d.Root}
	defer files.close()
	var out []*Decision
	tables := map[int]*clauses{}
	missing := map[int][]string{}
	for _, a := range e.failed {
		key := logs.VerdictKey{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt}
		if e.only != nil && !e.only(key) {
			continue
		}
		if tables[a.Turn] == nil {
			tables[a.Turn], missing[a.Turn] = e.clausesOf(d, a)
		}
		f := e.failure(d, a, files, tables[a.Turn], missing[a.Turn])
		dec, err := f.decide()
		if err != nil {
			return nil, err
		}
		dec.ungraded = a.Passed == nil
		e.follow(out, dec, f.trail)
		out = append(out, dec)
	}
	return out, nil
}

// failure gathers what is known about one failed attempt. Its events are read from the agent's log where they are not
// among the tables.
func (e *episodeRows) failure(d *logs.RunDir, a *logs.AttemptRow, files *placeReader, cs *clauses, missing []string) *failure {
	f := &failure{book: e.book, foreign: e.foreign, episode: e.episode, attempt: a, checks: e.checks[[2]int{a.Turn, *a.Attempt}],
		clauses: cs, missing: slices.Clone(missing), passedBefore: e.passedBefore(a.Turn), sha: files.sha}
	events, ok := e.events[[2]int64{int64(a.Turn), a.Offset}]
	if !ok && a.File != "" {
		var err error
		if events, err = logs.AttemptEvents(d, a); err != nil {
			f.missing = append(f.missing, "the attempt's records")
		}
	}
	f.events = events
	return f
}

// follow marks damage to the session: where the conversation carries over, an attempt that could not take a single
// step for the same reason as the one before it is no new cause.
func (e *episodeRows) follow(earlier []*Decision, dec *Decision, t *trail) {
	leaf := deref(dec.Verdict.Leaf)
	if len(earlier) == 0 || e.episode == nil || e.episode.Session != "continue" || !slices.Contains(e.book.Poisons, leaf) {
		return
	}
	prev := &earlier[len(earlier)-1].Verdict
	if deref(prev.Leaf) != leaf || prev.Turn != dec.Verdict.Turn || prev.Attempt != dec.Verdict.Attempt-1 {
		return
	}
	if _, tool := t.progressed(-1); tool {
		return // it worked for a while, so the conversation was sound
	}
	cause := fmt.Sprintf("%d.%d", prev.Turn, prev.Attempt)
	if prev.CausedBy != nil {
		cause = *prev.CausedBy
	}
	prev.Reach, dec.Verdict.Reach, dec.Verdict.CausedBy = ptr("session"), ptr("session"), &cause
	dec.step("is it a new cause?", "no: the conversation carries over and takes no further prompt since "+cause)
}

// clausesOf reads the clause table of an attempt's turn out of the stored suite, or else out of the table of clauses.
func (e *episodeRows) clausesOf(d *logs.RunDir, a *logs.AttemptRow) (*clauses, []string) {
	const lost = "the suite of the turn"
	turn := e.turns[a.Turn]
	if turn != nil && turn.SuiteSHA != "" {
		dir := filepath.Join(d.EpisodeDir(a.Episode), "blobs")
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			if blobs, err := logs.OpenBlobs(dir); err == nil {
				if b, err := blobs.Get(turn.SuiteSHA); err == nil {
					if cs, err := suiteClauses(b, a.Turn); err == nil {
						return cs, nil
					}
				}
			}
		}
	}
	return tableClauses(e.clauses, a.Turn), []string{lost}
}

// passedBefore looks back from a turn: the whole suite runs in every attempt, so a clause that existed in an earlier
// turn which passed was satisfied then. Else a failing check that passed in an earlier turn tells.
func (e *episodeRows) passedBefore(turn int) func(*clause, *Group) bool {
	return func(k *clause, g *Group) bool {
		since := max(k.Introduced, k.Changed)
		for n := since; n < turn; n++ {
			if t := e.turns[n]; t != nil && t.Passed != nil && *t.Passed {
				return true
			}
		}
		return slices.ContainsFunc(g.members, func(s *symptom) bool { return s.check.LastPassedTurn != nil && *s.check.LastPassedTurn >= since })
	}
}

// placeReader hashes bytes of a run directory.
type placeReader struct {
	root string
	name string
	file *os.File
}

// maxPlace bounds what is hashed of one place.
const maxPlace = 4 << 20

func (r *placeReader) sha(p logs.Place) string {
	if p.File == "" || p.Length <= 0 || p.Length > maxPlace || !filepath.IsLocal(filepath.FromSlash(p.File)) {
		return ""
	}
	if r.name != p.File {
		r.close()
		path := filepath.Join(r.root, filepath.FromSlash(p.File))
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return ""
		}
		f, err := os.Open(path)
		if err != nil {
			return ""
		}
		r.name, r.file = p.File, f
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(r.file, p.Offset, p.Length)); err != nil || n != p.Length {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r *placeReader) close() {
	if r.file != nil {
		r.file.Close()
		r.name, r.file = "", nil
	}
}
