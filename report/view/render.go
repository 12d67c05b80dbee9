package view

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/report"
)

// The pages are templates around which layout.html stands, with style and script of their own files.
var (
	//go:embed *.html
	templates embed.FS
	//go:embed *.css
	styles embed.FS
	//go:embed view.js
	script []byte
)

// pages are the parsed templates.
type pages struct {
	enter  *template.Template
	byName map[string]*template.Template
	style  []byte
}

func parsePages() (*pages, error) {
	p := &pages{byName: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(funcs()).ParseFS(templates, "layout.html", "parts.html")
	if err != nil {
		return nil, fmt.Errorf("reading the layout of pages: %w", err)
	}
	files, err := fs.Glob(templates, "*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".html")
		if name == "layout" || name == "parts" || name == "enter" {
			continue
		}
		t, err := template.Must(layout.Clone()).ParseFS(templates, file)
		if err != nil {
			return nil, fmt.Errorf("reading the page %s: %w", name, err)
		}
		p.byName[name] = t
	}
	if p.enter, err = template.ParseFS(templates, "enter.html"); err != nil {
		return nil, fmt.Errorf("reading the page enter: %w", err)
	}
	var style strings.Builder
	style.WriteString(report.PageStyle())
	sheets, err := fs.Glob(styles, "*.css")
	if err != nil {
		return nil, err
	}
	for _, sheet := range sheets {
		b, err := styles.ReadFile(sheet)
		if err != nil {
			return nil, err
		}
		style.Write(b)
	}
	p.style = []byte(style.String())
	return p, nil
}

// funcs are what templates write values with. All of them give text, which the template escapes.
func funcs() template.FuncMap {
	return template.FuncMap{
		"clean": report.Clean,
		"num":   num,
		"usd":   usd,
		"secs":  secs,
		"short": func(s string, most int) string { return short(report.Clean(s), most) },
		"clip":  func(s string, most int) string { return clip(report.Clean(s), most) },
		"join":  func(s []string) string { return report.Clean(strings.Join(s, ", ")) },
		"prose": func(s *string) string { return orDash(s, prose) },
		"text": func(s *string) string {
			if s == nil {
				return ""
			}
			return report.Clean(*s)
		},
	}
}

const dash = "–"

// orDash writes a value that may be unknown.
func orDash[T any](v *T, write func(T) string) string {
	if v == nil {
		return dash
	}
	return write(*v)
}

// num writes a whole number, or one that may be unknown, with thin spaces between thousands.
func num(v any) string {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case *int:
		if v == nil {
			return dash
		}
		n = int64(*v)
	case *int64:
		if v == nil {
			return dash
		}
		n = *v
	default:
		return fmt.Sprint(v)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// usd writes dollars.
func usd(v *float64) string {
	return orDash(v, func(d float64) string {
		if d > 0 && d < 0.01 {
			return strconv.FormatFloat(d, 'g', 2, 64)
		}
		return strconv.FormatFloat(d, 'f', 2, 64)
	})
}

// secs writes a time span given in seconds.
func secs(v *float64) string {
	return orDash(v, func(s float64) string {
		switch {
		case math.IsNaN(s) || math.IsInf(s, 0):
			return dash
		case s < 1:
			return fmt.Sprintf("%.0f ms", s*1000)
		case s < 100:
			return fmt.Sprintf("%.1f s", s)
		case s < 3600:
			return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
		}
		return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
	})
}

// shown is what a template gets.
type shown struct {
	Head *head
	Data any
}

// render makes a page. It is made whole before a byte is sent, so that an error is an answer of its own.
func (s *Server) render(q *request, name string, data any) error {
	return s.send(q, name, http.StatusOK, data)
}

func (s *Server) send(q *request, name string, status int, data any) error {
	var b bytes.Buffer
	if err := s.pages.byName[name].Execute(&b, shown{&q.head, data}); err != nil {
		return fmt.Errorf("making the page %s: %w", name, err)
	}
	q.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.W.WriteHeader(status)
	q.W.Write(b.Bytes()) // an error here is the reader's, who has gone
	return nil
}

// fail answers with an error.
func (s *Server) fail(q *request, err error) {
	status := http.StatusInternalServerError
	var page *pageError
	switch {
	case errors.As(err, &page):
		status = page.status
	case errors.Is(err, os.ErrNotExist):
		status = http.StatusNotFound
	}
	q.head.Title, q.head.Live, q.head.Prev, q.head.Next = http.StatusText(status), "", "", ""
	if len(q.head.Crumbs) == 0 {
		q.head.crumb("studies", "/")
	}
	q.head.crumb(q.head.Title, "")
	if s.send(q, "error", status, withHint(err)) != nil {
		http.Error(q.W, report.Clean(err.Error()), status)
	}
}

// withHint is an error with its way out, if it knows one.
func withHint(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		return err.Error() + ": " + hinted.Hint()
	}
	return err.Error()
}

// asset sends the style or the script.
func (s *Server) asset(q *request) error {
	kind, b := "text/css; charset=utf-8", s.pages.style
	switch q.Rest {
	case "view.css":
	case "view.js":
		kind, b = "text/javascript; charset=utf-8", script
	default:
		return notFound("there is no page at this address")
	}
	q.W.Header().Set("Content-Type", kind)
	q.W.Write(b)
	return nil
}
