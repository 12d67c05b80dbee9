package suite

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// asked is a suite of one check that sends one query and expects what the server says it was asked.
func asked(query string, want map[string]string) *Suite {
	expect, err := marshal(want)
	if err != nil {
		panic(err)
	}
	return &Suite{Version: Version, Clauses: []ClauseInfo{{ID: "c1", Kind: "list", Text: "x", Title: "x"}}, Worlds: []World{{Name: Seeded}},
		Checks: []Check{{ID: "k1.order", Title: "the query arrives", Clauses: []string{"c1"}, Category: "list", Intent: "value", Mutation: "none", World: Seeded,
			Steps: []Step{{Method: "GET", Path: "/books", Query: query, Status: 200, Match: Exact, Expect: expect}}}}}
}

// echo answers with the parameters of the query; a wrong path, or a query in the path, is 404.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/books" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		got := map[string]string{}
		for k, v := range r.URL.Query() {
			got[k] = strings.Join(v, ",")
		}
		b, err := marshal(got)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(b)
	})
}

// TestQueryArrives sends what is hard to encode over both transports.
func TestQueryArrives(t *testing.T) {
	for _, v := range []string{"-name", "a b&c=d", "é+%25", "", "true", "2024-01-31"} {
		q := url.Values{"sort": {v}, "limit": {"2"}}
		s := asked(encodeQuery(q), map[string]string{"sort": v, "limit": "2"})
		if err := s.valid(); err != nil {
			t.Errorf("%q: %v", v, err)
		}
		r, err := RunHandler(context.Background(), s, echo)
		if err != nil || !*r.Passed {
			t.Errorf("%q in this process: %+v, %v", v, r, err)
		}
		start := serve(func(string, *fakeServer) http.Handler { return echo() })
		if r := grade(t, s, RunOptions{Start: start}); !*r.Passed {
			t.Errorf("%q over HTTP: %+v", v, r.Failures)
		}
	}
	s := asked("sort=-name", map[string]string{"sort": "name"})
	r, err := RunHandler(context.Background(), s, echo)
	if err != nil || *r.Passed {
		t.Fatalf("%+v, %v", r, err)
	}
	f := r.Failures[0]
	told := Feedback("detailed", s, r).Text
	if f.Request != "GET /books?sort=-name" || f.Exchanges[0].Path != "/books?sort=-name" || !strings.Contains(told, "Request: GET /books?sort=-name -> 200") {
		t.Errorf("the failure shows %q and %q, the feedback\n%s", f.Request, f.Exchanges[0].Path, told)
	}
}

func TestQueryForm(t *testing.T) {
	for q, ok := range map[string]bool{"a=1": true, "a=1&b_c=%20x": true, "a=": true, "a": false, "?a=1": false, "a=1#x": false, "a=1&": false, "A=1": false,
		"a=b c": false, "a=%2g": false, "a=1\n": false, "a=${x}": false, "a=+": false} {
		s := asked(q, nil)
		if err := s.valid(); (err == nil) != ok {
			t.Errorf("query %q: %v", q, fmt.Sprint(err))
		}
	}
}
