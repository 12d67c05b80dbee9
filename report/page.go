package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The page is one template with its style and script, which become part of the file: it opens from disk and asks
// no network for anything. Its policy allows no script but this one, by hash.
var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// A pageView is what the template shows.
type pageView struct {
	Title, Question, Answer, Policy, Version, Again string
	Redacted                                        string // what was taken out; "" = nothing was to be
	Style                                           template.CSS
	Script                                          template.JS
	First                                           *figureView
	Numbers                                         []numberView
	Sections                                        []sectionView
}

type numberView struct {
	Name, Value, Beside string
	Link                *linkView // to the runs it stands for
	Section             string    // or to a section; "" = neither
}

type sectionView struct {
	ID, Title string
	First     []string // sentences that come before everything
	Parts     []partView
	Notes     []noteView
	Warnings  []warningGroup
}

type partView struct {
	Table  *tableView
	Figure *figureView
	Text   string
}

type noteView struct {
	Number int
	Text   string
}

type figureView struct {
	Name, Title, Caption, Claim string
	SVG, Column                 template.HTML
}

type tableView struct {
	Name, Caption string
	Filter        bool
	Over          []overView
	Columns       []columnView
	Rows          []rowView
}

type overView struct {
	Head string
	Span int
}

type columnView struct {
	Head   string
	Number bool
}

type rowView struct {
	ID, First string // anchors: of the run, and of the first one of its configuration
	Keys      string // what links select it by
	Cells     []cellView
}

type cellView struct {
	Text   string
	Value  string
	Number bool
	Plain  bool // the cell needs no element of its own around the text
	Pad    int
	Marks  []int
	Link   *linkView
}

// A linkView leads to the runs whose keys hold one of each group; groups are separated by blanks, alternatives by bars.
type linkView struct{ Href, Keys, Label string }

// plainCell is the length of words that never need to be broken.
const plainCell = 30

// page makes index.html.
func (rep *Report) page(in Input, figures []Figure) ([]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, rep.view(in, figures)); err != nil {
		return nil, fmt.Errorf("making the page of the report: %w", err)
	}
	return b.Bytes(), nil
}

// view fills the template.
func (rep *Report) view(in Input, figures []Figure) *pageView {
	c := rep.Comparison
	hash := sha256.Sum256([]byte(pageScript))
	v := &pageView{
		Title: "stint report", Question: c.question(), Answer: rep.Headline, Version: rep.Stint, Again: Clean(in.Again), Redacted: rep.Redacted.words(),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'",
		Style:  template.CSS(pageColours() + pageStyle), Script: template.JS(pageScript),
	}
	if rep.Study != "" {
		v.Title = Clean(rep.Study)
	}
	byName := make(map[string]*figureView, len(figures))
	for i := range figures {
		f := &figures[i]
		fv := &figureView{Name: f.Name, Title: Clean(f.Title), Caption: f.Caption, Claim: f.Sentence, SVG: template.HTML(inlineSVG(f.SVG, f.Title))}
		// Figures of many cells are moved about on a phone; cells of a narrow one could not be read.
		if f.Name != "heat-map" && !strings.HasPrefix(f.Name, "pairwise-matrix") {
			fv.Column = template.HTML(inlineSVG(f.Column, f.Title))
		}
		byName[f.Name] = fv
	}
	v.First = byName["mean-turns"]
	v.First.Claim = "" // the answer above says it
	v.Numbers = c.numbers()
	v.Sections = rep.sections(in, byName)
	return v
}

// sections are those of a paper.
func (rep *Report) sections(in Input, figures map[string]*figureView) []sectionView {
	c := rep.Comparison
	notes := newFootnotes(c.shownNotes())
	index := c.index()
	show := func(t table) partView { return partView{Table: t.view(index)} }
	draw := func(s *sectionView, name string) bool {
		f := figures[name]
		if f != nil {
			s.Parts = append(s.Parts, partView{Figure: f})
		}
		return f != nil
	}
	first := sectionView{ID: "who", Title: "Who lasts how long", Parts: []partView{show(c.configTable(notes))}}
	if !c.turns() {
		first.Title = "Who reaches what"
	}
	if s := c.bannerSentence(); s != "" {
		first.First = append(first.First, s)
	}
	draw(&first, "still-going")
	draw(&first, "heat-map")
	draw(&first, "retry-curve")
	if t, ok := c.rankTable(); ok {
		draw(&first, "ranks")
		first.Parts = append(first.Parts, show(t))
	}
	if t, ok := c.rateTable(notes); ok {
		draw(&first, "failure-rates")
		first.Parts = append(first.Parts, show(t))
	}
	out := []sectionView{first}
	if s := (sectionView{ID: "significant", Title: "What is significant", First: c.firstSentences()}); len(c.Families) > 0 {
		for i := range c.Families {
			s.Parts = append(s.Parts, show(c.familyTable(i, notes)))
			number := ""
			if i > 0 {
				number = "-" + strconv.Itoa(i+1)
			}
			if len(c.Families[i].Pairs) > 1 {
				draw(&s, "pairwise-matrix"+number)
			}
			if text := c.familyText(&c.Families[i]); text != "" {
				s.Parts = append(s.Parts, partView{Text: text})
				if f := figures["paired-differences"+number]; f != nil && strings.Contains(text, f.Claim) {
					f.Claim = "" // just said
				}
			}
			draw(&s, "paired-differences"+number)
		}
		draw(&s, "power")
		out = append(out, s)
	}
	if c.turns() || c.verdicts {
		why := c.whySection(show, draw)
		if s := c.bannerSentence(); s != "" {
			why.First = append(why.First, s)
		} else if rep.audited() && rep.Audit.Banner != "" {
			why.First = append(why.First, Clean(rep.Audit.Banner)+".")
		}
		out = append(out, why)
	}
	if rep.audited() {
		out = append(out, rep.auditSection(show))
	}
	if s, ok := rep.costSection(show); ok {
		out = append(out, s)
	}
	if rep.With != nil {
		out = append(out, rep.besideSection(index, draw))
	}
	out = append(out, c.lastSections(notes)...)
	return append(out, rep.runSection(in, index, show))
}

// lastSections are the methods, and the notes and warnings if there are any.
func (c *Comparison) lastSections(notes *footnotes) []sectionView {
	methods := sectionView{ID: "methods", Title: "Methods"}
	for p := range strings.SplitSeq(c.methods(), "\n\n") {
		methods.Parts = append(methods.Parts, partView{Text: p})
	}
	warned := sectionView{ID: "warnings", Title: "Notes and warnings", Warnings: c.warningGroups()}
	for i, text := range notes.all(func(where string) string { return Clean(c.shortWhere(where)) }) {
		warned.Notes = append(warned.Notes, noteView{i + 1, text})
	}
	if len(warned.Notes)+len(warned.Warnings) == 0 {
		return []sectionView{methods}
	}
	return []sectionView{methods, warned}
}

// whySection says why runs failed, or what it takes to know.
func (c *Comparison) whySection(show func(table) partView, draw func(*sectionView, string) bool) sectionView {
	s := sectionView{ID: "why", Title: "Why they fail"}
	t, ok := c.leafTable()
	if !ok {
		text := "These outcomes hold no causes of failure."
		if c.episodes {
			text = "There are no verdicts yet; stint classify gives every failed attempt one, and this section shows them."
			if c.verdicts {
				text = "No run failed."
			}
		}
		s.Parts = append(s.Parts, partView{Text: text})
		return s
	}
	draw(&s, "causes")
	s.Parts = append(s.Parts, show(t))
	for i := range c.Configs {
		for _, n := range c.Configs[i].notes {
			if n.Code == CodeInfraEnds {
				s.Parts = append(s.Parts, partView{Text: Clean(c.Short(n.Where)) + ": " + n.Text + "."})
			}
		}
	}
	return s
}

// runSection says what was run, down to single runs.
func (rep *Report) runSection(in Input, index map[string]string, show func(table) partView) sectionView {
	c := rep.Comparison
	s := sectionView{ID: "run", Title: "What was run"}
	if len(rep.Runs) > 0 {
		s.Parts = append(s.Parts, show(c.runTable(rep.Runs)))
	}
	s.Parts = append(s.Parts, partView{Table: rep.episodeView(in.Tables, index)})
	return s
}

// index numbers the configurations for links.
func (c *Comparison) index() map[string]string {
	index := make(map[string]string, len(c.Configs))
	for i := range c.Configs {
		index[c.Configs[i].Config] = strconv.Itoa(i + 1)
	}
	return index
}

// question is what the page answers.
func (c *Comparison) question() string {
	n := len(c.Configs)
	scenarios := c.scenarios.String() + " " + plural(c.scenarios.hi, "scenario", "scenarios")
	switch {
	case n == 0:
		return "No runs yet."
	case n == 1 && !c.turns():
		return fmt.Sprintf("What does %s reach in %s? %s.", c.told(c.Configs[0].Config), scenarios, capital(c.header()))
	case c.turns() && n == 1:
		return fmt.Sprintf("How long does %s keep a growing program correct? %s.", c.told(c.Configs[0].Config), capital(c.header()))
	case c.turns():
		return fmt.Sprintf("How long do %d configurations keep a growing program correct? %s.", n, capital(c.header()))
	}
	return fmt.Sprintf("Which of %d %s reaches what in %s? %s.", n, plural(n, "configuration", "configurations"), scenarios, capital(c.header()))
}

// numbers are the four of the first screen, as far as they are known.
func (c *Comparison) numbers() []numberView {
	var out []numberView
	sc := scaleOf(c)
	var best, worst *ConfigResult
	full, runs, drift, infra := 0, 0, 0, 0
	usd, turns, known := 0.0, 0.0, true
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.Mean == nil {
			continue
		}
		if best == nil {
			best = r
		}
		worst = r
		runs += r.N
		if r.Full != nil {
			full += *r.Full
		}
		drift, infra = drift+r.Causes["drift"], infra+r.Causes["infra"]
		for _, u := range r.runs {
			if u.row.USD == nil {
				known = false
				continue
			}
			usd += *u.row.USD
			turns += u.value
		}
	}
	if best == nil {
		return nil
	}
	mean := numberView{Name: "mean " + c.columnWord(), Value: number(*best.Mean, sc.mean), Beside: c.brief(best.Config)}
	if c.cap() > 0 && c.turns() {
		mean.Value += " of " + compact(c.cap())
	}
	if worst != best {
		mean.Beside += "; lowest: " + c.brief(worst.Config) + " " + number(*worst.Mean, sc.mean)
	}
	mean.Link = c.runsOf(best.Config).view(c.index())
	out = append(out, mean)
	if best.Full != nil {
		n := numberView{Name: "full passes", Value: fmt.Sprintf("%d of %d", full, runs), Beside: "runs, all configurations"}
		if full > 0 {
			n.Link = (&episodeLink{keys: []string{"full"}, label: "full passes"}).view(nil)
		}
		out = append(out, n)
	}
	if c.verdicts {
		n := numberView{Name: "drift : infra", Value: fmt.Sprintf("%d : %d", drift, infra), Beside: "first failed turns by cause"}
		if drift+infra > 0 {
			n.Link = (&episodeLink{keys: []string{"drift|infra"}, label: "drift and infra"}).view(nil)
		}
		out = append(out, n)
	}
	if c.turns() && known && turns > 0 {
		out = append(out, numberView{Name: "dollars per passed turn", Value: "$" + dollars(usd/turns), Beside: "all dollars over all turns passed", Section: "cost"})
	}
	return out
}

// told is a short name as sentences on figures use it; tables have it in full.
func (c *Comparison) told(config string) string { return shorten(Clean(c.Short(config)), 60) }

// brief is a short name cut to the width of a tile.
func (c *Comparison) brief(config string) string { return shorten(Clean(c.Short(config)), 40) }

// view lays out a table; index numbers the configurations for links.
func (t table) view(index map[string]string) *tableView {
	v := &tableView{Name: t.name, Caption: strings.TrimSuffix(t.caption, "."), Filter: len(t.rows) > 8}
	spanned := false
	for _, col := range t.columns {
		v.Columns = append(v.Columns, columnView{col.head, col.mark != ""})
		spanned = spanned || col.over != ""
		if n := len(v.Over); n > 0 && v.Over[n-1].Head == col.over {
			v.Over[n-1].Span++
		} else {
			v.Over = append(v.Over, overView{col.over, 1})
		}
	}
	if !spanned {
		v.Over = nil
	}
	tails := make([]int, len(t.columns))
	for _, row := range t.rows {
		for i, cell := range row {
			tails[i] = max(tails[i], tail(cell.text, t.columns[i].mark))
		}
	}
	for _, row := range t.rows {
		r := rowView{}
		for i, cell := range row {
			cv := cellView{Text: cell.text, Number: t.columns[i].mark != "", Marks: cell.marks}
			if cell.value != nil && !math.IsNaN(*cell.value) {
				cv.Value = plain(cell.value)
			}
			if cv.Number && cell.text != undefinedMark {
				cv.Pad = tails[i] - tail(cell.text, t.columns[i].mark)
			}
			if cell.link != nil && cell.text != "0" && !strings.HasPrefix(cell.text, "0/") {
				cv.Link = cell.link.view(index)
			}
			cv.Plain = cv.Number || len(cell.text) <= plainCell && len(cell.marks) == 0
			r.Cells = append(r.Cells, cv)
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// tail is the number of characters from the alignment point on.
func tail(text, mark string) int {
	if mark == "" || mark == " " || text == undefinedMark {
		return 0
	}
	if _, after, ok := strings.Cut(text, mark); ok {
		return 1 + utf8.RuneCountInString(after)
	}
	return 0
}

var svgColour = regexp.MustCompile(`#[0-9A-F]{6}`)

// inlineSVG makes a figure part of the page: its colours become the page's, so that they change in the dark, and
// what every text repeats becomes a class.
func inlineSVG(svg []byte, title string) string {
	s := string(svg)
	if i := strings.Index(s, "<svg "); i >= 0 {
		s = s[i:]
	}
	if i, j := strings.Index(s, `width="`), strings.Index(s, `viewBox=`); i >= 0 && j > i {
		s = s[:i] + `role="img" aria-label="` + template.HTMLEscapeString(Clean(title)) + `" ` + s[j:]
	}
	for _, size := range []string{"7", "8"} {
		s = strings.ReplaceAll(s, "\n\tstyle=\"font-family:'Liberation Sans',Arial,Helvetica,sans-serif;font-weight:normal;font-style:normal;font-size:"+size+"px;", ` class="t`+size+`" style="`)
	}
	pairs := inTheDark()
	known := make(map[string]string)
	return svgColour.ReplaceAllStringFunc(s, func(hex string) string {
		v, ok := known[hex]
		if !ok {
			v = hex
			for i, p := range pairs {
				if near(hex, p[0]) {
					v = "var(--c" + strconv.Itoa(i) + ")"
					break
				}
			}
			known[hex] = v
		}
		return v
	})
}

// near reports whether a colour is written as hex, but for the rounding of translucent colours.
func near(hex string, c color.Color) bool {
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		return false
	}
	k := color.NRGBAModel.Convert(c).(color.NRGBA)
	for _, d := range []int{int(n>>16&0xFF) - int(k.R), int(n>>8&0xFF) - int(k.G), int(n&0xFF) - int(k.B)} {
		if d < -3 || d > 3 {
			return false
		}
	}
	return true
}

// pageColours declares the colours of the theme, light, and dark on screens that ask for it.
func pageColours() string {
	var light, dark strings.Builder
	for i, p := range inTheDark() {
		fmt.Fprintf(&light, "--c%d:%s;", i, hexOf(p[0]))
		fmt.Fprintf(&dark, "--c%d:%s;", i, hexOf(p[1]))
	}
	light.WriteString("--page:#FFFFFF;--ink:#1A1A1A;--soft:#595959;--faint:#9A9A9A;--line:#DDDDDD;--tint:#F4F5F6;--focus:#0B5CAD;")
	dark.WriteString("--page:#14171A;--ink:#E8E8E8;--soft:#A9AEB3;--faint:#6F757B;--line:#33383D;--tint:#1E2226;--focus:#7CC0F5;")
	return ":root{" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n"
}

func hexOf(c color.Color) string {
	k := color.NRGBAModel.Convert(c).(color.NRGBA)
	return fmt.Sprintf("#%02X%02X%02X", k.R, k.G, k.B)
}

// A warningGroup is a warning with all the places it speaks of.
type warningGroup struct {
	Code, Text string
	Where      string
}

// warningGroups lists the warnings, equal ones once.
func (c *Comparison) warningGroups() []warningGroup {
	var out []warningGroup
	var wheres [][]string
	index := make(map[string]int)
	for _, w := range c.Warnings {
		i, ok := index[w.Code+"\x00"+w.Text]
		if !ok {
			i = len(out)
			index[w.Code+"\x00"+w.Text] = i
			out = append(out, warningGroup{Code: w.Code, Text: w.Text})
			wheres = append(wheres, nil)
		}
		if w.Where != "" && !slices.Contains(wheres[i], w.Where) {
			wheres[i] = append(wheres[i], w.Where)
		}
	}
	for i := range out {
		names := wheres[i]
		more := 0
		if len(names) > 6 {
			more, names = len(names)-5, names[:5]
		}
		for k, n := range names {
			names[k] = Clean(c.shortWhere(n))
		}
		if more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		out[i].Where = strings.Join(names, ", ")
	}
	const most = 60
	if len(out) > most {
		left := len(out) - most
		out = append(out[:most], warningGroup{Code: "MORE", Text: fmt.Sprintf("%d more in summary.json", left)})
	}
	return out
}
