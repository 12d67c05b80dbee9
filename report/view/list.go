package view

import (
	"fmt"
	"net/http"
)

// listed is a study in the list.
type listed struct{ Href, Name, About string }

// list shows the studies; of a single one, the study.
func (s *Server) list(q *request) error {
	all := s.studies.all()
	if len(all) == 1 && !s.studies.many {
		http.Redirect(q.W, q.R, all[0].href(), http.StatusSeeOther)
		return nil
	}
	var rows []listed
	for _, st := range all {
		about := "tables made of logs"
		if !st.Foreign {
			about = "a run"
			if ids, err := st.Dir.Episodes(); err == nil {
				about = plural(len(ids), "episode", "episodes")
			}
		}
		rows = append(rows, listed{st.href(), st.Name, about})
	}
	q.head.Title = "Studies"
	return s.render(q, "list", rows)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", num(n), many)
}
