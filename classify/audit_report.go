package classify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// AuditReportSchema names the form of an audit report.
const AuditReportSchema = "stint.audit-report/1"

// AuditReport is what an audit found.
type AuditReport struct {
	Schema     string           `json:"schema"` // stint.audit-report/1
	Taxonomy   string           `json:"taxonomy"`
	Codebook   string           `json:"codebook"`
	Seed       uint64           `json:"seed"` // of the sample and of the bootstraps
	Ends       int              `json:"ends"` // episodes that ended by a failure: what the shares are of
	Items      int              `json:"items"`
	Labelled   int              `json:"labelled"` // items with a label of at least one person
	Twice      int              `json:"labelled_twice"`
	Disputed   []string         `json:"disputed"` // items that people labelled differently and nobody adjudicated
	People     []AuditPerson    `json:"people"`
	Agreement  []AuditAgreement `json:"agreement"`
	Scores     []AuditScore     `json:"scores"`     // of the verdict that counts without people, by label
	Prevalence []AuditShare     `json:"prevalence"` // of levels, then leaves
	Configs    []AuditConfig    `json:"configs"`    // the same by configuration, where there are several
	Errors     []AuditError     `json:"errors"`     // of single items; those of the test part on request only
	Hidden     int              `json:"hidden_errors"`
	Unlisted   []string         `json:"unlisted"` // items whose cause has no leaf
	Judges     []JudgeTrust     `json:"judges"`
	Warnings   []string         `json:"warnings"`

	// Of a split sample: how many items each part has, and by which part rules and judges are judged, "" = by all. That is
	// the test part once the codebook is another one than that of the sample.
	Dev    int    `json:"dev"`
	Test   int    `json:"test"`
	Judged string `json:"judged_by"`

	// Banner is what every share that rests on a judge has to carry; "" if none does, or if the judges have passed.
	Banner string `json:"banner"`
}

// AuditPerson is how one person worked.
type AuditPerson struct {
	Name      string   `json:"name"`
	Labelled  int      `json:"labelled"`
	Cannot    int      `json:"cannot_tell"`
	Revised   int      `json:"revised"`
	Repeats   int      `json:"repeats"` // items labelled twice
	Same      int      `json:"same"`    // of them, with the same label
	Attention int      `json:"attention"`
	Right     int      `json:"right"` // of the made items
	Seconds   *float64 `json:"median_seconds"`
}

// AuditAgreement is the agreement of two kinds of annotators at one level, over all pairs of labels of the same item.
type AuditAgreement struct {
	Who       string       `json:"who"`       // "people", "itself" or the name of a judge or "rules", with people
	Level     string       `json:"level"`     // l1, leaf
	Abstained string       `json:"abstained"` // "left out", "a class"
	Pairs     int          `json:"pairs"`
	Items     int          `json:"items"`
	Raw       AuditMeasure `json:"raw"`
	Kappa     AuditMeasure `json:"kappa"`
	AC1       AuditMeasure `json:"ac1"`
	Alpha     AuditMeasure `json:"alpha"`
	Labels    []string     `json:"labels"`
	Table     [][]int      `json:"table"` // rows: the classifier or the first person, columns: the (other) person
	Share     []float64    `json:"share"` // of each label
}

// AuditMeasure is a number with its interval; null if it is undefined, with the reason.
type AuditMeasure struct {
	Value  *float64    `json:"value"`
	CI     *[2]float64 `json:"ci95"`
	Reason string      `json:"reason,omitempty"`
}

func measureOf(v float64, defined bool, i stats.Interval, reason string) AuditMeasure {
	if !defined {
		return AuditMeasure{Reason: cmp.Or(reason, i.Reason)}
	}
	m := AuditMeasure{Value: &v}
	if i.Defined {
		m.CI = &[2]float64{i.Lo, i.Hi}
	} else {
		m.Reason = i.Reason
	}
	return m
}

// AuditScore is how good the predictions of one label are. Recall weighs every item by how many ends it stands for.
type AuditScore struct {
	Label     string       `json:"label"`
	Predicted int          `json:"predicted"` // audited items with this prediction
	Right     int          `json:"right"`
	Truly     int          `json:"truly"` // audited items that people gave the label
	Precision AuditMeasure `json:"precision"`
	Recall    AuditMeasure `json:"recall"`
}

// AuditShare is the share of one label among the ends.
type AuditShare struct {
	Label     string       `json:"label"`
	Raw       AuditMeasure `json:"raw"`        // as predicted
	AuditOnly AuditMeasure `json:"audit_only"` // audited items alone, weighed by their stratum
	Corrected AuditMeasure `json:"corrected"`  // post-stratified by the prediction
	These     AuditMeasure `json:"these"`      // the same, about these episodes and not the process behind them
	Most      *float64     `json:"most"`       // corrected, if all ends that people could not tell were of this label
	Few       bool         `json:"few"`        // fewer than 5 audited items have it
}

// AuditConfig is the shares of levels and leaves among the ends of one configuration.
type AuditConfig struct {
	Config     string       `json:"config"`
	Ends       int          `json:"ends"`
	Audited    int          `json:"audited"` // with a settled label
	Prevalence []AuditShare `json:"prevalence"`
}

// AuditError is an item whose prediction people did not confirm.
type AuditError struct {
	Item      string `json:"item"`
	Verdict   string `json:"verdict"` // EPISODE@TURN.ATTEMPT
	Predicted string `json:"predicted"`
	Label     string `json:"label"`
	Split     string `json:"split,omitempty"`
}

// JudgeTrust says whether shares that rest on a judge can be published without a banner.
type JudgeTrust struct {
	Judge   string   `json:"judge"`
	Items   int      `json:"items"` // audited ones that it labelled
	L1      *float64 `json:"alpha_l1"`
	Leaf    *float64 `json:"alpha_leaf"`
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons"` // why not
}

// The bars of the trust gate, and the least number of items that says anything.
const (
	trustL1, trustLeaf, trustUnder = 0.70, 0.60, 0.10
	trustItems                     = 20
)

// auditing is an audit being evaluated.
type auditing struct {
	book     *Taxonomy
	sample   *AuditSample
	verdicts []logs.VerdictRow
	ends     []AuditItem
	given    map[logs.VerdictKey][]AuditLabel // of single people, newest, ordinary items
	settled  map[logs.VerdictKey]AuditLabel   // what people hold together: adjudicated, or the same from everybody
	control  []AuditLabel
	report   *AuditReport

	predicted map[logs.VerdictKey]string // of every end today: a verdict may have changed since the sample was drawn
	sizes     map[string]int             // of the strata of today
	weights   map[string]float64         // of a stratum: how many ends each audited item stands for
	config    map[string]string          // of an episode
	scenario  map[string]string          // of an episode
	changed   bool                       // the codebook is another one than that of the sample
	spent     bool                       // and the sample cannot test it
}

// ReportAudit evaluates an audit: the labels of people against each other and against the verdicts, and what follows
// for the shares. Without a sample it says whether judges decide anything that nobody has checked. What single items of
// the test part came to stays closed.
func ReportAudit(d *logs.RunDir, t *logs.Tables, book *Taxonomy) (*AuditReport, error) {
	r, err := ReportAuditOpen(d, t, book)
	if r != nil {
		r.hide()
	}
	return r, err
}

// ReportAuditOpen is [ReportAudit] with the errors of single test items. Whoever shows them calls [MarkTestSeen].
func ReportAuditOpen(d *logs.RunDir, t *logs.Tables, book *Taxonomy) (*AuditReport, error) {
	s, err := ReadAuditSample(d)
	if err != nil {
		return nil, err
	}
	verdicts, _, err := logs.ReadVerdicts(d)
	if err != nil {
		return nil, err
	}
	labels, bad, err := ReadAuditLabels(d)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = &AuditSample{Seed: 1}
	}
	a := &auditing{book: book, sample: s, verdicts: machines(verdicts), ends: AuditEnds(t, verdicts), given: map[logs.VerdictKey][]AuditLabel{}, settled: map[logs.VerdictKey]AuditLabel{}}
	a.report = &AuditReport{Schema: AuditReportSchema, Taxonomy: book.Name, Codebook: book.Hash(), Seed: s.Seed, Ends: len(a.ends), Disputed: []string{}, People: []AuditPerson{},
		Agreement: []AuditAgreement{}, Scores: []AuditScore{}, Prevalence: []AuditShare{}, Configs: []AuditConfig{}, Errors: []AuditError{}, Unlisted: []string{}, Judges: []JudgeTrust{}, Warnings: []string{}}
	if bad > 0 {
		a.warn("%d lines of people's labels cannot be read and are left out", bad)
	}
	a.config, a.scenario = map[string]string{}, map[string]string{}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		a.config[e.Episode], a.scenario[e.Episode] = e.Config, e.Scenario
	}
	if err := a.split(d); err != nil {
		return nil, err
	}
	a.sort(labels)
	a.weigh()
	a.people(labels)
	if err := a.agree(); err != nil {
		return nil, err
	}
	a.score()
	if err := a.prevalence(); err != nil {
		return nil, err
	}
	if err := a.trust(); err != nil {
		return nil, err
	}
	a.check(labels)
	return a.report, nil
}

func (a *auditing) warn(format string, args ...any) {
	a.report.Warnings = append(a.report.Warnings, fmt.Sprintf(format, args...))
}

// ordinary calls f for every item that is about an attempt and comes for the first time.
func (a *auditing) ordinary(f func(it *AuditItem)) {
	for i := range a.sample.Items {
		if it := &a.sample.Items[i]; it.Ordinary() {
			f(it)
		}
	}
}

// sort tells labels of single people from adjudicated ones and from those of repeats and made items.
func (a *auditing) sort(labels []AuditLabel) {
	adjudicated := map[logs.VerdictKey]AuditLabel{}
	for _, l := range latest(labels) {
		switch {
		case l.control():
			a.control = append(a.control, l)
		case l.Annotator == logs.Adjudicated:
			adjudicated[l.Key()] = l
		default:
			a.given[l.Key()] = append(a.given[l.Key()], l)
		}
	}
	a.ordinary(func(it *AuditItem) {
		a.report.Items++
		k := it.Key()
		given := a.given[k]
		if len(given) > 0 {
			a.report.Labelled++
		}
		if len(given) > 1 {
			a.report.Twice++
		}
		l, ok := adjudicated[k]
		switch {
		case ok:
		case len(disagreeing(given)) == 1:
			l = given[0]
		case len(given) > 0:
			a.report.Disputed = append(a.report.Disputed, it.ID)
			return
		default:
			return
		}
		a.settled[k] = l
		if deref(l.Leaf) == LeafUnlisted {
			a.report.Unlisted = append(a.report.Unlisted, strings.TrimRight(it.ID+": "+l.Note, ": "))
		}
	})
}

// people says how everybody worked.
func (a *auditing) people(labels []AuditLabel) {
	byName := map[string]*AuditPerson{}
	seconds := map[string][]float64{}
	person := func(name string) *AuditPerson {
		if byName[name] == nil {
			byName[name] = &AuditPerson{Name: name}
		}
		return byName[name]
	}
	for i := range labels {
		l := &labels[i]
		if l.Annotator == logs.Adjudicated {
			continue
		}
		p := person(l.Annotator)
		if l.Revision > 1 {
			p.Revised++
		}
		if l.Seconds > 0 {
			seconds[p.Name] = append(seconds[p.Name], l.Seconds)
		}
	}
	for _, list := range a.given {
		for i := range list {
			p := person(list[i].Annotator)
			p.Labelled++
			if list[i].choice() == CannotTell {
				p.Cannot++
			}
		}
	}
	for i := range a.control {
		l := &a.control[i]
		it := a.sample.Item(l.Item)
		if it == nil {
			continue // of an earlier sample
		}
		p := person(l.Annotator)
		if made := attention(it.Attention); made != nil {
			p.Attention++
			if l.choice() == made.Leaf {
				p.Right++
			}
			continue
		}
		for _, first := range a.given[it.Key()] {
			if first.Annotator == l.Annotator && l.Key() == it.Key() {
				p.Repeats++
				if first.choice() == l.choice() {
					p.Same++
				}
			}
		}
	}
	for name, p := range byName {
		if list := seconds[name]; len(list) > 0 {
			slices.Sort(list)
			p.Seconds = ptr(list[len(list)/2])
		}
		a.report.People = append(a.report.People, *p)
	}
	slices.SortFunc(a.report.People, func(x, y AuditPerson) int { return cmp.Compare(x.Name, y.Name) })
}

// check warns of what makes an audit worth less.
func (a *auditing) check(labels []AuditLabel) {
	r := a.report
	if r.Items == 0 {
		return
	}
	other := 0
	for i := range labels {
		if c := labels[i].Codebook; c != "" && c != a.book.Hash() {
			other++
		}
	}
	switch {
	case a.changed && !a.spent:
		a.warn("the codebook was changed after the sample was drawn (%d labels are older): rules and judges are judged by the %d test items alone", other, r.Test)
	case other > 0 || a.changed:
		a.warn("the codebook was changed after the sample was drawn or labelled (%d labels): it may have been changed because of what was seen; draw a new sample to test it", other)
	}
	if n := len(r.Unlisted); 20*n > r.Labelled && n > 0 {
		a.warn("%d of %d labelled items have a cause that no leaf describes, more than 5 %%: the taxonomy needs a revision", n, r.Labelled)
	}
	if r.Labelled < r.Items {
		a.warn("%d of %d items have no label yet", r.Items-r.Labelled, r.Items)
	}
	if 3*r.Twice < r.Labelled {
		a.warn("%d of %d labelled items have a second person's label; at least a third should", r.Twice, r.Labelled)
	}
	if n := len(r.Disputed); n > 0 {
		a.warn("%d disputed items count for nothing until they are adjudicated", n)
	}
	for _, p := range r.People {
		if p.Attention > p.Right {
			a.warn("of %d made items whose answer is beyond doubt %s missed %d", p.Attention, p.Name, p.Attention-p.Right)
		}
	}
}
