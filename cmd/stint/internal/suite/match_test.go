package suite

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	check := func(mode, want, got, diffs string) {
		t.Helper()
		w, err := decodeBody([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		g, err := decodeBody([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, d := range compare(mode, w, g) {
			list = append(list, d.Path+" "+d.Want+" / "+d.Have)
		}
		if have := strings.Join(list, "; "); have != diffs {
			t.Errorf("%s: %s against %s:\n%q, want\n%q", mode, want, got, have, diffs)
		}
	}
	check(Exact, `{"a":1}`, `{"a":1}`, "")
	check(Exact, `{"a":1}`, `{"a":1.0}`, "") // by value
	check(Exact, `{"a":1}`, `{"a":1e0}`, "")
	check(Exact, `{"a":1}`, `{"a":1.004}`, "a = 1 / = 1.004") // integers have no tolerance
	check(Exact, `{"a":9007199254740991}`, `{"a":9007199254740990}`, "a = 9007199254740991 / = 9007199254740990")
	check(Exact, `{"a":1}`, `{"a":"1"}`, `a = 1 / = "1"`)
	check(Exact, `{"a":1}`, `{"a":true}`, `a = 1 / = true`)
	check(Exact, `{"a":12.5}`, `{"a":12.50000001}`, "") // decimals do: half a hundredth
	check(Exact, `{"a":12.5}`, `{"a":12.495}`, "")
	check(Exact, `{"a":12.5}`, `{"a":12.49}`, "a = 12.5 / = 12.49")
	check(Exact, `{"a":3.0}`, `{"a":3}`, "")
	check(Exact, `{"a":3}`, `{"a":1e999999999}`, "a = 3 / = 1e999999999")
	check(Exact, `{"a":1}`, `{"a":1,"b":null}`, "b is not there / = null")
	check(Present, `{"a":1}`, `{"a":1,"b":null}`, "")
	check(Present, `{"a":null}`, `{}`, "a = null / is missing")
	check(Subset, `{"a":null}`, `{}`, "")
	check(Subset, `{"a":null}`, `{"a":0}`, "a = null / = 0")
	check(Subset, `{"a":false}`, `{}`, "a = false / is missing")
	check(Subset, `{"e":{"f":null}}`, `{"e":"x"}`, `e = an object / = "x"`)
	check(Subset, `{"a":[1,2]}`, `{"a":[1]}`, "a has 2 rows / has 1 rows")
	check(Subset, `{"a":[{"id":1},{"id":2}]}`, `{"a":[{"id":2},{"id":1}]}`, "a[0].id = 1 / = 2; a[1].id = 2 / = 1")
	check(Subset, `{"a":[]}`, `{"a":null}`, "a = a list / = null")
	check(Exact, `{}`, `[1]`, "body = an object / = [1]")
	check(Exact, `{"a":1,"b":1,"c":1,"d":1,"e":1}`, `{}`, "a = 1 / is missing; b = 1 / is missing; c = 1 / is missing; d = 1 / is missing")
}

func TestOneLine(t *testing.T) {
	check := func(in string, limit int, want string) {
		t.Helper()
		if got := oneLine(in, limit); got != want || len(got) > limit {
			t.Errorf("oneLine(%q, %d) = %q, want %q", in, limit, got, want)
		}
	}
	check("plain é text", 40, "plain é text")
	check("a\nb\tc\x1b[2J", 40, `a\nb\tc\x1b[2J`)
	check("\u202egnp\u200b", 40, `\u202egnp\u200b`)
	check("bad \xff byte", 40, `bad \ufffd byte`)
	check(strings.Repeat("x", 50), 10, "xxxxxxx...")
	check("exactly10!", 10, "exactly10!")
}

func TestSymbols(t *testing.T) {
	sy := symbols{"a": 17, "pe1": 3}
	check := func(in, want, missing string) {
		t.Helper()
		if got, m := sy.fill(in); got != want || m != missing {
			t.Errorf("fill(%s) = %s, %q; want %s, %q", in, got, m, want, missing)
		}
	}
	check("/rows/${a}", "/rows/17", "")
	check(`{"x":"${a}","y":"${pe1:s}","z":"in ${a}"}`, `{"x":17,"y":"3","z":"in 17"}`, "")
	check(`{"x":"${b}"}`, `{"x":"${b}"}`, "b")
	check("/rows", "/rows", "")
}
