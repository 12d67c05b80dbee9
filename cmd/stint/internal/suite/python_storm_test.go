package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle/python"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// A twin is the same row, or a row that is not there, on both servers.
type twin [2]int64

// storm sends the same random requests to both implementations of a schema. Values come from small pools, so that they
// meet: duplicates, limits, nulls, rows that are gone.
type storm struct {
	t      *testing.T
	r      *rand.Rand
	schema *scenario.Schema
	sides  [2]transport
	rows   map[string][]twin // by entity uid, in order of creation, deleted ones too
	soft   map[string]int    // both refuse, for different reasons
	tally  [6]int            // answers by hundreds of the status
}

var unknownRow = twin{999999999, 999999999}

func (s *storm) chance(p float64) bool { return s.r.Float64() < p }

func (s *storm) row(uid string) twin {
	rows := s.rows[uid]
	if len(rows) == 0 || s.chance(0.04) {
		return unknownRow
	}
	return rows[max(0, len(rows)-1-s.r.IntN(8))]
}

// value draws a value of a field, most of them valid by themselves.
func (s *storm) value(f *scenario.Field) any {
	null := 0.01
	if f.Nullable {
		null = 0.15
	}
	switch u := s.r.Float64(); {
	case u < null:
		return nil
	case u < null+0.01:
		return []any{"7", json.Number("7"), true, []any{}, map[string]any{}}[s.r.IntN(5)]
	}
	switch f.Type {
	case scenario.Integer, scenario.Decimal, scenario.Date:
		return f.JSON(&scenario.Value{Int: s.number(f)})
	case scenario.Boolean:
		return s.chance(0.5)
	case scenario.Enum:
		if s.chance(0.02) {
			return "Open"
		}
		return f.Values[s.r.IntN(len(f.Values))]
	case scenario.Datetime:
		if s.chance(0.05) {
			return []string{"2023-02-29T10:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01", "2024-05-01T10:00:00+01:00"}[s.r.IntN(4)]
		}
		return []string{"2024-02-29T10:00:00Z", "2024-02-29T10:00:01Z", "2023-02-28T23:59:59Z"}[s.r.IntN(3)]
	case scenario.Ref:
		return s.row(f.Target)
	}
	return s.text(f)
}

// number draws a number near a limit of the field, now and then one beyond it.
func (s *storm) number(f *scenario.Field) int64 {
	n := s.r.Int64N(s.pool(f)) - s.r.Int64N(20)/19
	switch {
	case f.Min != nil && (f.Max == nil || s.chance(0.6)):
		return *f.Min + n
	case f.Max != nil:
		return *f.Max - n
	case f.Type == scenario.Decimal:
		return n * 25
	case f.Type == scenario.Date:
		return n + 19700
	}
	return n
}

// pool is how many values are drawn from: few, so that they meet, but enough for fields that must not meet.
func (s *storm) pool(f *scenario.Field) int64 {
	if f.Unique {
		return 300
	}
	return 12
}

func (s *storm) text(f *scenario.Field) string {
	n := 2 + s.r.IntN(8)
	switch {
	case f.Pattern != "" && s.chance(0.97):
		return s.formed(f.Pattern)
	case f.MinLen != nil && (f.MaxLen == nil || s.chance(0.6)):
		n = *f.MinLen + s.r.IntN(3) - s.r.IntN(20)/19
	case f.MaxLen != nil:
		n = *f.MaxLen - s.r.IntN(3) + s.r.IntN(20)/19
	}
	word := fmt.Sprint(s.r.Int64N(s.pool(f)))
	if n < len(word) {
		return word[:max(n, 0)]
	}
	return word + strings.Repeat([]string{"a", "B", "é"}[s.r.IntN(3)], n-len(word))
}

// formed draws a text of the form of a pattern.
func (s *storm) formed(pattern string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case 'A':
			return 'A' + s.r.Int32N(4)
		case '9':
			return '0' + s.r.Int32N(4)
		}
		return c
	}, pattern)
}

// object draws a body for an entity; part of the fields for PATCH.
func (s *storm) object(e *scenario.Entity, share float64) map[string]any {
	body := map[string]any{}
	for i := range e.Fields {
		f := &e.Fields[i]
		keep := share
		if f.Required && share > 0.5 {
			keep = 0.985
		}
		if s.chance(keep) {
			body[f.Name] = s.value(f)
		}
	}
	if s.chance(0.1) {
		body["id"] = json.Number("3")
	}
	if s.chance(0.1) {
		body["never_heard_of"] = "x"
	}
	return body
}

// query draws a query for the list of an entity, from what its list takes.
func (s *storm) query(e *scenario.Entity) url.Values {
	q := url.Values{}
	for i := range e.List.Filters {
		x := &e.List.Filters[i]
		_, f := s.schema.FieldByUID(x.Field)
		for _, name := range x.Params(f) {
			if v := s.value(f); v != nil && s.chance(0.4) {
				q.Set(name, fmt.Sprint(v))
			}
		}
	}
	if len(e.List.Sorts) > 0 && s.chance(0.6) {
		_, f := s.schema.FieldByUID(e.List.Sorts[s.r.IntN(len(e.List.Sorts))].Field)
		q.Set("sort", []string{f.Name, f.Name, "-" + f.Name, "-" + f.Name, "--" + f.Name, "", "-", "id"}[s.r.IntN(8)])
	}
	if p := e.List.Page; p != nil {
		if s.chance(0.5) {
			q.Set("limit", fmt.Sprint([]int{1, 2, p.Default, p.Max, p.Max + 1, 0, -1}[s.r.IntN(7)]))
		}
		if s.chance(0.5) {
			q.Set("offset", fmt.Sprint(s.r.IntN(9)-1))
		}
	}
	return q
}

// request draws one request: its method, path, query and body. target is the entity whose objects come back.
func (s *storm) request() (method, path string, id *twin, tail string, query url.Values, body map[string]any, target *scenario.Entity) {
	e := &s.schema.Entities[s.r.IntN(len(s.schema.Entities))]
	one := s.row(e.UID)
	path = "/" + e.Plural
	switch u := s.r.Float64(); {
	case u < 0.3 || len(s.rows[e.UID]) < 3 && s.chance(0.8):
		return "POST", path, nil, "", nil, s.object(e, 0.7), e
	case u < 0.41:
		return "PUT", path, &one, "", nil, s.object(e, 0.7), e
	case u < 0.58:
		return "PATCH", path, &one, "", nil, s.object(e, 0.25), e
	case u < 0.62:
		return "DELETE", path, &one, "", nil, nil, e
	case u < 0.68:
		return "GET", path, &one, "", nil, nil, e
	case u < 0.78:
		return "GET", path, nil, "", s.query(e), nil, e
	case u < 0.82:
		for i := range s.schema.Entities {
			owner := &s.schema.Entities[i]
			for j := range owner.Fields {
				if f := &owner.Fields[j]; f.Nested && f.Target == e.UID && s.chance(0.5) {
					return "GET", path, &one, "/" + owner.Plural, nil, nil, owner
				}
			}
		}
	case u < 0.93:
		if cs := e.Commands(); len(cs) > 0 {
			c := cs[s.r.IntN(len(cs))]
			body := map[string]any{}
			if c.Param != nil {
				body[c.Param.Name] = s.value(&scenario.Field{Type: scenario.Integer, Min: &c.Param.Min, Max: &c.Param.Max})
			}
			return "POST", path, &one, "/" + c.Name, nil, body, e
		}
	}
	if len(s.schema.Analytics) == 0 {
		return "GET", path, nil, "", nil, nil, e
	}
	a := &s.schema.Analytics[s.r.IntN(len(s.schema.Analytics))]
	q := url.Values{}
	if a.Kind == scenario.StatWindow {
		for _, name := range []string{"from", "to"} {
			if s.chance(0.95) {
				q.Set(name, []string{"2023-12-10", "2023-12-20", "2024-01-09", "2024-02-30", "1990-01-01"}[s.r.IntN(5)])
			}
		}
	}
	return "GET", "/analytics/" + a.Name, nil, "", q, nil, nil
}

// rendered renders a value for one server.
func rendered(n int, v any) any {
	if t, ok := v.(twin); ok {
		return t[n]
	}
	return v
}

// step sends one request to both servers and says where their answers disagree, or "".
func (s *storm) step() string {
	method, path, id, tail, query, body, target := s.request()
	var got [2]answer
	for n := range s.sides {
		p := path
		if id != nil {
			p += fmt.Sprintf("/%d", id[n])
		}
		p += tail
		if len(query) > 0 {
			p += "?" + query.Encode()
		}
		var raw []byte
		if body != nil {
			own := map[string]any{}
			for k, v := range body {
				own[k] = rendered(n, v)
			}
			raw, _ = json.Marshal(own) // maps of plain values always encode
		}
		var err error
		if got[n], err = s.sides[n].do(context.Background(), method, p, raw); err != nil || got[n].Error != "" {
			s.t.Fatalf("%s %s: %v %s", method, p, err, got[n].Error)
		}
	}
	s.tally[got[0].Status/100]++
	shown := fmt.Sprintf("%s %s %v%s?%v %v\n  interpreter %d %s\n  Python      %d %s", method, path, id, tail, query, body, got[0].Status, got[0].Body, got[1].Status, got[1].Body)
	a, b := s.named(0, got[0], target), s.named(1, got[1], target)
	switch {
	case got[0].Status < 300 && got[1].Status < 300:
		if method == "POST" && tail == "" && target != nil {
			var fresh twin
			for n := range got {
				fresh[n], _ = asID(mustDecode(s.t, got[n].Body).(map[string]any)["id"])
			}
			s.rows[target.UID] = append(s.rows[target.UID], fresh)
			a, b = s.named(0, got[0], target), s.named(1, got[1], target)
		}
		if d := compare(Exact, a, b); got[0].Status != got[1].Status || len(d) > 0 {
			return fmt.Sprintf("%s\n  %+v", shown, d)
		}
	case got[0].Status < 300 || got[1].Status < 300 || got[1].Status >= 500:
		return "only one refuses: " + shown
	case got[0].Status != got[1].Status || len(compare(Exact, a, b)) > 0:
		s.soft[fmt.Sprintf("%d %s | %d %s", got[0].Status, got[0].Body, got[1].Status, got[1].Body)]++
	}
	return ""
}

func mustDecode(t *testing.T, b []byte) any {
	t.Helper()
	v, err := decodeBody(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// named decodes an answer and puts the places of rows, which both servers share, in place of their ids.
func (s *storm) named(n int, a answer, target *scenario.Entity) any {
	if len(a.Body) == 0 {
		return nil
	}
	v, ok := mustDecode(s.t, a.Body).(map[string]any)
	if !ok {
		s.t.Fatalf("answer %s", a.Body)
	}
	if target == nil {
		s.nameKeys(n, v)
		return v
	}
	if list, ok := v[s.schema.Conventions.ItemsKey].([]any); ok {
		for _, item := range list {
			s.nameIDs(n, item.(map[string]any), target)
		}
		return v
	}
	s.nameIDs(n, v, target)
	return v
}

func (s *storm) nameIDs(n int, object map[string]any, e *scenario.Entity) {
	if _, ok := object["id"]; ok {
		object["id"] = s.place(n, e.UID, object["id"])
	}
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Type == scenario.Ref && object[f.Name] != nil {
			object[f.Name] = s.place(n, f.Target, object[f.Name])
		}
	}
}

// nameKeys names the keys of groups that are ids. Whether they are is plain: the interpreter's keys of other groups are no
// numbers.
func (s *storm) nameKeys(n int, v map[string]any) {
	groups, _ := v["groups"].([]any)
	for _, g := range groups {
		g := g.(map[string]any)
		if _, ok := g["key"].(json.Number); ok {
			for uid := range s.rows {
				if p := s.place(n, uid, g["key"]); !strings.HasPrefix(p, "?") {
					g["key"] = "a row"
				}
			}
		}
	}
}

func (s *storm) place(n int, uid string, id any) string {
	for i, t := range s.rows[uid] {
		if fmt.Sprint(t[n]) == fmt.Sprint(id) {
			return fmt.Sprintf("%s#%d", uid, i)
		}
	}
	return fmt.Sprintf("?%v", id)
}

// run sends requests until the two disagree, and says where.
func (s *storm) run(program string, requests int, flaws ...python.Flaw) string {
	s.t.Helper()
	first, _, err := startHandler(oracle.Handler(s.schema))
	if err != nil {
		s.t.Fatal(err)
	}
	second, _, err := inPython(s.t, program, s.schema, flaws...)(context.Background(), Own)
	if err != nil {
		s.t.Fatal(err)
	}
	for n, srv := range []Server{first, second} {
		transport := &httpTransport{client: newClient(true), base: srv.BaseURL(), timeout: 5 * time.Second}
		s.sides[n] = transport
		defer srv.Stop(context.Background())
		defer transport.close()
	}
	for range requests {
		if problem := s.step(); problem != "" {
			return problem
		}
	}
	return ""
}

func stormOf(t *testing.T, seed uint64) *storm {
	sc := scenarioOf(t, 200+seed, 80)
	return &storm{t: t, r: rand.New(rand.NewPCG(seed, 7)), schema: sc.Steps[80].Schema, rows: map[string][]twin{}, soft: map[string]int{}}
}

// TestStorm lets both implementations of grown schemas answer the same random requests, which are not those of any
// suite. They may refuse a request that breaks several rules for different reasons; in all else they have to agree.
func TestStorm(t *testing.T) {
	program := interpreter(t)
	seeds, requests := uint64(2), 700
	if os.Getenv("STINT_REQUIRE") != "" {
		seeds, requests = 12, 3000
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		s := stormOf(t, seed)
		if problem := s.run(program, requests); problem != "" {
			t.Errorf("seed %d: %s", seed, problem)
			continue
		}
		for pair, n := range s.soft {
			t.Logf("seed %d: %d times both refuse for different reasons: %s", seed, n, pair)
		}
		if s.tally[2] < requests/4 || s.tally[4] < requests/10 {
			t.Errorf("seed %d: too little variety: %v", seed, s.tally)
		}
	}
}

// A storm notices flaws, so that silence means something.
func TestStormNotices(t *testing.T) {
	program := interpreter(t)
	uid := stormOf(t, 1).schema.Entities[0].UID
	for _, kind := range []string{python.PutMerges, python.PatchResets, python.TotalWrong, python.DeleteSoft} {
		if stormOf(t, 1).run(program, 700, python.Flaw{Kind: kind, Subject: uid}) == "" {
			t.Errorf("%s of %s goes unnoticed", kind, uid)
		}
	}
}
