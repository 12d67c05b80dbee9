package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A scenario made again from its operations is the one that was drawn.
func TestReplay(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		opt := Options{Seed: seed, Changes: 30, Name: "s01"}
		want, err := Generate(opt)
		if err != nil {
			t.Fatal(err)
		}
		var ops []Operation
		for _, st := range want.Steps[1:] {
			op := st.Operation
			op.Title = ""
			ops = append(ops, op)
		}
		got, err := Replay(Options{Seed: seed, Name: "s01"}, ops)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: the scenario replayed is another (-drawn +replayed):\n%s", seed, diff)
		}
	}
}

// Operations from outside are held against what they claim to be.
func TestReplayRefuses(t *testing.T) {
	sc, err := Generate(Options{Seed: 1, Changes: 1})
	if err != nil {
		t.Fatal(err)
	}
	op := sc.Steps[1].Operation
	for name, c := range map[string]struct {
		spoil func(*Operation)
		want  string
	}{
		"unknown": {func(o *Operation) { o.Name = "make_coffee" }, `unknown operation "make_coffee"`},
		"id":      {func(o *Operation) { o.ID = "x:00000000" }, "does not belong to the parameters"},
		"label":   {func(o *Operation) { o.Label = "Z" }, "has the label"},
		"params": {func(o *Operation) {
			o.Params = map[string]string{"entity": "e99"}
			o.ID = OperationID(o.Name, o.Params)
		}, "applying"},
	} {
		bad := op
		c.spoil(&bad)
		if _, err := Replay(Options{Seed: 1}, []Operation{bad}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
