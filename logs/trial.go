package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A runner sets an agent a task and grades what comes of it: an episode of one turn. What follows is shared by the
// readers of such runners.

// maxNested bounds events that hold events, and agents that call agents.
const maxNested = 8

// trialGrade is how a task ended.
type trialGrade struct {
	value   *float64 // what the grader gave, as far as it is a number; 1 = everything is right
	reason  string   // grade_reason of a failed attempt; "" = checks
	stopped string   // why it ended, if that was not the agent's doing: host, provider, bench, operator; "" = it counts
	checks  int      // how many were made
	prompt  string   // what was asked; "" = the log does not say
}

// gradeTrial fills in what follows from the grade: the attempt, the turn, and the episode's T. A task without a grade, or
// with one that is not from 0 to 1, is incomplete; one with a grade between them did not pass, and has it as the share.
func (s *rowSink) gradeTrial(g trialGrade) {
	s.begun()
	e, a := s.episode, s.attempt
	e.TurnsMax = cmp.Or(e.TurnsMax, 1)
	used := 1
	turn := TurnRow{Episode: e.Episode, Turn: a.Turn, ChangeText: text(preview(g.prompt)), Checks: g.checks, AttemptsUsed: &used, Place: a.Place}
	if v := g.value; v != nil && (*v < 0 || *v > 1) {
		g.value = nil // nobody said which value of this scale is right
	}
	switch {
	case g.value != nil:
		passed := *g.value == 1
		a.Passed, turn.Passed = &passed, &passed
		a.GradeReason = text(cmp.Or(map[bool]string{true: "passed"}[passed], g.reason, "checks"))
	case g.stopped == "bench":
		a.GradeReason = text("bench_grader")
	}
	s.send(LogRecord{Turn: &turn})
	if e.TurnsMax == 1 {
		e.conclude([]*bool{a.Passed}, g)
	}
}

// conclude decides the episode from its turns; the share of a single turn is its grade.
func (e *EpisodeRow) conclude(turns []*bool, g trialGrade) {
	e.Validity = ValidityIncomplete
	passed, leading, graded := 0, 0, len(turns) > 0
	for i, p := range turns {
		graded = graded && p != nil
		if p != nil && *p {
			if passed++; leading == i {
				leading++
			}
		}
	}
	switch {
	case g.stopped != "":
		e.Validity, e.EndReason = ValidityStopped, &g.stopped
	case graded:
		e.Validity, e.EndReason = ValidityValid, text(StatusFailed)
		if leading == e.TurnsMax {
			e.EndReason = text(StatusCapped)
		}
	default:
		return
	}
	share := float64(passed) / float64(max(e.TurnsMax, 1))
	if g.value != nil && e.TurnsMax == 1 {
		share = *g.value
	}
	changes := max(leading-1, 0)
	e.TurnsPassed, e.ChangesPassed, e.TurnsPassedShare = &leading, &changes, &share
}

// spent adds what an answer cost.
func (s *rowSink) spent(usd float64) {
	s.begun()
	for _, sum := range []**float64{&s.attempt.CostUSD, &s.episode.CostUSD} {
		n := usd
		if *sum != nil {
			n += **sum
		}
		*sum = &n
	}
}

// failedCheck is a check that a grader made and that did not pass.
func (s *rowSink) failedCheck(c CheckRow) {
	s.begun()
	c.Episode, c.Turn, c.Attempt, c.Place = s.episode.Episode, s.attempt.Turn, number(s.attempt.Attempt), s.at
	c.Status = cmp.Or(c.Status, "fail")
	c.Age = cmp.Or(c.Age, "new")
	for _, t := range []*string{&c.Check, &c.Request, &c.Expected, &c.Actual} {
		*t = preview(*t)
	}
	s.send(LogRecord{Check: &c})
}

// graded is what the grader said; its words are its own.
func (b *eventBuilder) graded(words string) {
	b.add(EventRow{Actor: "verifier", Channel: ChannelVerifier, Kind: EventGrade, Text: words})
}

// quoted are words of a record that whoever wrote the log may have taken from the agent.
func (b *eventBuilder) quoted(actor, words string) {
	if strings.TrimSpace(words) != "" {
		b.add(EventRow{Actor: actor, Channel: ChannelOther, Kind: EventNotice, Text: words})
	}
}

// wholeFile reads a file into memory and sets the place to all of it; false if that failed, which is told of what it is.
func (s *rowSink) wholeFile(f *inputFile, what string) ([]byte, bool) {
	data, err := f.data()
	s.place(f.path, 0, data)
	if err != nil {
		s.unreadable(0, "%s: %s", what, plainError(err))
	}
	return data, err == nil
}

// loneFile is a log of one file, under the name that says whether it is a document (.json) or lines.
func loneFile(name string, f *inputFile) programFiles {
	return programFiles{files: []placedFile{{LogFile: LogFile{Name: name}, input: f}}}
}

// logTime reads the forms of times that runners write. One without a zone is taken for UTC.
func logTime(s string) *time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC()
			return &t
		}
	}
	return nil
}

// between are the seconds from one time to another; nil if one is missing.
func between(from, to string) *float64 {
	a, b := logTime(from), logTime(to)
	if a == nil || b == nil || b.Before(*a) {
		return nil
	}
	s := b.Sub(*a).Seconds()
	return &s
}

// usageKey is a name of a count that may stand in an event.
var usageKey = regexp.MustCompile(`^[A-Za-z0-9_.]{1,60}$`)

// rawUsage writes down the counts of a usage as the log has them, beside the ones that were put into one meaning.
func rawUsage(raw json.RawMessage) string {
	var counts []string
	var walk func(prefix string, raw json.RawMessage, depth int)
	walk = func(prefix string, raw json.RawMessage, depth int) {
		var m map[string]json.RawMessage
		if depth > 2 || json.Unmarshal(raw, &m) != nil {
			return
		}
		for k, v := range m {
			var n json.Number
			switch {
			case !usageKey.MatchString(k):
			case json.Unmarshal(v, &n) == nil && n != "":
				counts = append(counts, prefix+k+"="+n.String())
			default:
				walk(prefix+k+".", v, depth+1)
			}
		}
	}
	walk("", raw, 0)
	slices.Sort(counts)
	return clip(strings.Join(counts[:min(len(counts), 20)], " "), 600)
}

// patchLines counts the lines that a diff adds and removes, and the files it changes.
func patchLines(patch []byte) (added, deleted int64, files int) {
	inHunk := false
	for line := range bytes.Lines(patch) {
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			files, inHunk = files+1, false
		case bytes.HasPrefix(line, []byte("@@")):
			inHunk = true
		case !inHunk && bytes.HasPrefix(line, []byte("+++ ")):
			if files == 0 {
				files = 1
			}
		case inHunk && line[0] == '+':
			added++
		case inHunk && line[0] == '-':
			deleted++
		}
	}
	return added, deleted, files
}

// patched fills in what a diff changed.
func (a *AttemptRow) patched(patch []byte) {
	added, deleted, files := patchLines(patch)
	a.LinesAdded, a.LinesDeleted, a.Files = &added, &deleted, &files
}

// gradeValue is the number that a grade is: a number, true or false, or one of the letters that stand for right,
// partly right, wrong and no answer. Anything else is nil.
func gradeValue(raw json.RawMessage) *float64 {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	n := math.NaN()
	switch v := v.(type) {
	case float64:
		n = v
	case bool:
		return passGrade(v)
	case string:
		if known, ok := map[string]float64{"C": 1, "P": 0.5, "I": 0, "N": 0}[v]; ok {
			n = known
		}
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// passGrade is the grade of a task that was passed, or was not.
func passGrade(passed bool) *float64 {
	n := 0.0
	if passed {
		n = 1
	}
	return &n
}

// plainValue writes a JSON value for an event: a text as it is, anything else as JSON.
func plainValue(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return ""
	}
	return string(raw)
}

// shortNumber is a number as events have it.
func shortNumber(f float64) string { return fmt.Sprintf("%g", f) }
