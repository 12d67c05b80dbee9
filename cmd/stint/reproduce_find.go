package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// An attempt is one graded attempt of an episode, as its journal tells.
type attempt struct {
	dir     string // of the episode
	episode string
	start   logs.EpisodeStart
	turn    int
	number  int

	suiteSHA string
	tree     string // snapshot, "" = none
	passed   *bool
	reason   string // of the grade; "" = not graded
	void     string // why it does not count; "" = it does
	result   string // blob

	suite  *suite.Suite // as it was run
	graded *episode.GradeResult
}

// id is how the attempt is named on the command line.
func (a *attempt) id() string { return fmt.Sprintf("%s@%d.%d", a.episode, a.turn, a.number) }

func (a *attempt) key() logs.VerdictKey {
	return logs.VerdictKey{Episode: a.episode, Turn: a.turn, Attempt: a.number}
}

// outcome says in a few words how the attempt ended.
func (a *attempt) outcome() string {
	switch {
	case a.void != "":
		return "void (" + clean(a.void) + ")"
	case a.passed == nil && a.reason != "":
		return "not graded (" + clean(a.reason) + ")"
	case a.passed == nil:
		return "not graded"
	case *a.passed:
		return "passed"
	}
	return "failed (" + clean(a.reason) + ")"
}

func (a *attempt) failed() bool { return a.passed != nil && !*a.passed && a.void == "" }

func (a *attempt) blobs() (*logs.Blobs, error) { return logs.OpenBlobs(filepath.Join(a.dir, "blobs")) }

// load reads the suite and the result of the grading.
func (a *attempt) load() error {
	if !a.failed() {
		return inputErrorf(a.otherAttempts(), "%s has no failing request to repeat: it %s", a.id(), a.outcome())
	}
	if a.result == "" {
		return inputErrorf("the journal of the episode says no more: "+clean(filepath.Join(a.dir, "journal.jsonl")), "%s has no grading on record", a.id())
	}
	blobs, err := a.blobs()
	if err != nil {
		return err
	}
	b, err := blobs.Get(a.suiteSHA)
	if err != nil {
		return fmt.Errorf("reading the suite of turn %d: %w", a.turn, err)
	}
	if a.suite, err = suite.Decode(b); err != nil {
		return err
	}
	if b, err = blobs.Get(a.result); err != nil {
		return fmt.Errorf("reading the grading of %s: %w", a.id(), err)
	}
	a.graded = &episode.GradeResult{}
	if err := json.Unmarshal(b, a.graded); err != nil || a.graded.Result == nil {
		return fmt.Errorf("the grading of %s (blob %s) cannot be read: %w", a.id(), clean(a.result), cmp.Or(err, fmt.Errorf("it holds no result")))
	}
	a.suite = a.suite.Limited(a.graded.Result.Checks)
	return nil
}

// otherAttempts names the failed attempts of the same episode.
func (a *attempt) otherAttempts() string {
	list, err := attemptsOf(a.dir, a.episode)
	if err != nil {
		return ""
	}
	var ids []string
	for _, o := range list {
		if o.failed() {
			ids = append(ids, o.id())
		}
	}
	switch {
	case len(ids) == 0:
		return "no attempt of this episode failed"
	case len(ids) > 12:
		ids = append(ids[:12:12], fmt.Sprintf("and %d more", len(ids)-12))
	}
	return "the failed attempts of this episode: " + strings.Join(ids, ", ")
}

// findAttempt finds what an ID names.
func findAttempt(e *env, d *logs.RunDir, id string) (*attempt, error) {
	name, place := id, ""
	if i := strings.LastIndexByte(id, '@'); i >= 0 {
		name, place = id[:i], id[i+1:]
	}
	ep, err := findEpisode(e, d, name)
	if err != nil {
		return nil, err
	}
	list, err := attemptsOf(d.EpisodeDir(ep), ep)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, inputErrorf(e.Self+" ls "+shellQuote(d.Root)+" shows the state of the episodes", "episode %s has no attempt yet", ep)
	}
	if place == "" {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].failed() {
				return list[i], nil
			}
		}
		return nil, inputErrorf(e.Self+" ls "+shellQuote(d.Root)+" shows the other episodes", "no attempt of episode %s failed", ep)
	}
	turnText, numberText, dotted := strings.Cut(place, ".")
	turn, err1 := strconv.Atoi(turnText)
	number, err2 := strconv.Atoi(numberText)
	if !dotted || err1 != nil || err2 != nil {
		return nil, inputErrorf("for example "+ep+"@0.0, the first attempt of the build", "%s: after the @ come turn and attempt, two numbers with a dot between", clean(id))
	}
	for _, a := range list {
		if a.turn == turn && a.number == number {
			return a, nil
		}
	}
	return nil, inputErrorf(list[0].otherAttempts(), "episode %s has no attempt %d in turn %d", ep, number, turn)
}

// findEpisode finds an episode by id, by the beginning of one, by CONFIG/SCENARIO#REPEAT, or by the end of that.
func findEpisode(e *env, d *logs.RunDir, name string) (string, error) {
	ids, err := d.Episodes()
	if err != nil {
		return "", err
	}
	hint := e.Self + " ls " + shellQuote(d.Root) + " lists the episodes"
	if name == "" {
		return "", inputErrorf(hint, "the ID names no episode")
	}
	var found []string
	byName := strings.Contains(name, "/")
	for _, id := range ids {
		switch {
		case !byName && strings.HasPrefix(id, name):
			found = append(found, id)
		case byName:
			start, err := episodeStart(d.EpisodeDir(id))
			full := fmt.Sprintf("%s/%s#%d", start.Config, start.Scenario.ID, start.Repeat)
			if err == nil && (full == name || strings.HasSuffix(full, "/"+name)) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", inputErrorf(hint, "there is no episode %s in %s", clean(name), clean(d.Root))
	}
	return "", inputErrorf("write more of it", "%s stands for %d episodes: %s", clean(name), len(found), strings.Join(found[:min(len(found), 8)], ", "))
}

// episodeStart reads the first record of an episode.
func episodeStart(dir string) (logs.EpisodeStart, error) {
	records, _, err := logs.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if len(records) == 0 {
		return logs.EpisodeStart{}, cmp.Or(err, fmt.Errorf("the journal in %s is empty", dir))
	}
	return logs.Decode[logs.EpisodeStart](records[0])
}

// attemptsOf lists the attempts of an episode, the last try of each, in order.
func attemptsOf(dir, id string) ([]*attempt, error) {
	records, _, err := logs.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if len(records) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("the journal in %s is empty", clean(dir)))
	}
	// What stands before damage is good: a damaged journal still shows its attempts.
	r := attemptReader{dir: dir, episode: id}
	for i := range records {
		if err := r.record(records[i]); err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

// attemptReader follows a journal.
type attemptReader struct {
	dir, episode string
	start        logs.EpisodeStart
	suite        string
	list         []*attempt
}

func (r *attemptReader) record(rec logs.Record) (err error) {
	switch rec.Type {
	case logs.TypeEpisodeStart:
		r.start, err = logs.Decode[logs.EpisodeStart](rec)
	case logs.TypeTurnStart:
		var t logs.TurnStart
		t, err = logs.Decode[logs.TurnStart](rec)
		r.suite = t.Suite.SHA
	case logs.TypeAttemptStart:
		if rec.Turn == nil || rec.Attempt == nil {
			return nil
		}
		a := &attempt{dir: r.dir, episode: r.episode, start: r.start, turn: *rec.Turn, number: *rec.Attempt, suiteSHA: r.suite}
		if n := len(r.list); n > 0 && r.list[n-1].turn == a.turn && r.list[n-1].number == a.number {
			r.list[n-1] = a // a new try replaces the one before
		} else {
			r.list = append(r.list, a)
		}
	}
	if err != nil || len(r.list) == 0 {
		return err
	}
	a := r.list[len(r.list)-1]
	switch rec.Type {
	case logs.TypeSnapshot:
		var s logs.SnapshotTaken
		s, err = logs.Decode[logs.SnapshotTaken](rec)
		a.tree = s.Tree
	case logs.TypeGradeEnd:
		var g logs.GradeEnd
		g, err = logs.Decode[logs.GradeEnd](rec)
		a.passed, a.reason, a.result = g.Passed, g.Reason, g.Result
	case logs.TypeVoid:
		var v logs.Void
		v, err = logs.Decode[logs.Void](rec)
		a.void = v.Reason
	}
	return err
}
