package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// A study is a run directory, or a folder of tables that ingest made of foreign logs.
type study struct {
	Slug    string // in addresses
	Name    string
	Dir     *logs.RunDir // its Root is the folder of the tables if Foreign
	Foreign bool

	looking sync.Mutex // taken before mu
	known   *overview
	read    map[string]*readJournal

	mu        sync.Mutex
	verdicts  keptVerdicts
	auditing  audited
	episodes  []*episode // those asked for last, the newest first
	decisions []*decision

	events eventCache
}

// studies are those below the folder that is shown.
type studies struct {
	root string
	many bool

	mu   sync.Mutex
	list []*study
}

// findStudies opens a folder. One that holds no study is an error. A study.yaml among the folders of runs makes no run.
func findStudies(root string) (*studies, error) {
	s := &studies{root: root}
	st, err := openStudy(root)
	if err != nil || !st.begun() {
		s.many = true
		if s.scan(); len(s.list) > 0 {
			return s, nil
		}
	}
	if err != nil {
		return nil, err
	}
	st.Slug = slug(st.Name, nil)
	return &studies{root: root, list: []*study{st}}, nil
}

// begun says whether there is anything of the study but its description.
func (st *study) begun() bool {
	if st.Foreign {
		return true
	}
	info, err := os.Stat(st.Dir.EpisodesDir())
	return err == nil && info.IsDir()
}

// scan looks for studies that came since.
func (s *studies) scan() {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return // what was found stays
	}
	for _, e := range entries {
		dir := filepath.Join(s.root, e.Name())
		if !e.IsDir() || slices.ContainsFunc(s.list, func(st *study) bool { return st.Dir.Root == dir }) {
			continue
		}
		if st, err := openStudy(dir); err == nil {
			st.Slug = slug(st.Name, s.list)
			s.list = append(s.list, st)
		}
	}
	slices.SortFunc(s.list, func(a, b *study) int { return cmp.Compare(a.Name, b.Name) })
}

// all lists the studies, with those that came since the last time.
func (s *studies) all() []*study {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.many {
		s.scan()
	}
	return slices.Clone(s.list)
}

// find gives the study of an address, or nil.
func (s *studies) find(slug string) *study {
	for _, again := range []bool{false, true} {
		s.mu.Lock()
		list := slices.Clone(s.list) // scan sorts it in place
		s.mu.Unlock()
		if again {
			list = s.all()
		}
		if i := slices.IndexFunc(list, func(st *study) bool { return st.Slug == slug }); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// openStudy opens a run directory or a folder of tables. Of the tables of a run, the run is opened.
func openStudy(dir string) (*study, error) {
	d, err := logs.OpenRunDir(dir)
	if err == nil {
		return newStudy(d, false), nil
	}
	if !logs.IsTables(dir) {
		return nil, err
	}
	if abs, err := filepath.Abs(dir); err == nil {
		if d, err := logs.OpenRunDir(filepath.Dir(abs)); err == nil && d.TablesDir() == abs {
			return newStudy(d, false), nil
		}
	}
	return newStudy(&logs.RunDir{Root: dir}, true), nil
}

func newStudy(d *logs.RunDir, foreign bool) *study {
	name := filepath.Base(d.Root)
	if abs, err := filepath.Abs(d.Root); err == nil {
		name = filepath.Base(abs)
	}
	return &study{Name: name, Dir: d, Foreign: foreign, read: map[string]*readJournal{}}
}

// slug is the name of a study in addresses: no other one has it, and "_" is taken by what belongs to no study.
func slug(name string, others []*study) string {
	if name == "" || name == "_" || name == "." || name == ".." || name == "/" {
		name = "study"
	}
	s := name
	for n := 2; slices.ContainsFunc(others, func(st *study) bool { return st.Slug == s }); n++ {
		s = fmt.Sprintf("%s-%d", name, n)
	}
	return s
}

// table is the path of a table of the study; of a run directory, it is up to date only if the tables are fresh.
func (st *study) table(name string) string {
	dir := st.Dir.Root
	if !st.Foreign {
		dir = st.Dir.TablesDir()
	}
	return filepath.Join(dir, name+".parquet")
}

// An overview is what the page of a study needs: its episodes, sorted by configuration, scenario and repeat.
type overview struct {
	stamp    string
	Episodes []logs.EpisodeRow
	Banner   string         // what has to stand beside causes; "" = nothing
	SoFar    map[string]int // turns passed, of episodes that are not over
	Problems []logs.Problem
}

// judgeFile holds the verdicts of judges.
const judgeFile = "judge.jsonl"

// lockFile lies in a run directory while a run works in it.
const lockFile = "lock"

// live says whether a page about the study follows it: while something runs in it, or an episode is still to go on.
func (st *study) live(o *overview) bool {
	if st.Foreign {
		return false
	}
	if _, err := os.Lstat(filepath.Join(st.Dir.Root, lockFile)); err == nil {
		return true
	}
	return slices.ContainsFunc(o.Episodes, func(e logs.EpisodeRow) bool { return e.Validity == logs.ValidityIncomplete })
}

// A readJournal is what was read of one journal when it had this stamp.
type readJournal struct {
	stamp    string
	tables   *logs.Tables // episodes and attempts
	problems []logs.Problem
}

// stampOf says by sizes and times whether files changed.
func stampOf(paths ...string) string {
	h := sha256.New()
	for _, p := range paths {
		if st, err := os.Lstat(p); err == nil {
			fmt.Fprintf(h, "%s %d %d\n", p, st.Size(), st.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (st *study) journal(id string) string {
	return filepath.Join(st.Dir.EpisodeDir(id), logs.JournalName)
}

// verdictStamp says whether verdicts changed.
func (st *study) verdictStamp() string {
	var paths []string
	for _, name := range []string{"rules.jsonl", judgeFile, "people.jsonl"} {
		paths = append(paths, filepath.Join(st.Dir.VerdictsDir(), name))
	}
	return stampOf(paths...)
}

// stamp says whether anything of the study changed. It reads no file.
func (st *study) stamp() string {
	if st.Foreign {
		return stampOf(st.table("episodes"), st.table("verdicts")) + st.verdictStamp()
	}
	ids, err := st.Dir.Episodes()
	if err != nil {
		return ""
	}
	paths := []string{filepath.Join(st.Dir.Root, lockFile)}
	for _, id := range ids {
		paths = append(paths, st.journal(id))
	}
	return stampOf(paths...) + st.verdictStamp()
}

// overview reads the episodes: from the tables if they are fresh, else from those journals that changed since.
func (st *study) overview(book func(*logs.RunDir) (*classify.Taxonomy, error)) (*overview, error) {
	st.looking.Lock()
	defer st.looking.Unlock()
	stamp := st.stamp()
	if st.known != nil && st.known.stamp == stamp {
		return st.known, nil
	}
	o := &overview{stamp: stamp}
	var err error
	if st.Foreign || st.Dir.Fresh() {
		o.Episodes, err = rowsOf[logs.EpisodeRow](st.table("episodes"), logs.Expr{})
	}
	if !st.Foreign && (err != nil || o.Episodes == nil) {
		err = st.readJournals(o)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", st.Dir.Root, err)
	}
	if o.Banner, err = st.banner(o, book); err != nil {
		return nil, err
	}
	st.known = o
	return o, nil
}

// banner is what has to stand beside causes that rest on a judge whom no audit has validated.
func (st *study) banner(o *overview, book func(*logs.RunDir) (*classify.Taxonomy, error)) (string, error) {
	if info, err := os.Stat(filepath.Join(st.Dir.VerdictsDir(), judgeFile)); err != nil || info.Size() == 0 {
		return "", nil
	}
	t := &logs.Tables{Episodes: o.Episodes}
	var err error
	st.mu.Lock()
	t.Verdicts, err = st.allVerdicts()
	st.mu.Unlock()
	if err != nil {
		return "", err
	}
	if st.Foreign || len(st.read) == 0 {
		t.Attempts, err = rowsOf[logs.AttemptRow](st.table("attempts"), logs.Expr{})
	}
	for _, r := range st.read {
		t.Attempts = append(t.Attempts, r.tables.Attempts...)
	}
	if err != nil {
		return "", err
	}
	b, err := book(st.Dir)
	if err != nil {
		return "", err
	}
	return classify.Unvalidated(st.Dir, t, b)
}

// rowsOf reads the rows of a table that match.
func rowsOf[T any](path string, filter logs.Expr) ([]T, error) {
	rows := []T{}
	for r, err := range logs.Rows[T](path, filter) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// readJournals reads those journals that are not known as they are now, and puts the episodes together.
func (st *study) readJournals(o *overview) error {
	ids, err := st.Dir.Episodes()
	if err != nil {
		return err
	}
	now := make([]*readJournal, len(ids))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		stamp := stampOf(st.journal(id))
		if now[i] = st.read[id]; now[i] != nil && now[i].stamp == stamp {
			continue
		}
		g.Go(func() error {
			t, problems, err := logs.ReadEpisodeWith(st.Dir, id, logs.ReadOptions{Outcomes: true})
			if err != nil {
				return err
			}
			now[i] = &readJournal{stamp, &logs.Tables{Episodes: t.Episodes, Attempts: t.Attempts}, problems}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t := &logs.Tables{}
	clear(st.read)
	for i, id := range ids {
		st.read[id] = now[i]
		t.Episodes = append(t.Episodes, now[i].tables.Episodes...)
		t.Attempts = append(t.Attempts, now[i].tables.Attempts...)
		o.Problems = append(o.Problems, now[i].problems...)
	}
	st.mu.Lock()
	t.Verdicts, err = st.allVerdicts()
	st.mu.Unlock()
	if err != nil {
		return err
	}
	t.SetEnds()
	o.SoFar = soFar(t)
	slices.SortFunc(t.Episodes, func(a, b logs.EpisodeRow) int {
		return cmp.Or(cmp.Compare(a.Config, b.Config), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.Episode, b.Episode))
	})
	o.Episodes = t.Episodes
	return nil
}

// soFar counts the turns that were passed by episodes that are not over.
func soFar(t *logs.Tables) map[string]int {
	out := map[string]int{}
	for i := range t.Episodes {
		if e := &t.Episodes[i]; e.Validity == logs.ValidityIncomplete {
			out[e.Episode] = 0
		}
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if _, ok := out[a.Episode]; ok && a.Attempt != nil && a.Passed != nil && *a.Passed {
			out[a.Episode]++ // a turn that passed ends with it
		}
	}
	return out
}

// keptVerdicts are the verdicts as they were when they had this stamp.
type keptVerdicts struct {
	stamp     string
	rows      []logs.VerdictRow
	byEpisode map[string][]logs.VerdictRow
}

// allVerdicts reads the verdicts that were written down; the caller holds the lock.
func (st *study) allVerdicts() ([]logs.VerdictRow, error) {
	stamp := st.verdictStamp()
	if st.verdicts.byEpisode != nil && st.verdicts.stamp == stamp {
		return st.verdicts.rows, nil
	}
	rows, _, err := logs.ReadVerdicts(st.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	kept := keptVerdicts{stamp, rows, map[string][]logs.VerdictRow{}}
	for _, v := range rows {
		kept.byEpisode[v.Episode] = append(kept.byEpisode[v.Episode], v)
	}
	st.verdicts = kept
	return rows, nil
}
