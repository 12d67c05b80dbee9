package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShortNames(t *testing.T) {
	check := func(common string, namesAndShort ...string) {
		t.Helper()
		want := make(map[string]string)
		var names []string
		for i := 0; i < len(namesAndShort); i += 2 {
			names = append(names, namesAndShort[i])
			want[namesAndShort[i]] = namesAndShort[i+1]
		}
		short, got := ShortNames(names)
		if d := cmp.Diff(want, short); d != "" || got != common {
			t.Errorf("ShortNames(%q): common %q, want %q\n%s", names, got, common, d)
		}
	}
	check("glm-5/detailed/r2", "glm-5+opencode/detailed/r2", "opencode", "glm-5+builtin/detailed/r2", "builtin")
	check("weak+simulated", "weak+simulated/none/r0", "none/r0", "weak+simulated/detailed/r2", "detailed/r2")
	check("none/r0", "a+x/none/r0", "a+x", "b+y/none/r0", "b+y")
	check("a+x/none", "a+x/none/r0/session=fresh", "r0/session=fresh", "a+x/none/r2/session=continue", "r2/session=continue")
	check("org", "org/one", "one", "org/two", "two")
	check("", "one", "one", "two/x", "two/x")
	check("", "a+x/none/r0", "a+x/none/r0") // a single name stays whole
	check("", "same", "same", "same", "same")
	check("a/b/r1", "a+x/y/b/r1", "x/y", "a+x/z/b/r1", "x/z")
}

func TestParseConfig(t *testing.T) {
	got, ok := ParseConfig("glm-5+opencode/detailed/r10@2/session=fresh")
	want := map[string]string{"model": "glm-5", "harness": "opencode", "feedback": "detailed", "retries": "10@2", "session": "fresh"}
	if d := cmp.Diff(want, got); !ok || d != "" {
		t.Errorf("%v (-want +got):\n%s", ok, d)
	}
	for _, bad := range []string{"", "glm", "+x/none/r0", "a+x/r0", "a+x/none", "a+x/none/r0/odd", "a+x/none/r0/k=1/k=2"} {
		if f, ok := ParseConfig(bad); ok {
			t.Errorf("ParseConfig(%q) = %v", bad, f)
		}
	}
}

func FuzzShortNames(f *testing.F) {
	f.Add("a+x/none/r0\nb+x/none/r0\nb+y/none/r0")
	f.Add("a/b\na/c\n/\n")
	f.Fuzz(func(t *testing.T, list string) {
		names := strings.Split(list, "\n")
		short, _ := ShortNames(names)
		seen := make(map[string]string)
		for n, s := range short {
			if before, dup := seen[s]; dup {
				t.Errorf("%q and %q are both called %q", before, n, s)
			}
			seen[s] = n
		}
	})
}

func TestShorten(t *testing.T) {
	for _, s := range []string{"", "a", "abcdefghij", "日本語日本語日本語", "e\u0301e\u0301e\u0301e\u0301e\u0301"} {
		for most := 1; most < 25; most++ {
			if got := shorten(s, most); textWidth(got) > most {
				t.Errorf("shorten(%q, %d) = %q is %d wide", s, most, got, textWidth(got))
			}
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain − ok": "plain − ok", "a\x1b[31mb": `a\x1b[31mb`, "x\ny": `x\x0ay`, "\u202e": `\u202e`, "bad\xff": `bad\xff`, "\uFFFD": "\uFFFD", "\u200b": `\u200b`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}
