package scenario

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// wordings returns the ways to ask for an operation. {noun}, {nouns}, {a noun} and their capitals stand for
// the entity, {field} for the field, {target} and {a target} for a referenced entity, {new}, {value} and
// {rule} for what the operation brings. The exact rules follow each of them as a list, so that a wording
// only has to be natural and never has to be complete.
func wordings(operation string) []string {
	switch operation {
	case "add_entity":
		return []string{
			"We also need to keep track of {nouns}.",
			"Please add {nouns} to the service: a new collection under {path}.",
			"From now on the service should manage {nouns} as well.",
			"Something is missing: {nouns}. Give them a collection of their own under {path}.",
			"{Nouns} should become part of the data, next to what is there already.",
		}
	case "add_optional_field":
		return []string{
			"{A noun} can now have {field} as well.",
			"Please add a field {field} to {nouns}. Nobody has to fill it in.",
			"For {nouns} we would like to record {field}, if it is known.",
			"{Nouns} get one more field, {field}, which may be left out.",
			"Some people want to note {field} with {a noun}; make room for it.",
		}
	case "add_required_field":
		return []string{
			"Every {noun} must now carry {field}.",
			"{Nouns} without {field} are of no use to us: please add it as a required field.",
			"Add {field} to {nouns}. It has to be given whenever {a noun} is created or replaced.",
			"From now on nobody may enter {a noun} without {field}.",
			"We need {field} for each {noun}, without exception.",
		}
	case "add_relation":
		return []string{
			"{A noun} should be able to refer to {a target}: add {field}.",
			"Please connect {nouns} with {targets} through a new field {field}.",
			"We want to know which {target} {a noun} belongs to. The field for it is {field}.",
			"{Nouns} get a reference to {targets}, called {field}.",
			"Link each {noun} to {a target} by way of {field}.",
		}
	}
	return ruleWordings(operation)
}

// ruleWordings holds the operations that set or change a rule of an existing field.
func ruleWordings(operation string) []string {
	switch operation {
	case "set_range":
		return []string{
			"The field {field} of {nouns} needs limits: it must be {rule}.",
			"We have seen strange values in {field} of {nouns}. Only accept what is {rule}.",
			"{field} of {a noun} must be {rule} from now on.",
			"Please check {field} when {a noun} is entered or changed: it has to be {rule}.",
		}
	case "tighten_range":
		return []string{
			"The limits for {field} of {nouns} become stricter: it must now be {rule}.",
			"Please narrow what {field} of {a noun} may be. The new rule: {rule}.",
			"{field} of {nouns} still allows too much; it should be {rule}.",
			"For {nouns}, {field} has new and tighter limits: {rule}.",
		}
	case "relax_range":
		return []string{
			"The limits for {field} of {nouns} are too tight: it may now be {rule}.",
			"Please widen what {field} of {a noun} may be. The new rule: {rule}.",
			"{field} of {nouns} should allow more than before, namely what is {rule}.",
			"For {nouns}, {field} has new and wider limits: {rule}.",
		}
	case "set_length":
		return []string{
			"{field} of {nouns} must have {rule}.",
			"Please limit how long {field} of {a noun} is: {rule}.",
			"When {a noun} is entered, {field} should have {rule}, nothing else.",
			"Our labels only work if {field} of {nouns} has {rule}.",
		}
	case "make_unique":
		return []string{
			"Two {nouns} may not share the same {field}.",
			"{field} has to be unique among {nouns}.",
			"Please make sure that no {field} occurs twice among the {nouns}.",
			"It happened that {nouns} had the same {field}. This must not be possible any more.",
		}
	case "add_enum_value":
		return []string{
			"{field} of {a noun} can now also be {value}.",
			"Please add {value} to the values that {field} of {nouns} accepts.",
			"There is one more choice for {field} of {nouns}: {value}.",
			"{Nouns} whose {field} is {value} should be possible.",
		}
	case "remove_enum_value":
		return []string{
			"{field} of {a noun} can no longer be {value}.",
			"Please take {value} off the list of values for {field} of {nouns}.",
			"We do not use {value} for {field} of {nouns} any more; refuse it.",
			"The value {value} of {field} is abolished for {nouns}.",
		}
	}
	return fieldWordings(operation)
}

// fieldWordings holds the operations that change what a field is, and the one that changes nothing.
func fieldWordings(operation string) []string {
	switch operation {
	case "make_optional":
		return []string{
			"{field} of {a noun} no longer has to be given.",
			"Please make {field} of {nouns} optional.",
			"{Nouns} should be accepted without {field} too.",
			"It turned out that {field} of {nouns} is often unknown, so it may be left out now.",
		}
	case "rename_field":
		return []string{
			"{field} of {nouns} is now called {new}; the old name is no longer known.",
			"Please rename {field} of {nouns} to {new}.",
			"The name {field} has led to misunderstandings. For {nouns} it becomes {new}, and {field} disappears.",
			"In {nouns}, replace the field name {field} by {new} everywhere.",
		}
	case "change_on_delete":
		return []string{
			"What happens to {nouns} when {a target} is deleted changes: see the rule for {field} below.",
			"Please change how deleting {a target} affects the {nouns} that refer to it by {field}.",
			"The rule for {field} of {nouns} when its {target} is deleted is a different one now.",
			"Deleting {targets} needs another treatment of {field} in {nouns}.",
		}
	case "remove_field":
		return []string{
			"Stop storing {field} for {nouns}.",
			"Please remove the field {field} from {nouns}.",
			"We do not need {field} of {nouns} any more. Drop it completely.",
			"{Nouns} no longer have {field}.",
		}
	case "no_behaviour_change":
		return noChangeWordings()
	}
	return lifeWordings(operation)
}

func noChangeWordings() []string {
	return []string{
		"Please go through the code and make it easier to read: clear names, short functions, no repetition. What the service does must stay exactly the same.",
		"Add comments where the code is hard to follow, and tidy up what is no longer needed. Do not change what the service does.",
		"Before we go on, restructure the code so that the next change is easy to make. From outside nothing may change.",
		"Write a short file NOTES.md that explains to a new colleague how the code is organised. The service itself stays as it is.",
	}
}

// wording asks for an operation in one of its wordings. before and next are the schemas on both sides.
func wording(r *rand.Rand, before, next *Schema, op Operation) string {
	texts := wordings(op.Name)
	if op.Name == "no_behaviour_change" {
		// The task itself is the parameter here, so that two such turns are two operations.
		if i, err := strconv.Atoi(op.Params["text"]); err == nil && i >= 0 && i < len(texts) {
			return texts[i]
		}
	}
	return capital(replacements(before, next, op).Replace(pick(r, texts)))
}

func replacements(before, next *Schema, op Operation) *strings.Replacer {
	e, f := subjectOf(before, next, op)
	pairs := []string{"{value}", code(strconv.Quote(op.Params["value"])), "{new}", code(op.Params["name"])}
	noun := func(key string, e *Entity) {
		one, many := human(e.Name), human(e.Plural)
		pairs = append(pairs, "{"+key+"}", one, "{"+key+"s}", many, "{a "+key+"}", article(one),
			"{"+capital(key)+"}", capital(one), "{"+capital(key)+"s}", capital(many), "{A "+key+"}", capital(article(one)))
	}
	if e != nil {
		noun("noun", e)
	}
	if f != nil {
		pairs = append(pairs, "{field}", code(f.Name))
		if t := next.Entity(f.Target); t != nil {
			noun("target", t)
		}
		if _, changed := next.FieldByUID(f.UID); changed != nil {
			rule := changed.rangePhrase()
			owner, _ := next.FieldByUID(f.UID)
			switch {
			case changed.Computed != nil:
				rule = next.formulaPhrase(owner, changed.Computed)
			case changed.Pattern != "":
				rule = patternPhrase(changed.Pattern)
			case changed.Type == String:
				rule = changed.lengthPhrase()
			}
			pairs = append(pairs, "{rule}", rule)
		}
	}
	if c := commandOf(before, next, op); c != nil {
		pairs = append(pairs, "{command}", code(c.Name), "{rule}", next.guardPhrase(c.Guard))
	}
	if n := next.Entity(op.Params["entity"]); n != nil && op.Name == "rename_entity" {
		pairs = append(pairs, "{new nouns}", human(n.Plural), "{new path}", code("/"+n.Plural))
	}
	path := ""
	if a := statisticOf(before, next, op); a != nil {
		path = fmt.Sprintf("`GET /analytics/%s`", a.Name)
	} else if e != nil {
		path = code("/" + e.Plural)
	}
	pairs = append(pairs, pairReplacements(next, op)...)
	return strings.NewReplacer(append(pairs, "{path}", path)...)
}

// subjectOf returns the entity and field that an operation is about: as they were before where they
// existed, else as they are after it.
func subjectOf(before, next *Schema, op Operation) (*Entity, *Field) {
	switch op.Name {
	case "add_entity":
		return &next.Entities[len(next.Entities)-1], nil
	case "add_optional_field", "add_required_field", "add_relation", "add_computed", "add_state_machine":
		e := next.Entity(op.Params["entity"])
		return e, &e.Fields[len(e.Fields)-1]
	case "add_unique_group", "add_field_order_rule":
		return before.pairSubject(op)
	}
	if a := statisticOf(before, next, op); a != nil {
		return next.Entity(a.Entity), nil
	}
	if e := before.Entity(op.Params["entity"]); e != nil {
		return e, nil
	}
	if e, c := before.CommandByUID(op.Params["command"]); c != nil {
		return e, nil
	}
	return before.FieldByUID(op.Params["field"])
}

// commandOf returns the transition or action that an operation is about, as it is after it where it still exists, or nil.
func commandOf(before, next *Schema, op Operation) *Command {
	switch op.Name {
	case "add_transition", "add_custom_action":
		e := next.Entity(op.Params["entity"])
		for _, c := range e.Commands() {
			if old, _ := before.CommandByUID(c.UID); old == nil {
				return &c
			}
		}
	}
	if _, c := next.CommandByUID(op.Params["command"]); c != nil {
		return c
	}
	_, c := before.CommandByUID(op.Params["command"])
	return c
}
