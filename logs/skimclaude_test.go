package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// claudeSeeds are lines that a skimmer could get wrong, and those of the fixtures.
func claudeSeeds(t testing.TB) [][]byte {
	lines := [][]byte{}
	for _, s := range []string{
		`{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"a\u00e9\n\ud83d\ude00"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls \"x\""}}],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":null,"output_tokens_details":{"thinking_tokens":1}}},"timestamp":"2026-01-01T00:00:00Z"}`,
		`{"type":"user","isSidechain":false,"message":{"role":"user","content":"plain words"}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image"},{"text":null}],"is_error":true}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"Exit code 3\nno","is_error":true},{"type":"tool_result","content":null},{"type":"tool_result","content":{"text":"one"}}]}}`,
		`{"type":"user","message":{"content":[null,{"type":"text","text":"   "}]}}`,
		`{"type":"user","Type":"assistant","message":{"content":"x"}}`, `{"type":"user","message":{"content":"x","content":["y"]}}`, `{"type":"user","me\u0073sage":{"content":"x"}}`,
		`{"type":"user","message":{"content":"x"},"type":"assistant"}`, "{\"type\":\"user\",\"me\u017f\u017fage\":{\"content\":\"x\"}}", "{\"type\":\"user\",\"message\":{\"content\":\"\xff\xfe\"}}",
		`{"type":"assistant","message":{"usage":{"input_tokens":1.5}}}`, `{"type":"assistant","message":{"usage":{"input_tokens":1234567890123456789}}}`, `{"type":"assistant","message":7}`, `{"type":"assistant","message":null}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","input":[1, 2 ]}]}}`, `{"type":"assistant","message":{"content":{"a":1}}}`, `{"type":"assistant","message":{"content":"x"},"isApiErrorMessage":true}`,
		`{"type":"assistant","usage":{"a":1},"message":{"x":{"usage": 2},"usage":{"input_tokens":3}}}`, `{"type":"assistant","message":{"a\"usage":{"b":1},"content":[{"type":"tool_use","input":{"usage" :{},"x":{"usage":{}}}}],"usage":{"input_tokens":3}}}`,
		`{"type":"assistant","message":{"content":[]}`, `{"type":"user"}{}`, `{"type":"user","message":{"content":[{"type":"text","text":1}]}}`, `{"type":"user","isMeta":"yes","message":{"content":"x"}}`,
	} {
		lines = append(lines, []byte(s))
	}
	files, err := filepath.Glob(filepath.Join("testdata", "program", "claude-*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.Split(bytes.TrimSpace(data), []byte("\n"))...)
	}
	return lines
}

// FuzzSkimClaude holds the skimmer to encoding/json, record by record: where it is sure it reads the same.
func FuzzSkimClaude(f *testing.F) {
	sure := 0
	for _, l := range claudeSeeds(f) {
		f.Add(l)
		if skimClaude(l, 0, utf8.Valid(l)) != nil {
			sure++
		}
	}
	if sure < 10 {
		f.Errorf("the skimmer is sure of %d seeds only", sure)
	}
	same := cmp.AllowUnexported(claudeRecord{}, claudeLine{}, claudePart{}, keyNews{})
	f.Fuzz(func(t *testing.T, line []byte) {
		got := skimClaude(line, 0, utf8.Valid(line))
		if got == nil {
			return
		}
		want, err := decodeClaude(line)
		if err != nil {
			t.Fatalf("%q: encoding/json says %v", line, err)
		}
		want.keys = keyNews{known: true, twice: repeatsKey(line)}
		if len(want.parts) == 0 {
			want.parts = nil
		}
		if got.usage != "" {
			want.usage = usageIn(line)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("%q: −encoding/json +skimmer\n%s", line, diff)
		}
		// Of the beginnings of texts come the same events.
		for _, need := range []int{1, 7, 40} {
			short := skimClaude(line, need, utf8.Valid(line))
			for i, p := range short.parts {
				w := want.parts[i]
				for _, pair := range [][2]string{{p.Text, w.Text}, {p.given, w.given}} {
					if !bytes.HasPrefix([]byte(pair[1]), []byte(pair[0])) || len(pair[0]) < min(need, len(pair[1])) {
						t.Fatalf("%q: %q is not the beginning of %q", line, pair[0], pair[1])
					}
				}
			}
		}
	})
}

// TestSkimmedEvents reads every fixture with and without whole texts and both ways of decoding: the events are the same
// but for what is cut off their texts.
func TestSkimmedEvents(t *testing.T) {
	t.Parallel()
	lines := claudeSeeds(t)
	// A log is recognised by its first lines; the odd ones come later, and the whole often enough for many blocks.
	all := append([]byte(`{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"message":{"role":"user","content":"go"}}`+"\n"), bytes.Join(lines, []byte("\n"))...)
	all = bytes.Repeat(append(all, '\n'), 1+3*blockBytes/len(all))
	read := func(whole bool) (events []EventRow, bad int) {
		r, err := Open(ReaderOptions{Text: whole, FS: fstest.MapFS{"s.jsonl": &fstest.MapFile{Data: all}}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for r.Next() {
			if e := r.Record().Event; e != nil {
				events = append(events, *e)
			}
			if p := r.Record().Problem; p != nil {
				bad++
			}
		}
		return events, bad
	}
	whole, bad := read(true)
	short, alsoBad := read(false)
	if len(whole) < 1000 || len(whole) != len(short) || bad == 0 || bad != alsoBad {
		t.Fatalf("%d and %d events, %d and %d problems", len(whole), len(short), bad, alsoBad)
	}
	cut := 0
	for i := range whole {
		w := whole[i]
		if raw := all[w.Offset : w.Offset+w.Length]; w.File != "s.jsonl" || raw[len(raw)-1] != '\n' || bytes.Count(raw, []byte("\n")) != 1 {
			t.Fatalf("event %d does not point to its line: %+v", i, w.Place)
		}
		if w.Text != short[i].Text {
			cut++
		}
		if w.Kind != EventModelAnswer && w.Kind != EventUsage {
			w.Text = beginning(w.Text)
		}
		if diff := cmp.Diff(w, short[i]); diff != "" {
			t.Fatalf("event %d: −whole +short\n%s", i, diff)
		}
	}
	if cut == 0 {
		t.Error("no text was cut")
	}
}
