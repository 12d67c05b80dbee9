package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stint-bench/stint/logs"
)

// The bounds of what is kept: of each named log, and of the errors of a command after the attempt.
const (
	maxKeptLog   = 24 << 20
	maxKeptError = 64 << 10
	maxKeptFiles = 20_000      // of one log
	afterLimit   = time.Minute // for one command after the attempt
)

// keep collects the program's logs: its output, what commands print after the attempt, and its files. What cannot be
// kept is said in a file of its own.
func (w *work) keep(ctx context.Context) {
	if m := w.opt.File.Session.match; m != nil {
		if found := m.FindSubmatch(w.exit.Stdout); found != nil && sessionForm.Match(found[1]) {
			w.values.Session = string(found[1])
		}
	}
	w.logs = append(w.logs, logs.LogFile{Name: "stdout", Data: w.exit.Stdout}, logs.LogFile{Name: "stderr", Data: w.exit.Stderr})
	var lost []string
	for _, a := range w.opt.File.After {
		if err := w.after(ctx, a); err != nil {
			lost = append(lost, a.Name+": "+err.Error())
		}
	}
	for _, l := range w.opt.File.Logs {
		keep := w.file
		if l.Each {
			keep = w.files
		}
		if err := keep(l); err != nil && !(l.Optional && errors.Is(err, errNotWritten)) {
			lost = append(lost, l.Name+": "+err.Error())
		}
	}
	if len(lost) > 0 {
		w.logs = append(w.logs, logs.LogFile{Name: "not_kept", Data: []byte(strings.Join(lost, "\n") + "\n")})
	}
}

var errNotWritten = errors.New("the program did not write it")

// log is a kept file by its name in the harness file, nil if there is none.
func (w *work) log(name string) []byte {
	for _, l := range w.logs {
		if l.Name == name {
			return l.Data
		}
	}
	return nil
}

// canGoOn says whether HOME now holds a conversation that can be continued.
func (w *work) canGoOn(damaged bool) bool {
	f := w.opt.File
	switch {
	case damaged:
		return false
	case w.line.State().Requests == 0 && !w.goesOn:
		return false
	case f.Session.Match != "" && w.values.Session == "":
		return false
	}
	// The agent may have removed it.
	for _, l := range f.Logs {
		if strings.Contains(l.Path, ".Session") {
			name, err := w.home.newest(l.Path, &w.values, time.Time{})
			return err == nil && name != ""
		}
	}
	return true
}

// after runs a command in the sandbox and keeps what it prints.
func (w *work) after(ctx context.Context, a After) error {
	if ctx.Err() != nil || w.line.State().Requests == 0 {
		return nil
	}
	if w.opt.File.Session.Match != "" && w.values.Session == "" {
		return fmt.Errorf("the program did not say the name of its conversation")
	}
	argv, err := fillAll(a.Run, &w.values)
	if err != nil {
		return err
	}
	c := w.inSandbox(argv)
	c.MaxOutput, c.Timeout = maxKeptLog, afterLimit
	exit, err := w.request.Sandbox.Run(ctx, c)
	if err != nil {
		return err
	}
	if exit.By != "self" || exit.Code == nil || *exit.Code != 0 {
		said := exit.Stderr
		if len(said) > maxKeptError {
			said = said[len(said)-maxKeptError:]
		}
		return fmt.Errorf("the command ended badly (%s): %s", exitWords(exit.Code, exit.Signal, exit.Limit), lastWords(said))
	}
	data := exit.Stdout
	if a.Trim != nil {
		if data, err = a.Trim.apply(data, w.since); err != nil {
			return err
		}
	}
	w.logs = append(w.logs, logs.LogFile{Name: a.Name, Data: data})
	return nil
}

func exitWords(code *int, signal, limit string) string {
	switch {
	case limit != "":
		return "limit " + limit
	case code != nil:
		return fmt.Sprintf("exit code %d", *code)
	}
	return signal
}

// apply drops the elements of the list that are older than since.
func (t *Trim) apply(data []byte, since time.Time) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(doc[t.List], &list); err != nil {
		return nil, fmt.Errorf("it has no list %q: %w", t.List, err)
	}
	kept := []json.RawMessage{}
	for _, e := range list {
		at, ok := valueAt(e, t.Time)
		ms, isNumber := at.(float64)
		if !ok || !isNumber || int64(ms) >= since.UnixMilli() {
			kept = append(kept, e)
		}
	}
	var err error
	if doc[t.List], err = json.Marshal(kept); err != nil {
		return nil, fmt.Errorf("encoding what was kept: %w", err)
	}
	return json.Marshal(doc)
}

// changed is the time since which a file of this attempt was written: clocks of file systems are coarse.
func (w *work) changed() time.Time { return w.since.Add(-2 * time.Second) }

// file keeps a file of HOME.
func (w *work) file(l Log) error {
	name, err := w.home.newest(l.Path, &w.values, w.changed())
	if err != nil {
		return err
	}
	if name == "" {
		return errNotWritten
	}
	kept := logs.LogFile{Name: l.Name}
	if kept.Data, kept.LeftOut, err = w.part(name, l.New, maxKeptLog); err != nil {
		return err
	}
	w.logs = append(w.logs, kept)
	return nil
}

// part reads a file of HOME, or what this attempt appended to it; of more bytes than may be kept the end, which says
// how it went.
func (w *work) part(name string, appended bool, most int64) (data []byte, leftOut int64, err error) {
	f, err := w.home.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("reading it: %w", err)
	}
	from := int64(0)
	if before := w.home.sizes[name]; appended && before > 0 && before <= st.Size() {
		from = before
	}
	if st.Size()-from > most {
		leftOut = st.Size() - from - most
		from = st.Size() - most
	}
	if data, err = io.ReadAll(io.NewSectionReader(f, from, st.Size()-from)); err != nil {
		return nil, 0, fmt.Errorf("reading it: %w", err)
	}
	return data, leftOut, nil
}

// files keeps all files of a pattern that this attempt wrote as one, of too many the last ones.
func (w *work) files(l Log) error {
	found, err := w.home.matches(l.Path, &w.values)
	if err != nil {
		return err
	}
	kept := logs.LogFile{Name: l.Name}
	var texts [][]byte
	room := int64(maxKeptLog)
	for _, f := range slices.Backward(found) {
		if f.ModTime().Before(w.changed()) || l.New && w.home.sizes[f.name] == f.Size() {
			continue
		}
		if room <= 0 || len(texts) >= maxKeptFiles {
			kept.LeftOut += f.Size()
			continue
		}
		data, leftOut, err := w.part(f.name, l.New, room)
		if err != nil {
			return fmt.Errorf("%s: %w", path.Base(f.name), err)
		}
		kept.LeftOut += leftOut
		room -= int64(len(data))
		texts = append(texts, oneLineOfJSON(data))
	}
	if len(texts) == 0 {
		return errNotWritten
	}
	slices.Reverse(texts)
	kept.Data = bytes.Join(texts, nil)
	w.logs = append(w.logs, kept)
	return nil
}

// oneLineOfJSON puts a JSON document on a line of its own; other texts stay as they are, with a line's end.
func oneLineOfJSON(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		b.Reset()
		b.Write(bytes.TrimSuffix(data, []byte("\n")))
	}
	b.WriteByte('\n')
	return b.Bytes()
}
