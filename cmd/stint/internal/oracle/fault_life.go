package oracle

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// life builds what is there besides plain fields: states, formulas and commands.
func (b *builder) life() {
	for n := range b.schema.Entities {
		def := &b.schema.Entities[n]
		e := b.entities[def.UID]
		for _, f := range e.fields {
			if f.Computed != nil {
				f.formula = b.formula(f.Computed)
			}
			if f.State && def.Machine != nil {
				f.initial = def.Machine.Initial
			}
		}
		for _, c := range def.Commands() {
			made := b.command(e, c)
			b.commands[c.UID] = made
			e.commands = with(e.commands, c.Name, made)
		}
	}
}

// plantManaged plants a fault in a computed field or a state.
func (f *field) plantManaged(x Fault) {
	what, value, _ := strings.Cut(x.Param, "=")
	if x.Kind == StateWrong {
		switch what {
		case "initial":
			f.initial = value
		case "post":
			f.statePost = true
		case "patch":
			f.statePatch = true
		case "put":
			f.stateResets = true
		}
		return
	}
	m := f.formula
	if m == nil {
		return
	}
	switch what {
	case "kind":
		m.kind = value
	case "swap":
		m.inputs[0], m.inputs[1] = m.inputs[1], m.inputs[0]
	case "null":
		m.nulls = true
	case "stored":
		m.stored = true
	case "accept":
		m.accepts = true
	case "all":
		m.all = true
	case "joined":
		m.joined = true
	}
}

// staleFormula gives a computed field the formula of the turn before.
func (b *builder) staleFormula(f *field, x Fault) {
	params, ok := strings.CutPrefix(x.Param, string(scenario.KindComputed)+":")
	if x.Kind != Stale || !ok || f.formula == nil {
		return
	}
	var def scenario.Computed
	if json.Unmarshal([]byte(params), &def) == nil {
		f.formula = b.formula(&def)
	}
}

// plantCommand plants a fault in a transition or an action.
func (b *builder) plantCommand(c *command, x Fault) {
	what, value, _ := strings.Cut(x.Param, "=")
	n, err := strconv.Atoi(value)
	numbered := err == nil && n >= 0
	switch x.Kind {
	case EndpointMissing:
		c.broken = true
	case WrongStatus:
		status := badRequest
		if x.Param == "call" {
			status = http.StatusCreated
		}
		c.statuses = with(c.statuses, x.Param, status)
	case WrongCode:
		c.codes = with(c.codes, x.Param, wrongCodeWord)
	case Permissive:
		c.loosen(what, n, numbered)
	case Strict:
		if what == "from" && len(c.From) > 0 {
			c.From = c.From[:len(c.From)-1]
		}
	case OffByOne:
		switch {
		case what == "atom" && numbered && n < len(c.atoms):
			c.atoms[n].exclusive = true
		case what == "min" && c.Param != nil:
			p := *c.Param
			p.Min++
			c.Param = &p
		case what == "max" && c.Param != nil:
			p := *c.Param
			p.Max--
			c.Param = &p
		}
	case NotAtomic:
		c.leaks = true
	case StateWrong:
		switch what {
		case "stays":
			c.stays = true
		case "to":
			c.To = value
		case "body":
			c.takesBody = true
		}
	case EffectIgnored:
		if n, err := strconv.Atoi(x.Param); err == nil && n >= 0 && n < len(c.effects) {
			c.effects[n].ignored = true
		}
	case EffectWrong:
		if numbered && n < len(c.effects) {
			c.effects[n].plant(what)
		}
	case Stale:
		b.staleCommand(c, x.Param)
	}
}

func (c *command) loosen(what string, n int, numbered bool) {
	switch what {
	case "state":
		c.anyState = true
	case "guard":
		c.unguarded = true
	case "required":
		c.noRequired = true
	case "not_null":
		c.noNull = true
	case "type":
		c.anyType = true
	case "range":
		c.anyValue = true
	}
	if !numbered || n >= len(c.atoms) {
		return
	}
	switch a := &c.atoms[n]; what {
	case "atom":
		a.off = true
	case "null":
		a.nullHolds = true
	case "near":
		a.offByOneLax = true
	}
}

func (x *effect) plant(what string) {
	switch what {
	case "way":
		x.wrongWay = true
	case "null":
		x.keepNull = true
	case "all":
		x.all = true
	case "amount":
		x.more = 1
	}
}

// staleCommand gives a command the condition or the effects of the turn before.
func (b *builder) staleCommand(c *command, param string) {
	kind, params, _ := strings.Cut(param, ":")
	switch scenario.Kind(kind) {
	case scenario.KindGuard:
		var g scenario.Guard
		if json.Unmarshal([]byte(params), &g) == nil {
			c.atoms = b.atoms(&g)
		}
	case scenario.KindEffect:
		var xs []scenario.Effect
		if json.Unmarshal([]byte(params), &xs) == nil {
			c.effects = b.effects(xs)
		}
	}
}
