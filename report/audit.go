package report

import (
	"bytes"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// The audit page is three fixed files; everything about a run reaches it as JSON and is shown as text.
var (
	//go:embed audit.html
	auditPage []byte
	//go:embed audit.css
	auditStyle string
	//go:embed audit.js
	auditScript []byte
)

// An AuditPage serves the audit of a run directory to browsers on this machine.
type AuditPage struct {
	Auditor *classify.Auditor
	Token   string   // the first element of every path; nobody else can guess it
	Hosts   []string // the values of Host that are answered, such as 127.0.0.1:8080
	Person  string   // the name that the page proposes; "" = it asks for one
	Settle  bool     // adjudicate: only items that people labelled differently, with what they said
	Now     func() time.Time
}

// maxChoice bounds the body of a label.
const maxChoice = 256 << 10

// ServeHTTP answers requests below /TOKEN/. A foreign Host, a missing token and a request that another site made are
// refused.
func (p *AuditPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !slices.Contains(p.Hosts, r.Host) {
		http.Error(w, "this host is not served", http.StatusMisdirectedRequest)
		return
	}
	token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if p.Token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(p.Token)) != 1 {
		http.Error(w, "the address lacks its token: use the one that stint printed", http.StatusForbidden)
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "asked for by another site", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPost && rest == "label" {
		p.label(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "the method is not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch rest {
	case "":
		p.file(w, "text/html; charset=utf-8", auditPage)
	case "audit.css":
		p.file(w, "text/css; charset=utf-8", []byte(pageColours()+auditStyle))
	case "audit.js":
		p.file(w, "text/javascript; charset=utf-8", auditScript)
	case "state":
		p.state(w, r)
	case "item":
		p.item(w, r)
	case "log":
		p.log(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *AuditPage) file(w http.ResponseWriter, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	w.Write(b)
}

// answer sends JSON; an error is told as one.
func (p *AuditPage) answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		v = map[string]string{"error": Clean(err.Error())}
	}
	json.NewEncoder(w).Encode(v) // an error here is the reader's, who has gone
}

// auditLeaf is a label with its definition, for the picker.
type auditLeaf struct {
	ID         string `json:"id"`
	Level      string `json:"level"`
	Title      string `json:"title"`
	Definition string `json:"definition"`
	Includes   string `json:"includes"`
	Excludes   string `json:"excludes"`
	Signature  string `json:"signature"`
	Example    string `json:"example"`
}

// person is who asks.
func (p *AuditPage) person(name string) (string, error) {
	if p.Settle {
		return logs.Adjudicated, nil
	}
	return name, classify.CheckPerson(name)
}

// state is the codebook, and where a person stands.
func (p *AuditPage) state(w http.ResponseWriter, r *http.Request) {
	book := p.Auditor.Book
	out := struct {
		Taxonomy string               `json:"taxonomy"`
		Person   string               `json:"person"`
		Settle   bool                 `json:"settle"`
		Levels   map[string]string    `json:"levels"`
		Leaves   []auditLeaf          `json:"leaves"`
		Items    []classify.AuditMark `json:"items"`
	}{Taxonomy: book.Name, Person: p.Person, Settle: p.Settle, Levels: book.Levels, Items: []classify.AuditMark{}}
	for _, l := range book.Choices() {
		out.Leaves = append(out.Leaves, auditLeaf{l.ID, l.L1(), l.Title, l.Definition, l.Includes, l.Excludes, l.Signature, l.Example})
	}
	if r.URL.Query().Has("person") || p.Settle {
		person, err := p.person(r.URL.Query().Get("person"))
		if err == nil {
			out.Person = person
			var marks []classify.AuditMark
			if marks, err = p.Auditor.Marks(person); marks != nil {
				out.Items = marks
			}
		}
		if err != nil {
			p.answer(w, nil, err)
			return
		}
	}
	p.answer(w, out, nil)
}

// auditOriginal is what one person said, without the name.
type auditOriginal struct {
	Label string `json:"label"`
	Note  string `json:"note"`
	Quote string `json:"quotes"`
}

func (p *AuditPage) item(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	v, err := p.Auditor.View(id)
	if err != nil {
		p.answer(w, nil, err)
		return
	}
	out := struct {
		*classify.AuditView
		Originals []auditOriginal `json:"originals,omitempty"`
	}{AuditView: v}
	if p.Settle {
		labels, err := p.Auditor.Originals(id)
		if err != nil {
			p.answer(w, nil, err)
			return
		}
		for i := range labels {
			out.Originals = append(out.Originals, auditOriginal{labels[i].Label(), labels[i].Note, quotesOf(labels[i].Evidence)})
		}
	}
	p.answer(w, out, nil)
}

// quotesOf are the marked passages of a label, one a line.
func quotesOf(evidence logs.JSONText) string {
	var list []classify.Evidence
	if json.Unmarshal([]byte(evidence), &list) != nil {
		return ""
	}
	var out []string
	for _, ev := range list {
		out = append(out, ev.Quote)
	}
	return strings.Join(out, "\n")
}

func (p *AuditPage) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, err := strconv.Atoi(q.Get("from"))
	if q.Has("from") && err != nil || from < 0 || len(q.Get("q")) > 200 {
		p.answer(w, nil, fmt.Errorf("the log cannot be searched for that"))
		return
	}
	l, err := p.Auditor.Log(q.Get("id"), q.Get("q"), from)
	p.answer(w, l, err)
}

// label writes a choice down. It has to come from the page itself: a form of another site sends no JSON.
func (p *AuditPage) label(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		http.Error(w, "a label is JSON", http.StatusUnsupportedMediaType)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		http.Error(w, "sent by another site", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxChoice))
	if err != nil {
		http.Error(w, "the label is too large", http.StatusRequestEntityTooLarge)
		return
	}
	var c struct {
		classify.AuditChoice
		Person string `json:"person"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		p.answer(w, nil, fmt.Errorf("the label cannot be read: %w", err))
		return
	}
	person, err := p.person(c.Person)
	if err != nil {
		p.answer(w, nil, err)
		return
	}
	l, err := p.Auditor.Label(person, c.AuditChoice, p.Now())
	if err != nil {
		p.answer(w, nil, err)
		return
	}
	p.answer(w, map[string]any{"item": l.Item, "label": c.Label, "revision": l.Revision}, nil)
}

// LoopbackHosts are the values of Host under which a listener on this machine is reached.
func LoopbackHosts(addr net.Addr) []string {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil
	}
	return []string{addr.String(), net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
}
