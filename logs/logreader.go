package logs

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
)

// ReaderOptions say what [Open] reads and how.
type ReaderOptions struct {
	Format string    // the format of every file; "" = recognise it by content
	Stdin  io.Reader // what the path - stands for
	FS     fs.FS     // the files, all of them; nil = paths on this machine
	// Text keeps the whole texts of events; otherwise they are cut to BeginningBytes.
	Text bool
	// Columns names the columns of plain tables of outcomes; those without a name are guessed.
	Columns OutcomeColumns
}

// FileReport tells what one file was taken for and what came of it.
type FileReport struct {
	Path       string `json:"path"`
	Format     string `json:"format"` // "" = no format knows it
	Title      string `json:"title,omitempty"`
	Unverified bool   `json:"unverified,omitempty"` // see Format
	Beside     bool   `json:"beside,omitempty"`     // it belongs to the format and adds nothing to the files beside it
	Records    int    `json:"records"`              // lines or elements that were read
	Bad        int    `json:"bad"`                  // of them, and places, that could not be read
	// InvalidUTF8 counts records whose text was not UTF-8; the bytes that are none became U+FFFD in the rows.
	InvalidUTF8 int `json:"invalid_utf8,omitempty"`
	// RepeatedKeys counts records with an object that has a key twice. The last value counts, as with encoding/json; the
	// others are in the file at the record's place only.
	RepeatedKeys int            `json:"repeated_keys,omitempty"`
	Unknown      map[string]int `json:"unknown,omitempty"` // records of kinds that the reader does not know, kept as they are, by kind
	Empty        bool           `json:"empty,omitempty"`
	Error        string         `json:"error,omitempty"` // why the file could not be looked at
}

// UnknownKinds are the kinds of unknown records, the most frequent first.
func (r *FileReport) UnknownKinds() []string {
	return slices.SortedFunc(maps.Keys(r.Unknown), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Unknown[b], r.Unknown[a]), cmp.Compare(a, b))
	})
}

// Reader streams the rows of logs, whatever wrote them. Use it like bufio.Scanner:
//
//	r, err := logs.Open(logs.ReaderOptions{}, "runs.eval", "sessions/")
//	defer r.Close()
//	for r.Next() {
//		switch rec := r.Record(); {
//		case rec.Event != nil: …
//		case rec.Problem != nil: …
//		}
//	}
//	err = r.Err()
//
// Of an episode its events come first, each attempt behind its own events, and the episode's own row last. What cannot
// be read is a record with a Problem, and the reading goes on.
type Reader struct {
	reports []*FileReport
	logs    []logInput
	whole   bool // texts
	columns OutcomeColumns
	drop    []func()
	doubts  []Problem

	next  func() (LogRecord, bool) // nil before the first one
	stop  func()
	cur   LogRecord
	err   error
	close sync.Once
}

// Open looks at the files behind paths (files, folders, patterns, - for standard input) and recognises their formats.
// Nothing is read but their beginnings.
func Open(opt ReaderOptions, paths ...string) (*Reader, error) {
	r := &Reader{}
	files, err := r.find(opt, paths)
	if err != nil {
		r.Close()
		return nil, err
	}
	formats := Formats()
	if opt.Format != "" {
		f, err := formatOf(opt.Format)
		if err != nil {
			r.Close()
			return nil, err
		}
		formats = []Format{f}
	}
	r.whole, r.columns = opt.Text, opt.Columns
	r.recognise(formats, files, opt.Format != "")
	return r, nil
}

// find lists the files. Standard input is copied to a temporary file, since some formats are not read in order.
func (r *Reader) find(opt ReaderOptions, paths []string) ([]inputFile, error) {
	if opt.FS != nil {
		return givenInputs(opt.FS)
	}
	var files []inputFile
	for _, p := range paths {
		if p != "-" {
			found, err := findInputs(p)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			continue
		}
		if opt.Stdin == nil {
			return nil, &InputError{Path: p, Text: "there is no standard input"}
		}
		tmp, err := spool(opt.Stdin)
		if err != nil {
			return nil, &InputError{Path: p, Text: "standard input cannot be read: " + err.Error()}
		}
		r.drop = append(r.drop, tmp.close)
		files = append(files, inputFile{path: "-", name: "-", place: tmp.name, fsys: osFiles{}})
	}
	return files, nil
}

// recognise finds the formats and groups the files into logs, in the order of formats and paths.
func (r *Reader) recognise(formats []Format, files []inputFile, forced bool) {
	byFormat := map[string][]inputFile{}
	for _, f := range files {
		report := &FileReport{Path: f.path}
		r.reports = append(r.reports, report)
		if f.run {
			run := runFormat()
			report.Format, report.Title = run.Name, run.Title
			r.logs = append(r.logs, logInput{format: run, files: []inputFile{f}})
			continue
		}
		h, err := f.head()
		if err != nil {
			report.Error = plainError(err)
			continue
		}
		format, c, ok := recogniseFile(formats, h)
		if !ok && forced {
			format, c, ok = formats[0], claim{part: formats[0].part}, true
		}
		if !ok {
			report.Empty = h.whole && len(bytes.TrimSpace(h.bytes)) == 0
			continue
		}
		f.size, f.first = h.size, slices.Clone(h.bytes[:min(len(h.bytes), firstBytes)])
		report.Format, report.Title, report.Unverified, report.Beside = format.Name, format.Title, format.Unverified, c.beside
		if f.claim = c; !c.beside {
			byFormat[format.Name] = append(byFormat[format.Name], f)
		}
	}
	copied := map[string]bool{} // paths
	for _, f := range formats {
		some := byFormat[f.Name]
		slices.SortStableFunc(some, func(a, b inputFile) int { return cmp.Compare(a.path, b.path) })
		all, copies := groupInputs(f, some)
		r.logs = append(r.logs, all...)
		for _, c := range copies {
			copied[c.path] = true
		}
	}
	for _, report := range r.reports {
		report.Beside = report.Beside || copied[report.Path]
	}
	markCompanions(r.reports)
	r.doubts = doubtful(r.logs)
	names := map[string]int{}
	for i := range r.logs {
		l := &r.logs[i]
		key := l.format.Name + " " + l.files[0].name
		l.same = names[key]
		names[key]++
	}
}

// records reads one log after another.
func (r *Reader) records() iter.Seq[LogRecord] {
	return func(yield func(LogRecord) bool) {
		reports := map[string]*FileReport{}
		for _, f := range r.reports {
			reports[f.Path] = f
		}
		for i := range r.doubts {
			if !yield(LogRecord{Doubt: &r.doubts[i]}) {
				return
			}
		}
		repeats := repeatNumbers{}
		for i := range r.logs {
			s := newRowSink(&r.logs[i], reports, yield)
			s.repeats, s.columns = repeats, r.columns
			s.whole = r.whole
			if err := s.in.format.read(s.in, s); err != nil {
				r.err = err
				return
			}
			if s.endEpisode(); s.done {
				return
			}
			for _, f := range s.in.files {
				if report := reports[f.path]; report != nil && s.promptTurns && len(s.in.files) > 1 && report.Records == 0 && report.Bad == 0 {
					report.Beside = true // the others of its session say all that it does
				}
			}
		}
	}
}

// Next reads on; false at the end or after an error.
func (r *Reader) Next() bool {
	if r.next == nil {
		r.next, r.stop = iter.Pull(r.records())
	}
	rec, ok := r.next()
	if rec.Event != nil {
		kept := *rec.Event
		rec.Event = &kept
	}
	r.cur = rec
	return ok
}

// rest are the records that Next has not read, quicker than by Next: the row of an event is good until the next one.
func (r *Reader) rest() iter.Seq[LogRecord] {
	if r.next == nil {
		return r.records()
	}
	return func(yield func(LogRecord) bool) {
		for r.Next() && yield(r.cur) {
		}
	}
}

// Record is what Next read. Its row is the caller's to keep.
func (r *Reader) Record() LogRecord { return r.cur }

// Err is the error that ended the reading, if it was not the end. What could not be read of a file is no error but a
// record with a Problem.
func (r *Reader) Err() error { return r.err }

// Files tells what each file was taken for, in the order of the paths. Counts are complete when Next has returned false.
func (r *Reader) Files() []FileReport {
	out := make([]FileReport, len(r.reports))
	for i, f := range r.reports {
		out[i] = *f
	}
	return out
}

// Close lets go of temporary files. It may be called before the end.
func (r *Reader) Close() error {
	r.close.Do(func() {
		if r.stop != nil {
			r.stop()
		}
		for _, drop := range r.drop {
			drop()
		}
	})
	return nil
}
