package classify

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// symptom is one failing check, taken apart: which request, what was expected, what came.
type symptom struct {
	check      *logs.CheckRow
	method     string
	route      string // POST /books, GET /books/{id}
	collection string // /books, /analytics/total
	item       bool
	below      string                     // /books/{id}/lend, of what is under one row; "" elsewhere
	id         string                     // in the path; "" without one
	query      bool                       // the request has parameters
	body       map[string]json.RawMessage // of the request, as far as it is complete

	want, have         int // status; have 0 = no answer
	wantCode, haveCode string
	wantField          string
	haveField          string
	badError           bool // the error body has not the form it should have
	diffs              []diff
	unsent             bool // the request was never sent: a row it needs was not made
	why                string
}

// diff is one place of a body that is not as expected.
type diff struct {
	path, key string // entries[0].size, size
	kind      string // missing, extra, value, rows, form (equal value of another type)
}

var (
	requestForm = regexp.MustCompile(`^([A-Z]+) (/[^\s?]*)(\?\S*)?(?: (.*))?$`)
	statusForm  = regexp.MustCompile(`^(\d{3})(?:; (.*))?$`)
	placeForm   = regexp.MustCompile(`^([^\s;=]+) (is missing|is not there|has \d+ rows|= .*|> .*)$`)
	lastKey     = regexp.MustCompile(`([^.\[\]]+)(?:\[\d+\])*$`)
	codeForm    = regexp.MustCompile(`"code":\s*"([A-Za-z0-9_]{1,40})"`)
	fieldForm   = regexp.MustCompile(`"field":\s*(?:"([A-Za-z0-9_]{1,80})"|null)`)
)

func newSymptom(c *logs.CheckRow) *symptom {
	s := &symptom{check: c}
	if m := requestForm.FindStringSubmatch(c.Request); m != nil {
		s.method, s.route, s.query = m[1], route(m[1], m[2]), m[3] != ""
		_, path, _ := strings.Cut(s.route, " ")
		if s.collection, s.item = strings.CutSuffix(path, "/{id}"); s.item {
			s.id = m[2][strings.LastIndexByte(m[2], '/')+1:]
		}
		if head, _, under := strings.Cut(path, "/{id}/"); under {
			s.collection, s.below = head, path
		}
		if json.Unmarshal([]byte(m[4]), &s.body) != nil {
			s.body = nil
		}
	}
	expected := statusForm.FindStringSubmatch(c.Expected)
	if expected != nil {
		s.want, _ = strconv.Atoi(expected[1])
	}
	if why, none := strings.CutPrefix(c.Actual, "no answer: "); none {
		s.why = why
		s.unsent = strings.HasPrefix(why, "not sent")
		return s
	}
	actual := statusForm.FindStringSubmatch(c.Actual)
	if expected == nil || actual == nil {
		return s
	}
	s.have, _ = strconv.Atoi(actual[1])
	s.readErrors(expected[2], actual[2])
	s.readDiffs(expected[2], actual[2])
	return s
}

// readErrors finds code and field of the error bodies on both sides.
func (s *symptom) readErrors(expected, actual string) {
	s.wantCode, s.wantField = errorOf(expected)
	s.haveCode, s.haveField = errorOf(actual)
	if s.want >= 400 && s.have >= 400 && s.have < 500 {
		if body, ok := strings.CutPrefix(actual, "body = "); ok {
			s.badError = !strings.HasPrefix(body, `{"error":{`) && !strings.HasPrefix(body, `{"error": {`)
		}
	}
}

// errorOf reads code and field out of `body = {"error":{…}}` or `error.code = "range"; error.field = "size"`.
func errorOf(s string) (code, field string) {
	if body, ok := strings.CutPrefix(s, "body = "); ok {
		if m := codeForm.FindStringSubmatch(body); m != nil {
			code = m[1]
		}
		if m := fieldForm.FindStringSubmatch(body); m != nil {
			field = m[1]
		}
		return code, field
	}
	for _, part := range strings.Split(s, "; ") {
		if v, ok := strings.CutPrefix(part, "error.code = "); ok {
			code = strings.Trim(v, `"`)
		}
		if v, ok := strings.CutPrefix(part, "error.field = "); ok && v != "null" {
			field = strings.Trim(v, `"`)
		}
	}
	return code, field
}

// readDiffs pairs the places that are named on both sides. The expected side is the suite's, so it leads.
func (s *symptom) readDiffs(expected, actual string) {
	if s.want != s.have {
		return
	}
	have := map[string]string{}
	for _, part := range strings.Split(actual, "; ") {
		if m := placeForm.FindStringSubmatch(part); m != nil {
			if _, there := have[m[1]]; !there {
				have[m[1]] = m[2]
			}
		}
	}
	for _, part := range strings.Split(expected, "; ") {
		m := placeForm.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		d := diff{path: m[1], key: lastKeyOf(m[1])}
		switch got := have[m[1]]; {
		case m[2] == "is not there":
			d.kind = "extra"
		case got == "is missing":
			d.kind = "missing"
		case strings.HasPrefix(m[2], "has "):
			d.kind = "rows"
		case sameValue(m[2], got):
			d.kind = "form"
		default:
			d.kind = "value"
		}
		if strings.HasPrefix(d.path, "error") && s.want >= 400 && (d.kind == "missing" || d.path == "error") {
			s.badError = true
		}
		s.diffs = append(s.diffs, d)
	}
	if s.want >= 400 && s.wantCode == s.haveCode && s.wantField != s.haveField {
		s.badError = true
	}
}

func lastKeyOf(path string) string {
	m := lastKey.FindStringSubmatch(path)
	if m == nil {
		return path
	}
	return m[1]
}

// sameValue says whether two shown values differ in their JSON type alone: 12 and "12", true and "true".
func sameValue(want, got string) bool {
	w, ok1 := strings.CutPrefix(want, "= ")
	g, ok2 := strings.CutPrefix(got, "= ")
	if !ok1 || !ok2 || w == g || w == "null" || g == "null" {
		return false
	}
	w, g = strings.Trim(w, `"`), strings.Trim(g, `"`)
	if w == g {
		return true
	}
	x, err1 := strconv.ParseFloat(w, 64)
	y, err2 := strconv.ParseFloat(g, 64)
	return err1 == nil && err2 == nil && x == y
}

// class is the class of a status in the contract table.
func class(status int) string {
	switch {
	case status == 0:
		return "none"
	case status >= 500:
		return "5xx"
	case status == 404:
		return "404"
	case status == 405:
		return "405"
	case status >= 400:
		return "4xx"
	case status >= 200 && status < 300:
		return "2xx"
	}
	return "other"
}

// silent says whether no proper answer came: nothing at all, or 5xx.
func (s *symptom) silent() bool { return !s.unsent && (s.have == 0 || s.have >= 500) }

func (s *symptom) has(kind string) bool {
	for _, d := range s.diffs {
		if d.kind == kind {
			return true
		}
	}
	return false
}
