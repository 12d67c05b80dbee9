package scenario

// fieldOperations lists the operations that set, change and drop rules of fields and of pairs of fields.
func fieldOperations() []kindOfOperation {
	return []kindOfOperation{
		{"set_pattern", "T", 1.5, enumerateSetPattern, applySetPattern, titleSetPattern},
		{"change_length", "T", 1, enumerateChangeLength, applySetLength, titleLength},
		{"make_required", "T", 1.5, enumerateMakeRequired, applyMakeRequired, titleOfField("now required")},
		{"make_non_nullable", "T", 1, enumerateNullable(false), applyNullable(false), titleOfField("null is refused")},
		{"drop_default", "T", 1, enumerateDropDefault, applyDropDefault, titleOfField("no default any more")},
		{"make_immutable", "T", 1.5, enumerateMakeImmutable, applyImmutable(true), titleOfField("can not change")},
		{"add_unique_group", "T", 1.5, enumerateAddGroup, applyAddGroup, titleAddGroup},
		{"add_field_order_rule", "T", 1.5, enumerateAddOrder, applyAddOrder, titleAddOrder},
		{"drop_pattern", "L", 1, enumerateDropPattern, applyDropPattern, titleOfField("any form")},
		{"drop_range", "L", 0.7, enumerateDropLimits(false), applyDropRange, titleOfField("no limits")},
		{"drop_length", "L", 0.7, enumerateDropLimits(true), applyDropLength, titleOfField("any length")},
		{"make_nullable", "L", 1.5, enumerateNullable(true), applyNullable(true), titleOfField("may be null")},
		{"drop_unique", "L", 1, enumerateDropUnique, applyDropUnique, titleOfField("no longer unique")},
		{"drop_immutable", "L", 1, enumerateDropImmutable, applyImmutable(false), titleOfField("can change again")},
		{"set_default", "A", 1, enumerateDefault(false), applyDefault, titleDefault},
		{"change_default", "R", 1, enumerateDefault(true), applyDefault, titleDefault},
		{"change_type", "R", 1.5, enumerateChangeType, applyChangeType, titleOfField("decimal")},
	}
}
