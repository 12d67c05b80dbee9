package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// texWidth is the number of characters after which a name in a LaTeX table is cut in its middle.
const texWidth = 44

// texRunes are the characters that TeX would act on, or that need a command in a document with 8-bit fonts.
var texRunes = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '_': `\_`, '%': `\%`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`, '"': `\textquotedbl{}`,
	'−': `$-$`, '–': `--`, '—': `---`, '×': `$\times$`, 'α': `$\alpha$`, '≤': `$\leq$`, '≥': `$\geq$`, '…': `\dots{}`, '·': `$\cdot$`,
	'‘': "`", '’': "'", '“': "``", '”': "''", '`': `\textasciigrave{}`, '\'': `\textquotesingle{}`, '\u00a0': "~", '-': "{-}",
}

// escapeTeX makes s plain text for pdflatex: nothing in it is a command, and what no 8-bit font has is written as
// its code point.
func escapeTeX(s string) string {
	var b strings.Builder
	for _, r := range Clean(s) {
		t, special := texRunes[r]
		switch {
		case special:
			b.WriteString(t)
		case r < 0x80:
			b.WriteRune(r)
		case r >= 0xC0 && r <= 0xFF && unicode.IsLetter(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// latex writes the table as a tabular of booktabs; marks become raised numbers.
func (t table) latex(b *bufio.Writer) {
	b.WriteString(`\begin{tabular}{`)
	for _, col := range t.columns {
		if col.mark == "" {
			b.WriteByte('l')
		} else {
			b.WriteByte('r')
		}
	}
	b.WriteString("}\n\\toprule\n")
	t.latexOver(b)
	for i, col := range t.columns {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString(escapeTeX(shorten(col.head, texWidth)))
	}
	b.WriteString(" \\\\\n\\midrule\n")
	for _, row := range t.rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(escapeTeX(shorten(cell.text, texWidth)))
			if len(cell.marks) > 0 {
				marks := strings.Trim(strings.ReplaceAll(fmt.Sprint(cell.marks), " ", ","), "[]")
				// The mark takes no room, so that numbers stay aligned.
				fmt.Fprintf(b, "\\rlap{\\textsuperscript{%s}}", marks)
			}
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}

// latexOver writes the headings that several columns share.
func (t table) latexOver(b *bufio.Writer) {
	var cells, rules []string
	shared := false
	for i := 0; i < len(t.columns); {
		j := i + 1
		for j < len(t.columns) && t.columns[j].over == t.columns[i].over && t.columns[i].over != "" {
			j++
		}
		if over := t.columns[i].over; over != "" {
			shared = true
			cells = append(cells, fmt.Sprintf("\\multicolumn{%d}{c}{%s}", j-i, escapeTeX(over)))
			rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", i+1, j))
		} else {
			cells = append(cells, "")
		}
		i = j
	}
	if shared {
		b.WriteString(strings.Join(cells, " & ") + " \\\\\n" + strings.Join(rules, "") + "\n")
	}
}

// LaTeX writes the comparison for \input into a paper: its tables (package booktabs), footnotes and paragraph.
func (c *Comparison) LaTeX(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%% %s\n%% needs \\usepackage{booktabs}, \\usepackage[T1]{fontenc} and \\usepackage{textcomp}\n", Clean(c.header()))
	notes := newFootnotes(c.shownNotes())
	for _, s := range c.leadSentences() {
		fmt.Fprintf(b, "\\noindent\\textbf{%s}\\par\n", escapeTeX(s))
	}
	tables := []table{c.configTable(notes)}
	for i := range c.Families {
		tables = append(tables, c.familyTable(i, notes))
	}
	for _, t := range tables {
		fmt.Fprintf(b, "\n\\noindent\n")
		t.latex(b)
		fmt.Fprintf(b, "\\par\\smallskip\\noindent{\\footnotesize %s.}\\par\\medskip\n", escapeTeX(t.caption))
	}
	for i, line := range notes.all(func(where string) string { return c.shortWhere(where) }) {
		fmt.Fprintf(b, "\\noindent{\\footnotesize\\textsuperscript{%d} %s}\\par\n", i+1, escapeTeX(line))
	}
	for _, n := range c.notes {
		fmt.Fprintf(b, "\\noindent{\\footnotesize Note: %s.}\\par\n", escapeTeX(n.Text))
	}
	for _, p := range strings.Split(c.Paragraph, "\n\n") {
		fmt.Fprintf(b, "\n%s\n", escapeTeX(p))
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing the comparison as LaTeX: %w", err)
	}
	return nil
}

// latexFiles are the tables of the report as LaTeX, and its sentences as macros, by file name.
func (rep *Report) latexFiles(figures []Figure) map[string][]byte {
	c := rep.Comparison
	notes := newFootnotes(c.shownNotes())
	tables := []table{c.configTable(notes)}
	for i := range c.Families {
		tables = append(tables, c.familyTable(i, notes))
	}
	if t, ok := c.rankTable(); ok {
		tables = append(tables, t)
	}
	if t, ok := c.rateTable(notes); ok {
		tables = append(tables, t)
	}
	if t, ok := c.leafTable(); ok {
		tables = append(tables, t)
	}
	if t, ok := rep.costTable(); ok {
		tables = append(tables, t)
	}
	if len(rep.Runs) > 0 {
		tables = append(tables, c.runTable(rep.Runs))
	}
	if rep.With != nil {
		tables = append(tables, rep.With.tables()...)
	}
	files := make(map[string][]byte)
	for _, t := range tables {
		var out bytes.Buffer
		b := bufio.NewWriter(&out)
		fmt.Fprintf(b, "%% %s. Needs \\usepackage{booktabs}, \\usepackage[T1]{fontenc} and \\usepackage{textcomp}.\n", Clean(t.caption))
		t.latex(b)
		s := c.bannerSentence()
		if t.name == besideFigure && rep.With != nil {
			s = rep.With.both.bannerSentence()
		}
		if s != "" && slices.Contains([]string{"configurations", "causes", besideFigure}, t.name) {
			fmt.Fprintf(b, "\\par\\noindent{\\footnotesize\\textbf{%s}}\\par\n", escapeTeX(s))
		}
		b.Flush()
		files["tables/"+t.name+".tex"] = out.Bytes()
	}
	var out bytes.Buffer
	rep.texNumbers(&out)
	out.WriteString("% The sentences, each with its numbers:\n")
	macro := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&out, "\\newcommand{\\stint%s}{%s}\n", name, escapeTeX(strings.ReplaceAll(text, "\n\n", " ")))
		}
	}
	macro("Headline", rep.Headline)
	macro("Redacted", rep.Redacted.words())
	macro("Banner", c.bannerSentence())
	macro("Means", c.meansSentence())
	for i := range c.Families {
		macro("Family"+letters(i+1), c.familyText(&c.Families[i]))
		macro("Correction"+letters(i+1), capital(familyLine(&c.Families[i]))+".")
	}
	macro("Rates", c.rateSentence())
	macro("Costs", c.costSentence(rep.Costs))
	macro("Methods", c.methods())
	for _, f := range figures {
		name := macroName(f.Name)
		macro("Sentence"+name, f.Sentence)
		macro("Caption"+name, f.Title+". "+f.Caption)
	}
	for i, line := range notes.all(func(where string) string { return c.shortWhere(where) }) {
		macro("Note"+letters(i+1), line)
	}
	if rep.With != nil {
		rep.With.texBeside(&out, macro)
	}
	for i, n := range c.notes {
		macro("Remark"+letters(i+1), n.Text+".")
	}
	files["results.tex"] = out.Bytes()
	return files
}

// letters numbers macros, whose names hold letters only: A, B, …, Z, AA, ….
func letters(n int) string {
	s := ""
	for ; n > 0; n = (n - 1) / 26 {
		s = string(rune('A'+(n-1)%26)) + s
	}
	return s
}

// macroName makes the name of a figure part of a macro's: pairwise-matrix-2 becomes PairwiseMatrixB.
func macroName(s string) string {
	out := ""
	for _, w := range strings.Split(s, "-") {
		if w[0] >= '0' && w[0] <= '9' {
			out += letters(int(w[0] - '0'))
			continue
		}
		out += capital(w)
	}
	return out
}
