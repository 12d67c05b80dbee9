package classify

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// engineVersion changes whenever the same journal, blobs and codebook give other verdicts.
const engineVersion = 4

// madeFromName is the file beside rules.jsonl that says what its rows were made from.
const madeFromName = ".rules-made-from"

// PassOptions are the options of [Pass].
type PassOptions struct {
	Book *Taxonomy // nil = the embedded [Codebook]
	// Foreign are the tables of logs that stint did not write; nil = the directory is a run's.
	Foreign   *logs.EpisodeTables
	OnEpisode func(done, total int) // is told the progress; nil = nobody
}

// PassResult is what [Pass] came to.
type PassResult struct {
	Verdicts []logs.VerdictRow // sorted by key
	Configs  map[string]string // of each episode, by its id
	// Ends are the attempts whose failure ended an episode, by its id. Episodes that went on, or were stopped, have none.
	Ends     map[string]logs.VerdictKey
	Unjudged int            // attempts of foreign logs without a result of grading and without a sign that they failed
	Reused   int            // episodes that had not changed
	Problems []logs.Problem // records that could not be read
}

// Pass brings verdicts/rules.jsonl of a run directory up to date, or that of a folder of tables. One episode at a time is
// read for each core, so what is kept in memory does not grow with the logs. An episode is decided about again only if its
// journal or its rows, the codebook or the engine are others than last time; the file is the same, byte for byte, as
// without an earlier pass.
func Pass(ctx context.Context, d *logs.RunDir, opt PassOptions) (*PassResult, error) {
	opt.Book = cmp.Or(opt.Book, Codebook())
	before := readMadeFrom(d)
	var made []*passed
	var err error
	if opt.Foreign != nil {
		made, err = passTables(ctx, d, opt, before)
	} else {
		made, err = passRun(ctx, d, opt, before)
	}
	if err != nil {
		return nil, err
	}
	r := &PassResult{Verdicts: []logs.VerdictRow{}, Configs: map[string]string{}, Ends: map[string]logs.VerdictKey{}}
	for _, p := range made {
		r.Verdicts = append(r.Verdicts, p.verdicts...)
		r.Problems = append(r.Problems, p.problems...)
		r.Unjudged += p.Unjudged
		if p.Begun {
			r.Configs[p.Episode] = p.Config
		}
		if p.End != nil {
			r.Ends[p.Episode] = logs.VerdictKey{Episode: p.Episode, Turn: p.End[0], Attempt: p.End[1]}
		}
		if p.reused {
			r.Reused++
		}
	}
	return r, writePass(d, r.Verdicts, made)
}

// passing decides about many episodes, one for each core at a time, and counts them.
type passing struct {
	opt   PassOptions
	group *errgroup.Group
	total int
	mu    sync.Mutex
	done  int
}

func startPassing(ctx context.Context, opt PassOptions, total int) (*passing, context.Context) {
	w := &passing{opt: opt, total: total}
	w.group, ctx = errgroup.WithContext(ctx)
	w.group.SetLimit(runtime.GOMAXPROCS(0))
	return w, ctx
}

// do waits for a free core, and decides then.
func (w *passing) do(ctx context.Context, to **passed, decide func() (*passed, error)) {
	w.group.Go(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := decide()
		*to = p
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.done++; w.opt.OnEpisode != nil && err == nil {
			w.opt.OnEpisode(w.done, w.total)
		}
		return err
	})
}

func passRun(ctx context.Context, d *logs.RunDir, opt PassOptions, before map[string]*passed) ([]*passed, error) {
	ids, err := d.Episodes()
	if err != nil {
		return nil, err
	}
	made := make([]*passed, len(ids))
	w, ctx := startPassing(ctx, opt, len(ids))
	for i, id := range ids {
		w.do(ctx, &made[i], func() (*passed, error) { return passEpisode(ctx, d, id, opt.Book, before) })
	}
	return made, w.group.Wait()
}

// passTables goes through the tables in their own order, reads on only when a core is free, and sorts what it found.
func passTables(ctx context.Context, d *logs.RunDir, opt PassOptions, before map[string]*passed) ([]*passed, error) {
	ids := opt.Foreign.IDs()
	whole := &passed{}
	if stamp, err := opt.Foreign.Stamp(); err == nil {
		whole.Key = hashOf(fmt.Appendf(nil, "%d %s %s", engineVersion, opt.Book.Hash(), stamp))
	}
	if old := before[""]; old != nil && whole.Key != "" && old.Key == whole.Key {
		return allBefore(before), nil
	}
	made := make([]*passed, len(ids), len(ids)+1)
	w, ctx := startPassing(ctx, opt, len(ids))
	for i, id := range ids {
		w.do(ctx, &made[i], func() (*passed, error) {
			t, err := opt.Foreign.Episode(id)
			if err != nil {
				return nil, err
			}
			key := rowsKey(t, opt.Book)
			if old := before[id]; old != nil && key != "" && old.Key == key {
				old.reused = true
				return old, nil
			}
			return decidePassed(ctx, d, id, t, key, Options{Book: opt.Book, Foreign: true})
		})
	}
	if err := w.group.Wait(); err != nil {
		return nil, err
	}
	made = append(made, whole)
	slices.SortFunc(made, func(a, b *passed) int { return cmp.Compare(a.Episode, b.Episode) })
	return made, nil
}

// allBefore is what the last pass came to, where nothing has changed at all.
func allBefore(before map[string]*passed) []*passed {
	var made []*passed
	for _, id := range slices.Sorted(maps.Keys(before)) {
		before[id].reused = id != ""
		made = append(made, before[id])
	}
	return made
}

// rowsKey names what the verdicts about an episode of foreign tables follow from: its rows, but for the end that verdicts
// gave it, and what is decided with. It is "" if the rows have no such name.
func rowsKey(t *logs.Tables, book *Taxonomy) string {
	h := sha256.New()
	fmt.Fprintf(h, "tables %d %s\n", engineVersion, book.Hash())
	enc := json.NewEncoder(h)
	for _, e := range t.Episodes {
		e.EndL1, e.EndLeaf, e.EndSource = nil, nil, nil
		if enc.Encode(e) != nil {
			return ""
		}
	}
	if !encodeAll(enc, "turns", t.Turns) || !encodeAll(enc, "clauses", t.Clauses) || !encodeAll(enc, "attempts", t.Attempts) ||
		!encodeAll(enc, "checks", t.Checks) || !encodeAll(enc, "events", t.Events) {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// encodeAll says whether all rows could be written; a number that is none cannot.
func encodeAll[T any](enc *json.Encoder, name string, rows []T) bool {
	if enc.Encode(name) != nil {
		return false
	}
	for i := range rows {
		if enc.Encode(&rows[i]) != nil {
			return false
		}
	}
	return true
}

// passed is one episode in a pass. Its exported fields are a line of the file that says what the rows were made from.
type passed struct {
	Episode string  `json:"episode"` // "" = the tables of logs as a whole
	Key     string  `json:"key"`     // "" = not to be reused
	Config  string  `json:"config"`
	Begun   bool    `json:"begun"`
	End     *[2]int `json:"end,omitempty"` // turn and attempt of the failure that ended it

	Unjudged int `json:"unjudged,omitempty"`

	verdicts []logs.VerdictRow
	problems []logs.Problem
	reused   bool
}

func passEpisode(ctx context.Context, d *logs.RunDir, id string, book *Taxonomy, before map[string]*passed) (*passed, error) {
	key := episodeKey(d, id, book)
	if old := before[id]; old != nil && key != "" && old.Key == key {
		old.reused = true
		return old, nil
	}
	t, problems, err := logs.ReadEpisode(d, id)
	if err != nil {
		return nil, err
	}
	p, err := decidePassed(ctx, d, id, t, key, Options{Book: book})
	if err == nil && len(problems) > 0 {
		p.problems, p.Key = problems, "" // they are told every time
	}
	return p, err
}

func decidePassed(ctx context.Context, d *logs.RunDir, id string, t *logs.Tables, key string, opt Options) (*passed, error) {
	r, err := Run(ctx, d, t, opt)
	if err != nil {
		return nil, err
	}
	p := &passed{Episode: id, Key: key, Unjudged: r.Unjudged, verdicts: r.Verdicts}
	if len(t.Episodes) > 0 {
		p.Begun, p.Config = true, t.Episodes[0].Config
	}
	p.End = endOfEpisode(t, r.Verdicts, opt.Foreign)
	return p, nil
}

// endOfEpisode is turn and attempt of the failure that ended an episode; nil if none did. Of the log of others nobody may
// have said how the episode ended: then it is the last attempt that has a verdict.
func endOfEpisode(t *logs.Tables, verdicts []logs.VerdictRow, foreign bool) *[2]int {
	if ends := AuditEnds(t, nil); len(ends) > 0 {
		return &[2]int{ends[0].Turn, ends[0].Attempt}
	}
	if n := len(verdicts); foreign && n > 0 && len(t.Episodes) > 0 && t.Episodes[0].EndReason == nil {
		return &[2]int{verdicts[n-1].Turn, verdicts[n-1].Attempt}
	}
	return nil
}

// episodeKey names what the verdicts of an episode follow from: the bytes of its journal, which names all else by hash, and
// what is decided with. It is "" if the journal cannot be read.
func episodeKey(d *logs.RunDir, id string, book *Taxonomy) string {
	path := filepath.Join(d.EpisodeDir(id), logs.JournalName)
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return ""
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %x", engineVersion, book.Hash(), n, h.Sum(nil)))
	return hex.EncodeToString(key[:])
}

func rulesPath(d *logs.RunDir) string { return filepath.Join(d.VerdictsDir(), "rules.jsonl") }

// readMadeFrom reads what the last pass left, by episode; nothing if rules.jsonl is not what that pass wrote.
func readMadeFrom(d *logs.RunDir) map[string]*passed {
	b, err := os.ReadFile(filepath.Join(d.VerdictsDir(), madeFromName))
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	rules, err := os.ReadFile(rulesPath(d))
	if err != nil || !lines.Scan() || lines.Text() != hashOf(rules) {
		return nil
	}
	byID := map[string]*passed{}
	for lines.Scan() {
		var p passed
		if json.Unmarshal(lines.Bytes(), &p) != nil {
			return nil
		}
		byID[p.Episode] = &p
	}
	if lines.Err() != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(rules))
	for {
		var v logs.VerdictRow
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return byID
		} else if err != nil {
			return nil
		}
		p := byID[v.Episode]
		if p == nil {
			return nil
		}
		p.verdicts = append(p.verdicts, v)
	}
}

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// WriteRules writes verdicts/rules.jsonl, unless it says the same already, and returns its bytes.
func WriteRules(d *logs.RunDir, verdicts []logs.VerdictRow) ([]byte, error) {
	fresh := filepath.Join(d.VerdictsDir(), ".rules-new.jsonl")
	if err := logs.WriteVerdicts(fresh, verdicts); err != nil {
		return nil, err
	}
	defer os.Remove(fresh)
	now, err := os.ReadFile(fresh)
	if err != nil {
		return nil, fmt.Errorf("reading the verdicts just written: %w", err)
	}
	if old, err := os.ReadFile(rulesPath(d)); err == nil && bytes.Equal(old, now) {
		return now, nil
	}
	if err := os.Rename(fresh, rulesPath(d)); err != nil {
		return nil, fmt.Errorf("writing the verdicts: %w", err)
	}
	return now, nil
}

// writePass writes rules.jsonl, and after it what it was made from.
func writePass(d *logs.RunDir, verdicts []logs.VerdictRow, made []*passed) error {
	now, err := WriteRules(d, verdicts)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(hashOf(now) + "\n")
	enc := json.NewEncoder(&b)
	for _, p := range made {
		if err := enc.Encode(p); err != nil {
			return fmt.Errorf("writing what the verdicts were made from: %w", err)
		}
	}
	path := filepath.Join(d.VerdictsDir(), madeFromName)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	if err := os.WriteFile(path+".tmp", b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing what the verdicts were made from: %w", err)
	}
	return os.Rename(path+".tmp", path)
}
