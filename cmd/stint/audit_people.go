package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// addAuditPeople adds the verbs by which people check verdicts.
func addAuditPeople(e *env, audit *cobra.Command) {
	for _, c := range []*cobra.Command{newAuditSampleCmd(e), newAuditServeCmd(e), newAuditTTYCmd(e), newAuditReportCmd(e)} {
		c.Args = inputArgs(e, c.Args)
		audit.AddCommand(c)
	}
}

func newAuditSampleCmd(e *env) *cobra.Command {
	var opt classify.AuditOptions
	var replace bool
	cmd := &cobra.Command{
		Use:   "sample DIR",
		Short: "Draw a blind sample of verdicts for people to check",
		Long: `sample draws ends of episodes for people to check: at least four of every predicted label,
the rest by the square root of how often it was predicted. A tenth comes twice, and a tenth
as many made items with a known answer are mixed in. Of 60 and more a third is for changes of
the codebook, the rest to test it. It writes DIR/verdicts/audit/sample.json;
labels are kept by attempt, so that another sample (--replace) loses none.`,
		Example: "  " + e.Self + " audit sample runs/demo --n 60",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.N <= 0 || opt.Seed == 0 {
				return inputErrorf("--n 120 --seed 1 is the default", "the size and the seed of a sample are at least 1")
			}
			return auditSample(cmd.Context(), e, args[0], opt, replace)
		},
	}
	cmd.Flags().IntVar(&opt.N, "n", 120, "ends of episodes to check")
	cmd.Flags().Uint64Var(&opt.Seed, "seed", 1, "seed of the drawing")
	cmd.Flags().BoolVar(&replace, "replace", false, "draw anew where there is another sample; labels stay")
	return cmd
}

func auditSample(ctx context.Context, e *env, dir string, opt classify.AuditOptions, replace bool) error {
	d, t, err := openRun(e, dir)
	if err != nil {
		return err
	}
	book, err := runBook(d)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	rows, _, err := logs.ReadVerdicts(d)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return inputErrorf(e.Self+" classify "+shellQuote(dir), "%s has no verdicts to check", clean(dir))
	}
	s, err := classify.DrawAudit(book, t, rows, opt)
	if err != nil {
		return err
	}
	if len(s.Items) == 0 {
		return inputErrorf(e.Self+" ls "+shellQuote(dir)+" shows how the episodes ended", "no episode of %s ended by a failure: there is nothing to check", clean(dir))
	}
	old, err := classify.ReadAuditSample(d)
	switch {
	case err != nil && !replace:
		return err
	case old != nil && !replace && (old.N != s.N || old.Seed != s.Seed):
		return inputErrorf("go on with it, or add --replace: labels stay", "%s has a sample already, of --n %d --seed %d", clean(dir), old.N, old.Seed)
	case old != nil && !replace:
		s = old // the same command: verdicts may have changed meanwhile, and who labels goes on with what was drawn
	default:
		if err := classify.WriteAuditSample(d, s); err != nil {
			return err
		}
	}
	drawn, ends, repeats, made, dev := 0, 0, 0, 0, 0
	rowsOf := [][]string{{"predicted", "ends", "drawn"}}
	for _, st := range s.Strata {
		drawn, ends = drawn+st.Drawn, ends+st.Size
		rowsOf = append(rowsOf, []string{clean(st.Label), fmt.Sprint(st.Size), fmt.Sprint(st.Drawn)})
	}
	for i := range s.Items {
		repeats += boolRank(s.Items[i].Repeats != "")
		made += boolRank(s.Items[i].Attention != "")
		dev += boolRank(s.Items[i].Ordinary() && s.Items[i].Split == classify.SplitDev)
	}
	printColumns(e.Stdout, append(rowsOf, []string{"all", fmt.Sprint(ends), fmt.Sprint(drawn)}))
	fmt.Fprintf(e.Stdout, "\n%s to label: with %d that come twice and %d made ones\n", plural(len(s.Items), "item"), repeats, made)
	if dev > 0 {
		fmt.Fprintf(e.Stdout, "%d are for changes of the codebook, %d to test it\n", dev, drawn-dev)
	}
	e.next("audit serve %s   # or audit tty; whoever labels should not have read the table above", shellQuote(dir))
	return nil
}

// openAudit opens the audit of a run whose sample was drawn.
func openAudit(e *env, dir string) (*logs.RunDir, *classify.Auditor, error) {
	d, t, err := openRun(e, dir)
	if err != nil {
		return nil, nil, err
	}
	book, err := runBook(d)
	if err != nil {
		return nil, nil, err
	}
	s, err := classify.ReadAuditSample(d)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		return nil, nil, inputErrorf(e.Self+" audit sample "+shellQuote(dir), "%s has no sample to label", clean(dir))
	}
	return d, classify.NewAuditor(d, t, book, s), nil
}

// labeller are the flags that say who labels.
type labeller struct {
	name   string
	settle bool
}

func (l *labeller) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.name, "name", "", "`NAME` of the person who labels")
	cmd.Flags().BoolVar(&l.settle, "adjudicate", false, "settle what people labelled differently: both labels are shown, both stay")
}

func (l *labeller) check() error {
	if l.name == "" {
		return nil
	}
	if l.settle {
		return inputErrorf("leave --name out: what is settled is nobody's own label", "--adjudicate takes no --name")
	}
	if err := classify.CheckPerson(l.name); err != nil {
		return inputErrorf("give another --name", "%w", err)
	}
	return nil
}

func newAuditServeCmd(e *env) *cobra.Command {
	var who labeller
	var addr string
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Label the sample in a browser on this machine, by keyboard",
		Long: `serve shows the items of the sample one by one in a browser, without verdict, configuration
or name of the model: the packet of evidence that a judge would see, the whole log with a
search, and the definitions beside the picker. Every label is written at once as a line of
DIR/verdicts/people.jsonl; the same command goes on where you were. The page is served on this
machine only, under an address with a random token. Ctrl-C ends it.`,
		Example: "  " + e.Self + " audit serve runs/demo --name ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(); err != nil {
				return err
			}
			return auditServe(cmd.Context(), e, args[0], addr, who)
		},
	}
	who.add(cmd)
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "`ADDRESS` on this machine to listen on")
	return cmd
}

func auditServe(ctx context.Context, e *env, dir, addr string, who labeller) error {
	l, err := listenHere(addr)
	if err != nil {
		return err
	}
	defer l.Close()
	_, a, err := openAudit(e, dir)
	if err != nil {
		return err
	}
	token, err := newToken()
	if err != nil {
		return err
	}
	page := &report.AuditPage{Auditor: a, Token: token, Hosts: report.LoopbackHosts(l.Addr()), Person: who.name, Settle: who.settle, Now: e.Now}
	fmt.Fprintf(e.Stdout, "http://%s/%s/\n", l.Addr(), page.Token)
	e.say("open this address in a browser; Ctrl-C ends the page, labels are written at once")
	if err := serveUntil(ctx, l, page, "the audit page"); err != nil {
		return err
	}
	e.next("audit report %s", shellQuote(dir))
	return nil
}

func newAuditReportCmd(e *env) *cobra.Command {
	var asJSON, test bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "What people found: agreement, corrected shares, can the judge be trusted?",
		Long: `report holds the labels of people against each other and against the verdicts: agreement
with intervals, precision and recall by label, the share of every cause among the ends of
episodes as predicted, from the audit alone, and corrected by the audit, and whether a judge
passes the gate: alpha with people at least .70 for levels and .60 for leaves, and not more
than .10 under that of people with each other. A sample of 60 and more is split: which verdicts
people did not confirm is listed for the third that is for development. After a change of the
codebook rules and judges are judged by the rest, the test items, unless --test had listed those
under an earlier codebook.`,
		Example: "  " + e.Self + " audit report runs/demo\n  " + e.Self + " audit report runs/demo --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return auditReport(e, args[0], asJSON, test)
		},
	}
	cmd.Flags().BoolVar(&test, "test", false, "list the verdicts on test items too, which spends them for later codebooks")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// auditOf is what people found about the verdicts of a run; nil if nobody was asked and no judge either.
func auditOf(d *logs.RunDir, t *logs.Tables) (*classify.AuditReport, error) {
	if d == nil || t == nil {
		return nil, nil
	}
	s, err := classify.ReadAuditSample(d)
	if err != nil {
		return nil, err
	}
	judged := slices.ContainsFunc(t.Verdicts, func(v logs.VerdictRow) bool { return v.AnnotatorKind == logs.AnnotatorJudge })
	if s == nil && !judged {
		return nil, nil
	}
	book, err := runBook(d)
	if err != nil {
		return nil, err
	}
	return classify.ReportAudit(d, t, book)
}

func auditReport(e *env, dir string, asJSON, test bool) error {
	d, a, err := openAudit(e, dir)
	if err != nil {
		return err
	}
	read := a.Report
	if test {
		if err := classify.MarkTestSeen(d, a.Book.Hash()); err != nil {
			return err
		}
		read = a.ReportOpen
	}
	r, err := read()
	if err != nil {
		return err
	}
	if asJSON {
		return e.printJSON(r)
	}
	printAudit(e.Stdout, r)
	if !e.Quiet {
		e.say("labels: %s", clean(filepath.Join(d.VerdictsDir(), "people.jsonl")))
	}
	if len(r.Errors) > 0 {
		e.next("classify %s --show-packet %s   # what was shown of one of the errors", shellQuote(dir), r.Errors[0].Verdict)
	}
	if len(r.Disputed) > 0 {
		e.next("audit serve %s --adjudicate", shellQuote(dir))
	} else {
		e.next("report %s", shellQuote(dir))
	}
	return nil
}
