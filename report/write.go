package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// ReportSchema names the form of summary.json.
const ReportSchema = "stint.report/1"

// An Input is what a report is made of.
type Input struct {
	Study      string // name of the study
	Comparison *Comparison
	Tables     *logs.Tables          // nil: no section about what was run
	Again      string                // the command that makes the report again; "" = not told
	Version    string                // of stint
	Audit      *classify.AuditReport // what people found about the verdicts; nil = nobody was asked
	With       *OtherStudy           // a second study to show beside this one; nil = none
	Settings   []Setting             // as the study file says them; only used with With
	Redacted   *Redaction            // what a [Redactor] took out of all of this; nil = nothing was redacted
}

// A Report is the content of summary.json.
type Report struct {
	Schema     string         `json:"schema"`
	Study      string         `json:"study"`    // its name, or that of the file
	Stint      string         `json:"stint"`    // version that made the report
	Headline   string         `json:"headline"` // the answer in a sentence
	Comparison *Comparison    `json:"comparison"`
	Figures    []FigureRecord `json:"figures"`
	Runs       []RunSummary   `json:"runs"`  // by configuration, in the order of names; empty for a file of outcomes
	Costs      []CostSummary  `json:"costs"` // by configuration, in the order of the comparison
	// Audit is left out where there was none.
	Audit *classify.AuditReport `json:"audit,omitempty"`
	// With is left out where no second study was named.
	With *BesideStudy `json:"with,omitempty"`
	// Redacted is left out where nothing was to be redacted.
	Redacted *Redaction `json:"redacted,omitempty"`
}

// A FigureRecord names a figure's files, relative to the report, and says what it shows.
type FigureRecord struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Sentence string   `json:"sentence"` // what the figure lets a paper say
	Caption  string   `json:"caption"`
	Files    []string `json:"files"`
}

// Write makes the report folder: index.html, report.md, summary.json, results.tex, tables/ as LaTeX, and figures/
// with each figure as SVG, PNG, PDF and CSV. It is
// written beside dir and then takes its place, so that dir is the old report or the new one and nothing between.
// A folder that is neither empty nor a report is refused. The same input gives the same bytes.
func Write(dir string, in Input) error {
	if err := replaceable(dir); err != nil {
		return err
	}
	rep, figures, err := newReport(in)
	if err != nil {
		return err
	}
	pngs := make([][2][]byte, len(figures))
	err = inParallel(len(figures), func(i int) (err error) {
		if pngs[i][0], err = figures[i].PNG(); err == nil {
			pngs[i][1], err = figures[i].ColumnPNG()
		}
		return err
	})
	if err != nil {
		return err
	}
	files := make(map[string][]byte)
	for i, f := range figures {
		rec := FigureRecord{Name: f.Name, Title: f.Title, Sentence: f.Sentence, Caption: f.Caption}
		for _, part := range []struct {
			ext  string
			data []byte
		}{{".svg", f.SVG}, {".png", pngs[i][0]}, {".csv", f.CSV}, {".pdf", f.PDF}, {"-column.svg", f.Column}, {"-column.pdf", f.ColumnPDF}, {"-column.png", pngs[i][1]}} {
			name := "figures/" + f.Name + part.ext
			files[name] = part.data
			rec.Files = append(rec.Files, name)
		}
		rep.Figures = append(rep.Figures, rec)
	}
	if files["summary.json"], err = summaryBytes(rep); err != nil {
		return err
	}
	var md bytes.Buffer
	if err := rep.markdown(&md, in); err != nil {
		return err
	}
	files["report.md"] = md.Bytes()
	if files["index.html"], err = rep.page(in, figures); err != nil {
		return err
	}
	for name, b := range rep.latexFiles(figures) {
		files[name] = b
	}
	return replaceDir(dir, files)
}

// newReport works out what the report says and draws its figures; their files are named by Write.
func newReport(in Input) (*Report, []Figure, error) {
	figures, err := drawAll(in.Comparison)
	if err != nil {
		return nil, nil, err
	}
	rep := &Report{
		Schema: ReportSchema, Study: in.Study, Stint: in.Version, Headline: Headline(in.Comparison),
		Comparison: in.Comparison, Figures: []FigureRecord{}, Runs: []RunSummary{}, Audit: in.Audit, Redacted: in.Redacted,
	}
	if in.Tables != nil {
		rep.Runs = SummarizeRuns(in.Tables)
	}
	if rep.Costs, err = in.Comparison.Costs(in.Tables); err != nil {
		return nil, nil, err
	}
	if in.With != nil {
		if rep.With, err = newBeside(in); err != nil {
			return nil, nil, err
		}
		both, err := rep.With.figure()
		if err != nil {
			return nil, nil, err
		}
		figures = append(figures, both)
	}
	return rep, figures, nil
}

func summaryBytes(rep *Report) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rep); err != nil {
		return nil, fmt.Errorf("encoding the summary of the report: %w", err)
	}
	return b.Bytes(), nil
}

// drawAll draws the figures that the outcomes allow: lifetimes for turns or where there is a cap, pairs where there are
// some, retries where the attempts are known, ranks of three configurations or more, failure rates and power for turns,
// causes where there are verdicts.
func drawAll(c *Comparison) ([]Figure, error) {
	always := func(draw func(*Comparison) (Figure, error)) func() (Figure, bool, error) {
		return func() (Figure, bool, error) {
			f, err := draw(c)
			return f, true, err
		}
	}
	makers := []func() (Figure, bool, error){always(Forest)}
	if c.turns() || c.cap() > 1 {
		makers = append(makers, always(StillGoing))
	}
	makers = append(makers, always(HeatMap))
	for i := range c.Families[:min(len(c.Families), maxFamilies)] {
		makers = append(makers,
			func() (Figure, bool, error) {
				f, err := PairwiseMatrix(c, i)
				return f, true, err
			},
			func() (Figure, bool, error) { return PairedDifferences(c, i) })
	}
	for _, draw := range []func(*Comparison) (Figure, bool, error){RetryCurves, RankIntervals, Hazard, CausesFigure, PowerCurves} {
		makers = append(makers, func() (Figure, bool, error) { return draw(c) })
	}
	drawn := make([]Figure, len(makers))
	have := make([]bool, len(makers))
	err := inParallel(len(makers), func(i int) (err error) {
		drawn[i], have[i], err = makers[i]()
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []Figure
	for i := range drawn {
		if have[i] {
			out = append(out, drawn[i])
		}
	}
	return out, nil
}

// maxFamilies is the number of families that get a picture.
const maxFamilies = 8

// Headline is the one sentence that answers the question: the means, and what the first family says.
func Headline(c *Comparison) string {
	var means []string
	sc := scaleOf(c)
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.Mean == nil {
			continue
		}
		if len(means) == 4 {
			means = append(means, fmt.Sprintf("%d more below", len(c.Configs)-i))
			break
		}
		m := Clean(c.Short(r.Config)) + " " + number(*r.Mean, sc.mean)
		if len(means) == 0 {
			m = Clean(c.Short(r.Config)) + " " + c.headlineFirst(number(*r.Mean, sc.mean))
		}
		means = append(means, m)
	}
	if len(means) == 0 {
		return "There are no runs to compare."
	}
	s := joinAnd(means)
	if len(c.Families) == 0 {
		return s + "."
	}
	f := &c.Families[0]
	significant, cannot := 0, 0
	for i := range f.Pairs {
		switch f.Pairs[i].Decision {
		case DecisionAhead, DecisionBehind:
			significant++
		case DecisionCannot:
			cannot++
		}
	}
	kind := "exploratory"
	if f.Declared {
		kind = "declared"
	}
	s += fmt.Sprintf("; %d of %d %s %s %s significantly after Holm's correction", significant, f.M, kind, plural(f.M, "pair", "pairs"), plural(significant, "differs", "differ"))
	if cannot > 0 {
		s += fmt.Sprintf(", %d could not have", cannot)
	}
	return s + "."
}

func (c *Comparison) headlineFirst(mean string) string {
	if c.turns() && c.cap() > 0 {
		return fmt.Sprintf("passed %s of %s turns on average", mean, compact(c.cap()))
	}
	return c.passed(mean)
}

// markdown writes report.md.
func (rep *Report) markdown(w *bytes.Buffer, in Input) error {
	c := rep.Comparison
	b := bufio.NewWriter(w)
	title := "stint report"
	if rep.Study != "" {
		title = escapeMarkdown(rep.Study)
	}
	fmt.Fprintf(b, "# %s\n\n**%s**\n\n", title, escapeMarkdown(rep.Headline))
	if text := rep.Redacted.words(); text != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(text))
	}
	var body bytes.Buffer
	if err := c.markdownBody(&body, true); err != nil {
		return err
	}
	b.Write(body.Bytes())
	fmt.Fprintf(b, "\n## Figures\n")
	for _, f := range rep.Figures {
		fmt.Fprintf(b, "\n![%s](%s)\n\n", escapeMarkdown(f.Title), f.Files[0])
		if f.Sentence != "" {
			fmt.Fprintf(b, "**%s** ", escapeMarkdown(f.Sentence))
		}
		fmt.Fprintf(b, "%s Numbers: [%s](%s).\n", escapeMarkdown(f.Caption), f.Files[2], f.Files[2])
	}
	if c.Paragraph != "" {
		fmt.Fprintf(b, "\n## In words\n\n%s\n", escapeParagraphs(c.Paragraph))
	}
	if t, ok := c.leafTable(); ok {
		fmt.Fprintf(b, "\n## Why they fail\n\n")
		t.markdownRows(b)
		fmt.Fprintf(b, "\n%s.\n", escapeMarkdown(t.caption))
	}
	if rep.audited() {
		rep.markdownAudit(b)
	}
	rep.markdownCosts(b)
	if rep.With != nil {
		rep.markdownBeside(b)
	}
	fmt.Fprintf(b, "\n## Methods\n\n%s\n", escapeParagraphs(c.methods()))
	if len(rep.Runs) > 0 {
		rep.markdownRuns(b)
	}
	rep.markdownWarnings(b)
	if in.Again != "" {
		fmt.Fprintf(b, "\nMade by `%s`", strings.ReplaceAll(Clean(in.Again), "`", "'"))
		if rep.Stint != "" {
			fmt.Fprintf(b, " (stint %s)", escapeMarkdown(rep.Stint))
		}
		fmt.Fprintf(b, "; all numbers are in [summary.json](summary.json).\n")
	}
	return b.Flush()
}

// methods says how the numbers came about.
func (c *Comparison) methods() string {
	s := "The unit of pairing and of resampling is the scenario; repeats of a scenario are averaged first. "
	if c.turns() {
		s += "Turns passed is the number of turns before the first failed one, the build included; a run that passes all turns counts as the cap. "
	}
	s += "Intervals of means and of mean differences: " + c.intervalWords() + ", 95 %."
	if c.ranked > 0 {
		s += " Ranks: the shared scenarios are drawn again 9,999 times, for all configurations at once; they say how stable the order of means is and test nothing."
	}
	if len(c.Families) == 0 {
		return s
	}
	s += " Test of a pair: " + c.testWords() + "; two-sided. The p of each family are adjusted by Holm's procedure over all its pairs, whether tested or not; the discrete Holm value beside it uses the exact null distributions (bounds of them for pairs with stopped runs) and never decides. \"Least possible\" is the smallest adjusted p the pair could have had, given how many scenarios differ: above α the data could not have shown anything."
	if c.episodes {
		s += " Failures in the agent's own infrastructure count as failures (as run), since the harness is part of the configuration."
	}
	return s
}

// markdownRuns writes what was run.
func (rep *Report) markdownRuns(b *bufio.Writer) {
	fmt.Fprintf(b, "\n## What was run\n\n")
	markdownHead(b, []string{"config", "model", "harness", "sandbox", "episodes", "stopped", "incomplete", "attempts", "tokens", "dollars"}, 4)
	for _, r := range rep.Runs {
		model := r.Model
		if len(r.ModelReturned) > 0 && (len(r.ModelReturned) > 1 || r.ModelReturned[0] != r.Model) {
			model += " (" + strings.Join(r.ModelReturned, ", ") + ")"
		}
		tokens, usd := undefinedMark, undefinedMark
		if r.Tokens != nil {
			tokens = fmt.Sprint(*r.Tokens)
		}
		if r.USD != nil {
			usd = number(*r.USD, 2)
		}
		markdownRow(b, []string{
			escapeMarkdown(r.Config), escapeMarkdown(model), escapeMarkdown(strings.TrimSpace(r.Harness + " " + strings.Join(r.HarnessVersion, ", "))),
			escapeMarkdown(strings.Join(r.Sandbox, ", ")), fmt.Sprint(r.Episodes), fmt.Sprint(r.Stopped), fmt.Sprint(r.Incomplete), fmt.Sprint(r.Attempts), tokens, usd,
		})
	}
}

// markdownWarnings lists all warnings with their codes, equal ones once, as summary.json holds them.
func (rep *Report) markdownWarnings(b *bufio.Writer) {
	groups := rep.Comparison.warningGroups()
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Warnings\n\n")
	for _, g := range groups {
		where := ""
		if g.Where != "" {
			where = escapeMarkdown(g.Where) + ": "
		}
		fmt.Fprintf(b, "- `%s` %s%s\n", g.Code, where, escapeMarkdown(g.Text))
	}
}

// replaceable reports whether dir may be replaced by a report: it does not exist, is empty, or holds one.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at the report folder: %w", err)
	case len(entries) == 0:
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	var head struct {
		Schema string `json:"schema"`
	}
	if err != nil || json.Unmarshal(b, &head) != nil || head.Schema != ReportSchema {
		return inputErrorf("name a new folder with -o", "%s is not empty and holds no report of stint: it is not replaced", Clean(dir))
	}
	return nil
}

// replaceDir writes files into a new folder beside dir and puts it in dir's place.
func replaceDir(dir string, files map[string][]byte) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("making the folder of the report: %w", err)
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-new-*")
	if err != nil {
		return fmt.Errorf("making a folder for the new report: %w", err)
	}
	defer os.RemoveAll(tmp) // after an exchange it holds the old report
	for _, name := range sortedKeys(files) {
		path := filepath.Join(tmp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing %s of the report: %w", name, err)
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return fmt.Errorf("writing %s of the report: %w", name, err)
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("opening the new report for reading: %w", err)
	}
	if err := swap(tmp, dir); err != nil {
		return fmt.Errorf("putting the new report in place: %w", err)
	}
	return nil
}

// swapByRename moves the old folder away and the new one in, for systems that cannot exchange two folders.
func swapByRename(tmp, dir string) error {
	old := tmp + ".old"
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	moved := err == nil
	if err := os.Rename(tmp, dir); err != nil {
		if moved {
			return errors.Join(err, os.Rename(old, dir))
		}
		return err
	}
	return os.RemoveAll(old)
}
