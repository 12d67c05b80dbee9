package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ExportOptions are the options of the exports of a run directory.
type ExportOptions struct {
	Version   string                 // of the program that exports; goes into formats that name it
	OnEpisode func(done, total int)  // is told the progress; nil = nobody
	Keep      func(*EpisodeRow) bool // the episodes to export; nil = all
}

// exporting is one export on its way: it appears under its name when all of it is written.
type exporting struct {
	run    *RunDir
	tables *Tables
	opt    ExportOptions
	out    string // the folder that is being filled
	names  map[string]bool
}

// export fills a new folder out from the episodes of a run. A folder that exists is left alone, which is an error that
// wraps [fs.ErrExist]; after an error or an interruption nothing is left.
func export(ctx context.Context, d *RunDir, t *Tables, out string, opt ExportOptions, fill func(*exporting) error) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("exporting to %s: %w", out, fs.ErrExist)
	}
	parent := filepath.Dir(filepath.Clean(out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("exporting to %s: %w", out, err)
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(out)+".tmp-")
	if err != nil {
		return fmt.Errorf("exporting to %s: %w", out, err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	x := &exporting{run: d, tables: t, opt: opt, out: tmp, names: map[string]bool{}}
	if err := fill(x); err != nil {
		return fmt.Errorf("exporting to %s: %w", out, err)
	}
	if err := cmp.Or(ctx.Err(), os.Chmod(tmp, 0o755)); err != nil {
		return fmt.Errorf("exporting to %s: %w", out, err)
	}
	if err := os.Rename(tmp, out); err != nil {
		return fmt.Errorf("exporting to %s: %w", out, err)
	}
	return nil
}

// exportEpisode is one episode with its rows.
type exportEpisode struct {
	*EpisodeRow
	turns    map[int]*TurnRow
	attempts []*AttemptRow
	checks   map[[2]int][]*CheckRow // by turn and attempt
}

// episodes calls f for every episode in the order of the table.
func (x *exporting) episodes(ctx context.Context, f func(*exportEpisode) error) error {
	byID := make(map[string]*exportEpisode, len(x.tables.Episodes))
	var all []*exportEpisode
	for i := range x.tables.Episodes {
		row := &x.tables.Episodes[i]
		if x.opt.Keep != nil && !x.opt.Keep(row) {
			continue
		}
		e := &exportEpisode{EpisodeRow: row, turns: map[int]*TurnRow{}, checks: map[[2]int][]*CheckRow{}}
		byID[row.Episode] = e
		all = append(all, e)
	}
	for i := range x.tables.Turns {
		if e := byID[x.tables.Turns[i].Episode]; e != nil {
			e.turns[x.tables.Turns[i].Turn] = &x.tables.Turns[i]
		}
	}
	for i := range x.tables.Attempts {
		if e := byID[x.tables.Attempts[i].Episode]; e != nil {
			e.attempts = append(e.attempts, &x.tables.Attempts[i])
		}
	}
	for i := range x.tables.Checks {
		c := &x.tables.Checks[i]
		if e := byID[c.Episode]; e != nil {
			e.checks[[2]int{c.Turn, c.Attempt}] = append(e.checks[[2]int{c.Turn, c.Attempt}], c)
		}
	}
	for i, e := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(e); err != nil {
			return fmt.Errorf("episode %s: %w", e.Episode, err)
		}
		if x.opt.OnEpisode != nil {
			x.opt.OnEpisode(i+1, len(all))
		}
	}
	return nil
}

// file names the file or folder of an episode: its configuration as a folder, its scenario and repeat.
func (x *exporting) file(e *EpisodeRow, suffix string) (string, error) {
	name := filepath.Join(safeName(e.Config), fmt.Sprintf("%s-%d", safeName(e.Scenario), e.Repeat))
	if x.names[strings.ToLower(name)] {
		name += "-" + e.Episode
	}
	x.names[strings.ToLower(name)] = true
	path := filepath.Join(x.out, name+suffix)
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// safeName is a name that no file system takes for anything else.
func safeName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("+-_.=,@", r):
			return r
		}
		return '_'
	}, clip(s, 120))
	if strings.HasPrefix(name, ".") || name == "" {
		name = "_" + name
	}
	return strings.TrimRight(name, ".")
}

// writeNew writes a file that does not exist.
func writeNew(path string, fill func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// writeNewJSON writes a document in one line.
func writeNewJSON(path string, v any) error {
	return writeNew(path, func(f *os.File) error {
		enc := json.NewEncoder(f)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	})
}

// exportedRun is what the formats of others have no place for: the outcome of an episode. Whoever reads an export back
// finds it under the key stint.
type exportedRun struct {
	Study          string   `json:"study"`
	Episode        string   `json:"episode"`
	Config         string   `json:"config"`
	Model          string   `json:"model"`
	Harness        string   `json:"harness"`
	HarnessVersion string   `json:"harness_version"`
	Feedback       string   `json:"feedback"`
	Retries        int      `json:"retries"`
	Session        string   `json:"session"`
	Delivery       string   `json:"delivery"`
	Mode           string   `json:"mode"`
	Scenario       string   `json:"scenario"`
	ScenarioSHA    string   `json:"scenario_sha"`
	Repeat         int      `json:"repeat"`
	Seed           uint64   `json:"seed"`
	TurnsMax       int      `json:"turns_max"`
	TurnsPassed    *int     `json:"turns_passed"`
	Share          *float64 `json:"turns_passed_share"`
	Validity       string   `json:"validity"`
	EndReason      *string  `json:"end_reason"`
	EndL1          *string  `json:"end_l1"`
	EndLeaf        *string  `json:"end_leaf"`
	CostUSD        *float64 `json:"cost_usd"`
}

func exportedRunOf(e *EpisodeRow) *exportedRun {
	return &exportedRun{e.Study, e.Episode, e.Config, e.Model, e.Harness, e.HarnessVersion, e.Feedback, e.Retries, e.Session, e.Delivery, e.Mode,
		e.Scenario, e.ScenarioSHA, e.Repeat, e.Seed, e.TurnsMax, e.TurnsPassed, e.TurnsPassedShare, e.Validity, e.EndReason, e.EndL1, e.EndLeaf, e.CostUSD}
}

// row fills in what an export says of its episode. EndL1 and EndLeaf are left out: verdicts are made anew.
func (r *exportedRun) row(e EpisodeRow) EpisodeRow {
	e.Study, e.Config, e.Model, e.Harness, e.HarnessVersion = r.Study, r.Config, r.Model, r.Harness, r.HarnessVersion
	e.Feedback, e.Retries, e.Session, e.Delivery, e.Mode = r.Feedback, r.Retries, r.Session, r.Delivery, r.Mode
	e.Scenario, e.ScenarioSHA, e.Repeat, e.Seed, e.TurnsMax = r.Scenario, r.ScenarioSHA, r.Repeat, r.Seed, r.TurnsMax
	e.TurnsPassed, e.TurnsPassedShare, e.Validity, e.EndReason, e.CostUSD = r.TurnsPassed, r.Share, r.Validity, r.EndReason, r.CostUSD
	if r.TurnsPassed != nil {
		changes := max(*r.TurnsPassed-1, 0)
		e.ChangesPassed = &changes
	}
	return e
}

// exportedAttempt says which attempt a step begins, and how it was graded.
type exportedAttempt struct {
	Turn        int     `json:"turn"`
	Attempt     *int    `json:"attempt"` // null for one that does not count
	VoidOf      *int    `json:"void_of,omitempty"`
	Kind        string  `json:"kind"`
	Operation   string  `json:"operation,omitempty"`
	Passed      *bool   `json:"passed"`
	GradeReason *string `json:"grade_reason"`
	Completion  *string `json:"completion"`
	VoidReason  *string `json:"void_reason,omitempty"`
	Failed      int     `json:"failed_checks"`
	Checks      int     `json:"checks"`
}

func (e *exportEpisode) exported(a *AttemptRow) *exportedAttempt {
	x := &exportedAttempt{Turn: a.Turn, Attempt: a.Attempt, VoidOf: a.VoidOf, Kind: a.Kind, Passed: a.Passed, GradeReason: a.GradeReason, Completion: a.Completion, VoidReason: a.VoidReason}
	if a.Attempt != nil {
		x.Failed = len(e.checks[[2]int{a.Turn, *a.Attempt}])
	}
	if t := e.turns[a.Turn]; t != nil {
		x.Operation, x.Checks = t.Operation, t.Checks
	}
	return x
}

// begin begins the attempt again, of a log that is read back.
func (x *exportedAttempt) begin(s *rowSink) {
	s.beginAttempt(AttemptRow{Turn: x.Turn, Attempt: x.Attempt, VoidOf: x.VoidOf, Kind: x.Kind, Passed: x.Passed, GradeReason: x.GradeReason,
		Completion: x.Completion, VoidReason: x.VoidReason})
}

// stintIn is where an exporter left something for whoever reads its file back; nil = the file is not of stint.
type stintIn[T any] struct {
	Stint *T `json:"stint"`
}

// graded says in words how an attempt was graded, with the first failing checks.
func (e *exportEpisode) graded(a *AttemptRow) string {
	const shown = 20
	var b strings.Builder
	fmt.Fprintf(&b, "turn %d", a.Turn)
	switch {
	case a.Attempt == nil:
		fmt.Fprintf(&b, ": the attempt does not count (%s)", orEmpty(a.VoidReason))
		return b.String()
	case a.Passed == nil:
		fmt.Fprintf(&b, ", attempt %d: not graded (%s)", *a.Attempt, orEmpty(a.GradeReason))
		return b.String()
	case *a.Passed:
		fmt.Fprintf(&b, ", attempt %d: passed", *a.Attempt)
		return b.String()
	}
	checks := e.checks[[2]int{a.Turn, *a.Attempt}]
	fmt.Fprintf(&b, ", attempt %d: failed (%s), %d failing checks", *a.Attempt, orEmpty(a.GradeReason), len(checks))
	for i, c := range checks {
		if i == shown {
			fmt.Fprintf(&b, "\n… and %d more", len(checks)-shown)
			break
		}
		fmt.Fprintf(&b, "\n%s: %s\n  expected %s\n  got %s", c.Check, c.Request, preview(c.Expected), preview(c.Actual))
	}
	return Redact(b.String())
}

// ExportFolders makes the folder OUT/CONFIG/SCENARIO-REPEAT.git of every episode, which make fills. out must not exist.
func ExportFolders(ctx context.Context, d *RunDir, t *Tables, out string, opt ExportOptions, make func(e *EpisodeRow, dir string) error) error {
	return export(ctx, d, t, out, opt, func(x *exporting) error {
		return x.episodes(ctx, func(e *exportEpisode) error {
			dir, err := x.file(e.EpisodeRow, ".git")
			if err != nil {
				return err
			}
			return make(e.EpisodeRow, dir)
		})
	})
}
