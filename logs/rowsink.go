package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// LogRecord is one thing that a log says: a row of one of the tables, what could not be read, or a doubt. Exactly one of its
// pointers is not nil.
type LogRecord struct {
	Format  string // name of the format it was read with
	Episode *EpisodeRow
	Turn    *TurnRow
	Clause  *ClauseRow
	Attempt *AttemptRow
	Check   *CheckRow
	Event   *EventRow
	Verdict *VerdictRow
	Problem *Problem
	Doubt   *Problem // what is read, but may not be what it seems
}

// EventRaw is a record of a kind that the reader does not know; its text is the record as it stands.
const EventRaw = "raw"

// heldEvents are kept back, so that a reader can still change them: to a message's tokens when it is told once more.
const (
	heldEvents = 4096
	heldText   = 4 << 20 // bytes of their texts, with which fewer are kept
	heldLeast  = 128
)

// maxUnknownKinds bounds how many kinds of unknown records of a file are told apart.
const maxUnknownKinds = 200

// rowSink takes the rows of one log. A reader of a format says with
//
//	out.beginEpisode(key, row)  that an episode begins; key tells those of one log apart
//	out.beginTurn(n)            that the agent is asked for the n-th time
//	out.beginAttempt(row)       that it answers once more
//	out.place(file, at, raw)    from which bytes the next rows are
//	out.read(raw)               that these bytes are one record
//
// and then with out.modelSaid, out.toolCalled, out.toolGave, out.answered, … what happened. Of a log that is one
// session of an agent nothing needs to begin: the first event begins its episode, turn 0 and attempt 0. The rows of
// episode and attempt can be changed through the pointers that begin… returned until the next one begins; tokens that
// are nil there are the sums of the events.
type rowSink struct {
	*eventBuilder
	in   *logInput
	emit func(LogRecord) bool // false = nobody wants more
	done bool
	// explicit says that every episode of the log is begun by its reader.
	explicit bool
	// whole keeps the texts of events as they are.
	whole bool
	texts int // bytes in the events that are kept back
	// promptTurns says that a prompt begins a turn: who drove the agent is not known, and its program marks what is no
	// prompt of a user.
	promptTurns bool

	prompt   string // of the turn
	told     bool   // the turn has a row
	lastTurn int
	// An event began them before the reader did, for something could not be read: they become what the reader begins.
	impliedEpisode, impliedAttempt bool
	episode                        *EpisodeRow
	attempt                        *AttemptRow
	sums                           tokenSum // of the attempt
	all                            tokenSum // of the episode
	first                          *time.Time
	last                           *time.Time

	reports map[string]*FileReport // by path
	repeats repeatNumbers
	columns OutcomeColumns // of plain tables
}

// repeatNumbers are the repeats of each configuration and scenario that logs have told.
type repeatNumbers map[[2]string]*toldRepeats

type toldRepeats struct {
	last int
	told map[int]bool
}

// next is a repeat's number: the one its log says, or the next one if it says none or another log has said the same.
func (n repeatNumbers) next(config, scenario string, says int) int {
	key := [2]string{config, scenario}
	of := n[key]
	if of == nil {
		of = &toldRepeats{told: map[int]bool{}}
		n[key] = of
	}
	if says <= 0 || of.told[says] {
		says = of.last + 1
	}
	of.told[says], of.last = true, max(of.last, says)
	return says
}

// tokenSum adds up tokens; what nothing was said about stays nil.
type tokenSum struct{ Tokens }

func (s *tokenSum) add(t Tokens) {
	for _, f := range []struct{ sum, n **int64 }{
		{&s.Input, &t.Input}, {&s.Cached, &t.Cached}, {&s.CacheWrite, &t.CacheWrite}, {&s.Output, &t.Output}, {&s.Reasoning, &t.Reasoning},
	} {
		if *f.n == nil {
			continue
		}
		if *f.sum == nil {
			*f.sum = new(int64)
		}
		**f.sum += **f.n
	}
}

func newRowSink(in *logInput, reports map[string]*FileReport, emit func(LogRecord) bool) *rowSink {
	s := &rowSink{in: in, emit: emit, reports: reports, repeats: repeatNumbers{}}
	s.eventBuilder = &eventBuilder{row: &AttemptRow{}, via: ViaReader, sink: s}
	s.at = Place{File: in.files[0].path}
	return s
}

func (s *rowSink) send(r LogRecord) {
	r.Format = s.in.format.Name
	s.told = s.told || r.Turn != nil
	if !s.done && !s.emit(r) {
		s.done = true
	}
}

// stopped says whether nobody wants more.
func (b *eventBuilder) stopped() bool { return b.sink != nil && b.sink.done }

// report is what is told about the file that is being read.
func (s *rowSink) report() *FileReport {
	r := s.reports[s.at.File]
	if r == nil {
		r = s.reports[s.in.files[0].path] // a member of an archive
	}
	if r == nil {
		r = &FileReport{}
	}
	return r
}

// read notes the record that is being read.
func (b *eventBuilder) read(raw []byte) {
	if b.sink != nil {
		b.readRecord(raw, utf8.Valid(raw), repeatsKey(raw))
	}
}

func (b *eventBuilder) readRecord(raw []byte, isUTF8, twice bool) {
	if b.sink == nil {
		return
	}
	b.raw, b.usage = raw, ""
	r := b.sink.report()
	r.Records++
	if !isUTF8 {
		r.InvalidUTF8++
	}
	if twice {
		r.RepeatedKeys++
	}
}

// shorten is the text of an event as its table has it: of logs that somebody names the beginning, or all if that was
// asked for. The counts of an answer as the log has them are kept beside the tokens.
func (b *eventBuilder) shorten(kind, text string) string {
	switch {
	case b.whole || b.sink != nil && b.sink.whole:
		if utf8.ValidString(text) { // much faster
			return text
		}
		return strings.ToValidUTF8(text, "\uFFFD")
	case b.sink == nil:
		return preview(text)
	case kind == EventModelAnswer || kind == EventUsage:
		return cutTo(text, maxCounts)
	}
	return beginning(text)
}

func (s *rowSink) bad(p Problem) {
	s.report().Bad++
	s.send(LogRecord{Problem: &p})
}

// unknown keeps the record that is being read as it stands, and counts its kind.
func (s *rowSink) unknown(kind string) {
	r := s.report()
	if r.Unknown == nil {
		r.Unknown = map[string]int{}
	}
	kind = strings.ToValidUTF8(clip(kind, 100), "\uFFFD")
	if _, known := r.Unknown[kind]; !known && len(r.Unknown) >= maxUnknownKinds {
		kind = "…"
	}
	r.Unknown[kind]++
	s.add(EventRow{Actor: "agent", Channel: ChannelOther, Kind: EventRaw, Text: string(s.raw)})
}

// episodeID is the id of an episode that stint did not run: the first 12 hex digits of the SHA-256 over the format, the
// file's way from the folder that was named, and the key within it. Of files that have the same way from folders that were
// named together, each but the first has its number besides.
func (in *logInput) episodeID(key string) string {
	name := in.files[0].name
	if in.same > 0 {
		name += "\x00" + strconv.Itoa(in.same)
	}
	h := sha256.Sum256([]byte(strings.Join([]string{in.format.Name, name, key}, "\x00")))
	return hex.EncodeToString(h[:])[:12]
}

// beginEpisode ends the episode before and begins another one. What the row leaves open is filled in: id, place, the
// configuration from model and harness, the number of the repeat.
func (s *rowSink) beginEpisode(key string, row EpisodeRow) *EpisodeRow {
	row.Episode = cmp.Or(row.Episode, s.in.episodeID(key))
	row.Model = cmp.Or(row.Model, s.in.firstOf(func(c claim) string { return c.model }))
	row.HarnessVersion = cmp.Or(row.HarnessVersion, s.in.firstOf(func(c claim) string { return c.version }))
	if row.Config == "" {
		row.Config = strings.Join(nonEmpty(row.Model, row.Harness), "+")
	}
	row.Repeat = s.repeats.next(row.Config, row.Scenario, row.Repeat)
	if row.File == "" {
		row.Place = s.at
	}
	if s.impliedEpisode && s.episode.Episode == row.Episode {
		*s.episode, s.impliedEpisode = row, false
		return s.episode
	}
	s.endEpisode()
	s.episode, s.impliedEpisode = &row, false
	s.all, s.first, s.last = tokenSum{}, row.Started, nil
	s.prompt, s.told, s.lastTurn = "", false, 0
	return s.episode
}

// firstOf is the first that the heads of the log's files say of something.
func (in *logInput) firstOf(what func(claim) string) string {
	for _, f := range in.files {
		if v := what(f.claim); v != "" {
			return v
		}
	}
	return ""
}

// beginAttempt begins an answer of the agent within the turn that is under way.
func (s *rowSink) beginAttempt(row AttemptRow) *AttemptRow {
	if s.episode == nil {
		s.beginEpisode("", EpisodeRow{Harness: s.in.format.Name})
		s.impliedEpisode = true
	}
	row.Episode = s.episode.Episode
	if row.File == "" {
		row.Place = s.at
	}
	row.Kind = cmp.Or(row.Kind, "first")
	if row.Attempt == nil && row.VoidOf == nil {
		row.Attempt = new(int)
	}
	if s.impliedAttempt && row.Turn == s.attempt.Turn {
		*s.attempt, s.impliedAttempt = row, false
		return s.attempt
	}
	s.endAttempt()
	if row.Turn != s.lastTurn {
		s.prompt, s.told = "", false
	}
	s.attempt = &row
	s.row, s.sums = s.attempt, tokenSum{}
	return s.attempt
}

// beginTurn begins the first attempt of a turn.
func (s *rowSink) beginTurn(n int) *AttemptRow { return s.beginAttempt(AttemptRow{Turn: n}) }

// newTurn is beginTurn for a log that numbers nothing: the turn after the one before, or the first one.
func (b *eventBuilder) newTurn() {
	if b.sink == nil {
		return // the driver said which turn it is
	}
	n := 0
	if a := b.sink.attempt; a != nil {
		n = a.Turn + 1
	}
	b.sink.beginTurn(n)
}

// begun makes sure that there is an attempt for the first event.
func (s *rowSink) begun() {
	if s.attempt == nil {
		s.beginTurn(0)
		s.impliedAttempt = true
	}
}

// hold lets go of events when there are enough.
func (s *rowSink) hold() {
	s.texts += len(s.events[len(s.events)-1].Text)
	switch {
	case len(s.events) >= 2*heldEvents:
		s.release(len(s.events) - heldEvents)
	case s.texts > heldText && len(s.events) >= 2*heldLeast:
		s.release(len(s.events) - heldLeast)
	}
}

// release lets go of the first events.
func (s *rowSink) release(n int) {
	for i := range s.events[:n] {
		e := &s.events[i]
		s.texts -= len(e.Text)
		if e.Kind == EventModelAnswer || e.Kind == EventUsage {
			s.sums.add(e.Tokens)
		}
		if e.Time != nil {
			if s.first == nil || e.Time.Before(*s.first) {
				s.first = e.Time
			}
			if s.last == nil || e.Time.After(*s.last) {
				s.last = e.Time
			}
		}
		s.send(LogRecord{Event: e}) // whoever keeps it makes a copy
	}
	rest := copy(s.events, s.events[n:])
	clear(s.events[rest:])
	s.events = s.events[:rest]
	s.base += n
}

func (s *rowSink) endAttempt() {
	if s.attempt == nil {
		return
	}
	s.release(len(s.events))
	s.start = s.next()
	if s.attempt.Tokens == (Tokens{}) {
		s.attempt.Tokens = s.sums.Tokens
	}
	s.all.add(s.attempt.Tokens)
	if s.prompt != "" && !s.told {
		s.send(LogRecord{Turn: &TurnRow{Episode: s.attempt.Episode, Turn: s.attempt.Turn, ChangeText: text(s.prompt), Place: s.attempt.Place}})
	}
	s.lastTurn = s.attempt.Turn
	s.send(LogRecord{Attempt: s.attempt})
	s.attempt, s.row, s.impliedAttempt = nil, &AttemptRow{}, false
}

func (s *rowSink) endEpisode() {
	s.endAttempt()
	if s.episode == nil {
		return
	}
	e := s.episode
	if e.Tokens == (Tokens{}) {
		e.Tokens = s.all.Tokens
	}
	e.Validity = cmp.Or(e.Validity, ValidityIncomplete) // nobody said how it ended
	if e.Started == nil {
		e.Started = s.first
	}
	if e.WallS == nil && s.first != nil && s.last != nil {
		wall := s.last.Sub(*s.first).Seconds()
		e.WallS = &wall
	}
	s.send(LogRecord{Episode: e})
	s.episode, s.impliedEpisode = nil, false
}

// sendTables sends the rows of an episode that a reader made in one go: events first, the episode last.
func (s *rowSink) sendTables(t *Tables) {
	sendRows(s, t.Clauses, func(r *ClauseRow) LogRecord { return LogRecord{Clause: r} })
	sendRows(s, t.Events, func(r *EventRow) LogRecord { return LogRecord{Event: r} })
	sendRows(s, t.Checks, func(r *CheckRow) LogRecord { return LogRecord{Check: r} })
	sendRows(s, t.Attempts, func(r *AttemptRow) LogRecord { return LogRecord{Attempt: r} })
	sendRows(s, t.Turns, func(r *TurnRow) LogRecord { return LogRecord{Turn: r} })
	sendRows(s, t.Verdicts, func(r *VerdictRow) LogRecord { return LogRecord{Verdict: r} })
	sendRows(s, t.Episodes, func(r *EpisodeRow) LogRecord { return LogRecord{Episode: r} })
}

func sendRows[R any](s *rowSink, rows []R, record func(*R) LogRecord) {
	for i := range rows {
		s.send(record(&rows[i]))
	}
}

// sibling is a file by its way from the folder of the log's first file; nil if there is none, or if it is no regular
// file. It counts as read with the log.
func (s *rowSink) sibling(name string) *inputFile {
	f := s.in.files[0]
	if f.path == "-" {
		return nil
	}
	f.place, f.path, f.name = filepath.Join(filepath.Dir(f.place), filepath.FromSlash(name)), path.Join(path.Dir(f.path), name), path.Join(path.Dir(f.name), name)
	if _, given := f.fsys.(givenFiles); given {
		f.place = filepath.ToSlash(f.place)
	}
	if !f.fsys.regular(f.place) {
		return nil
	}
	if r := s.reports[f.path]; r != nil && r.Format == "" {
		r.Format, r.Title, r.Unverified, r.Beside = s.in.format.Name, s.in.format.Title, s.in.format.Unverified, true
	}
	f.claim = claim{}
	return &f
}
