package scenario

// lifeOperations lists the operations about states, actions, conditions, formulas, references and whole collections.
func lifeOperations() []kindOfOperation {
	return []kindOfOperation{
		{"add_computed", "A", 1.5, enumerateAddComputed, applyAddField, titleAddComputed},
		{"add_state_machine", "A", 2, enumerateAddMachine, applyAddMachine, titleAddMachine},
		{"add_transition", "A", 1.5, enumerateAddTransition, applyAddTransition, titleAddTransition},
		{"add_custom_action", "A", 1.6, enumerateAddAction, applyAddAction, titleAddAction},
		{"add_effect", "A", 1.6, enumerateAddEffect, applyAddEffect, titleAddEffect},
		{"add_guard", "T", 4, enumerateAddGuard, applyGuard, titleGuard},
		{"make_relation_required", "T", 1, enumerateRequireRelation, applyRequireRelation, titleRequireRelation},
		{"make_relation_optional", "L", 1, enumerateFreeRelation, applyMakeOptional, titleMakeOptional},
		{"change_formula", "R", 1, enumerateChangeFormula, applyChangeFormula, titleChangeFormula},
		{"change_guard", "R", 2.5, enumerateChangeGuard, applyGuard, titleGuard},
		{"rename_entity", "R", 1, enumerateRenameEntity, applyRenameEntity, titleRenameEntity},
		{"remove_entity", "D", 0.6, enumerateRemoveEntity, applyRemoveEntity, titleRemoveEntity},
		{"remove_relation", "D", 0.6, enumerateRemoveRelation, applyRemoveRelation, titleRemoveField},
		{"remove_transition", "D", 0.6, enumerateRemoveTransition, applyRemoveTransition, titleRemoveTransition},
	}
}
