package suite

import (
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func (t *target) refExists() {
	t.refused("missing", unknownID, "reference", "relation", "an unknown id is refused", "guard")
	t.refusedChange("patch_missing", unknownID, "reference", "relation", "PATCH to an unknown id is refused", "guard")
	t.refusedReplace("put_missing", unknownID, "reference", "relation", "PUT with an unknown id is refused", "guard")
	t.check("deleted", "the id of a deleted row is refused", "relation", "reject", "guard", func(d *draft) {
		to := d.g.schema.Entity(t.f.Target)
		gone := d.parent(t.f.Target, "gone")
		d.send("DELETE", item(to, gone), nil, sent{status: 204, setup: true})
		d.send("POST", collection(t.e), d.with(t.e, "a").but(t.f.Name, "${"+gone+"}"), t.no(400, "reference"))
	})
}

// onDelete checks the policy of a reference with a row that refers and one that does not, and once more with rows
// that refer to the referring one.
func (t *target) onDelete() {
	to := t.g.schema.Entity(t.f.Target)
	build := func(d *draft) (mine, others string) {
		mine, others = d.parent(to.UID, "mine"), d.parent(to.UID, "others")
		d.make(t.e, "a", d.referring(t.e, t.f, "a", mine))
		d.make(t.e, "b", d.referring(t.e, t.f, "b", others))
		return mine, others
	}
	only := sent{status: 200, match: Subset, keys: []string{"id", t.f.Name}, entity: t.e}
	switch t.f.OnDelete {
	case scenario.Cascade:
		t.check("cascade", "deleting the "+to.Name+" deletes the "+t.e.Name+" that refers to it, no other", "on_delete", "effect", "none", func(d *draft) {
			mine, _ := build(d)
			d.send("DELETE", item(to, mine), nil, sent{status: 204})
			d.send("GET", item(t.e, "a"), nil, sent{status: 404, code: "not_found", entity: t.e})
			d.send("GET", item(t.e, "b"), nil, only)
		})
	case scenario.Restrict:
		t.check("restrict", "a "+to.Name+" can not be deleted while a "+t.e.Name+" refers to it", "on_delete", "effect", "guard", func(d *draft) {
			mine, _ := build(d)
			d.send("DELETE", item(to, mine), nil, sent{status: 409, code: "restricted", entity: to})
			d.send("GET", item(to, mine), nil, sent{status: 200, match: Subset, keys: []string{"id"}, entity: to})
			d.send("GET", item(t.e, "a"), nil, only)
			d.send("DELETE", item(t.e, "a"), nil, sent{status: 204})
			d.send("DELETE", item(to, mine), nil, sent{status: 204})
		})
	case scenario.SetNull:
		t.check("set_null", "deleting the "+to.Name+" makes it null, in no other row", "on_delete", "effect", "none", func(d *draft) {
			mine, _ := build(d)
			d.send("DELETE", item(to, mine), nil, sent{status: 204})
			d.send("GET", item(t.e, "a"), nil, only)
			d.send("GET", item(t.e, "b"), nil, only)
		})
	}
	t.deep(to)
}

// referring is a body whose reference f names the row sym.
func (d *draft) referring(e *scenario.Entity, f *scenario.Field, name, sym string) body {
	b := body{f.Name: "${" + sym + "}"}
	for i := range e.Fields {
		if o := &e.Fields[i]; o.Required && o.UID != f.UID {
			b[o.Name] = d.set(o, name)
		}
	}
	return b
}

// deep checks the policy one level down: the row that this field refers to goes because of a cascade of its own.
func (t *target) deep(to *scenario.Entity) {
	var up *scenario.Field
	for i := range to.Fields {
		if f := &to.Fields[i]; f.Type == scenario.Ref && f.OnDelete == scenario.Cascade {
			up = f
			break
		}
	}
	if up == nil {
		return
	}
	top := t.g.schema.Entity(up.Target)
	title := "deleting the " + top.Name + " reaches the " + t.e.Name + " that refers to its " + to.Name
	if t.f.OnDelete == scenario.Restrict {
		title = "a " + top.Name + " can not be deleted while a " + t.e.Name + " refers to its " + to.Name
	}
	t.check("deep", title, "on_delete", "effect", "none", func(d *draft) {
		d.cite(scenario.KindOnDelete, up.UID)
		root := d.parent(top.UID, "root")
		d.make(to, "m", d.referring(to, up, "m", root))
		d.make(t.e, "a", d.referring(t.e, t.f, "a", "m"))
		mine := sent{status: 200, match: Subset, keys: []string{"id", t.f.Name}, entity: t.e}
		switch t.f.OnDelete {
		case scenario.Restrict:
			d.send("DELETE", item(top, root), nil, sent{status: 409, code: "restricted", entity: top})
			d.send("GET", item(to, "m"), nil, sent{status: 200, match: Subset, keys: []string{"id", up.Name}, entity: to})
		case scenario.Cascade:
			d.send("DELETE", item(top, root), nil, sent{status: 204})
			d.send("GET", item(t.e, "a"), nil, sent{status: 404, code: "not_found", entity: t.e})
		case scenario.SetNull:
			d.send("DELETE", item(top, root), nil, sent{status: 204})
			d.send("GET", item(t.e, "a"), nil, mine)
		}
	})
}
