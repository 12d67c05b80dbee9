package view

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// Options say what a [Server] shows and to whom.
type Options struct {
	Dir   string   // a run directory, a folder of ingested tables, or a folder of several of these
	Token string   // the first element of the address that opens the pages; nobody else can guess it
	Hosts []string // the values of Host that are answered, such as 127.0.0.1:8080

	// Book gives the codebook that a study is classified with; nil = the embedded one.
	Book func(*logs.RunDir) (*classify.Taxonomy, error)
	// Audit gives the audit page of a study, which is served below /TOKEN/; nil = there is none. The error says why a
	// study has none.
	Audit func(d *logs.RunDir) (http.Handler, error)
}

// A Server answers the requests of browsers on this machine. It holds no data but small caches, and writes nothing
// (the audit page writes labels).
type Server struct {
	opt     Options
	cookie  string
	routes  []route
	studies *studies
	pages   *pages
}

// New makes the server of a folder.
func New(opt Options) (*Server, error) {
	if opt.Token == "" {
		return nil, errors.New("a viewer needs a token")
	}
	if opt.Book == nil {
		opt.Book = func(*logs.RunDir) (*classify.Taxonomy, error) { return classify.Codebook(), nil }
	}
	p, err := parsePages()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, pages: p, cookie: "stint"}
	if len(opt.Hosts) > 0 { // cookies are shared by all ports of a host
		s.cookie += strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, opt.Hosts[0][strings.LastIndexByte(opt.Hosts[0], ':')+1:])
	}
	if s.studies, err = findStudies(opt.Dir); err != nil {
		return nil, err
	}
	s.routes = s.table()
	return s, nil
}

// table lists the pages. Of two that fit, the first is taken.
func (s *Server) table() []route {
	return []route{
		{"/", s.list},
		{"/_/{asset}", s.asset},
		{"/{run}/", s.studyPage},
		{"/{run}/state", s.state},
		{"/{run}/compare", s.comparePage},
		{"/{run}/audit/...", s.audit},
		{"/{run}/e/{episode}", s.episodePage},
		{"/{run}/e/{episode}/state", s.state},
		{"/{run}/e/{episode}/t/{turn}", s.turnPage},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}", s.attemptPage},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/state", s.state},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/transcript", s.transcript},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/line", s.line},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/text", s.text},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/diff", s.diff},
		{"/{run}/e/{episode}/t/{turn}/a/{attempt}/raw", s.raw},
		{"/{run}/e/{episode}/t/{turn}/diff", s.diff},
		{"/{run}/e/{episode}/search", s.search},
	}
}

// policy is what pages may do: show what this server gives them, and send forms to it. No script or style stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ServeHTTP answers a request. A foreign Host, a missing token and a request that another site made are refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !slices.Contains(s.opt.Hosts, r.Host) {
		http.Error(w, "this host is not served", http.StatusMisdirectedRequest)
		return
	}
	if first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/"); s.isToken(first) {
		s.enter(w, r, "/"+rest)
		return
	}
	if c, err := r.Cookie(s.cookie); err != nil || !s.isToken(c.Value) {
		http.Error(w, "the address lacks its token: use the one that stint printed", http.StatusForbidden)
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "asked for by another site", http.StatusForbidden)
		return
	}
	q := &request{W: w, R: r}
	if err := s.answer(q); err != nil {
		s.fail(q, err)
	}
}

func (s *Server) isToken(word string) bool {
	return subtle.ConstantTimeCompare([]byte(word), []byte(s.opt.Token)) == 1
}

// enter turns the token of an address into a cookie and leads on to the page. It does so by a page of its own: of an
// address that was opened from elsewhere, a browser would not send the cookie along with a redirect.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, to string) {
	if r.Method != http.MethodGet {
		http.Error(w, "the method is not allowed", http.StatusMethodNotAllowed)
		return
	}
	to = "/" + strings.TrimLeft(to, "/\\") // never another host
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.opt.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	s.pages.enter.Execute(w, to) // an error here is the reader's, who has gone
}

// answer finds the page and makes it.
func (s *Server) answer(q *request) error {
	rt, names, err := s.find(q.R.URL)
	if err != nil {
		return err
	}
	if err := s.lookUp(q, names); err != nil {
		return err
	}
	if m := q.R.Method; m != http.MethodGet && m != http.MethodHead && !rt.takesPosts() {
		return &pageError{http.StatusMethodNotAllowed, "the method is not allowed"}
	}
	return rt.page(q)
}

// A route is a pattern of paths and its page. {name} stands for one element; a pattern that ends in ... takes the rest.
type route struct {
	pattern string
	page    func(*request) error
}

// takesPosts says whether the route checks the method itself.
func (rt *route) takesPosts() bool { return strings.HasSuffix(rt.pattern, "/...") }

// match gives the names in a path of unescaped elements.
func (rt *route) match(path []string) (map[string]string, bool) {
	pattern := strings.Split(rt.pattern, "/")[1:]
	names := map[string]string{}
	for i, part := range pattern {
		if part == "..." {
			names["rest"] = strings.Join(path[i:], "/")
			return names, true
		}
		if i >= len(path) {
			return nil, false
		}
		switch name, ok := strings.CutPrefix(part, "{"); {
		case ok && path[i] != "":
			names[strings.TrimSuffix(name, "}")] = path[i]
		case ok || part != path[i]:
			return nil, false
		}
	}
	return names, len(path) == len(pattern)
}

func (s *Server) find(u *url.URL) (*route, map[string]string, error) {
	path := strings.Split(u.EscapedPath(), "/")[1:]
	for i, part := range path {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil, nil, badRequest("the address cannot be read")
		}
		path[i] = plain
	}
	for i := range s.routes {
		if names, ok := s.routes[i].match(path); ok {
			return &s.routes[i], names, nil
		}
	}
	return nil, nil, notFound("there is no page at this address")
}

// A pageError is an answer that is no page.
type pageError struct {
	status int
	text   string
}

func (e *pageError) Error() string { return e.text }

func notFound(text string) error   { return &pageError{http.StatusNotFound, text} }
func badRequest(text string) error { return &pageError{http.StatusBadRequest, text} }
