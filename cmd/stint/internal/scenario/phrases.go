package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// phrase writes the title and the specification sentence of a clause.
func (s *Schema) phrase(kind Kind, subject string) (title, text string) {
	switch kind {
	case KindHealth:
		return "health endpoint", "`GET /health` answers 200 as soon as the service is ready, whatever rows there are."
	case KindErrorFormat:
		return "error bodies", "Every answer with status 400, 404 or 409 has the body `{\"error\": {\"code\": CODE, \"field\": NAME}}`. CODE is the code word of the " +
			"rule that was broken, NAME the name of the field it is about, or null where the rule says so."
	case KindAnalytics:
		if a := s.AnalyticsByUID(subject); a != nil {
			return s.analyticsPhrase(a)
		}
	case KindGroup, KindOrder:
		return s.pairPhrase(subject)
	case KindGone:
		if t := s.TombstoneByUID(subject); t != nil {
			return s.gonePhrase(t)
		}
	}
	switch kind {
	case KindFilter, KindSort, KindDefaultSort, KindPage:
		return s.listPhrase(kind, subject)
	}
	if e := s.Entity(subject); e != nil {
		return s.entityPhrase(kind, e)
	}
	if e, f := s.FieldByUID(subject); f != nil {
		return s.fieldPhrase(kind, e, f)
	}
	if e, c := s.CommandByUID(subject); c != nil {
		return s.commandPhrase(kind, e, c)
	}
	return "", ""
}

func (s *Schema) entityPhrase(kind Kind, e *Entity) (title, text string) {
	path, one, many, an := "/"+e.Plural, human(e.Name), human(e.Plural), article(human(e.Name))
	switch kind {
	case KindCreate:
		return "create " + many, fmt.Sprintf("`POST %s` with a valid object creates %s and answers 201 with the complete new %s. Its `id` is an integer that the "+
			"service chooses, larger than the id of every %s created before; ids are never used again.", path, an, one, one)
	case KindRead:
		return "read " + one + " by id", fmt.Sprintf("`GET %s/{id}` answers 200 with the complete %s.", path, one)
	case KindNotFound:
		return "unknown " + one + " id", fmt.Sprintf("With an integer id that no %s has, `GET`, `PUT`, `PATCH` and `DELETE` on `%s/{id}` answer 404 with code `not_found` and "+
			"field null.", one, path)
	case KindList:
		return "list " + many, fmt.Sprintf("`GET %s` answers 200 with `{\"%s\": [...], \"%s\": N}`: all %s as complete objects in the order of their creation, and "+
			"their number; with no %s the array is empty and N is 0.", path, s.Conventions.ItemsKey, s.Conventions.TotalKey, many, many) + e.List.exceptPhrase()
	case KindReplace:
		return "replace " + one, fmt.Sprintf("`PUT %s/{id}` with a valid object gives all fields new values and answers 200 with the complete %s. A field "+
			"that the request leaves out is treated as in `POST`: the old value is not kept%s. The `id` stays.", path, one, e.exceptKept())
	case KindUpdate:
		return "update " + one, fmt.Sprintf("`PATCH %s/{id}` changes the fields that the request contains, leaves all others as they are, and answers 200 with the "+
			"complete %s. `{}` changes nothing.", path, one)
	case KindDelete:
		return "delete " + one, fmt.Sprintf("`DELETE %s/{id}` answers 204 without a body. Afterwards the %s is in no list, and every request for its id answers 404.", path, one)
	case KindExactKeys:
		keys := []string{code("id")}
		for i := range e.Fields {
			keys = append(keys, code(e.Fields[i].Name))
		}
		return "keys of " + many, fmt.Sprintf("A complete %s has exactly the keys %s, each always present. Other keys in a request, and `id`, are "+
			"ignored, whatever their value.", one, listing(keys))
	case KindAtomic:
		return "refused requests change no " + many, fmt.Sprintf("A request under `%s` that is answered with an error changes nothing: no row is added, changed or deleted.", path)
	}
	return "", ""
}

// exceptKept names the fields that keep their values when PUT leaves them out.
func (e *Entity) exceptKept() string {
	var names []string
	for i := range e.Fields {
		if e.Fields[i].Immutable {
			names = append(names, code(e.Fields[i].Name))
		}
	}
	var kept []string
	if len(names) > 0 {
		kept = append(kept, listing(names)+", which can never change")
	}
	if f := e.StateField(); f != nil {
		kept = append(kept, code(f.Name)+", which only commands change")
	}
	if len(kept) == 0 {
		return ""
	}
	return " (except for " + strings.Join(kept, ", and for ") + ")"
}

// typePhrase says what values a field takes, null aside.
func (s *Schema) typePhrase(f *Field) string {
	switch f.Type {
	case String:
		return "a JSON string"
	case Integer:
		return "a JSON number without fraction"
	case Decimal:
		return "a JSON number with at most two decimal places"
	case Boolean:
		return "`true` or `false`"
	case Enum:
		return "a JSON string from a list of values"
	case Date:
		return "a JSON string with a day of the calendar in the form `YYYY-MM-DD`"
	case Datetime:
		return "a JSON string with a day and a time of it in UTC in the form `YYYY-MM-DDTHH:MM:SSZ`"
	case Ref:
		if e := s.Entity(f.Target); e != nil {
			return "a JSON number without fraction, the id of " + article(human(e.Name))
		}
	}
	return string(f.Type)
}

// refusal is the standard ending of a rule about one field.
func refusal(status int, word string, f *Field) string {
	return fmt.Sprintf("%d with code `%s` and field `%s`", status, word, f.Name)
}

func (s *Schema) fieldPhrase(kind Kind, e *Entity, f *Field) (title, text string) {
	full, name, an := e.Name+"."+f.Name, code(f.Name), article(human(e.Name))
	switch kind {
	case KindType:
		text = fmt.Sprintf("The field %s of %s holds %s. A value of another JSON type is refused: %s.", name, an, s.typePhrase(f), refusal(400, "type", f))
		switch f.Type {
		case Integer, Ref:
			text += " So is a number such as 2.5."
		case Date:
			text += " So is a string that is no such day, for example `\"2023-02-30\"` or `\"tomorrow\"`."
		case Datetime:
			text += " So is a string that is no such moment, for example `\"2023-02-30T10:00:00Z\"`, `\"2023-02-03T25:00:00Z\"` or `\"2023-02-03\"`."
		}
		return fmt.Sprintf("%s: %s", full, f.Type), text
	case KindRequired:
		return full + " is required", fmt.Sprintf("%s of %s must be in every %s. Without it: %s.", name, an, f.presenceVerbs(), refusal(400, "required", f))
	case KindOptional:
		return full + " is optional", fmt.Sprintf("%s of %s may be left out of %s and is null then.", name, an, f.presenceVerbs())
	case KindDefault:
		return full + " has a default", fmt.Sprintf("%s of %s may be left out of %s and is %s then.", name, an, f.presenceVerbs(), code(f.Literal(f.Default)))
	case KindNullable:
		return full + " may be null", fmt.Sprintf("%s of %s may be null: `POST`, `PUT` and `PATCH` accept an explicit null, which is stored and returned as null.", name, an)
	case KindNotNull:
		return full + " may not be null", fmt.Sprintf("%s of %s may not be null. An explicit null in `POST`, `PUT` or `PATCH`: %s.", name, an, refusal(400, "null", f))
	case KindRange:
		phrase := f.rangePhrase()
		return full + " is " + phrase, fmt.Sprintf("%s of %s must be %s%s. Otherwise: %s.", name, an, phrase, bothIncluded(f.Min != nil && f.Max != nil), refusal(400, "range", f))
	case KindLength:
		phrase := f.lengthPhrase()
		return full + " has " + phrase, fmt.Sprintf("%s of %s must have %s%s, counted as Unicode code points. Otherwise: %s.", name, an, phrase,
			bothIncluded(f.MinLen != nil && f.MaxLen != nil), refusal(400, "length", f))
	case KindPattern:
		return full + " has the form " + f.Pattern, fmt.Sprintf("%s of %s must be exactly %s, as in `%s`, with nothing before, between or after them; a capital letter is one of `A` to `Z`, a "+
			"digit one of `0` to `9`. Otherwise: %s.", name, an, patternPhrase(f.Pattern), patternExample(f.Pattern), refusal(400, "pattern", f))
	case KindImmutable:
		return full + " can not change", fmt.Sprintf("%s of %s never changes after the `POST`. A `PUT` or `PATCH` with another value than the stored one (null counts as a value) is "+
			"refused: %s. The stored value may be repeated, and a `PUT` that leaves %s out keeps it.", name, an, refusal(409, "immutable", f), name)
	case KindEnum:
		return full + ": list of values", fmt.Sprintf("%s of %s must be one of %s, written exactly so. Any other string: %s.", name, an, quoted(f.Values), refusal(400, "enum", f))
	case KindUnique:
		return full + " is unique", fmt.Sprintf("No two %s may have the same %s%s. A `POST`, `PUT` or `PATCH` that would lead to this is refused: %s. %s may keep its own "+
			"value, and nulls never count as the same.", human(e.Plural), name, exactly(f), refusal(409, "unique", f), capital(an))
	case KindRefExists:
		return full + " must exist", fmt.Sprintf("%s of %s must be the id of an existing %s. Any other number without fraction: %s.", name, an, s.entityNoun(f.Target), refusal(400, "reference", f))
	case KindOnDelete:
		return s.onDeletePhrase(e, f)
	case KindComputed, KindState:
		return s.managedPhrase(kind, e, f)
	case KindNested:
		return s.nestedPhrase(e, f)
	}
	return "", ""
}

func exactly(f *Field) string {
	if f.Type == String {
		return " (compared exactly; `a` and `A` differ)"
	}
	return ""
}

func bothIncluded(both bool) string {
	if both {
		return ", both included"
	}
	return ""
}

func (s *Schema) entityNoun(uid string) string {
	if e := s.Entity(uid); e != nil {
		return human(e.Name)
	}
	return "row"
}

func (f *Field) rangePhrase() string {
	date := f.Type == Date
	switch {
	case f.Min != nil && f.Max != nil:
		return "from " + f.Bound(*f.Min) + " to " + f.Bound(*f.Max)
	case f.Min != nil && date:
		return f.Bound(*f.Min) + " or later"
	case f.Min != nil:
		return f.Bound(*f.Min) + " or more"
	case f.Max != nil && date:
		return f.Bound(*f.Max) + " or earlier"
	case f.Max != nil:
		return f.Bound(*f.Max) + " or less"
	}
	return "unlimited"
}

func (f *Field) lengthPhrase() string {
	switch {
	case f.MinLen != nil && f.MaxLen != nil:
		return "from " + strconv.Itoa(*f.MinLen) + " to " + strconv.Itoa(*f.MaxLen) + " characters"
	case f.MinLen != nil:
		return strconv.Itoa(*f.MinLen) + " or more characters"
	case f.MaxLen != nil:
		return strconv.Itoa(*f.MaxLen) + " or fewer characters"
	}
	return "any number of characters"
}

// quoted lists enum values as JSON strings in prose.
func quoted(values []string) string {
	q := make([]string, len(values))
	for i, v := range values {
		q[i] = code(strconv.Quote(v))
	}
	return listing(q)
}

func (s *Schema) onDeletePhrase(e *Entity, f *Field) (title, text string) {
	target := s.entityNoun(f.Target)
	whose := fmt.Sprintf("the %s whose %s refers to it", human(e.Plural), code(f.Name))
	switch f.OnDelete {
	case Cascade:
		text = fmt.Sprintf("When %s is deleted, directly or through another deletion, %s are deleted as well, and the rules for deleting %s apply to them in turn.",
			article(target), whose, human(e.Plural))
	case Restrict:
		text = fmt.Sprintf("%s cannot be deleted while %s refers to it through %s. A `DELETE` that would delete such a %s, directly or through another deletion, answers 409 with "+
			"code `restricted` and field null, and nothing at all is changed.", capital(article(target)), article(human(e.Name)), code(f.Name), target)
	case SetNull:
		text = fmt.Sprintf("When %s is deleted, directly or through another deletion, %s of %s becomes null.", article(target), code(f.Name), whose)
	}
	return fmt.Sprintf("deleting %s: %s.%s %s", article(target), e.Name, f.Name, policyPhrase(f.OnDelete)), text
}

func policyPhrase(p OnDelete) string {
	switch p {
	case Cascade:
		return "cascades"
	case Restrict:
		return "restricts"
	}
	return "becomes null"
}

func (s *Schema) gonePhrase(t *Tombstone) (title, text string) {
	switch t.Kind {
	case GoneEntity, GoneAction, GoneNested:
		return s.gonePathPhrase(t)
	case GoneAnalytics:
		return s.goneAnalyticsPhrase(t)
	}
	e := s.Entity(t.Entity)
	if e == nil {
		return "", ""
	}
	title = e.Name + "." + t.Name + " is gone"
	if _, f := s.FieldByUID(t.Field); f != nil {
		return title, fmt.Sprintf("The former name %s of a field of %s is unknown now (the field is called %s): in a request the key is ignored like any other unknown key, and no answer contains it.",
			code(t.Name), article(human(e.Name)), code(f.Name))
	}
	return title, fmt.Sprintf("The former field %s of %s does not exist any more: in a request the key is ignored like any other unknown key, and no answer contains it.",
		code(t.Name), article(human(e.Name)))
}
