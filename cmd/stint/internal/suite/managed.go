package suite

import (
	"encoding/json"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// state makes the checks that the service alone decides a state.
func (t *target) state() {
	initial := t.e.Machine.Initial
	other := t.f.Values[0]
	if other == initial {
		other = t.f.Values[1]
	}
	t.check("initial", "a new row is "+initial, "state", "value", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.minimal(t.e, "a"), t.mine(201))
	})
	t.check("post", "POST can not choose it", "state", "value", "extra", func(d *draft) {
		d.send("POST", collection(t.e), d.minimal(t.e, "a").but(t.f.Name, other), t.mine(201))
	})
	t.check("patch", "PATCH does not change it", "state", "effect", "extra", func(d *draft) {
		d.make(t.e, "a", d.minimal(t.e, "a"))
		d.send("PATCH", item(t.e, "a"), body{t.f.Name: other}, t.mine(200))
		d.send("GET", item(t.e, "a"), nil, t.mine(200))
	})
	t.check("put", "PUT keeps it", "state", "effect", "none", func(d *draft) {
		b := d.minimal(t.e, "a")
		d.make(t.e, "a", b)
		d.bring(t.e, "a", other)
		d.send("PUT", item(t.e, "a"), d.kept(t.e, d.minimal(t.e, "b"), b), t.mine(200))
	})
	t.check("put_other", "PUT with another state keeps it", "state", "effect", "extra", func(d *draft) {
		b := d.minimal(t.e, "a")
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), d.kept(t.e, d.minimal(t.e, "b"), b).but(t.f.Name, other), t.mine(200))
	})
}

// computed makes the checks of a formula.
func (t *target) computed() {
	t.check("ignored", "its key in a request is ignored", "computed", "value", "extra", func(d *draft) {
		b := d.with(t.e, "a", t.inputs()...)
		d.send("POST", collection(t.e), b.but(t.f.Name, t.foreign()), sent{status: 201, match: Subset, keys: []string{t.f.Name}, entity: t.e, capture: "a"})
		d.send("PATCH", item(t.e, "a"), body{t.f.Name: t.foreign()}, t.mine(200))
	})
	if t.f.Computed.Kind == scenario.ComputedCount {
		t.counted()
		return
	}
	t.check("value", "it follows from its inputs", "computed", "value", "none", func(d *draft) {
		d.send("POST", collection(t.e), t.telling(d, "a", "b", "c", "m"), sent{status: 201, match: Subset, keys: []string{t.f.Name}, entity: t.e, capture: "a"})
		d.send("GET", item(t.e, "a"), nil, t.mine(200))
	})
	inputs := t.inputs()
	t.check("patch", "it follows a change of an input", "computed", "effect", "none", func(d *draft) {
		f := inputs[1]
		if f.Immutable {
			f = inputs[0]
		}
		if f.Immutable {
			return
		}
		b := t.telling(d, "a", "b", "c", "m")
		d.make(t.e, "a", b)
		d.send("PATCH", item(t.e, "a"), body{f.Name: d.other(f, "old", b)}, t.mine(200))
		d.send("GET", item(t.e, "a"), nil, t.mine(200))
	})
	for n, f := range inputs {
		if !f.Nullable {
			continue
		}
		t.check([]string{"null", "null_2"}[n], "null in "+f.Name+" makes it null", "computed", "value", "null", func(d *draft) {
			d.send("POST", collection(t.e), d.with(t.e, "a", inputs...).but(f.Name, nil), t.mine(201))
		})
	}
}

// inputs are the fields of the row that a formula uses.
func (t *target) inputs() []*scenario.Field {
	var fs []*scenario.Field
	if t.f.Computed.Kind == scenario.ComputedCount {
		return nil
	}
	for _, uid := range t.f.Computed.Inputs {
		if _, f := t.g.schema.FieldByUID(uid); f != nil {
			fs = append(fs, f)
		}
	}
	return fs
}

// telling is a body whose inputs tell formulas apart: different values, the larger of which is above two.
func (t *target) telling(d *draft, names ...string) body {
	var b body
	fs := t.inputs()
	for _, name := range names {
		b = d.with(t.e, name, fs...)
		x, y := text(b[fs[0].Name]), text(b[fs[1].Name])
		if x != y && x != "0" && y != "0" {
			break
		}
	}
	return b
}

// foreign is a value that a client could send for the field.
func (t *target) foreign() any {
	switch t.f.Type {
	case scenario.String:
		return "chosen by the client"
	case scenario.Decimal:
		return json.Number("987654.25")
	}
	return 987654321
}

// counted checks the number of referring rows: of none, of some beside those of another row, and after a deletion.
func (t *target) counted() {
	_, ref := t.g.schema.FieldByUID(t.f.Computed.Inputs[0])
	child, _ := t.g.schema.FieldByUID(ref.UID)
	t.check("none", "it is 0 for a new row", "computed", "value", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.minimal(t.e, "a"), t.mine(201))
	})
	t.check("counted", "it counts the rows that refer to this row", "computed", "value", "none", func(d *draft) {
		d.make(t.e, "a", d.minimal(t.e, "a"))
		d.make(t.e, "b", d.minimal(t.e, "b"))
		d.children(ref, "a", 2)
		d.children(ref, "b", 1)
		d.send("GET", item(t.e, "a"), nil, t.mine(200))
		d.send("GET", item(t.e, "b"), nil, t.mine(200))
	})
	t.check("deleted", "it falls when one of them is deleted", "computed", "effect", "none", func(d *draft) {
		d.make(t.e, "a", d.minimal(t.e, "a"))
		d.children(ref, "a", 2)
		d.send("DELETE", item(child, "k1"), nil, sent{status: 204, setup: true})
		d.send("GET", item(t.e, "a"), nil, t.mine(200))
	})
}
