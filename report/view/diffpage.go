package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"

	"github.com/stint-bench/stint/logs"
)

// What a page of a comparison shows at most. A file on its own page may be longer.
const (
	diffFiles   = 40      // files compared on a page
	diffListed  = 5000    // files that are listed at all
	diffCompare = 1 << 20 // bytes of a file that are compared
	diffBudget  = 6 << 20 // bytes of all files of a page
	diffLines   = 400     // lines of a file
	diffAlone   = 10_000  // of a file on its own page
	diffWidth   = 2000    // bytes of a line
)

// A diffView is what an attempt changed in its workspace.
type diffView struct {
	Name     string
	Attempt  string // address
	Base     string // what it is compared with, in words
	Bases    []choice
	Here     string // address without what it asks for
	Files    []diffFile
	Count    int // files that changed
	More     bool
	From, To int
	Older    string
	Newer    string
	Alone    string // the file that is shown alone
	Gone     string // why there is nothing to compare
	Sealed   string // address that shows it nevertheless
}

// A diffFile is a file that changed.
type diffFile struct {
	Path    string
	ID      string
	What    string // new, deleted, changed, now executable, …
	Added   int
	Deleted int
	Hunks   []hunkView
	Left    int    // lines that are not shown
	Note    string // what is to be known about what is shown
	Alone   string // address of its own page
}

type hunkView struct {
	Label string
	Lines []hunkLine
}

type hunkLine struct {
	Op       string // "", "+", "-"
	Class    string
	Old, New string
	Text     template.HTML
	Word     string // for those who do not see colours
}

// diff shows what an attempt changed: against the end of the turn before, or, with base=attempt, against the attempt
// before; file= shows one file alone.
func (s *Server) diff(q *request) error {
	if q.Attempt == nil {
		if q.Attempt = lastAttempt(q.Episode, q.Turn.Turn); q.Attempt == nil {
			return notFound("the turn has no attempt that counts")
		}
	}
	get := q.R.URL.Query()
	v := &diffView{Name: q.head.Title, Attempt: attemptHref(q.Study, q.Attempt)}
	v.Here = v.Attempt + "/diff"
	v.Alone = get.Get("file")
	aroundDiff(q)
	q.head.crumb("changes", "")
	q.head.Title = "changes of " + q.head.Title
	before, base := s.baseOf(q, get.Get("base") == "attempt")
	v.Base = base
	if other, ok := attemptBefore(q.Episode, q.Attempt); ok && other.Turn == q.Attempt.Turn {
		v.Bases = []choice{{"", "since the turn before", get.Get("base") != "attempt"}, {"attempt", "since the attempt before", get.Get("base") == "attempt"}}
	}
	var blobs *logs.Blobs
	if !q.Study.Foreign {
		blobs = logs.EpisodeBlobs(q.Study.Dir, q.Episode.Episode)
	}
	switch {
	case q.Attempt.Snapshot == nil || *q.Attempt.Snapshot == "":
		v.Gone = "No snapshot of the workspace was taken after this attempt."
	case q.Study.Foreign:
		v.Gone = "The snapshots of the workspace are not among these tables. They lie in the run that the tables were made of, whose own pages show them."
	case blobs == nil:
		v.Gone = "The snapshots of the workspace are not here."
	case q.Episode.Harness == "simulated" && get.Get("show") == "":
		v.Gone = "The workspace of a simulated agent is no code: it names the faults that were planted, which spoils the audit of this study for whoever reads it."
		get.Set("show", "1")
		v.Sealed = v.Here + "?" + get.Encode()
	default:
		if err := v.compare(blobs, before, *q.Attempt.Snapshot, get); err != nil {
			v.Gone = err.Error()
		}
	}
	return s.render(q, "diff", v)
}

// lastAttempt is the last attempt of a turn that counts.
func lastAttempt(ep *episode, turn int) *logs.AttemptRow {
	var last *logs.AttemptRow
	for i := range ep.Tables.Attempts {
		if a := &ep.Tables.Attempts[i]; a.Turn == turn && a.Attempt != nil && (last == nil || *a.Attempt > *last.Attempt) {
			last = a
		}
	}
	return last
}

// attemptBefore is the last attempt that counts before another one, and left a snapshot.
func attemptBefore(ep *episode, of *logs.AttemptRow) (found *logs.AttemptRow, ok bool) {
	for i := range ep.Tables.Attempts {
		a := &ep.Tables.Attempts[i]
		if a.Attempt == nil || a.Snapshot == nil || a == of || a.Turn > of.Turn || a.Turn == of.Turn && a.Offset >= of.Offset {
			continue
		}
		if !ok || cmp.Or(cmp.Compare(a.Turn, found.Turn), cmp.Compare(a.Offset, found.Offset)) > 0 {
			found, ok = a, true
		}
	}
	return found, ok
}

// baseOf is the snapshot that an attempt is compared with.
func (s *Server) baseOf(q *request, attempt bool) (tree, words string) {
	if attempt {
		if a, ok := attemptBefore(q.Episode, q.Attempt); ok && a.Turn == q.Attempt.Turn {
			return *a.Snapshot, fmt.Sprintf("%s of this turn", attemptName(a))
		}
	}
	if base := givenBase(q); base != "" {
		return base, "the correct program that this turn was started from"
	}
	var last *logs.AttemptRow
	for i := range q.Episode.Tables.Attempts {
		a := &q.Episode.Tables.Attempts[i]
		if a.Turn < q.Attempt.Turn && a.Attempt != nil && a.Snapshot != nil && (last == nil || cmp.Or(cmp.Compare(a.Turn, last.Turn), cmp.Compare(a.Offset, last.Offset)) > 0) {
			last = a
		}
	}
	if last == nil {
		return "", "an empty folder"
	}
	return *last.Snapshot, fmt.Sprintf("the end of turn %d", last.Turn)
}

// givenBase is the snapshot that the record of a turn says it was started from; "" for the end of the turn before.
func givenBase(q *request) string {
	turns := q.Episode.Tables.Turns
	i := slices.IndexFunc(turns, func(t logs.TurnRow) bool { return t.Turn == q.Attempt.Turn })
	if i < 0 || q.Study.Foreign {
		return ""
	}
	f, err := q.Study.sources().Open(turns[i].File)
	if err != nil {
		return ""
	}
	defer f.Close()
	p, err := f.Range(turns[i].Offset, int(min(turns[i].Length, maxRecord)))
	if err != nil {
		return ""
	}
	var record struct {
		Data struct {
			Base string `json:"base"`
		} `json:"data"`
	}
	if json.Unmarshal(p, &record) != nil {
		return ""
	}
	return record.Data.Base
}

// aroundDiff leads to the changes of the attempts before and after.
func aroundDiff(q *request) {
	all := q.Episode.Tables.Attempts
	i := slices.IndexFunc(all, func(a logs.AttemptRow) bool { return a.Place == q.Attempt.Place && a.Turn == q.Attempt.Turn })
	for k := i - 1; k >= 0 && q.head.Prev == ""; k-- {
		if all[k].Snapshot != nil {
			q.head.Prev = attemptHref(q.Study, &all[k]) + "/diff"
		}
	}
	for k := i + 1; i >= 0 && k < len(all) && q.head.Next == ""; k++ {
		if all[k].Snapshot != nil {
			q.head.Next = attemptHref(q.Study, &all[k]) + "/diff"
		}
	}
}

// compare fills in the files of the page.
func (v *diffView) compare(blobs *logs.Blobs, before, after string, get url.Values) error {
	changes, more, err := logs.TreeChanges(blobs, before, after, diffListed)
	if err != nil {
		return err
	}
	v.Count, v.More = len(changes), more
	address := func(key, value string) string {
		to := url.Values{}
		for _, k := range []string{"base", "show"} {
			if x := get.Get(k); x != "" {
				to.Set(k, x)
			}
		}
		to.Set(key, value)
		return v.Here + "?" + to.Encode()
	}
	most := diffLines
	if v.Alone != "" {
		most = diffAlone
		if changes = slices.DeleteFunc(changes, func(c logs.TreeChange) bool { return c.Path != v.Alone }); len(changes) == 0 {
			v.Gone = "This file is none of those that changed."
			return nil
		}
	}
	if from, err := strconv.Atoi(get.Get("from")); err == nil && from > 0 && from < len(changes) {
		v.From = from
	}
	v.To = min(v.From+diffFiles, len(changes))
	budget := int64(diffBudget)
	for i, c := range changes[v.From:v.To] {
		f := diffFile{Path: c.Path, ID: fmt.Sprintf("file-%d", v.From+i+1), What: changeWord(&c), Alone: address("file", c.Path)}
		if budget <= 0 && v.Alone == "" {
			f.Note = "not compared on this page, which is long already"
		} else {
			budget -= f.compare(blobs, &c, most)
		}
		v.Files = append(v.Files, f)
	}
	if v.From > 0 {
		v.Older = address("from", strconv.Itoa(max(v.From-diffFiles, 0)))
	}
	if v.To < len(changes) {
		v.Newer = address("from", strconv.Itoa(v.To))
	}
	return nil
}

// changeWord says what happened to a file.
func changeWord(c *logs.TreeChange) string {
	switch a, b := c.Before, c.After; {
	case a == nil && b.Link != "":
		return "new link"
	case a == nil && b.Executable:
		return "new, executable"
	case a == nil:
		return "new"
	case b == nil && a.Link != "":
		return "deleted link"
	case b == nil:
		return "deleted"
	case a.Link != "" && b.Link == "":
		return "was a link"
	case a.Link == "" && b.Link != "":
		return "is a link now"
	case a.Executable != b.Executable && b.Executable:
		return "now executable"
	case a.Executable != b.Executable:
		return "no longer executable"
	}
	return "changed"
}

// compare fills in the lines of a file and says how many bytes were looked at.
func (f *diffFile) compare(blobs *logs.Blobs, c *logs.TreeChange, most int) (cost int64) {
	before, cutOld, err1 := content(blobs, c.Before)
	after, cutNew, err2 := content(blobs, c.After)
	cost = int64(len(before) + len(after))
	if err := cmp.Or(err1, err2); err != nil {
		f.Note = err.Error()
		return cost
	}
	if isBinary(before) || isBinary(after) {
		f.Note = "binary: " + sizes(c)
		return cost
	}
	if cutOld || cutNew {
		f.Note = fmt.Sprintf("large: %s; the first %s bytes of either are compared", sizes(c), num(diffCompare))
	}
	old, oldWhole := splitLines(wholeLines(before, cutOld))
	now, nowWhole := splitLines(wholeLines(after, cutNew))
	if oldWhole != nowWhole && !cutOld && !cutNew && c.Before != nil && c.After != nil && c.Before.SHA != "" && c.After.SHA != "" {
		f.Note = map[bool]string{true: "the last line ends in a line break now", false: "the last line ends without a line break now"}[nowWhole]
	}
	lines := compareLines(old, now)
	if cutOld || cutNew { // what stands in one of them up to its cut may stand behind the cut of the other
		if n := lastShared(lines); n >= 0 {
			lines = lines[:n+1]
		}
	}
	shown := 0
	for _, h := range hunksOf(lines) {
		if shown >= most {
			f.Left += countChanged(h.Lines)
			continue
		}
		list := h.Lines[:min(len(h.Lines), most-shown)]
		f.Left += countChanged(h.Lines[len(list):])
		shown += len(list)
		f.Hunks = append(f.Hunks, hunkOf(list))
	}
	for _, l := range lines {
		f.Added += boolInt(l.Op == '+')
		f.Deleted += boolInt(l.Op == '-')
	}
	return cost
}

// lastShared is the last line that is in both texts, -1 if none is.
func lastShared(lines []diffLine) int {
	n := len(lines) - 1
	for n >= 0 && lines[n].Op != ' ' {
		n--
	}
	return n
}

// wholeLines leaves out the half line at the end of a text that was cut.
func wholeLines(p []byte, cut bool) string {
	if cut {
		p = p[:bytes.LastIndexByte(p, '\n')+1]
	}
	return string(p)
}

// content is the beginning of a file; of a link its target.
func content(blobs *logs.Blobs, f *logs.TreeFile) (p []byte, cut bool, err error) {
	switch {
	case f == nil:
		return nil, false, nil
	case f.Link != "":
		return []byte("link to " + f.Link + "\n"), false, nil
	}
	p, err = blobs.Beginning(f.SHA, diffCompare)
	return p, f.Bytes > diffCompare, err
}

// isBinary says whether a file is no text: it has a zero byte near its beginning.
func isBinary(p []byte) bool { return bytes.IndexByte(p[:min(len(p), 8000)], 0) >= 0 }

func sizes(c *logs.TreeChange) string {
	size := func(f *logs.TreeFile) string {
		if f == nil {
			return "nothing"
		}
		return num(f.Bytes) + " bytes"
	}
	return size(c.Before) + " → " + size(c.After)
}

func countChanged(lines []diffLine) (n int) {
	for _, l := range lines {
		n += boolInt(l.Op != ' ')
	}
	return n
}

func hunkOf(lines []diffLine) hunkView {
	var h hunkView
	var first [2]int
	for _, l := range lines {
		row := hunkLine{Text: lineText(&l)}
		switch l.Op {
		case '+':
			row.Op, row.Class, row.Word = "+", "added", "added"
		case '-':
			row.Op, row.Class, row.Word = "−", "deleted", "deleted"
		}
		if l.Old > 0 {
			row.Old = strconv.Itoa(l.Old)
			first[0] = cmp.Or(first[0], l.Old)
		}
		if l.New > 0 {
			row.New = strconv.Itoa(l.New)
			first[1] = cmp.Or(first[1], l.New)
		}
		h.Lines = append(h.Lines, row)
	}
	h.Label = fmt.Sprintf("line %d", cmp.Or(first[1], first[0]))
	return h
}

// lineText is a line with what changed in it marked; a long one loses its end.
func lineText(l *diffLine) template.HTML {
	text, rest := l.Text, ""
	if len(text) > diffWidth {
		text = beginning(text, diffWidth)
		rest = fmt.Sprintf(" %d bytes more", len(l.Text)-diffWidth)
	}
	var marks [][2]int
	if a, b := l.Changed[0], min(l.Changed[1], len(text)); a < b {
		marks = [][2]int{{a, b}}
	}
	out := visibleMarked(text, marks)
	if rest != "" {
		out += template.HTML(`<i class="esc">` + rest + `</i>`)
	}
	return out
}
