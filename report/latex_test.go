package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Study: `50 % \ & {`, Comparison: c, Tables: someTables()}); err != nil {
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
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, `\newcommand{`), "}"); ok && strings.HasPrefix(name, `\stint`) {
			doc.WriteString(name + "\n\n")
		}
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
