package view

import (
	"encoding/json"
	"net/http"
)

// state says in a few bytes whether something changed: of an episode, or of the whole study. It reads no file.
func (s *Server) state(q *request) error {
	stamp := ""
	if q.Episode != nil {
		stamp = q.Study.episodeStamp(q.Episode.Episode)
	} else {
		stamp = q.Study.stamp()
	}
	q.W.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(q.W).Encode(map[string]string{"stamp": stamp})
}

// audit hands a request on to the audit page of the study, which has its own address and checks the token itself.
func (s *Server) audit(q *request) error {
	if s.opt.Audit == nil || q.Study.Foreign {
		return notFound("there is no audit page here")
	}
	h, err := s.opt.Audit(q.Study.Dir)
	if err != nil {
		return notFound(err.Error())
	}
	r := new(http.Request)
	*r = *q.R
	u := *q.R.URL
	u.Path, u.RawPath = "/"+s.opt.Token+"/"+q.Rest, ""
	r.URL = &u
	h.ServeHTTP(q.W, r)
	return nil
}
