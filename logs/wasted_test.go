package logs

import (
	"encoding/json"
	"testing"
)

// TestCostOf: void attempts count, the gateway's count stands for an attempt that was counted twice, and what is not known
// is not zero.
func TestCostOf(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	usd := func(v float64) *float64 { return &v }
	records := func(data ...any) []Record {
		var out []Record
		for _, d := range data {
			b, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			r := Record{Type: TypeUsage, Data: b}
			if _, ok := d.(AttemptStart); ok {
				r.Type = TypeAttemptStart
			}
			out = append(out, r)
		}
		return out
	}
	first := Usage{Via: ViaGateway, In: n(10), Cached: n(5), Out: n(1), USD: usd(0.5)}
	twice := records(AttemptStart{}, Usage{Via: "reader", In: n(99), Out: n(99)}, first, AttemptStart{}, first, Usage{Via: "reader", In: n(99), Out: n(99)})
	tokens, dollars, err := CostOf(twice)
	if err != nil || tokens == nil || *tokens != 32 || dollars == nil || *dollars != 1 {
		t.Errorf("%v tokens, $%v, %v; want 32 and 1", tokens, dollars, err)
	}
	tokens, dollars, err = CostOf(records(AttemptStart{}, Usage{Via: "reader", In: n(7), Out: n(1)}, AttemptStart{}, Usage{Via: ViaGateway}))
	if err != nil || tokens != nil || dollars != nil {
		t.Errorf("%v tokens, $%v, %v; want unknown", tokens, dollars, err)
	}
	if tokens, dollars, err := CostOf(nil); err != nil || *tokens != 0 || *dollars != 0 {
		t.Errorf("nothing cost %d, %g, %v", *tokens, *dollars, err)
	}
	a := []Record{{Chain: "a"}, {Chain: "b"}, {Chain: "c"}}
	if got := Shared(a, append(a[:2:2], Record{Chain: "x"})); got != 2 {
		t.Errorf("%d records are shared, want 2", got)
	}
}
