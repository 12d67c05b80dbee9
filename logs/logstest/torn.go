package logstest

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// small is the size up to which a file is torn at every byte. Of a larger one of lines its beginning is, and of any
// larger one some places all over it.
const small = 300

// torn reads logs of which one file ends too early.
func torn(t *testing.T, files map[string][]byte) {
	for _, name := range names(files) {
		data := files[name]
		if isLines(data) && len(data) > small {
			n := 0
			for _, end := range ends(data) {
				if end > small && n > 0 {
					break
				}
				n = end
			}
			if n <= 2*small {
				start := maps.Clone(files)
				start[name] = data[:n]
				tornAt(t, start, name, 1)
			}
			tornAt(t, files, name, len(data)/max(3, 8/len(files))+1)
			continue
		}
		tornAt(t, files, name, len(data)/max(5, 40/len(files))+1)
		if t.Failed() {
			return
		}
	}
}

// tornAt tears a file at every step-th byte and behind every line.
func tornAt(t *testing.T, files map[string][]byte, name string, step int) {
	t.Helper()
	data := files[name]
	all := read(t, files, nil)
	want := all.events()
	lineEnds := ends(data)
	complete := isLines(data) || ofLines(want, name, lineEnds)
	next := 0
	for n := 0; n < len(data); n++ {
		atEnd := next < len(lineEnds) && n == lineEnds[next]
		if atEnd {
			next++
		}
		if n%step != 0 && (!atEnd || step > 50) {
			continue
		}
		some := maps.Clone(files)
		some[name] = data[:n]
		got := read(t, some, nil)
		got.checkPlaces(t, some)
		if complete {
			if err := kept(want, &got, name, int64(n)); err != nil {
				t.Errorf("%s ends at byte %d: %v", name, n, err)
			}
		} else if len(got.events()) < len(want) && len(got.bad) == 0 && got.recognised(name) && structured(data) && !harmless(data[n:]) {
			t.Errorf("%s ends at byte %d of %d: %d of %d events, and nothing is said", name, n, len(data), len(got.events()), len(want))
		}
		if t.Failed() {
			return
		}
	}
}

// ofLines says whether the events of a file are each from a line of it, and from several.
func ofLines(events []logs.EventRow, name string, ends []int) bool {
	at := map[int64]bool{0: true}
	for _, end := range ends {
		at[int64(end)] = true
	}
	places := map[int64]bool{}
	for _, e := range events {
		if e.File != name {
			continue
		}
		if !at[e.Offset] || !at[e.Offset+e.Length] {
			return false
		}
		places[e.Offset] = true
	}
	return len(places) > 1
}

// kept holds a reading of a file that ends at byte n to the reading of the whole one: an event of a line that stands
// whole is there, and a line that does not is told. A file that is too short to be recognised is told as that.
func kept(want []logs.EventRow, got *reading, name string, n int64) error {
	if !got.recognised(name) {
		return nil
	}
	count := map[string]int{}
	for _, e := range got.events() {
		if e.File == name {
			count[fmt.Sprint(e.Offset, e.Kind)]++
		}
	}
	cut := false
	for _, e := range want {
		switch {
		case e.File != name:
		case e.Offset+e.Length <= n:
			if k := fmt.Sprint(e.Offset, e.Kind); count[k] > 0 {
				count[k]--
			} else {
				return fmt.Errorf("%s is lost", line(e))
			}
		case e.Offset < n && n < e.Offset+e.Length-1: // all but the newline is whole enough
			cut = true
		}
	}
	if cut && len(got.bad) == 0 {
		return fmt.Errorf("it ends within a line, and nothing is said")
	}
	return nil
}

// recognised says whether a file was read at all.
func (r *reading) recognised(name string) bool {
	for _, f := range r.files {
		if f.Path == name {
			return f.Format != "" && !f.Beside
		}
	}
	return false
}

// structured says whether the form of a file shows that it ends too early, which that of plain text does not.
func structured(data []byte) bool {
	text := bytes.TrimLeft(data, " \r\n\t")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') || bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("PAR1"))
}

// harmless says whether what a file lost is nothing but white space.
func harmless(lost []byte) bool {
	return len(bytes.Trim(lost, " \n\r\t")) == 0
}

// badLine puts lines that cannot be read behind the first line.
func badLine(t *testing.T, files map[string][]byte, whole reading) {
	want := whole.events()
	for _, name := range names(files) {
		data := files[name]
		if !isLines(data) || !whole.recognised(name) {
			continue
		}
		first := ends(data)[0]
		for _, bad := range []string{"{\"type\": \"tr\n", "{\"a\":\"\xff\", \n", "no JSON at all\n", deep} {
			some := maps.Clone(files)
			some[name] = append(append(append([]byte{}, data[:first]...), bad...), data[first:]...)
			got := read(t, some, nil)
			got.checkPlaces(t, some)
			if len(got.bad) != len(whole.bad)+1 {
				t.Errorf("%s with the line %.20q: problems %v", name, bad, got.bad)
				continue
			}
			told := false
			for _, p := range got.bad {
				told = told || p.File == name && p.Line == 2 && p.Offset == int64(first)
			}
			if !told {
				t.Errorf("%s with a bad line 2 at byte %d: problems %v", name, first, got.bad)
			}
			if len(got.events()) != len(want) {
				t.Errorf("%s with the line %.20q: %d events, want %d", name, bad, len(got.events()), len(want))
			}
		}
	}
}
