package oracle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// This file judges the interpreter by a second, naive reading of the contract: it works on the JSON that
// the interpreter returns, with float64 numbers and the calendar of package time, and shares no code with it.

type object = map[string]any

// dump is everything that a client can see: the rows of every collection.
type dump map[string][]object

func dumpOf(t *testing.T, s *scenario.Schema, i *Interp) (dump, string) {
	t.Helper()
	d := make(dump)
	var text bytes.Buffer
	for _, e := range s.Entities {
		d[e.UID] = []object{}
		for total := 1; len(d[e.UID]) < total; {
			q := url.Values{}
			if e.List.Page != nil {
				q.Set("limit", strconv.Itoa(e.List.Page.Max))
				q.Set("offset", strconv.Itoa(len(d[e.UID])))
			}
			var rows []object
			rows, total = pageOf(t, s, i, e, q)
			if len(rows) == 0 && total > len(d[e.UID]) || e.List.Page == nil && len(rows) != total {
				t.Fatalf("GET /%s?%s: %d rows, total %d", e.Plural, q.Encode(), len(rows), total)
			}
			d[e.UID] = append(d[e.UID], rows...)
		}
		// Ids grow in the order of creation.
		slices.SortFunc(d[e.UID], func(a, b object) int { return cmp.Compare(a["id"].(float64), b["id"].(float64)) })
		b, err := json.Marshal(d[e.UID])
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	return d, text.String()
}

// pageOf is one list as the interpreter returns it.
func pageOf(t *testing.T, s *scenario.Schema, i *Interp, e scenario.Entity, q url.Values) (rows []object, total int) {
	t.Helper()
	res := i.Handle(Request{Method: "GET", Path: "/" + e.Plural, Query: q})
	b, err := json.Marshal(res.Body)
	if err != nil || res.Status != 200 {
		t.Fatalf("GET /%s: %d, %v", e.Plural, res.Status, err)
	}
	var envelope map[string]json.RawMessage
	for key, into := range map[string]any{s.Conventions.ItemsKey: &rows, s.Conventions.TotalKey: &total} {
		if err := json.Unmarshal(b, &envelope); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(envelope[key], into); err != nil {
			t.Fatal(err)
		}
	}
	if len(envelope) != 2 {
		t.Errorf("GET /%s: %d keys", e.Plural, len(envelope))
	}
	return rows, total
}

// violations returns the code words of the rules that one value breaks by itself.
func violations(f *scenario.Field, v any) []string {
	if v == nil {
		if f.Nullable {
			return nil
		}
		return []string{"null"}
	}
	x, isNumber := v.(float64)
	s, isString := v.(string)
	_, isBool := v.(bool)
	low, high := math.Inf(-1), math.Inf(1)
	if f.Min != nil {
		low = float64(*f.Min)
	}
	if f.Max != nil {
		high = float64(*f.Max)
	}
	outside := func(x float64) []string {
		if x < low || x > high {
			return []string{"range"}
		}
		return nil
	}
	switch f.Type {
	case scenario.Boolean:
		if isBool {
			return nil
		}
	case scenario.Integer:
		if isNumber && x == math.Trunc(x) {
			return outside(x)
		}
	case scenario.Ref:
		if isNumber && x == math.Trunc(x) {
			return nil
		}
	case scenario.Decimal:
		if isNumber {
			return outside(math.Round(x * 100))
		}
	case scenario.Date:
		if day, err := time.Parse("2006-01-02", s); isString && err == nil {
			return outside(day.Sub(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)).Hours() / 24)
		}
	case scenario.Enum:
		if isString {
			if slices.Contains(f.Values, s) {
				return nil
			}
			return []string{"enum"}
		}
	case scenario.Datetime:
		if at, err := time.Parse(time.RFC3339, s); isString && err == nil && at.Format("2006-01-02T15:04:05Z") == s {
			return nil
		}
	case scenario.String:
		if isString && f.Pattern != "" {
			if !regexp.MustCompile("^" + strings.NewReplacer("A", "[A-Z]", "9", "[0-9]").Replace(f.Pattern) + "$").MatchString(s) {
				return []string{"pattern"}
			}
			return nil
		}
		if isString {
			if n := utf8.RuneCountInString(s); f.MinLen != nil && n < *f.MinLen || f.MaxLen != nil && n > *f.MaxLen {
				return []string{"length"}
			}
			return nil
		}
	}
	return []string{"type"}
}

// judge returns every error that a POST, PUT or PATCH may be answered with, as "status code field"; none
// means that it must succeed.
func judge(s *scenario.Schema, e *scenario.Entity, d dump, method string, own float64, in object) map[string]bool {
	allowed := make(map[string]bool)
	old := object(nil)
	for _, o := range d[e.UID] {
		if o["id"] == own {
			old = o
		}
	}
	for n := range e.Fields {
		f := &e.Fields[n]
		if f.Managed() {
			continue
		}
		v, sent := in[f.Name]
		if !sent {
			if f.Required && method != "PATCH" && !(f.Immutable && old != nil) {
				allowed["400 required "+f.Name] = true
			}
			continue
		}
		if f.Immutable && old != nil && old[f.Name] != v {
			allowed["409 immutable "+f.Name] = true
		}
		bad := violations(f, v)
		for _, code := range bad {
			allowed["400 "+code+" "+f.Name] = true
		}
		if v == nil || len(bad) > 0 {
			continue
		}
		if f.Type == scenario.Ref && !slices.ContainsFunc(d[f.Target], func(o object) bool { return o["id"] == v }) {
			allowed["400 reference "+f.Name] = true
		}
		if f.Unique && slices.ContainsFunc(d[e.UID], func(o object) bool { return o[f.Name] == v && o["id"] != own }) {
			allowed["409 unique "+f.Name] = true
		}
	}
	if len(allowed) == 0 {
		judgePairs(s, e, d, result(e, old, method, in), own, allowed)
	}
	return allowed
}

// result is what a request makes of a row, the id aside.
func result(e *scenario.Entity, old object, method string, in object) object {
	out := make(object)
	for n := range e.Fields {
		f := &e.Fields[n]
		v, sent := in[f.Name]
		switch {
		case f.State && old == nil:
			out[f.Name] = e.Machine.Initial
		case f.State:
			out[f.Name] = old[f.Name]
		case f.Computed != nil:
			out[f.Name] = nil // see derive
		case sent:
			out[f.Name] = v
		case method == "PATCH" || f.Immutable && old != nil:
			out[f.Name] = old[f.Name]
		default:
			b, _ := json.Marshal(f.JSON(f.Default))
			var v any
			_ = json.Unmarshal(b, &v)
			out[f.Name] = v
		}
	}
	return out
}

// judgePairs adds the refusals for rules about two fields of a row that is otherwise fine.
func judgePairs(s *scenario.Schema, e *scenario.Entity, d dump, now object, own float64, allowed map[string]bool) {
	name := func(uid string) string { _, f := s.FieldByUID(uid); return f.Name }
	for _, g := range e.Groups {
		a, b := name(g.Fields[0]), name(g.Fields[1])
		for _, o := range d[e.UID] {
			if o["id"] != own && now[a] != nil && now[b] != nil && o[a] == now[a] && o[b] == now[b] {
				allowed["409 unique "] = true
			}
		}
	}
	for _, o := range e.Orders {
		low, high := now[name(o.Low)], now[name(o.High)]
		if low == nil || high == nil {
			continue
		}
		x, isNumber := low.(float64)
		if isNumber && x > high.(float64) || !isNumber && low.(string) > high.(string) {
			allowed["400 order "+name(o.High)] = true
		}
	}
}

// deletion computes what a DELETE must lead to: nil if it is restricted.
func deletion(s *scenario.Schema, d dump, uid string, id float64) dump {
	type key struct {
		uid string
		id  float64
	}
	gone := map[key]bool{{uid, id}: true}
	for grew := true; grew; {
		grew = false
		for _, e := range s.Entities {
			for _, f := range e.Fields {
				for _, o := range d[e.UID] {
					ref, _ := o[f.Name].(float64)
					if f.Type != scenario.Ref || o[f.Name] == nil || !gone[key{f.Target, ref}] {
						continue
					}
					if f.OnDelete == scenario.Restrict {
						return nil
					}
					if k := (key{e.UID, o["id"].(float64)}); f.OnDelete == scenario.Cascade && !gone[k] {
						gone[k], grew = true, true
					}
				}
			}
		}
	}
	after := make(dump)
	for _, e := range s.Entities {
		after[e.UID] = []object{}
		for _, o := range d[e.UID] {
			if gone[key{e.UID, o["id"].(float64)}] {
				continue
			}
			c := make(object)
			for k, v := range o {
				c[k] = v
			}
			for _, f := range e.Fields {
				if ref, ok := o[f.Name].(float64); ok && f.Type == scenario.Ref && gone[key{f.Target, ref}] {
					c[f.Name] = nil
				}
			}
			after[e.UID] = append(after[e.UID], c)
		}
	}
	return derive(s, after)
}

// TestNaiveReadingAgrees sends random requests and compares every answer and every state with the naive reading.
func TestNaiveReadingAgrees(t *testing.T) {
	refused, accepted := 0, 0
	for seed := uint64(1); seed <= 6; seed++ {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 12})
		if err != nil {
			t.Fatal(err)
		}
		s := sc.Steps[12].Schema
		j := &judgement{t: t, s: s, i: New(s)}
		g := &storm{s: s, r: rand.New(rand.NewPCG(seed, 5))}
		j.state, j.text = dumpOf(t, s, j.i)
		for n := range 300 {
			if n%60 == 0 {
				j.i.Reset()
				j.state, j.text = dumpOf(t, s, j.i)
			}
			j.step(g.next())
		}
		refused, accepted = refused+j.refused, accepted+j.accepted
	}
	if refused < 80 || accepted < 200 {
		t.Errorf("%d refused and %d accepted writes; the storm is too one-sided", refused, accepted)
	}
}

type judgement struct {
	t                 *testing.T
	s                 *scenario.Schema
	i                 *Interp
	state             dump
	text              string
	refused, accepted int
}

func (j *judgement) step(r Request) {
	j.t.Helper()
	res := j.i.Handle(r)
	out, err := json.Marshal(res.Body)
	if err != nil {
		j.t.Fatal(err)
	}
	before := j.state
	beforeText := j.text
	j.state, j.text = dumpOf(j.t, j.s, j.i)
	fail := func(format string, args ...any) {
		j.t.Helper()
		j.t.Errorf("%s %s?%s %s → %d %s: %s", r.Method, r.Path, r.Query.Encode(), r.Body, res.Status, out, fmt.Sprintf(format, args...))
	}
	if (r.Method == "GET" || res.Status >= 400) && j.text != beforeText {
		fail("changed rows, from\n%s\nto\n%s", beforeText, j.text)
	}
	var name string
	if _, err := fmt.Sscanf(r.Path, "/analytics/%s", &name); err == nil {
		j.figure(name, r.Query, res, out, fail)
		return
	}
	if r.Method == "POST" && strings.Count(r.Path, "/") == 3 {
		if e, _ := j.target(r.Path); e != nil {
			j.called(before, e, r, res, out, fail)
		}
		return
	}
	if j.nestedList(r.Path, res, out, fail) {
		return
	}
	e, id := j.target(r.Path)
	if e == nil {
		if res.Status != 404 || string(out) != `{"error":{"code":"not_found","field":null}}` {
			fail("the path is gone")
		}
		return
	}
	if r.Method == "GET" && id == 0 {
		j.listed(e, r.Query, res, out, fail)
		return
	}
	at := slices.IndexFunc(before[e.UID], func(o object) bool { return o["id"] == id })
	if id != 0 && at < 0 {
		if string(out) != `{"error":{"code":"not_found","field":null}}` || res.Status != 404 {
			fail("the id is unknown")
		}
		return
	}
	switch r.Method {
	case "GET":
		if want, _ := json.Marshal(before[e.UID][at]); res.Status != 200 || !sameJSON(out, want) {
			fail("the list shows %s", want)
		}
	case "DELETE":
		j.deleted(before, e, id, res, fail)
	default:
		j.written(before, e, at, r, res, out, fail)
	}
}

func (j *judgement) deleted(before dump, e *scenario.Entity, id float64, res Response, fail func(string, ...any)) {
	want := deletion(j.s, before, e.UID, id)
	if want == nil {
		if res.Status != 409 {
			fail("a reference restricts it")
		}
		return
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(j.state)
	if res.Status != 204 || res.Body != nil || !sameJSON(a, b) {
		fail("should leave\n%s\nnot\n%s", a, b)
	}
}

func (j *judgement) written(before dump, e *scenario.Entity, at int, r Request, res Response, out []byte, fail func(string, ...any)) {
	var in object
	if err := json.Unmarshal(r.Body, &in); err != nil {
		j.t.Fatal(err)
	}
	old, own := object(nil), 0.0
	if at >= 0 {
		old = before[e.UID][at]
		own = old["id"].(float64)
	}
	allowed := judge(j.s, e, before, r.Method, own, in)
	if res.Status >= 400 {
		j.refusal(res, out, allowed, fail)
		return
	}
	j.accepted++
	if len(allowed) > 0 {
		fail("should be refused: %v", allowed)
	}
	want := object{"id": own}
	if at < 0 {
		last := 0.0
		if rows := before[e.UID]; len(rows) > 0 {
			last = rows[len(rows)-1]["id"].(float64)
		}
		var got object
		if err := json.Unmarshal(out, &got); err != nil {
			j.t.Fatal(err)
		}
		if id, _ := got["id"].(float64); id <= last {
			fail("id %v after %v", id, last)
		}
		want["id"] = got["id"]
	}
	for k, v := range result(e, old, r.Method, in) {
		want[k] = v
	}
	for n := range e.Fields {
		if f := &e.Fields[n]; f.Computed != nil {
			// Defaults are values of Go until they have been through JSON.
			text, _ := json.Marshal(want)
			var plain object
			if err := json.Unmarshal(text, &plain); err != nil {
				j.t.Fatal(err)
			}
			want[f.Name] = derived(j.s, f, plain, j.state)
		}
	}
	b, _ := json.Marshal(want)
	now := j.state[e.UID]
	stored, _ := json.Marshal(now[len(now)-1])
	if at >= 0 {
		stored, _ = json.Marshal(now[at])
	}
	if wanted := map[bool]int{true: 201, false: 200}[at < 0]; res.Status != wanted || !sameJSON(out, b) || !sameJSON(stored, b) {
		fail("should be %d %s; the list shows %s", wanted, b, stored)
	}
}

// refusalOf reads code word and field of an error body; both are "" for any other body.
func refusalOf(out []byte) (code, field string) {
	var body struct {
		Error struct{ Code, Field string }
	}
	if json.Unmarshal(out, &body) != nil {
		return "", ""
	}
	return body.Error.Code, body.Error.Field
}

// refusal counts a refusal and holds it against those that are allowed.
func (j *judgement) refusal(res Response, out []byte, allowed map[string]bool, fail func(string, ...any)) {
	j.refused++
	if code, field := refusalOf(out); !allowed[fmt.Sprintf("%d %s %s", res.Status, code, field)] {
		fail("allowed refusals are %v", allowed)
	}
}

func (j *judgement) target(path string) (*scenario.Entity, float64) {
	for n := range j.s.Entities {
		e := &j.s.Entities[n]
		var id float64
		if path == "/"+e.Plural {
			return e, 0
		}
		if _, err := fmt.Sscanf(path, "/"+e.Plural+"/%g", &id); err == nil {
			return e, id
		}
	}
	return nil, 0
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}
