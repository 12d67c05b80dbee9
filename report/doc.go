// Package report turns outcomes into a comparison of configurations and shows it: as aligned text, JSON, CSV,
// Markdown and LaTeX, as figures (mean turns, still going, heat map, pairwise matrix, paired differences, retry curves,
// failure rates, ranks, power, causes), and as a report folder with a self-contained page.
//
// There is one model, [Comparison]. [Compare] fills it from a set of outcomes: a mean with an interval per
// configuration, then one or more families of pairs. Every pair is tested on the scenarios both sides have,
// every family is corrected for the number of its pairs, and beside each adjusted p stands the least one the
// pair could have had, so that a reader sees what was never possible. Figures that need more than the model holds
// (survival, retry budgets, incidence of causes, power) ask package stats for it; all other files only lay the model out.
// A part that the data do not allow is left out: no causes without verdicts, no retry curve without attempts.
//
// [Write] makes the report. It adds what the runs cost ([Comparison.Costs]), the list of single runs to which every number
// that stands for some leads, and, if asked, a second study beside the first ([OtherStudy]). [Redactor] takes private
// words out of what a report is made of, before anything is worked out from it. [SummarySchema] describes summary.json.
//
// What it promises:
//
//   - The same outcomes give the same bytes, on any machine and in any order of rows.
//   - A value that is undefined is null (JSON), empty (CSV) or a dash (text), with a [Warning] that says why.
//   - Names come from files nobody checked. They are escaped for the place they are printed in: terminal
//     control characters, Markdown, HTML, SVG and TeX cannot get through.
//   - The page asks no network for anything, and its policy lets no script run but its own.
//
// What it assumes: the rows hold at most one value per configuration, scenario and repeat, and scenarios are
// the unit of pairing (by content hash where every row has one, else by name).
//
//	set, err := logs.ReadOutcomes("outcomes.csv", logs.OutcomeColumns{})
//	c, err := report.Compare(set, report.CompareOptions{})
//	err = c.Text(os.Stdout, 100)
package report
