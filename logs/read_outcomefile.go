package logs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

func outcomeFormat() Format {
	return Format{Name: "outcomes", Title: "plain table of outcomes (CSV, TSV, JSON lines or Parquet)", recognise: claimOutcomes, read: readOutcomeFiles}
}

// claimOutcomes recognises a table by its header: columns that name a configuration and a scenario, and one that holds a
// value. Of Parquet the header stands at the end, and is looked at when it is read.
func claimOutcomes(h *head) (claim, bool) {
	switch {
	case h.magic("PAR1"):
		return claim{part: "parquet"}, !slices.Contains(TableNames(), strings.TrimSuffix(h.base(), ".parquet"))
	case h.lines && !h.prelude && outcomeHeader(flatNames(h.objects[0])):
		return claim{part: "outcomes.jsonl"}, true
	case len(h.objects) > 0 || bytes.IndexByte(h.bytes, 0) >= 0:
		return claim{}, false
	}
	sep, _, err := separator(h.path, h.bytes)
	if err != nil {
		return claim{}, false
	}
	r := csv.NewReader(bytes.NewReader(h.bytes))
	r.Comma, r.LazyQuotes = sep, true
	names, err := r.Read()
	if err != nil || !outcomeHeader(names) {
		return claim{}, false
	}
	return claim{part: "csv"}, true
}

// flatNames are the keys of an object that holds no other; nil if it does.
func flatNames(f fields) []string {
	var names []string
	for p, v := range f {
		if p != "" && (v == "{" || v == "[") {
			return nil
		}
		if p != "" {
			names = append(names, p)
		}
	}
	slices.Sort(names)
	return names
}

// outcomeHeader says whether columns of these names are found without being told.
func outcomeHeader(names []string) bool {
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return newOutcomeReader("", OutcomeColumns{}).assign(names) == nil
}

func newOutcomeReader(file string, cols OutcomeColumns) *outcomeReader {
	return &outcomeReader{path: file, cols: cols, set: &OutcomeSet{Cap: cols.Cap}, seen: runsSeen{cells: map[outcomeCell]*seenCell{}}}
}

// readOutcomeFiles makes an episode of every row. It is read as ReadOutcomes reads it, but a bad row costs itself alone.
func readOutcomeFiles(in *logInput, out *rowSink) error {
	out.explicit = true
	for i := range in.files {
		f := &in.files[i]
		out.endEpisode()
		out.place(f.path, 0, nil)
		t := outcomeTable{rowSink: out, input: f, rows: newOutcomeReader(f.path, out.columns)}
		part := f.part
		if h, err := f.head(); part == "" && err == nil { // the user said what it is
			switch {
			case h.magic("PAR1"):
				part = "parquet"
			case h.lines:
				part = "outcomes.jsonl"
			}
		}
		switch part {
		case "parquet":
			t.parquet()
		case "outcomes.jsonl":
			line := 0
			out.jsonLines(loneFile(part, f), part, func(raw []byte) error {
				line++
				return t.object(raw, line)
			})
		default:
			t.text()
		}
		t.tell()
	}
	return nil
}

type outcomeTable struct {
	*rowSink
	input  *inputFile
	rows   *outcomeReader
	header []string
	also   [numAlso]int // columns that the table of episodes has, -1 if there is none
	known  []outcomeRow // beside the rows
	failed bool         // the header cannot be used
}

// outcomeRow is what a row says besides its outcome, and where it stands.
type outcomeRow struct {
	at   Place
	also [numAlso]string
}

const (
	alsoModel = iota
	alsoHarness
	alsoVersion
	alsoFeedback
	alsoUSD
	numAlso
)

// alsoNames are the names of columns that say more than the outcome.
var alsoNames = [numAlso][]string{{"model"}, {"harness"}, {"harness_version"}, {"feedback"}, {"cost_usd", "usd", "cost"}}

// begin takes the header.
func (t *outcomeTable) begin(header []string) bool {
	t.header = header
	if err := t.rows.assign(header); err != nil {
		t.failed = true
		t.unreadable(1, "%s", outcomeText(err))
		return false
	}
	for k, names := range alsoNames {
		t.also[k] = -1
		for i, name := range header {
			if slices.Contains(names, strings.ToLower(name)) {
				t.also[k] = i
				break
			}
		}
	}
	return true
}

// outcomeText is an error without the file, which the problem names.
func outcomeText(err error) string {
	var o *OutcomeError
	if errors.As(err, &o) {
		words := o.Text
		if o.Column != "" {
			words = fmt.Sprintf("column %q: %s", clip(o.Column, 60), o.Text)
		}
		return clip(words, 300)
	}
	return clip(plainError(err), 300)
}

// row takes one row; cell is its value in a column of the header.
func (t *outcomeTable) row(line int, cell func(column int) string) error {
	cells := make([]string, len(t.rows.chosen))
	for i, c := range t.rows.chosen {
		cells[i] = cell(c)
	}
	if err := t.rows.add(cells, line); err != nil {
		return errors.New(outcomeText(err))
	}
	known := outcomeRow{at: t.at}
	for k, c := range t.also {
		if c >= 0 {
			known.also[k] = strings.TrimSpace(cell(c))
		}
	}
	t.known = append(t.known, known)
	return nil
}

func (t *outcomeTable) object(raw []byte, line int) error {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil {
		return err
	}
	if t.header == nil && !t.begin(sortedKeys(obj)) || t.failed {
		return nil
	}
	return t.row(line, func(c int) string { return jsonCell(obj[t.header[c]]) })
}

// text reads CSV and TSV.
func (t *outcomeTable) text() {
	u, err := t.input.open()
	if err != nil {
		t.unreadable(0, "it cannot be read: %s", plainError(err))
		return
	}
	defer u.Close()
	bom := int64(0)
	if b, _ := u.Peek(3); string(b) == "\xef\xbb\xbf" {
		bom = 3
		u.Discard(3)
	}
	head, _ := u.Peek(u.Size())
	sep, _, err := separator(t.input.name, head)
	if err != nil {
		t.unreadable(1, "%s", outcomeText(err))
		return
	}
	kept := &keptBytes{r: u, from: bom}
	r := csv.NewReader(kept)
	r.Comma, r.ReuseRecord, r.LazyQuotes = sep, true, sep == '\t'
	for at := bom; ; at = bom + r.InputOffset() {
		cells, err := r.Read()
		if err == io.EOF {
			return
		}
		raw := kept.take(at, bom+r.InputOffset())
		t.place(t.input.path, at, raw)
		t.at.Length = bom + r.InputOffset() - at
		var parse *csv.ParseError
		switch {
		case errors.As(err, &parse):
			t.read(raw)
			text := parse.Err.Error()
			if errors.Is(err, csv.ErrFieldCount) {
				text = fmt.Sprintf("the line does not have the %d fields of the header", len(t.header))
			}
			t.unreadable(parse.Line, "%s", text)
			continue
		case err != nil:
			t.unreadable(0, "it cannot be read any further: %s", plainError(err))
			return
		}
		if t.header == nil {
			for _, name := range cells {
				t.header = append(t.header, strings.TrimSpace(name))
			}
			if !t.begin(t.header) {
				return
			}
			continue
		}
		line, _ := r.FieldPos(0)
		t.read(raw)
		if err := t.row(line, func(c int) string { return cells[c] }); err != nil {
			t.unreadable(line, "%s", err)
		}
		if t.stopped() {
			return
		}
	}
}

// keptBytes keeps what was read until it is taken: the CSV reader reads ahead.
type keptBytes struct {
	r    io.Reader
	from int64 // offset of the first byte that is kept
	buf  []byte
}

func (k *keptBytes) Read(p []byte) (int, error) {
	if len(k.buf) > maxForeignLine {
		return 0, fmt.Errorf("a row is longer than %d bytes: is a quote missing?", maxForeignLine)
	}
	n, err := k.r.Read(p)
	k.buf = append(k.buf, p[:n]...)
	return n, err
}

// take gives out the bytes up to an offset, and lets go of them at the next call.
func (k *keptBytes) take(from, to int64) []byte {
	k.buf = k.buf[min(from-k.from, int64(len(k.buf))):]
	k.from = from
	return k.buf[:min(to-from, int64(len(k.buf)))]
}

// parquet reads a Parquet file, which has to lie on this machine: another one is copied first.
func (t *outcomeTable) parquet() {
	place := t.input.place
	if _, onDisk := t.input.fsys.(osFiles); !onDisk {
		u, err := t.input.open()
		if err != nil {
			t.unreadable(0, "it cannot be read: %s", plainError(err))
			return
		}
		defer u.Close()
		tmp, err := spool(u)
		if err != nil {
			t.unreadable(0, "it cannot be read: %s", plainError(err))
			return
		}
		defer tmp.close()
		place = tmp.name
	}
	src, err := openParquetCells(place)
	if err != nil {
		t.unreadable(0, "%s", strings.TrimPrefix(outcomeText(err), place+": "))
		return
	}
	defer src.close()
	header := src.header()
	if !t.begin(header) {
		return
	}
	all := slices.Clone(t.rows.chosen)
	for _, c := range t.also {
		if c >= 0 && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	src.choose(all)
	for !t.stopped() {
		cells, line, err := src.row()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.unreadable(line, "%s", outcomeText(err))
			return
		}
		t.read(nil)
		if err := t.row(line, func(c int) string { return cells[slices.Index(all, c)] }); err != nil {
			t.unreadable(line, "row %d: %s", line, err)
		}
	}
}

// tell makes the episodes.
func (t *outcomeTable) tell() {
	if len(t.rows.set.Rows) == 0 {
		return
	}
	set, err := t.rows.finish()
	if err != nil {
		t.place(t.input.path, 0, nil)
		t.unreadable(0, "%s", outcomeText(err))
		return
	}
	turns := set.ValueName == "turns_passed" || set.ValueName == "turns"
	whole, unit := true, set.Cap == 0 && !turns
	for i := range set.Rows {
		v := *set.Rows[i].Value
		whole, unit = whole && v == math.Trunc(v) && v < 1<<31, unit && v <= 1
	}
	if !whole && !unit {
		t.place(t.input.path, 0, nil)
		t.unreadable(0, "the values of %q are neither whole turns nor shares from 0 to 1: they have no column here; compare the file itself", set.ValueName)
	}
	for i := range set.Rows {
		if t.stopped() {
			return
		}
		o, known := &set.Rows[i], &t.known[i]
		t.at, t.sha = known.at, ""
		e := EpisodeRow{Config: o.Config, Scenario: o.Scenario, Repeat: o.Repeat, TurnsMax: int(set.Cap), Validity: ValidityValid,
			Model: known.also[alsoModel], Harness: known.also[alsoHarness], HarnessVersion: known.also[alsoVersion], Feedback: known.also[alsoFeedback]}
		if usd, err := strconv.ParseFloat(known.also[alsoUSD], 64); err == nil && !math.IsNaN(usd) && !math.IsInf(usd, 0) {
			e.CostUSD = &usd
		}
		e.plain(o, whole, unit)
		t.beginEpisode(fmt.Sprint(o.Line), e)
		t.endEpisode()
	}
}

// plain fills in an outcome. Values from 0 to 1 are those of one turn each.
func (e *EpisodeRow) plain(o *Outcome, whole, unit bool) {
	v := *o.Value
	status := o.Status
	switch {
	case unit:
		e.TurnsMax, e.TurnsPassedShare = 1, &v
		if v == 1 && status == StatusFailed {
			status = StatusCapped
		}
		v = math.Trunc(v)
		whole = true
	case whole && e.TurnsMax > 0:
		share := v / float64(e.TurnsMax)
		e.TurnsPassedShare = &share
	}
	if whole {
		n := int(v)
		changes := max(n-1, 0)
		e.TurnsPassed, e.ChangesPassed = &n, &changes
	}
	if status == StatusStopped {
		e.Validity = ValidityStopped
		return
	}
	e.EndReason = &status
}
