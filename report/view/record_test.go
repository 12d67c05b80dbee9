package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsOf(t *testing.T) {
	record := "\xef\xbb\xbf" + ` {"a":"x\ny","b":[1, -2.5e3,{"c":null,"\u0064":true}],"e":{},"q":"\"\\","half":"\ud800|\udc00","pair":"\ud83d\ude00","raw":"` + "\xff" + `"}` + "\n"
	got, ok := fieldsOf([]byte(record))
	want := []field{{"a", "x\ny"}, {"b[0]", "1"}, {"b[1]", "-2.5e3"}, {"b[2].c", "null"}, {"b[2].d", "true"}, {"q", `"\`}, {"half", "\xed\xa0\x80|\xed\xb0\x80"}, {"pair", "😀"}, {"raw", "\xff"}}
	if d := cmp.Diff(want, got); d != "" || !ok {
		t.Error(ok, d)
	}
	if s := string(visible(got[6].Text)); s != `<i class="esc">\ud800</i>|<i class="esc">\udc00</i>` {
		t.Errorf("half pairs are shown as %s", s)
	}
	for _, bad := range []string{"", "plain text", "42", `"text"`, `{"a":`, `{"a":1}}`, strings.Repeat("[", 500) + strings.Repeat("]", 500)} {
		if f, ok := fieldsOf([]byte(bad)); ok {
			t.Errorf("%q gave %v", bad, f)
		}
	}
	wide := `{"` + strings.Repeat("k", 1<<20) + `":[` + strings.Repeat("1,", 5000) + `1]}`
	if f, ok := fieldsOf([]byte(wide)); !ok || len(f[5000].Path) > 2*maxKey {
		t.Errorf("a path of %d bytes, %v", len(f[5000].Path), ok)
	}
	many := "[" + strings.Repeat("1,", 2*maxFields) + "1]"
	if f, ok := fieldsOf([]byte(many)); !ok || len(f) != maxFields {
		t.Errorf("%d fields, %v", len(f), ok)
	}
}

// FuzzFieldsOf compares strings with what encoding/json makes of them, where that loses nothing.
func FuzzFieldsOf(f *testing.F) {
	f.Add(`{"a":["b\u00e9\\",{"c":"\"d"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		fields, ok := fieldsOf([]byte(s))
		if !ok || strings.ContainsRune(s, '\uFFFD') {
			return
		}
		for _, f := range fields {
			b, err := json.Marshal(f.Text)
			if err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal(b, &back); err != nil || back != strings.ToValidUTF8(f.Text, "\uFFFD") && !strings.ContainsRune(back, '\uFFFD') {
				t.Errorf("%q holds %q, which comes back as %q (%v)", s, f.Text, back, err)
			}
		}
	})
}

func TestWholeText(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	fields := []field{{"role", "assistant"}, {"short", "word word"}, {"text", long}}
	for _, shown := range []string{long[:2048] + "\n[… 5936 bytes left out …]\n" + long[8000:], long[:253] + "…"} {
		if _, cut := beginningOf(shown); !cut {
			t.Errorf("%.20q… is not seen to be cut", shown)
		}
		if f, ok := wholeText(fields, shown); !ok || f.Path != "text" {
			t.Errorf("%.20q… was found in %q", shown, f.Path)
		}
	}
	for _, shown := range []string{"whole…", "as it is", ""} {
		if _, cut := beginningOf(shown); cut {
			t.Errorf("%q counts as cut", shown)
		}
	}
	if f, ok := wholeText(fields, "made of several parts"); ok {
		t.Errorf("found in %q", f.Path)
	}
}
