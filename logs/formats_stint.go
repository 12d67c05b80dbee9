package logs

import (
	"io/fs"
	"path"
	"path/filepath"
)

// stintFormats are stint's own logs where they lie outside of a run directory.
func stintFormats() []Format {
	return []Format{
		{Name: "stint-gateway", Title: "recording of stint's gateway", recognise: claimGateway, read: readRecording},
		{Name: "stint-journal", Title: "journal of a stint episode", recognise: claimJournal, read: readJournalLog},
	}
}

// runFormat is a whole run directory, which is recognised by its folder.
func runFormat() Format {
	return Format{Name: "stint-run", Title: "run directory of stint", read: readRunLog}
}

func claimGateway(h *head) (claim, bool) {
	if !h.lines || h.any(func(f fields) bool {
		return f.has("seq", "time", "kind") && (f["kind"] == "request" || f["kind"] == "answer" || f["kind"] == "tool_call" || f["kind"] == "tool_result")
	}) == nil {
		return claim{}, false
	}
	return claim{part: "recording.jsonl", model: h.first("body.model", "model")}, true
}

// readRecording reads what went between an agent and its model.
func readRecording(in *logInput, out *rowSink) error {
	out.via = ViaGateway
	out.jsonLines(loneFile("recording.jsonl", &in.files[0]), "recording.jsonl", out.gatewayEvents)
	return nil
}

func claimJournal(h *head) (claim, bool) {
	ok := h.lines && h.any(func(f fields) bool { return f.has("v", "seq", "t_wall", "t_mono", "episode", "type", "chain") }) != nil
	return claim{part: JournalName}, ok
}

// readJournalLog reads a journal as a run directory's are read. What it refers to is looked for in blobs/ beside it.
func readJournalLog(in *logInput, out *rowSink) error {
	f := &in.files[0]
	u, err := f.open()
	if err != nil {
		out.unreadable(0, "it cannot be read: %s", plainError(err))
		return nil
	}
	defer u.Close()
	p := &replay{file: f.path, want: ReadOptions{Events: true}, blob: func(string) (string, error) { return "", fs.ErrNotExist }}
	var blobs *Blobs
	if _, onDisk := f.fsys.(osFiles); onDisk && f.path != "-" {
		store := filepath.Join(filepath.Dir(f.place), "blobs")
		p.blob, blobs = blobTexts(store), existingStore(store)
	}
	if err := p.journal(u, ""); err != nil {
		out.unreadable(0, "reading stopped: %s", plainError(err))
	}
	out.report().Records += p.records
	p.readEvents(blobs)
	for _, problem := range p.problems {
		out.bad(problem)
	}
	if !p.started {
		return nil
	}
	t := p.tables()
	t.SetEnds()
	t.sortRows()
	out.sendTables(t)
	return nil
}

// readRunLog reads a run directory among other logs: the files of its rows are named as the user would.
func readRunLog(in *logInput, out *rowSink) error {
	root := in.files[0]
	problems, err := eachPart(&RunDir{Root: root.place}, IngestOptions{}, func(t *Tables) error {
		t.eachPlace(func(p *Place) { p.File = path.Join(root.path, p.File) })
		out.report().Records += len(t.Events)
		out.sendTables(t)
		return nil
	})
	for _, p := range problems {
		p.File = path.Join(root.path, p.File)
		out.bad(p)
	}
	return err
}

// eachPlace calls f for the place of every row.
func (t *Tables) eachPlace(f func(*Place)) {
	placesOf(t.Episodes, f)
	placesOf(t.Turns, f)
	placesOf(t.Clauses, f)
	placesOf(t.Attempts, f)
	placesOf(t.Checks, f)
	placesOf(t.Events, f)
	placesOf(t.Verdicts, f)
}

// placedRow is a row of any table: all have a Place.
type placedRow[R any] interface {
	*R
	place() *Place
}

func (p *Place) place() *Place { return p }

func placesOf[R any, P placedRow[R]](rows []R, f func(*Place)) {
	for i := range rows {
		f(P(&rows[i]).place())
	}
}
