package study

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stint-bench/stint/stats"
)

// Print writes the plan as a text for people. The write error is w's to report.
func (p *Plan) Print(w io.Writer) {
	var b bytes.Buffer
	for _, f := range p.Families {
		if f.Cannot {
			fmt.Fprintf(&b, "Nothing in the family %q can be significant: with %s and %s the smallest Holm-adjusted p is %s, above %g; it takes at least %s.\n",
				f.Name, number(len(f.Pairs), "pair"), number(f.N, "scenario"), stats.FormatP(f.Least), f.Alpha, number(f.NeedNonZero, "scenario"))
		}
	}
	fmt.Fprintf(&b, "study %s: %s × %s × %s = %s; each a build and %s, %s; %d at once\n\n",
		p.Study, number(len(p.Configs), "configuration"), number(p.Scenarios, "scenario"), number(p.Repeats, "repeat"),
		number(len(p.Episodes), "episode"), number(p.Changes, "change"), p.Mode, p.Jobs)
	p.printCosts(&b)
	for _, f := range p.Families {
		b.WriteString("\n")
		f.print(&b)
	}
	if len(p.Families) == 0 {
		b.WriteString("\nno family of tests is declared: every comparison of this study will be exploratory\n")
	}
	for _, text := range p.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", text)
	}
	w.Write(b.Bytes())
}

// printCosts writes one line per configuration and the sum.
func (p *Plan) printCosts(b *bytes.Buffer) {
	tw := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "config\tepisodes\tattempts expected\tat most\ttokens at most\tdollars at most")
	var attempts, wall float64
	expected, tokens, usd := ptr(0.0), ptr(0.0), ptr(0.0)
	for _, c := range p.Configs {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\n", c.Config, c.Episodes,
			about(c.AttemptsExpected), short(float64(c.AttemptsMost)), amount(c.TokensMost), dollars(c.USDMost))
		attempts += float64(c.AttemptsMost)
		wall += c.WallMost.Hours()
		expected, tokens, usd = plus(expected, c.AttemptsExpected), plus(tokens, c.TokensMost), plus(usd, c.USDMost)
	}
	usdText := dollars(usd)
	if p.StudyUSD > 0 && (usd == nil || *usd > p.StudyUSD) {
		usdText = dollars(&p.StudyUSD) + " (budgets.study)"
	}
	if len(p.Configs) > 1 || p.StudyUSD > 0 {
		fmt.Fprintf(tw, "all\t%d\t%s\t%s\t%s\t%s\n", len(p.Episodes), about(expected), short(attempts), amount(tokens), usdText)
	}
	tw.Flush()
	fmt.Fprintf(b, "wall time at most %s, if every attempt took all it may\n", hours(wall/float64(p.Jobs)))
	p.printExpected(b)
}

// printExpected writes what is expected, as far as anything is.
func (p *Plan) printExpected(b *bytes.Buffer) {
	if !slices.ContainsFunc(p.Configs, func(c ConfigPlan) bool { return c.Expected != nil }) {
		return
	}
	tw := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "\nexpected\tturns\tattempts\ttokens\tdollars\thours\tdisk\tas")
	sum := Expected{Attempts: ptr(0.0), Tokens: ptr(0.0), USD: ptr(0.0), Hours: ptr(0.0), Bytes: ptr(0.0)}
	for _, c := range p.Configs {
		e := c.Expected
		if e == nil {
			e = &Expected{Attempts: c.AttemptsExpected}
		}
		turns := "unknown"
		if e.Turns != nil {
			turns = fmt.Sprintf("%.1f", *e.Turns)
		}
		e.print(tw, c.Config, turns)
		sum.Attempts, sum.Tokens, sum.USD = plus(sum.Attempts, e.Attempts), plus(sum.Tokens, e.Tokens), plus(sum.USD, e.USD)
		sum.Hours, sum.Bytes = plus(sum.Hours, e.Hours), plus(sum.Bytes, e.Bytes)
	}
	if len(p.Configs) > 1 {
		sum.print(tw, "all", "")
	}
	tw.Flush()
	if p.Wall != nil {
		fmt.Fprintf(b, "wall time about %s, with %d at once\n", hours(*p.Wall), p.Jobs)
	}
	if p.StudyUSD > 0 && sum.USD != nil && *sum.USD > p.StudyUSD {
		fmt.Fprintf(b, "budgets.study of %s will not suffice\n", dollars(&p.StudyUSD))
	}
}

func (e *Expected) print(w io.Writer, name, turns string) {
	hour, disk := "unknown", "unknown"
	if e.Hours != nil {
		hour = short(*e.Hours)
		if *e.Hours < 100 {
			hour = fmt.Sprintf("%.1f", *e.Hours)
		}
	}
	if e.Bytes != nil {
		disk = short(*e.Bytes) + "B"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, turns, amount(e.Attempts), amount(e.Tokens), dollars(e.USD), hour, disk, e.From)
}

// print writes one family.
func (f FamilyPlan) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "family %q: %s, %s, Holm, two-sided, α = %g\n", f.Name, number(len(f.Pairs), "pair"), f.Outcome, f.Alpha)
	for i, p := range f.Pairs {
		if i == 12 && len(f.Pairs) > 13 {
			fmt.Fprintf(b, "    and %d more\n", len(f.Pairs)-i)
			break
		}
		fmt.Fprintf(b, "    %s − %s\n", p[0], p[1])
	}
	fmt.Fprintf(b, "  smallest p anything can reach: %s for one pair, %s after Holm\n", stats.FormatP(f.MinP), stats.FormatP(f.Least))
	if !f.Cannot {
		fmt.Fprintf(b, "  a pair needs at least %s with a difference, of %d, to be significant\n", number(f.NeedNonZero, "scenario"), f.N)
	}
	for _, d := range f.Finds {
		if d.Needed == nil {
			fmt.Fprintf(b, "  beside a mean of %.1f turns: no better one is found in 80 %% of repetitions\n", d.Baseline)
			continue
		}
		fmt.Fprintf(b, "  beside a mean of %.1f turns: a better one is found in 80 %% of repetitions from %.1f turns on\n", d.Baseline, *d.Needed)
	}
	f.printTold(b)
}

func (f FamilyPlan) printTold(b *bytes.Buffer) {
	if f.Told > 0 {
		fmt.Fprintf(b, "  as expected, %d of %s differ so much that 80 %% of repetitions find it at Holm's first step\n", f.Found, number(f.Told, "pair"))
	}
}

func ptr(v float64) *float64 { return &v }

// plus adds two amounts of which either may be unknown.
func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return ptr(*a + *b)
}

// number writes a count with its noun.
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short writes a number, from ten thousand on with k, M, G or T and one decimal.
func short(v float64) string {
	if v < 9999.5 {
		return fmt.Sprintf("%.0f", v)
	}
	units := []string{"", "k", "M", "G", "T"}
	i := 0
	for ; v >= 999.95 && i < len(units)-1; i++ {
		v /= 1000
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + units[i]
}

func amount(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return short(*v)
}

func about(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return "about " + short(math.Round(*v))
}

func dollars(v *float64) string {
	switch {
	case v == nil:
		return "unknown"
	case *v == 0:
		return "0"
	case *v < 10:
		return fmt.Sprintf("$%.2f", *v)
	}
	return "$" + short(math.Ceil(*v))
}

func hours(h float64) string {
	if h >= 48 {
		return short(math.Ceil(h)) + " h"
	}
	return time.Duration(h * float64(time.Hour)).Round(time.Second).String()
}
