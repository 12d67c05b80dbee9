package main

import (
	"encoding/json"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// reproducedAttempt is an attempt as reproduce --json prints it.
type reproducedAttempt struct {
	Schema  string            `json:"schema"`
	ID      string            `json:"id"`
	Config  string            `json:"config"`
	Scen    string            `json:"scenario"`
	Repeat  int               `json:"repeat"`
	Turn    int               `json:"turn"`
	Attempt int               `json:"attempt"`
	Reason  string            `json:"reason"`
	Detail  string            `json:"detail"`
	Checks  int               `json:"checks"`
	Failed  int               `json:"failed"`
	Shown   []reproducedCheck `json:"failures"`
}

// reproducedCheck is a failed check: its requests as curl lines for a freshly started server.
type reproducedCheck struct {
	Check     string             `json:"check"`
	Title     string             `json:"title"`
	Status    string             `json:"status"`
	Clauses   []suite.ClauseInfo `json:"clauses"`
	Confirmed *bool              `json:"confirmed"`
	Earlier   int                `json:"requests_of_earlier_checks"` // sent before these in the study; the script has them
	Requests  []string           `json:"requests"`
	Expected  string             `json:"expected"`
	Actual    string             `json:"actual"`
}

// printJSON writes the failed checks that sent requests, all of them or one.
func (a *attempt) printJSON(e *env, check string) error {
	list := a.carriedOut()
	if check != "" {
		f, err := a.choose(check)
		if err != nil {
			return err
		}
		list = []*suite.Failure{f}
	}
	r := a.graded.Result
	out := reproducedAttempt{Schema: "stint.reproduce/1", ID: a.id(), Config: a.start.Config, Scen: a.start.Scenario.ID, Repeat: a.start.Repeat,
		Turn: a.turn, Attempt: a.number, Reason: a.reason, Detail: r.Detail, Checks: r.Checks, Failed: r.Failed, Shown: []reproducedCheck{}}
	for _, f := range list {
		seq, err := a.sequence(f)
		if err != nil {
			return err
		}
		c := reproducedCheck{Check: f.ID, Title: f.Title, Status: f.Status, Clauses: []suite.ClauseInfo{}, Confirmed: f.Confirmed, Earlier: seq.earlier,
			Requests: []string{}, Expected: f.Expected, Actual: f.Actual}
		for _, id := range f.Clauses {
			if info := a.suite.Clause(id); info != nil {
				c.Clauses = append(c.Clauses, *info)
			}
		}
		shots := append(seq.before[:len(seq.before)-seq.earlier:len(seq.before)-seq.earlier], seq.own[:seq.at+1]...)
		for i := range shots {
			line, err := shots[i].curl(i == len(shots)-1)
			if err != nil {
				return err
			}
			c.Requests = append(c.Requests, line)
		}
		out.Shown = append(out.Shown, c)
	}
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
