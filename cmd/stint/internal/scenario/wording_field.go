package scenario

// presenceWordings holds the operations that say whether a field must be given, may be null or may change.
func presenceWordings(operation string) []string {
	switch operation {
	case "make_required":
		return []string{
			"{field} of {nouns} has to be given from now on.",
			"Please make {field} of {nouns} a required field.",
			"We can no longer work with {nouns} that lack {field}: ask for it.",
			"Whoever enters {a noun} must now give {field} as well.",
		}
	case "make_nullable":
		return []string{
			"{field} of {a noun} may be null now.",
			"Please accept null for {field} of {nouns}.",
			"Sometimes nobody knows {field} of {a noun}. An explicit null should be fine then.",
			"For {nouns}, null becomes a valid value of {field}.",
		}
	case "make_non_nullable":
		return []string{
			"{field} of {a noun} may not be null any more.",
			"Please refuse null for {field} of {nouns}.",
			"A null in {field} of {nouns} has caused trouble; do not accept it any longer.",
			"For {nouns}, null is no valid value of {field} from now on.",
		}
	case "set_default":
		return []string{
			"When {field} of {a noun} is not given, it should be {default}.",
			"Please use {default} for {field} of {nouns} whenever nothing is given.",
			"Most {nouns} have {default} as {field}, so make that the default.",
			"{field} of {nouns} gets a default: {default}.",
		}
	case "change_default":
		return []string{
			"The default for {field} of {nouns} is now {default}.",
			"Please change what {field} of {a noun} is when it is not given: {default}.",
			"When {field} of {a noun} is left out, it should be {default} from now on.",
			"{default} suits {nouns} better as the default of {field}.",
		}
	case "drop_default":
		return []string{
			"{field} of {nouns} has no default any more.",
			"Please do away with the default of {field} for {nouns}.",
			"The default for {field} of {a noun} was misleading. Take it out.",
			"Do not fill in {field} of {nouns} by yourself any longer.",
		}
	case "make_immutable":
		return []string{
			"{field} of {a noun} must not change once it has been entered.",
			"Please make sure that nobody can alter {field} of existing {nouns}.",
			"{field} of {nouns} is fixed from the start: it is given once and stays.",
			"Somebody changed {field} of {a noun} afterwards. This must be impossible.",
		}
	case "drop_immutable":
		return []string{
			"{field} of {a noun} can be changed again.",
			"Please allow changes of {field} of {nouns}.",
			"It must be possible to correct {field} of existing {nouns}.",
			"{field} of {nouns} is no longer fixed once entered.",
		}
	}
	return formWordings(operation)
}

// formWordings holds the operations about the form of a field's value and about two fields together.
func formWordings(operation string) []string {
	switch operation {
	case "set_pattern":
		return []string{
			"{field} of {nouns} follows a fixed form: {rule}.",
			"Please accept {field} of {a noun} only if it consists of {rule}.",
			"Our scanners need {field} of {nouns} to be {rule}.",
			"From now on {field} of {a noun} is {rule}, nothing else.",
		}
	case "drop_pattern":
		return []string{
			"{field} of {nouns} no longer needs a fixed form.",
			"Please accept {field} of {a noun} in any form.",
			"The form that {field} of {nouns} had to have is given up.",
			"Any text will do for {field} of {nouns} now.",
		}
	case "change_length":
		return []string{
			"The limits for the length of {field} of {nouns} change: {rule}.",
			"{field} of {a noun} must now have {rule}.",
			"Please check the length of {field} of {nouns} by new limits: {rule}.",
			"For {nouns}, {field} should have {rule} from now on.",
		}
	case "drop_length":
		return []string{
			"{field} of {nouns} may be as long or short as one likes.",
			"Please drop the limits for the length of {field} of {nouns}.",
			"How many characters {field} of {a noun} has does not matter any more.",
			"There is no need to check the length of {field} of {nouns} any longer.",
		}
	case "drop_range":
		return []string{
			"{field} of {nouns} needs no limits any more.",
			"Please drop the limits for {field} of {nouns}.",
			"Any value will do for {field} of {a noun}; stop checking the limits.",
			"The limits for {field} of {nouns} are given up.",
		}
	case "drop_unique":
		return []string{
			"Several {nouns} may share the same {field} now.",
			"{field} no longer has to be unique among {nouns}.",
			"Please allow the same {field} for more than one of the {nouns}.",
			"That {field} may occur only once among {nouns} turned out to be too strict. Give it up.",
		}
	case "change_type":
		return []string{
			"{field} of {nouns} can have two decimal places from now on.",
			"Please turn {field} of {a noun} into a decimal number.",
			"Whole numbers are too coarse for {field} of {nouns}; allow decimals.",
			"{field} of {nouns} becomes a number with up to two decimal places.",
		}
	case "add_unique_group":
		return []string{
			"Two {nouns} may not have the same {field} and the same {other}.",
			"{field} and {other} together must be unique among {nouns}.",
			"Please make sure that a pair of {field} and {other} occurs only once among the {nouns}.",
			"We found {nouns} that agree in both {field} and {other}. Refuse the second one.",
		}
	case "add_field_order_rule":
		return []string{
			"In {nouns}, {field} may not be {than} {other}.",
			"Please refuse {nouns} whose {field} is {than} their {other}.",
			"{A noun} whose {field} is {than} its {other} makes no sense; do not accept it.",
			"We have to rely on this: {field} of {a noun} is never {than} its {other}.",
		}
	}
	return listWordings(operation)
}

// pairReplacements fills the places that only wordings about defaults and pairs have.
func pairReplacements(next *Schema, op Operation) []string {
	pairs := []string{}
	if _, f := next.FieldByUID(op.Params["field"]); f != nil && f.Default != nil {
		pairs = append(pairs, "{default}", code(f.Literal(f.Default)))
	}
	if _, f := next.FieldByUID(newPair(next, op)[1]); f != nil {
		than := "greater than"
		if f.Type == Date || f.Type == Datetime {
			than = "later than"
		}
		pairs = append(pairs, "{other}", code(f.Name), "{than}", than)
	}
	return pairs
}

// pairSubject is the first field of a new group or order.
func (s *Schema) pairSubject(op Operation) (*Entity, *Field) {
	return s.FieldByUID(newPair(s, op)[0])
}

// newPair names the two fields of a new group or order; both are "" for other operations.
func newPair(s *Schema, op Operation) [2]string {
	if _, g, err := partFrom[Group](s, op.Params, "group"); err == nil {
		return g.Fields
	}
	_, o, err := partFrom[Order](s, op.Params, "order")
	if err != nil {
		return [2]string{}
	}
	return [2]string{o.Low, o.High}
}
