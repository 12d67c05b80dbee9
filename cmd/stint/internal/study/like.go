package study

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stint-bench/stint/logs"
)

// Like is what earlier runs tell about what attempts achieve and take.
type Like struct {
	Dirs  []string
	Turns int // most turns of an episode there
	cells map[string]*likeCell
}

// likeCell adds up the attempts of configurations that have something in common.
type likeCell struct {
	first, firstPassed, retries, retriesPassed int

	timed, counted, kept int // attempts with seconds, with tokens, with bytes
	tokens               [4]float64
	uncached             bool // some attempt does not say what a cache provided
	seconds, bytes       float64
}

// ReadLike reads earlier run directories.
func ReadLike(dirs []string) (*Like, error) {
	l := &Like{Dirs: dirs, cells: map[string]*likeCell{}}
	attempts := 0
	for _, dir := range dirs {
		d, err := logs.OpenRunDir(dir)
		if err != nil {
			return nil, &InputError{File: dir, Message: fmt.Sprintf("--like: %v", err), Advice: "name the directory of an earlier run, for example --like runs/pilot"}
		}
		t, _, err := logs.ReadRun(d, nil)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", dir, err)
		}
		byEpisode := map[string][]*logs.AttemptRow{}
		for i := range t.Attempts {
			byEpisode[t.Attempts[i].Episode] = append(byEpisode[t.Attempts[i].Episode], &t.Attempts[i])
		}
		for i := range t.Episodes {
			ep := &t.Episodes[i]
			rows := byEpisode[ep.Episode]
			if len(rows) == 0 {
				continue
			}
			attempts += len(rows)
			l.Turns = max(l.Turns, ep.TurnsMax)
			size := int64(-1) // of one that still runs, with what it will clear away
			if ep.Validity == "valid" {
				if size, err = sizeOfFolder(d.EpisodeDir(ep.Episode)); err != nil {
					return nil, fmt.Errorf("looking how much %s takes: %w", dir, err)
				}
			}
			for _, key := range likeKeys(ep.Model, ep.Harness, ep.Feedback) {
				if l.cells[key] == nil {
					l.cells[key] = &likeCell{}
				}
				l.cells[key].add(rows, size)
			}
		}
	}
	if attempts == 0 {
		return nil, &InputError{File: dirs[0], Message: "no attempt is recorded there, so nothing is known about others like it", Advice: "name a run that has begun"}
	}
	return l, nil
}

// likeKeys are the cells of a configuration, the narrowest first.
func likeKeys(model, harness, feedback string) []string {
	return []string{
		model + "+" + harness + "/" + feedback, model + "+" + harness, "harness " + harness, "model " + model, "all configurations",
	}
}

// add takes the attempts of one episode, and the bytes it takes; less than 0 = not known.
func (c *likeCell) add(rows []*logs.AttemptRow, size int64) {
	if size >= 0 {
		c.kept += len(rows)
		c.bytes += float64(size)
	}
	for _, a := range rows {
		if a.AgentS != nil {
			c.timed++
			c.seconds += *a.AgentS
			if a.GradeS != nil {
				c.seconds += *a.GradeS
			}
		}
		if a.VoidReason != nil || a.Passed == nil || a.Attempt == nil {
			continue
		}
		if a.Input != nil && a.Output != nil {
			c.counted++
			for i, v := range []*int64{a.Input, a.Cached, a.CacheWrite, a.Output} {
				if v != nil {
					c.tokens[i] += float64(*v)
				}
			}
			c.uncached = c.uncached || a.Cached == nil
		}
		passed := 0
		if *a.Passed {
			passed = 1
		}
		if *a.Attempt == 0 {
			c.first++
			c.firstPassed += passed
		} else {
			c.retries++
			c.retriesPassed += passed
		}
	}
}

// sizeOfFolder adds up the files of a folder.
func sizeOfFolder(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// rates are what the earlier runs tell about a configuration, before or after what the study itself declares: figures of
// the same model and harness are better than those, others worse. What passes is never taken from other models.
func (l *Like) rates(c *Config, declared rates) rates {
	keys := likeKeys(c.Model, c.Harness, c.Feedback)
	r := rates{}
	l.pass(&r, keys[:2], keys[3:4])
	l.cost(&r, keys[:2])
	if r.first == nil {
		r.first, r.retry, r.passFrom = declared.first, declared.retry, declared.passFrom
	}
	if r.costFrom == "" {
		r.input, r.cached, r.written, r.output, r.seconds, r.bytes, r.costFrom =
			declared.input, declared.cached, declared.written, declared.output, declared.seconds, declared.bytes, declared.costFrom
	}
	if r.first == nil {
		l.pass(&r, keys[3:4], nil)
	}
	if r.costFrom == "" {
		l.cost(&r, keys[2:])
	}
	return r
}

// pass fills in how often attempts pass, from the first cell that tells; retries may be known from a wider one.
func (l *Like) pass(r *rates, keys, wider []string) {
	for _, k := range keys {
		c := l.cells[k]
		if c == nil || c.first == 0 {
			continue
		}
		r.first, r.passFrom = ptr(float64(c.firstPassed)/float64(c.first)), k
		for _, k := range append(append([]string{k}, keys...), wider...) {
			if c := l.cells[k]; c != nil && c.retries > 0 {
				r.retry = ptr(float64(c.retriesPassed) / float64(c.retries))
				return
			}
		}
		return
	}
}

// cost fills in what attempts take, from the first cell that tells.
func (l *Like) cost(r *rates, keys []string) {
	for _, k := range keys {
		c := l.cells[k]
		if c == nil || c.timed == 0 {
			continue
		}
		r.costFrom = k
		r.seconds = ptr(c.seconds / float64(c.timed))
		if c.kept > 0 {
			r.bytes = ptr(c.bytes / float64(c.kept))
		}
		if n := float64(c.counted); n > 0 {
			r.input, r.output = ptr(c.tokens[0]/n), ptr(c.tokens[3]/n)
			if !c.uncached {
				r.cached, r.written = ptr(c.tokens[1]/n), ptr(c.tokens[2]/n)
			}
		}
		return
	}
}
