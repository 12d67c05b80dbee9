package view

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é ü 中 עברית 👍":      "plain\n\ttext é ü 中 עברית 👍",
		`<script>alert("x")</script>&'`:    "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&amp;&#39;",
		"\x1b[31mred\x1b[0m\a":             `<i class="esc">\x1b</i>[31mred<i class="esc">\x1b</i>[0m<i class="esc">\x07</i>`,
		"a\u202egnp.exe":                   `a<i class="esc">\u202e</i>gnp.exe`,
		"x\u200b\u200dy\ufeff":             `x<i class="esc">\u200b\u200d</i>y<i class="esc">\ufeff</i>`,
		"one\r\ntwo":                       `one<i class="esc">\x0d</i>` + "\ntwo",
		"\xff\xfe ok":                      `<i class="esc">\xff\xfe</i> ok`,
		"lone \xed\xa0\x80 half":           `lone <i class="esc">\ud800</i> half`,
		"cut \xed\xa0":                     `cut <i class="esc">\xed\xa0</i>`,
		"tag \U000e0041\U000e01ef":         `tag <i class="esc">\U000e0041\U000e01ef</i>`,
		"filler \u3164\u2800":              `filler <i class="esc">\u3164\u2800</i>`,
		"e\u0301" + "Z\u0300\u0301\u0302":  "e\u0301Z\u0300\u0301\u0302",
		"Z" + strings.Repeat("\u0300", 6):  "Z" + strings.Repeat("\u0300", 4) + `<i class="esc">\u0300\u0300</i>`,
		"\u2028line\u2029paragraph\u0085.": `<i class="esc">\u2028</i>line<i class="esc">\u2029</i>paragraph<i class="esc">\u0085</i>.`,
		"\uFFFD stays, \x00 shows":         "\uFFFD stays, " + `<i class="esc">\x00</i> shows`,
	} {
		if got := string(visible(in)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestVisibleMarked(t *testing.T) {
	s := "one <b> \x1btwo"
	for _, c := range []struct {
		marks [][2]int
		want  string
	}{
		{[][2]int{{0, 3}}, `<mark>one</mark> &lt;b&gt; <i class="esc">\x1b</i>two`},
		{[][2]int{{4, 7}, {8, 10}}, `one <mark>&lt;b&gt;</mark> <mark><i class="esc">\x1b</i>t</mark>wo`},
		{[][2]int{{9, 12}}, `one &lt;b&gt; <i class="esc">\x1b</i><mark>two</mark>`},
		{[][2]int{{0, 2}, {2, 4}}, `<mark>on</mark><mark>e </mark>&lt;b&gt; <i class="esc">\x1b</i>two`},
	} {
		if got := string(visibleMarked(s, c.marks)); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.marks, got, c.want)
		}
	}
}

// FuzzVisible holds what is written to text: elements are ours alone, they are closed, and what remains has no
// character that hides.
func FuzzVisible(f *testing.F) {
	f.Add("a<b>\x1b\u202e\xff\xed\xa0\x80e\u0301", 1, 4)
	f.Fuzz(func(t *testing.T, s string, from, to int) {
		var marks [][2]int
		if from >= 0 && from < to {
			marks = [][2]int{{from, to}}
		}
		out := string(visibleMarked(s, marks))
		for _, tag := range []string{`<i class="esc">`, "</i>", "<mark>", "</mark>"} {
			out = strings.ReplaceAll(out, tag, "")
		}
		if strings.ContainsAny(out, "<>\"'") {
			t.Errorf("%q lets markup through: %q", s, out)
		}
		for _, r := range out {
			if hidden(r) {
				t.Errorf("%q lets %U through", s, r)
			}
		}
	})
}
