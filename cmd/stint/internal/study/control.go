package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// The verbs of an order.
const (
	OrderPause  = "pause"  // no new attempt starts
	OrderResume = "resume" // lifts pause and cancel
	OrderCancel = "cancel" // running attempts are cut; an episode ends as stopped by the operator
	OrderSet    = "set"    // limits
)

// Order is what a person has told a run, with who and why.
type Order struct {
	Verb    string    `json:"verb"`
	Episode string    `json:"episode,omitempty"` // id; "" = the whole study
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Set     *Limits   `json:"set,omitempty"`
	Time    time.Time `json:"-"` // when it was recorded
}

// Limits are what an order sets. Nil leaves a limit as it is.
type Limits struct {
	Jobs     *int     `json:"jobs,omitempty"`      // episodes at once
	PerModel *int     `json:"per_model,omitempty"` // of one model
	MaxUSD   *float64 `json:"max_usd,omitempty"`   // of this run directory, instead of the study's
}

// String tells what is set.
func (l *Limits) String() string {
	var parts []string
	if l.Jobs != nil {
		parts = append(parts, fmt.Sprintf("jobs %d", *l.Jobs))
	}
	if l.PerModel != nil {
		parts = append(parts, fmt.Sprintf("per-model %d", *l.PerModel))
	}
	if l.MaxUSD != nil {
		parts = append(parts, fmt.Sprintf("max-usd %g", *l.MaxUSD))
	}
	return strings.Join(parts, ", ")
}

// String is what the order is, who gave it and why.
func (o *Order) String() string {
	words := map[string]string{OrderPause: "paused", OrderResume: "resumed", OrderCancel: "cancelled", OrderSet: "set"}[o.Verb]
	if o.Set != nil {
		words = o.Set.String()
	}
	return fmt.Sprintf("%s by %s: %s", words, o.By, o.Reason)
}

// Control is what the orders to a run come to.
type Control struct {
	Study    *Order            // the pause or cancel in force for all; nil = none
	Episodes map[string]*Order // by id: the pause or cancel in force
	Limits   Limits
	Orders   []Order // all of them, in order
}

// Held is the pause or cancel in force for an episode, nil if there is none.
func (c *Control) Held(id string) *Order {
	if o := c.Episodes[id]; o != nil {
		return o
	}
	return c.Study
}

// InForce lists what holds now: the last order on every limit that was set, and pauses and cancellations by episode.
func (c *Control) InForce() []Order {
	var out []Order
	var seen Limits
	for i := len(c.Orders) - 1; i >= 0; i-- {
		o := c.Orders[i]
		switch {
		case o.Verb == OrderSet:
			if o.Set.Jobs != nil && seen.Jobs == nil || o.Set.PerModel != nil && seen.PerModel == nil || o.Set.MaxUSD != nil && seen.MaxUSD == nil {
				out = append(out, o)
			}
			seen.take(o.Set)
		case o.Episode == "" && c.Study != nil && o == *c.Study, o.Episode != "" && c.Episodes[o.Episode] != nil && o == *c.Episodes[o.Episode]:
			out = append(out, o)
		}
	}
	slices.Reverse(out)
	return out
}

// take takes over the limits that are set.
func (l *Limits) take(set *Limits) {
	if set.Jobs != nil {
		l.Jobs = set.Jobs
	}
	if set.PerModel != nil {
		l.PerModel = set.PerModel
	}
	if set.MaxUSD != nil {
		l.MaxUSD = set.MaxUSD
	}
}

// limits are the limits set; c may be nil.
func (c *Control) limits() Limits {
	if c == nil {
		return Limits{}
	}
	return c.Limits
}

// episode is the order in force for one episode alone; c may be nil.
func (c *Control) episode(id string) *Order {
	if c == nil {
		return nil
	}
	return c.Episodes[id]
}

// apply takes in one order.
func (c *Control) apply(o Order) {
	c.Orders = append(c.Orders, o)
	switch o.Verb {
	case OrderSet:
		c.Limits.take(o.Set)
		return
	}
	held := &o
	if o.Verb == OrderResume {
		held = nil
	}
	if o.Episode == "" {
		c.Study = held
	} else {
		c.Episodes[o.Episode] = held
	}
}

// The orders to a run stand in a journal like those of episodes: only appended to, with a chain.
const (
	controlName    = "control"
	controlType    = "control"
	maxControlText = 1000
)

func controlDir(d *logs.RunDir) string { return filepath.Join(d.Root, controlName) }

// ReadControl reads the orders to the run in a directory.
func ReadControl(d *logs.RunDir) (*Control, error) {
	c := &Control{Episodes: map[string]*Order{}}
	records, _, err := logs.ReadJournal(filepath.Join(controlDir(d), logs.JournalName))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the orders to the run: %w", err)
	}
	for _, r := range records {
		o, err := logs.Decode[Order](r)
		if err == nil && (r.Type != controlType || o.check() != nil) {
			err = fmt.Errorf("record %d of %s is no order that this stint knows", r.Seq, filepath.Join(controlDir(d), logs.JournalName))
		}
		if err != nil {
			return nil, fmt.Errorf("reading the orders to the run: %w", err)
		}
		o.Time, _ = time.Parse(time.RFC3339, r.TWall) // the zero time if it is none
		c.apply(o)
	}
	return c, nil
}

// check refuses an order that says nothing or too much.
func (o *Order) check() error {
	bad := func(advice, format string, args ...any) error {
		return &InputError{File: "control " + o.Verb, Message: fmt.Sprintf(format, args...), Advice: advice}
	}
	for _, text := range []struct{ flag, text string }{{"--reason", o.Reason}, {"--by", o.By}} {
		switch {
		case strings.TrimSpace(text.text) == "":
			return bad(fmt.Sprintf("add %s TEXT: the journal says who did what and why", text.flag), "%s is missing", text.flag)
		case len(text.text) > maxControlText || !utf8.ValidString(text.text):
			return bad("make it shorter", "%s has %d bytes; at most %d of UTF-8 are kept", text.flag, len(text.text), maxControlText)
		case printable(text.text) != text.text:
			return bad("write one line of plain text", "%s has control characters", text.flag)
		}
	}
	switch o.Verb {
	case OrderPause, OrderResume, OrderCancel:
		if o.Set == nil {
			return nil
		}
	case OrderSet:
		switch l := o.Set; {
		case l == nil || *l == Limits{}:
			return bad("for example --jobs 2", "nothing is set")
		case l.Jobs != nil && *l.Jobs < 1 || l.PerModel != nil && *l.PerModel < 1 || l.MaxUSD != nil && !(*l.MaxUSD > 0):
			return bad("stop everything with control pause", "a limit must be above zero")
		case o.Episode != "":
			return bad("leave the episode out", "limits are of the whole run")
		}
		return nil
	}
	return bad("the verbs are pause, resume, cancel and set", "there is no order %q", o.Verb)
}

// Give records an order to the run in a directory. A run that is going on there sees it within a second; else the
// next one does. Only an order that changes something is recorded.
func (s *Study) Give(d *logs.RunDir, o Order, now func() time.Time) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.Set != nil && o.Set.MaxUSD != nil {
		err := s.checkPriced(func(m *Model) error {
			return &InputError{File: "--max-usd", Message: fmt.Sprintf("the price of model %s (id %s) is unknown, so no money limit can be kept", m.Name, m.ID)}
		})
		if err != nil {
			return err
		}
	}
	dir := controlDir(d)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("recording the order: %w", err)
	}
	lock, err := waitForLock(dir, now)
	if err != nil {
		return err
	}
	defer lock.release()
	c, err := ReadControl(d)
	if err != nil {
		return err
	}
	if err := c.sensible(d, o); err != nil {
		return err
	}
	j, _, err := logs.OpenJournal(dir, controlName, logs.JournalOptions{Now: now})
	if err != nil {
		return fmt.Errorf("recording the order: %w", err)
	}
	return errors.Join(j.Append(controlType, nil, nil, o, true), j.Close())
}

// sensible refuses an order that would change nothing.
func (c *Control) sensible(d *logs.RunDir, o Order) error {
	held := c.Study
	what := "the study"
	if o.Episode != "" {
		held, what = c.Episodes[o.Episode], "the episode "+o.Episode
	}
	refuse := func(advice, format string, args ...any) error {
		return &InputError{File: d.Root, Message: fmt.Sprintf(format, args...), Advice: advice}
	}
	switch {
	case o.Verb == OrderResume && held == nil:
		if o.Episode != "" && c.Study != nil {
			return refuse("stint control resume without the episode", "%s is held with the whole study, which was %v", what, c.Study)
		}
		return refuse("stint ls shows what is held", "%s is neither paused nor cancelled", what)
	case o.Verb != OrderSet && o.Verb != OrderResume && held != nil && held.Verb == o.Verb:
		return refuse("stint control resume lifts it", "%s is already %v", what, held)
	}
	if o.Episode != "" && o.Verb != OrderResume {
		st, err := episodeState(d.EpisodeDir(o.Episode))
		if err != nil {
			return err
		}
		if st != stateOpen {
			return refuse("stint ls shows its end", "%s has ended", what)
		}
	}
	return nil
}

// waitForLock takes the lock of the orders, which others hold for an instant only.
func waitForLock(dir string, now func() time.Time) (*dirLock, error) {
	for try := 0; ; try++ {
		lock, err := acquireLock(dir, now())
		var locked *LockedError
		if !errors.As(err, &locked) || try == lockTries {
			return lock, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// FindEpisode finds an episode of the study by its name CONFIG/SCENARIO#REPEAT or by the beginning of its id.
func (s *Study) FindEpisode(d *logs.RunDir, text string) (id string, err error) {
	contents, err := s.Contents(d)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range s.order() {
		if contents[e.Scenario] == "" {
			continue
		}
		id := logs.EpisodeID(s.Name, e.Config, contents[e.Scenario], e.Repeat)
		if e.String() == text || len(text) >= 4 && strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", &InputError{File: d.Root, Message: fmt.Sprintf("the study has no episode %s", printable(text)), Advice: "name it as stint ls does: its id or the first four digits of it, or CONFIG/SCENARIO#REPEAT"}
	case 1:
		return found[0], nil
	}
	return "", &InputError{File: d.Root, Message: fmt.Sprintf("%s are episodes that begin with %s", strings.Join(found, " and "), text), Advice: "write more of the id"}
}
