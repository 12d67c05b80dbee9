package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// rank sorts copies of an episode by how they end.
type rank int

const (
	rankValid   rank = iota // ran to its own end
	rankStopped             // ended by something that was not the agent
	rankOpen                // no end yet
)

// journalCopy is one journal of an episode, with a good chain.
type journalCopy struct {
	dir     string // of the episode
	own     bool   // it is the one that the directory has
	records []logs.Record
	rank    rank
}

func (j *journalCopy) path() string      { return filepath.Join(j.dir, logs.JournalName) }
func (j *journalCopy) last() logs.Record { return j.records[len(j.records)-1] }
func (j *journalCopy) length() int64     { r := j.last(); return r.Offset + r.Length }

// holds says whether the other journal is the beginning of this one.
func (j *journalCopy) holds(other *journalCopy) bool {
	return logs.Shared(j.records, other.records) == len(other.records)
}

// collected is an episode, its copies while it is at hand, the best one first, and the one that was taken.
type collected struct {
	MissingEpisode
	content string
	copies  []*journalCopy
	taken   *journalCopy
}

// sorted puts the copies into the order in which they are tried: by the rule of [before], but those that another one
// goes on from come last, whatever their ends are.
func sorted(copies []*journalCopy) []*journalCopy {
	var heads, begun []*journalCopy
	for i, j := range copies {
		goesOn := func(o *journalCopy) bool { return len(o.records) > len(j.records) && o.holds(j) }
		if slices.ContainsFunc(copies[:i], goesOn) || slices.ContainsFunc(copies[i+1:], goesOn) {
			begun = append(begun, j)
		} else {
			heads = append(heads, j)
		}
	}
	slices.SortStableFunc(heads, before)
	slices.SortStableFunc(begun, before)
	return append(heads, begun...)
}

// before is the rule that takes one of several copies. What the directory has with a valid end is never replaced:
// results that were looked at stay.
func before(a, b *journalCopy) int {
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if a.own != b.own && (a.rank == rankValid || a.last().Chain == b.last().Chain) {
		if a.own {
			return -1
		}
		return 1
	}
	if a.rank == rankOpen {
		if c := cmp.Compare(len(b.records), len(a.records)); c != 0 {
			return c
		}
	} else if c := strings.Compare(a.last().TWall, b.last().TWall); c != 0 { // UTC with milliseconds: text sorts by time
		return c
	}
	return strings.Compare(a.last().Chain, b.last().Chain)
}

// copyOf reads the journal of an episode in one folder; nil if it has none. The error names the file that is refused.
func (c *collection) copyOf(e *collected, d *logs.RunDir, own bool) (*journalCopy, error) {
	j := &journalCopy{dir: d.EpisodeDir(e.ID), own: own}
	records, _, err := logs.ReadJournal(j.path()) // a torn tail was never acknowledged and is left behind
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, nil
	}
	j.records = records
	start, err := logs.Decode[logs.EpisodeStart](records[0])
	switch {
	case records[0].Type != logs.TypeEpisodeStart || err != nil:
		return nil, fmt.Errorf("%s: it does not begin with %s", j.path(), logs.TypeEpisodeStart)
	case records[0].Episode != e.ID:
		return nil, fmt.Errorf("%s: it belongs to the episode %s", j.path(), records[0].Episode)
	}
	if err := c.study.Agrees(e.PlannedEpisode, e.content, &start); err != nil {
		return nil, fmt.Errorf("%s: %w", j.path(), err)
	}
	j.rank = rankOpen
	if j.last().Type == logs.TypeEpisodeEnd {
		end, err := logs.Decode[logs.EpisodeEnd](j.last())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.path(), err)
		}
		j.rank = rankStopped
		if (episode.End{Reason: end.EndReason}).Valid() {
			j.rank = rankValid
		}
	}
	return j, nil
}

// beginning reads from the first line of a journal which version of stint began it, and how. What cannot be read is
// judged when the whole journal is.
func beginning(path string) (version string, ok bool) {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	var first struct{ Data logs.EpisodeStart }
	if json.NewDecoder(io.LimitReader(f, logs.MaxLine)).Decode(&first) != nil {
		return "", false
	}
	if first.Data.Ungraded {
		return first.Data.Stint + " without grading", true
	}
	return first.Data.Stint, true
}

// versionSeen remembers the first journal of each of two versions of stint.
type versionSeen struct{ version, path, other, otherPath string }

func (v *versionSeen) see(version, path string) {
	switch {
	case v.path == "":
		v.version, v.path = version, path
	case version != v.version && (v.otherPath == "" || path < v.otherPath):
		v.other, v.otherPath = version, path
	case version == v.version && path < v.path:
		v.path = path
	}
}

func (v *versionSeen) err() error {
	if v.otherPath == "" {
		return nil
	}
	return &study.InputError{File: v.otherPath, Advice: "run these shards again with the same stint; or --any-version, if you know that the two grade alike",
		Message: fmt.Sprintf("the journal was begun by stint %s, but %s by stint %s", v.other, v.path, v.version)}
}

// takeBest puts the best copy that is whole into the directory and keeps the other journals as wasted.
func (c *collection) takeBest(ctx context.Context, e *collected) error {
	coming := ""
	for _, j := range e.copies {
		if !j.own {
			var err error
			coming, err = c.bring(ctx, e.ID, j)
			var damaged *logs.BlobError
			if errors.As(err, &damaged) {
				c.refuse(fmt.Errorf("%s: %w", j.dir, err))
				continue
			}
			if err != nil {
				return fmt.Errorf("collecting the episode %s (%v) from %s: %w", e.ID, e.PlannedEpisode, j.dir, err)
			}
		}
		e.taken = j
		break
	}
	if e.taken == nil {
		return nil
	}
	if err := c.keepWasted(e); err != nil { // as long as the directory's own journal is there
		return err
	}
	hadOwn := ownCopy(e.copies)
	if coming != "" {
		if err := c.replace(e.ID, coming); err != nil {
			return fmt.Errorf("putting the episode %s into its place: %w", e.ID, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case coming == "":
		c.out.Kept++
	case hadOwn:
		c.out.Grown++
	default:
		c.out.Added++
	}
	return nil
}

func ownCopy(copies []*journalCopy) bool {
	for _, j := range copies {
		if j.own {
			return true
		}
	}
	return false
}

// The prefixes of folders that a collection works with; none of them is an episode to anybody.
const (
	comingPrefix = ".collect-"
	formerPrefix = ".former-"
)

// bring verifies an episode and prepares its folder beside the place that it will have.
func (c *collection) bring(ctx context.Context, id string, j *journalCopy) (coming string, err error) {
	folder := filepath.Join(c.dir.EpisodesDir(), comingPrefix+id)
	coming = folder
	if err := os.RemoveAll(coming); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	blobs, err := logs.OpenBlobs(filepath.Join(coming, "blobs"))
	if err != nil {
		return "", err
	}
	if err := blobs.Adopt(ctx, filepath.Join(j.dir, "blobs")); err != nil {
		return "", err
	}
	if err := blobs.HasAllOf(j.records); err != nil {
		return "", err
	}
	if err := copyTruth(j.dir, coming); err != nil {
		return "", err
	}
	if err := logs.CopyJournal(j.path(), j.length(), filepath.Join(coming, logs.JournalName)); err != nil {
		return "", err
	}
	return coming, syncDir(coming)
}

// replace moves a finished folder to its place. If the machine dies in between, mend puts things right.
func (c *collection) replace(id, coming string) error {
	place, former := c.dir.EpisodeDir(id), filepath.Join(c.dir.EpisodesDir(), formerPrefix+id)
	if err := os.Rename(place, former); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(coming, place); err != nil {
		return err
	}
	if err := syncDir(c.dir.EpisodesDir()); err != nil {
		return err
	}
	return os.RemoveAll(former)
}

// mend clears what a collection that was killed has left.
func (c *collection) mend() error {
	entries, err := os.ReadDir(c.dir.EpisodesDir())
	if err != nil {
		return fmt.Errorf("listing the episodes: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(c.dir.EpisodesDir(), entry.Name())
		if id, ok := strings.CutPrefix(entry.Name(), formerPrefix); ok {
			if _, err := os.Lstat(c.dir.EpisodeDir(id)); errors.Is(err, fs.ErrNotExist) {
				if err := os.Rename(path, c.dir.EpisodeDir(id)); err != nil {
					return fmt.Errorf("putting back the episode %s: %w", id, err)
				}
				continue
			}
		} else if !strings.HasPrefix(entry.Name(), comingPrefix) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clearing what an interrupted collection left: %w", err)
		}
	}
	return nil
}

// truthName is the file of planted faults of a simulated agent, and maxTruth bounds it.
const (
	truthName = "truth"
	maxTruth  = 256 << 20
)

func copyTruth(from, to string) error {
	path := filepath.Join(from, truthName)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > maxTruth {
		return &logs.BlobError{Path: path, Text: "is no file that stint wrote"}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return study.WriteWhole(filepath.Join(to, truthName), b)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// keepWasted keeps the journals that were not taken, of each line only the longest, and says what they cost beyond what
// they share with the one taken and with each other.
func (c *collection) keepWasted(e *collected) error {
	old, err := c.dir.WastedJournals(e.ID)
	if err != nil {
		return err
	}
	known := []*journalCopy{e.taken}
	paths := map[*journalCopy]string{}
	for _, path := range old {
		records, _, err := logs.ReadJournal(path)
		if err != nil || len(records) == 0 {
			continue // what it cost cannot be told any more; every reading of the run says so
		}
		j := &journalCopy{records: records}
		known, paths[j] = append(known, j), path
	}
	for _, j := range e.copies {
		if j == e.taken || heldBy(known, j) {
			continue
		}
		from := 0
		for _, other := range known {
			from = max(from, logs.Shared(other.records, j.records))
		}
		tokens, usd, err := logs.CostOf(j.records[from:])
		if err != nil {
			return fmt.Errorf("counting what %s has cost: %w", j.path(), err)
		}
		if err := c.keepJournal(e.ID, j); err != nil {
			return err
		}
		known = append(known, j)
		c.mu.Lock()
		c.out.Wasted = append(c.out.Wasted, Wasted{Episode: e.ID, Path: j.path(), Why: e.taken.why(j), Tokens: tokens, USD: usd})
		c.mu.Unlock()
	}
	for j, path := range paths { // one that has grown since, or that was taken
		for _, other := range known {
			if other == e.taken && other.holds(j) || len(other.records) > len(j.records) && other.holds(j) {
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("removing the beginning of a journal: %w", err)
				}
			}
		}
	}
	return nil
}

// heldBy says whether a journal is one of the others, or the beginning of one.
func heldBy(others []*journalCopy, j *journalCopy) bool {
	for _, o := range others {
		if o.holds(j) {
			return true
		}
	}
	return false
}

// keepJournal puts a journal that was not taken beside the episodes.
func (c *collection) keepJournal(id string, j *journalCopy) error {
	dir := c.dir.WastedDir(id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keeping a journal that was not taken: %w", err)
	}
	coming := filepath.Join(dir, comingPrefix+j.last().Chain)
	if err := os.Remove(coming); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keeping a journal that was not taken: %w", err)
	}
	if err := logs.CopyJournal(j.path(), j.length(), coming); err != nil {
		return err
	}
	return os.Rename(coming, filepath.Join(dir, j.last().Chain+".jsonl"))
}

// why tells what the copy that was taken has over another one.
func (j *journalCopy) why(other *journalCopy) string {
	words := map[rank]string{rankValid: "ran to its end", rankStopped: "was stopped", rankOpen: "has no end"}
	switch {
	case j.own && j.rank == rankValid:
		return "the run had this episode already"
	case j.rank != other.rank:
		return fmt.Sprintf("it %s, the copy taken %s", words[other.rank], words[j.rank])
	case j.rank == rankOpen:
		return "the copy taken is longer"
	}
	return "the copy taken ended earlier"
}
