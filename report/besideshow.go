package report

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

// figure draws the means of both studies on one scale.
func (b *BesideStudy) figure() (Figure, error) {
	f, err := Forest(b.both)
	if err != nil {
		return f, fmt.Errorf("drawing both studies: %w", err)
	}
	f.Name, f.Title, f.Sentence = besideFigure, "Both studies on one scale", b.sentence()
	return f, nil
}

// sentence says what stands beside each other, and whether the two may be compared.
func (b *BesideStudy) sentence() string {
	s := fmt.Sprintf("%s: %s %s: %s", Clean(b.here), b.answer, Clean(b.there), b.Headline)
	return s + " " + b.verdict()
}

// verdict says whether anything was tested between the studies.
func (b *BesideStudy) verdict() string {
	if b.between == nil {
		return "Nothing is tested between the two: " + b.NotTested + "."
	}
	by := "their contents"
	if !b.Scenarios.ByContent {
		by = "their names"
	}
	return fmt.Sprintf("Both ran the same %d scenarios, by %s, so configurations are compared in pairs; the studies ran at other times, which no test undoes.", b.Scenarios.Shared, by)
}

// settingsTable lists what differs; ok is false if nothing is known to.
func (b *BesideStudy) settingsTable() (t table, ok bool) {
	t = table{name: "settings", caption: "Settings that differ; all others that are known are the same", columns: []tableColumn{{head: "setting"}, {head: Clean(b.here)}, {head: Clean(b.there)}}}
	for _, d := range b.Settings {
		t.rows = append(t.rows, []tableCell{words(Clean(d.Setting)), words(orUndefined(shorten(d.Here, 300))), words(orUndefined(shorten(d.There, 300)))})
	}
	return t, len(t.rows) > 0
}

// tables are all tables about both studies.
func (b *BesideStudy) tables() []table {
	means := b.both.configTable(newFootnotes(nil))
	means.name, means.caption = "both-studies", "Means of both studies: "+b.both.header()
	out := []table{means}
	if b.between != nil {
		for i := range b.between.Families {
			t := b.between.familyTable(i, newFootnotes(nil))
			t.name = "between-studies"
			for k := range t.rows {
				for j := range t.rows[k] {
					t.rows[k][j].link = nil // half of the runs are not on this page
				}
			}
			out = append(out, t)
		}
	}
	if t, ok := b.settingsTable(); ok {
		out = append(out, t)
	}
	return out
}

// besideSection is the part of the page with both studies.
func (rep *Report) besideSection(index map[string]string, draw func(*sectionView, string) bool) sectionView {
	b := rep.With
	s := sectionView{ID: "beside", Title: "Beside " + Clean(b.there)}
	if text := b.both.bannerSentence(); text != "" {
		s.First = append(s.First, text)
	}
	draw(&s, besideFigure)
	own := make(map[string]string, len(index))
	for config, n := range index {
		own[b.here+": "+config] = n
	}
	for _, t := range b.tables() {
		s.Parts = append(s.Parts, partView{Table: t.view(own)})
		if t.name == "between-studies" {
			for i := range b.between.Families {
				if text := b.between.familyText(&b.between.Families[i]); text != "" {
					s.Parts = append(s.Parts, partView{Text: text})
				}
			}
		}
	}
	if len(b.Settings) == 0 {
		s.Parts = append(s.Parts, partView{Text: "No setting is known to differ."})
	}
	return s
}

// markdownBeside is the same in Markdown; the figure stands with the others.
func (rep *Report) markdownBeside(w *bufio.Writer) {
	b := rep.With
	fmt.Fprintf(w, "\n## Beside %s\n\n%s\n", escapeMarkdown(b.there), escapeMarkdown(b.sentence()))
	if text := b.both.bannerSentence(); text != "" {
		fmt.Fprintf(w, "\n**%s**\n", escapeMarkdown(text))
	}
	for _, t := range b.tables() {
		for i := range t.columns {
			t.columns[i].over = "" // Markdown has no heading over several columns
		}
		fmt.Fprintln(w)
		t.markdownRows(w)
		fmt.Fprintf(w, "\n%s.\n", escapeMarkdown(strings.TrimSuffix(t.caption, ".")))
	}
	if b.between != nil {
		for i := range b.between.Families {
			if text := b.between.familyText(&b.between.Families[i]); text != "" {
				fmt.Fprintf(w, "\n%s\n", escapeMarkdown(text))
			}
		}
	}
}

// texBeside writes the sentences about both studies as macros.
func (b *BesideStudy) texBeside(out *bytes.Buffer, macro func(name, text string)) {
	out.WriteString("% The study beside it:\n")
	macro("WithStudy", b.there)
	macro("WithHeadline", b.Headline)
	macro("WithVerdict", b.verdict())
	if b.between != nil {
		for i := range b.between.Families {
			macro("WithFamily", b.between.familyText(&b.between.Families[i]))
		}
	}
}
