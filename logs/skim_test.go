package logs

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzSkim holds the skimmer to encoding/json: the same inputs are values, and what is read of them is the same.
func FuzzSkim(f *testing.F) {
	for _, s := range []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `{"a" : [ 1 , {"b":null} ] , "a":"x"} `, `{"a":1}{"a":2}`, `{"a":1} x`, "{\"a\":1}\x00",
		`"\u00e9\ud83d\ude00\ud83d\ud83d\ude00\ud800x\udc00"`, `"\ud800\u0041"`, `"\uD83D\uDE0"`, `"\x"`, `"\`, `"abc`, "\"a\tb\"", "\"\xff\xc3\x28\xe2\x82\"", "\"\u2028\x7f\"",
		`{"\u0061":"escaped key"}`, `{"a":tru}`, `nul`, `true`, `-`, `-0`, `-01`, `01`, `1.`, `.5`, `1e`, `1e+`, `-1.5E-10`, `1e400`, `9223372036854775808`, `-9223372036854775808`,
		`{"a":"0123456789abcdef\"0123456789abcdef0123456789abcde\\"}`, `[[[[[[]]]]]]`, `[{]}`, `{"a"}`, `{"a":}`, `{1:2}`, `{"a":1 "b":2}`, `[1 2]`, "\ufeff{}", `{"a":{"b":["c",{"d":"e"}]}}`,
		"{\"\x87\":{}}", `{"":"` + "\x85\xf0" + `\b end"}`, strings.Repeat("[", 9999) + strings.Repeat("]", 9999), strings.Repeat("[", 10001) + strings.Repeat("]", 10001), strings.Repeat(`{"a":`, 50),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := skimmer{b: b}
		s.skip()
		if got, want := s.end(), json.Valid(b); got != want {
			t.Fatalf("%q: valid %v, encoding/json says %v", b, got, want)
		}
		if !json.Valid(b) {
			return
		}
		s = skimmer{b: b}
		got := skimValue(&s)
		if !s.end() {
			t.Fatalf("%q: not read to its end", b)
		}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%q: encoding/json reads %.300v, the skimmer %.300v", b, want, got)
		}
	})
}

// skimValue builds what encoding/json builds.
func skimValue(s *skimmer) any {
	switch s.peek() {
	case '{':
		m := map[string]any{}
		for ok := s.enter('{'); ok && s.more('}'); {
			key := string(s.key())
			m[key] = skimValue(s)
		}
		return m
	case '[':
		list := []any{}
		for ok := s.enter('['); ok && s.more(']'); {
			list = append(list, skimValue(s))
		}
		return list
	case '"':
		t := s.text()
		whole := t.String()
		for _, n := range []int{0, 1, 2, 3, 5, 8, 30} {
			head := string(t.head(n))
			if !strings.HasPrefix(whole, head) || len(head) < min(n, len(whole)) || len(head) > maxGrowth*(n+utf8.UTFMax)+utf8.UTFMax || !utf8.ValidString(head) {
				return "head(" + head + ") of " + whole
			}
		}
		return whole
	case 't', 'f':
		return s.truth()
	case 'n':
		s.skip()
		return nil
	}
	return json.Number(s.raw())
}

// TestBlockMarks compares both ways to mark bytes with a look at each.
func TestBlockMarks(t *testing.T) {
	var b [64]byte
	for round := range 20_000 {
		rng := rand.New(rand.NewPCG(7, uint64(round)))
		for i := range b {
			b[i] = "a\"\\\x1f \x00\x80\xa2\xdc\xff!#[]\x7f\n"[rng.IntN(16)]
			if round%2 == 0 {
				b[i] = byte(rng.Uint32())
			}
		}
		var stops, backs uint64
		for i, c := range b {
			if c == '"' || c < ' ' {
				stops |= 1 << i
			}
			if c == '\\' {
				backs |= 1 << i
			}
		}
		for _, marks := range []func(*[64]byte) (uint64, uint64){blockMarks, wordMarks} {
			if s, k := marks(&b); s != stops || k != backs {
				t.Fatalf("%q: marked %064b %064b, want %064b %064b", b, s, k, stops, backs)
			}
		}
	}
}

// TestSkimKinds asks for values of the wrong kind: they are skipped, and said.
func TestSkimKinds(t *testing.T) {
	for _, v := range []string{`1`, `"x"`, `[{"a":[]}]`, `{"a":{}}`, `true`, `null`, `1.5`, `1234567890123456789`, `-12`} {
		s := skimmer{b: []byte(`[` + v + `,` + v + `,` + v + `,` + v + `,` + v + `,7]`)}
		s.enter('[')
		var odd [5]bool
		for i, read := range []func(){func() { s.text() }, func() { s.truth() }, func() { s.integer() }, func() { skimValue2(&s, '{', '}') }, func() { skimValue2(&s, '[', ']') }} {
			s.more(']')
			s.odd = false
			read()
			odd[i] = s.odd
		}
		if !s.more(']') || *s.integer() != 7 || s.more(']') || !s.end() {
			t.Errorf("%s: lost the way", v)
		}
		var into struct {
			S string
			B bool
			I *int64
			O struct{}
			L []any
		}
		for i, p := range []any{&into.S, &into.B, &into.I, &into.O, &into.L} {
			if fails := json.Unmarshal([]byte(v), p) != nil; fails != odd[i] && v != "null" && v != "1234567890123456789" {
				t.Errorf("%s read as %T: odd %v", v, p, odd[i])
			}
		}
	}
}

func skimValue2(s *skimmer, open, end byte) {
	if s.enter(open) {
		for s.more(end) {
			if open == '{' {
				s.key()
			}
			s.skip()
		}
	}
}

func BenchmarkSkim(b *testing.B) {
	line := []byte(`{"type":"x","message":{"content":[{"type":"text","text":"` + strings.Repeat(`some words of text \"quoted\" and a line of it that is of usual length\n`, 100) + `"}],"n":12}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s := skimmer{b: line}
		s.skip()
		if !s.end() {
			b.Fatal("invalid")
		}
	}
}
