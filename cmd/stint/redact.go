package main

import (
	"os"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// knownPrivate are words that a redacted report must not hold and that nothing but the study and the machine can tell:
// the addresses of its models, who took part in the audit, who and where the user is.
func knownPrivate(e *env, audit *classify.AuditReport, sources ...*comparedSource) report.Known {
	var k report.Known
	for _, src := range sources {
		if src == nil || src.frozen == nil {
			continue
		}
		for i := range src.frozen.Models {
			if u := src.frozen.Models[i].URL; u != "" {
				k.Endpoints = append(k.Endpoints, u)
			}
		}
	}
	if audit != nil {
		for _, p := range audit.People {
			k.Users = append(k.Users, p.Name)
		}
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if u := e.Getenv(name); len(u) > 3 && u != "root" {
			k.Users = append(k.Users, u)
		}
	}
	if h, err := os.Hostname(); err == nil && len(h) > 3 && h != "localhost" {
		k.Hosts = append(k.Hosts, h)
	}
	return k
}

// redact takes what is private out of all that will be compared, before anything is worked out from it. What no report
// shows goes first, so that only what would have been in it is counted.
func (s *comparedSource) redact(r *report.Redactor) {
	for i := range s.set.Rows {
		s.set.Rows[i].File = ""
	}
	s.set.Problems = nil // they were told on stderr
	if s.tables != nil {
		s.tables = &logs.Tables{Episodes: s.tables.Episodes, Attempts: s.tables.Attempts}
		for i := range s.tables.Episodes {
			s.tables.Episodes[i].Place = logs.Place{}
		}
		for i := range s.tables.Attempts {
			s.tables.Attempts[i].Place = logs.Place{}
		}
		r.Apply(s.tables)
	}
	r.Apply(s.set)
	r.Apply(&s.options)
}
