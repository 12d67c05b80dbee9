package report

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// A Redaction says what was taken out of a report, as numbers of different ones.
type Redaction struct {
	Secrets   int `json:"secrets"`   // keys, tokens and passwords
	Endpoints int `json:"endpoints"` // addresses with a scheme: of models, and any other
	Hosts     int `json:"hosts"`     // names and addresses of machines
	Paths     int `json:"paths"`     // of files and folders
	Users     int `json:"users"`     // names and mail addresses of people
}

// Known are words that a [Redactor] takes out wherever they stand as a whole, whatever they look like.
type Known struct {
	Endpoints []string // URLs; their hosts are taken out too
	Hosts     []string
	Users     []string
}

// A Redactor takes secrets, addresses, host names, paths and names of people out of texts. Equal ones become the same
// numbered word, so that names stay apart. It knows what they usually look like and what it was told; it is no proof
// that nothing is left.
type Redactor struct {
	known []knownWord
	seen  map[string]map[string]int // kind → text → number
	done  map[string]string         // tables repeat few texts many times
}

type knownWord struct{ kind, text string }

// The kinds, as they stand in a report.
const (
	kindSecret   = "secret"
	kindEndpoint = "endpoint"
	kindHost     = "host"
	kindPath     = "path"
	kindUser     = "user"
)

// NewRedactor returns a redactor that also knows some words. Words of fewer than three characters are not looked for.
func NewRedactor(known Known) *Redactor {
	r := &Redactor{seen: make(map[string]map[string]int), done: make(map[string]string)}
	add := func(kind, text string) {
		if len(text) >= 3 && !slices.Contains([]string{kindSecret, kindEndpoint, kindHost, kindPath, kindUser}, text) && !slices.Contains(r.known, knownWord{kind, text}) {
			r.known = append(r.known, knownWord{kind, text})
		}
	}
	for _, e := range known.Endpoints {
		add(kindEndpoint, e)
		if u, err := url.Parse(e); err == nil && u.Host != "" {
			add(kindHost, u.Host)
			add(kindHost, u.Hostname())
		}
	}
	for _, h := range known.Hosts {
		add(kindHost, h)
	}
	for _, u := range known.Users {
		add(kindUser, u)
	}
	// Longer words first: an address before the host in it.
	sort.SliceStable(r.known, func(i, j int) bool { return len(r.known[i].text) > len(r.known[j].text) })
	return r
}

// What looks like an address, a mail address, a path or a host. A plus ends all of them: it stands between model and
// harness in the name of a configuration.
var (
	looksEndpoint = regexp.MustCompile(`(?i)\b[a-z][a-z0-9.-]*://[^\s"'<>|()\[\]{},;+]+`)
	looksUser     = regexp.MustCompile(`\b[A-Za-z_][A-Za-z0-9._%-]*@[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*\b`)
	looksPath     = regexp.MustCompile(`(^|[\s"'=(\[:,;<>|+])((?:~|\.{1,2})?(?:/[^\s/"'<>|()\[\]{},;:+=]+){2,}/?|~/[^\s"'<>|()\[\]{},;:+=]+|[A-Za-z]:\\[^\s"'<>|(){},;+]+|\\\\[^\s"'<>|(){},;+]+)`)
	looksHost     = regexp.MustCompile(`(?i)\b(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost|(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|org|net|edu|gov|io|ai|dev|app|cloud|info|internal|local|lan|corp|home|intranet|localdomain|arpa)|(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.){2,}(?:at|au|be|br|ca|ch|cn|cz|de|dk|es|eu|fi|fr|hk|hu|ie|il|in|it|jp|kr|nl|no|nz|pl|pt|ru|se|sg|tw|uk|us|za))(?::[0-9]{1,5})?\b|\[[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\](?::[0-9]{1,5})?`)
	digestSign    = regexp.MustCompile(`@sha[0-9]+$`)
)

// Text returns s without what a redactor takes out.
func (r *Redactor) Text(s string) string {
	switch {
	case isDigest(s):
		return s
	case len(s) > 100:
		return r.text(s)
	}
	out, ok := r.done[s]
	if !ok {
		out = r.text(s)
		r.done[s] = out
	}
	return out
}

// isDigest says whether s is an id or a hash, of which tables hold one or two a row.
func isDigest(s string) bool {
	return len(s) >= 12 && strings.Trim(s, "0123456789abcdef") == ""
}

func (r *Redactor) text(s string) string {
	s = r.secrets(s)
	s = r.replace(s, looksEndpoint, kindEndpoint)
	s = r.replace(s, looksUser, kindUser)
	s = looksPath.ReplaceAllStringFunc(s, func(found string) string {
		m := looksPath.FindStringSubmatch(found)
		return m[1] + r.name(kindPath, m[2])
	})
	s = r.replace(s, looksHost, kindHost)
	for _, k := range r.known { // last: a path that holds one goes as a whole
		s = r.words(s, k)
	}
	return s
}

// secrets replaces what package logs knows to be one.
func (r *Redactor) secrets(s string) string {
	var b strings.Builder
	at := 0
	for _, place := range logs.Secrets(s) {
		if place[0] < at {
			at = max(at, place[1])
			continue
		}
		b.WriteString(s[at:place[0]])
		b.WriteString(r.name(kindSecret, s[place[0]:place[1]]))
		at = place[1]
	}
	return b.String() + s[at:]
}

func (r *Redactor) replace(s string, pattern *regexp.Regexp, kind string) string {
	return pattern.ReplaceAllStringFunc(s, func(found string) string {
		if digestSign.MatchString(found) {
			return found // of an image
		}
		bare := strings.TrimRight(found, ".")
		return r.name(kind, bare) + found[len(bare):]
	})
}

// words replaces a known word where it stands as a whole.
func (r *Redactor) words(s string, k knownWord) string {
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(s[at:], k.text)
		if i < 0 {
			b.WriteString(s[at:])
			return b.String()
		}
		i += at
		end := i + len(k.text)
		b.WriteString(s[at:i])
		if (i > 0 && wordByte(s[i-1])) || (end < len(s) && wordByte(s[end])) {
			b.WriteString(k.text)
		} else {
			b.WriteString(r.name(k.kind, k.text))
		}
		at = end
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// name is the word that stands for a text.
func (r *Redactor) name(kind, text string) string {
	if r.seen[kind] == nil {
		r.seen[kind] = make(map[string]int)
	}
	n, ok := r.seen[kind][text]
	if !ok {
		n = len(r.seen[kind]) + 1
		r.seen[kind][text] = n
	}
	return fmt.Sprintf("[%s %d]", kind, n)
}

// Redaction says what was taken out so far.
func (r *Redactor) Redaction() *Redaction {
	return &Redaction{Secrets: len(r.seen[kindSecret]), Endpoints: len(r.seen[kindEndpoint]), Hosts: len(r.seen[kindHost]), Paths: len(r.seen[kindPath]), Users: len(r.seen[kindUser])}
}

// Apply takes out of every text that v leads to: v is a pointer, and what it points to is changed. Keys of maps, which
// are names of factors and columns, stay.
func (r *Redactor) Apply(v any) { r.apply(reflect.ValueOf(v)) }

func (r *Redactor) apply(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			r.apply(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).IsExported() {
				r.apply(f)
			}
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k >= reflect.Bool && k <= reflect.Complex128 {
			return
		}
		for i := range v.Len() {
			r.apply(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.String {
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			v.SetMapIndex(k, reflect.ValueOf(r.Text(v.MapIndex(k).String())).Convert(v.Type().Elem()))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(r.Text(v.String()))
		}
	}
}

// words says what was taken out, in a sentence.
func (r *Redaction) words() string {
	if r == nil {
		return ""
	}
	var parts []string
	for _, k := range []struct {
		n         int
		one, many string
	}{
		{r.Secrets, "secret", "secrets"}, {r.Endpoints, "address of a model or another service", "addresses of models and other services"},
		{r.Hosts, "host name", "host names"}, {r.Paths, "path", "paths"}, {r.Users, "name of a person", "names of people"},
	} {
		if k.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k.n, plural(k.n, k.one, k.many)))
		}
	}
	s := "Redacted: "
	if len(parts) == 0 {
		s += "secrets, addresses, host names, paths and names of people were looked for, and none was found"
	} else {
		s += joinAnd(parts) + ", each a number that is the same wherever it stands"
	}
	return s + ". No text of a transcript, a request or an answer is in this report."
}
