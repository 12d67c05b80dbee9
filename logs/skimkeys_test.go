package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// repeatsKeyByTokens is repeatsKey by encoding/json.
func repeatsKeyByTokens(raw []byte) bool {
	if !json.Valid(raw) {
		return false
	}
	type frame struct {
		object, value bool
		seen          map[string]bool
	}
	var open []frame
	d := json.NewDecoder(bytes.NewReader(raw))
	twice := false
	for {
		t, err := d.Token()
		if err != nil {
			return twice
		}
		top := &frame{}
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		switch {
		case t == json.Delim('}') || t == json.Delim(']'):
			open = open[:len(open)-1]
			continue
		case top.object && !top.value:
			twice = twice || top.seen[t.(string)]
			top.seen[t.(string)] = true
			top.value = true
			continue
		}
		top.value = false
		if t == json.Delim('{') || t == json.Delim('[') {
			open = append(open, frame{object: t == json.Delim('{'), seen: map[string]bool{}})
		}
	}
}

func FuzzRepeatedKeys(f *testing.F) {
	many := func(last int) string {
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, `"k%d":{"a":[],"b":1},`, i)
		}
		return fmt.Sprintf(`{%s"k%d":0}`, b.String(), last)
	}
	for _, s := range []string{`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`, `{"a":1,"a":2}`, `{"x":[{"\u0061":1,"a":{}}]}`, `{"a":1,"a":2`, `[{"a":{"b":1,"b":1}},0]`,
		many(200), many(3), many(199), `{"":1,"":1}`, `"a"`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte{0xff}) || len(raw) > 1<<16 || strings.Count(string(raw), "[")+strings.Count(string(raw), "{") > 5000 {
			return
		}
		if got, want := repeatsKey(raw), repeatsKeyByTokens(raw); got != want && json.Valid(raw) && bytes.Equal(bytes.ToValidUTF8(raw, nil), raw) {
			t.Errorf("%q: %v, want %v", raw, got, want)
		}
	})
}

// A key that comes twice is counted, whether a line is skimmed or decoded.
func TestRepeatedKeysOfLog(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"codex-two-turns.jsonl":  {`"type":"event_msg"`, `"type":"event_msg","type":"event_msg"`},
		"claude-two-turns.jsonl": {`"role":"user"`, `"role":"user","role":"user"`},
	} {
		plain := sample(t, name)
		want, files := readAll(t, map[string][]byte{"log": plain})
		if files[0].RepeatedKeys != 0 {
			t.Errorf("%s as it is: %+v", name, files[0])
		}
		got, files := readAll(t, map[string][]byte{"log": bytes.Replace(plain, []byte(change[0]), []byte(change[1]), 1)})
		if len(got) != len(want) || files[0].RepeatedKeys != 1 || files[0].Bad != 0 {
			t.Errorf("%s: %d records, want %d; report %+v", name, len(got), len(want), files[0])
		}
	}
	line := `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"a","new":{"b":1,"b":2}}]}}`
	if rec := skimClaude([]byte(line), 0, false); rec == nil || !rec.keys.twice {
		t.Errorf("skimmed: %+v", rec)
	}
}
