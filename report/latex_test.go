package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// missing skips a test whose real component is not here; CI, which installs it, sets STINT_REQUIRE, and there it
// is a failure.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatalf("CI installs %s; it is not here", what)
	}
	t.Skipf("needs %s", what)
}

func TestEscapeTeX(t *testing.T) {
	for in, want := range map[string]string{
		`50 % of a_b & c#1 {x} $y`: `50 \% of a\_b \& c\#1 \{x\} \$y`,
		`\input{/etc/passwd}`:      `\textbackslash{}input\{/etc/passwd\}`,
		"^^41~<>|\"":               `\textasciicircum{}\textasciicircum{}41\textasciitilde{}\textless{}\textgreater{}\textbar{}\textquotedbl{}`,
		"−1.5–2 × α":               `$-$1.5--2 $\times$ $\alpha$`,
		"a--b---c":                 `a{-}{-}b{-}{-}{-}c`,
		"naïve 日本":                 `naïve [U+65E5][U+672C]`,
		"\x1b[31m\u202e":           `\textbackslash{}x1b[31m\textbackslash{}u202e`,
	} {
		if got := escapeTeX(in); got != want {
			t.Errorf("escapeTeX(%q)\n got %s\nwant %s", in, got, want)
		}
	}
}

// texTakesNames says whether a macro of results.tex is one of those that take names.
func texTakesNames(macro string) bool {
	for _, v := range slices.Concat(texOfConfig, texOfPair, []texValue{{name: "define"}, {name: "value"}}) {
		if macro == `\stint`+v.name {
			return true
		}
	}
	return false
}

// TestTeXNumbers holds some numbers against the tables, and that names stay apart whatever is in them.
func TestTeXNumbers(t *testing.T) {
	set := harnesses(true)
	for i := range set.Rows {
		if row := &set.Rows[i]; strings.Contains(row.Config, "mini-swe") {
			row.Config = "glm-5+open#code/detailed/r2"
		} else if strings.Contains(row.Config, "builtin") {
			row.Config = "glm-5+open%code/detailed/r2"
		}
	}
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	costs, err := c.Costs(nil)
	if err != nil {
		t.Fatal(err)
	}
	rep := &Report{Comparison: c, Costs: costs}
	var out bytes.Buffer
	rep.texNumbers(&out)
	for _, want := range []string{
		`\stintdefine{Mean}{opencode}{58.0}`, `\stintdefine{MeanLow}{opencode}{41.8}`, `\stintdefine{Mean}{open-code}{15.2}`, `\stintdefine{Mean}{open-code-2}{8.7}`,
		`\stintdefine{Name}{open-code}{glm{-}5+open\#code/detailed/r2}`, `\stintdefine{Stopped}{opencode}{1}`, `\stintdefine{Dollars}{opencode}{41}`,
		`\stintdefine{Diff}{/opencode/open-code}{42.8}`, `\stintdefine{Shared}{/opencode/open-code}{20}`, `\newcommand{\stintCap}{101}`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is not in\n%s", want, out.String())
		}
	}
}

// TestLaTeXCompiles runs pdflatex over the tables, the sentences and compare's own output, with names that hold all
// that TeX acts on.
func TestLaTeXCompiles(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		missing(t, "pdflatex")
	}
	set := judged(harnesses(true))
	for i := range set.Rows {
		row := &set.Rows[i]
		row.Config = strings.Replace(row.Config, "builtin", `b\immediate\write18{x}&#%_^^M~${}日"'<>|`+strings.Repeat("long", 70), 1)
		usd := 2.5
		row.USD = &usd
	}
	all := DeclaredFamily{Name: "the same again"}
	for i, a := range []string{"opencode", "mini-swe"} {
		all.Pairs = append(all.Pairs, [2]string{"glm-5+" + a + "/detailed/r2", set.Rows[[]int{0, 20}[i]].Config})
	}
	all.Pairs = all.Pairs[:1]
	c := mustCompare(t, set, CompareOptions{Episodes: true, Families: []DeclaredFamily{all, all}})
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Study: `50 % \ & {`, Comparison: c, Tables: someTables(), With: &OtherStudy{Study: `b_&%\x`, Comparison: c, Settings: []Setting{{"a_b", "#1"}}}}); err != nil {
		t.Fatal(err)
	}
	var own bytes.Buffer
	if err := c.LaTeX(&own); err != nil {
		t.Fatal(err)
	}
	var doc strings.Builder
	doc.WriteString("\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n\\usepackage{textcomp}\n\\usepackage{booktabs}\n\\begin{document}\n\\input{results.tex}\n")
	files := readTree(t, dir)
	for _, name := range sortedKeys(files) {
		if strings.HasPrefix(name, "tables/") {
			doc.WriteString("\\noindent\\input{" + name + "}\n\n")
		}
	}
	for line := range strings.Lines(files["results.tex"]) {
		command, defined := strings.CutPrefix(line, `\newcommand{`)
		if name, _, ok := strings.Cut(command, "}"); defined && ok && strings.HasPrefix(name, `\stint`) {
			if !texTakesNames(name) {
				doc.WriteString(name + "\n\n")
			}
		}
	}
	keys := c.texKeys()
	for i := range c.Configs {
		for _, v := range texOfConfig {
			fmt.Fprintf(&doc, "\\stint%s{%s}\n\n", v.name, keys[c.Configs[i].Config])
		}
	}
	for _, v := range texOfPair {
		p := c.Families[0].Pairs[0]
		fmt.Fprintf(&doc, "\\stint%s{%s}{%s} \\stint%s[1]{%s}{%s}\n\n", v.name, keys[p.A], keys[p.B], v.name, keys[p.A], keys[p.B])
	}
	doc.WriteString(own.String() + "\\end{document}\n")
	if err := os.WriteFile(filepath.Join(dir, "paper.tex"), []byte(doc.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, out[max(0, len(out)-3000):])
	}
	log, err := os.ReadFile(filepath.Join(dir, "paper.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte("Missing character")) {
		t.Error("a character has no glyph")
	}
}
