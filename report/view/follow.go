package view

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// waiting is the end of a stamp as long as a decision is not made.
const waiting = "-waiting"

// state says in a few bytes whether something changed: of an episode, or of the whole study. It reads no file.
func (s *Server) state(q *request) error {
	stamp := ""
	if q.Episode != nil {
		stamp = q.Study.episodeStamp(q.Episode.Episode)
		if q.Attempt != nil && isFailure(q.Attempt) && !s.deciding(q.Study, q.Episode, q.Turn.Turn).within(0) {
			stamp += waiting
		}
	} else {
		stamp = q.Study.stamp()
	}
	q.W.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(q.W).Encode(map[string]string{"stamp": stamp})
}

// audited is the audit page of a study as it was opened when its sample and journals were as the stamp says.
type audited struct {
	mu      sync.Mutex
	stamp   string
	handler http.Handler
}

// auditPage opens the audit page, once for every sample and state of the study. Labels do not count: whoever gives them
// goes on with the page that is open.
func (st *study) auditPage(open func(*logs.RunDir) (http.Handler, error)) (http.Handler, error) {
	ids, err := st.Dir.Episodes()
	if err != nil {
		return nil, err
	}
	paths := []string{filepath.Join(classify.AuditDir(st.Dir), "sample.json")}
	for _, id := range ids {
		paths = append(paths, st.journal(id))
	}
	stamp := stampOf(paths...)
	st.auditing.mu.Lock()
	defer st.auditing.mu.Unlock()
	if st.auditing.handler != nil && st.auditing.stamp == stamp {
		return st.auditing.handler, nil
	}
	h, err := open(st.Dir)
	if err != nil {
		return nil, err
	}
	st.auditing.stamp, st.auditing.handler = stamp, h
	return h, nil
}

// audit hands a request on to the audit page of the study, which has its own address and checks the token itself.
func (s *Server) audit(q *request) error {
	if s.opt.Audit == nil || q.Study.Foreign {
		return notFound("there is no audit page here")
	}
	h, err := q.Study.auditPage(s.opt.Audit)
	if err != nil {
		return notFound(withHint(err))
	}
	r := new(http.Request)
	*r = *q.R
	u := *q.R.URL
	u.Path, u.RawPath = "/"+s.opt.Token+"/"+q.Rest, ""
	r.URL = &u
	h.ServeHTTP(q.W, r)
	return nil
}
