package scenario

// lifeWordings holds the operations about states, actions, conditions, formulas and collections. {command} stands for the
// name of a transition or an action, {rule} for what an operation brings.
func lifeWordings(operation string) []string {
	switch operation {
	case "add_computed":
		return []string{
			"{Nouns} should show one more figure, {field}, which the service works out by itself: {rule}.",
			"Please add {field} to {nouns}. Nobody enters it; it is {rule}.",
			"Whenever we look at {a noun} we want to see {field}: {rule}.",
			"It would help if {a noun} came with {field}, computed as {rule}.",
		}
	case "change_formula":
		return []string{
			"{field} of {nouns} is computed in another way from now on: {rule}.",
			"The formula for {field} of {a noun} was wrong. It should be {rule}.",
			"Please change how {field} of {nouns} comes about. It is now {rule}.",
			"We have agreed on a new definition for {field} of {nouns}: {rule}.",
		}
	case "add_state_machine":
		return []string{
			"{Nouns} go through stages, and the service should know them: add {field} with commands that move {a noun} on.",
			"Please let the service keep {field} for every {noun} and offer a command for each step.",
			"From now on each {noun} has a state, {field}. It changes by commands only, never by editing.",
			"We want to follow {nouns} through their life. Introduce {field} and the steps that are listed below.",
		}
	case "add_transition":
		return []string{
			"There is one more step for {nouns}: {command}.",
			"Please add the command {command} to {nouns}.",
			"{Nouns} cannot do everything yet that happens in practice; give them {command}.",
			"We need another way to change the state of {a noun}, called {command}.",
		}
	case "remove_transition":
		return []string{
			"The command {command} of {nouns} is abolished.",
			"Please remove {command} from {nouns}; nobody may use it any more.",
			"It was a mistake to offer {command} for {nouns}. Take it away.",
			"{Nouns} no longer have the command {command}.",
		}
	case "add_custom_action":
		return []string{
			"Please add a command {command} to {nouns}.",
			"Our people want to do {command} with {a noun} in one request.",
			"{Nouns} need an action of their own, {command}, so that nobody has to edit the figures by hand.",
			"Give {nouns} the command {command}.",
		}
	}
	return moreLifeWordings(operation)
}

func moreLifeWordings(operation string) []string {
	switch operation {
	case "add_effect":
		return []string{
			"The command {command} of {nouns} should do one thing more; see its effects below.",
			"When {command} of {a noun} succeeds, another figure has to follow.",
			"Please let {command} of {nouns} change one more value.",
			"{command} of {nouns} forgets something: it has a further effect, described below.",
		}
	case "add_guard":
		return []string{
			"The command {command} of {nouns} should not always be allowed: only while {rule}.",
			"Please refuse {command} for {a noun} unless {rule}.",
			"It happened that {command} was used on {nouns} too early. Allow it only while {rule}.",
			"Before {command} of {a noun} goes through, check that {rule}.",
		}
	case "change_guard":
		return []string{
			"The condition for {command} of {nouns} changes: it is now allowed only while {rule}.",
			"Please check something else before {command} of {a noun}: it may go through only while {rule}.",
			"We have a new rule for when {nouns} take {command}, namely only while {rule}.",
			"From now on {command} of {a noun} is allowed only while {rule}.",
		}
	case "rename_entity":
		return []string{
			"{Nouns} are now called {new nouns} everywhere, the path included: it is {new path}, and {path} is no longer known.",
			"Please rename {nouns} to {new nouns}; their collection moves from {path} to {new path}.",
			"We do not say {nouns} any more but {new nouns}. Move {path} to {new path}.",
			"What the service knows as {nouns} should be {new nouns}, under {new path} instead of {path}.",
		}
	case "remove_entity":
		return []string{
			"Drop {nouns} completely, with all that refers to them.",
			"We no longer need {nouns}. Please remove the collection {path} and everything that points to it.",
			"The service should not manage {nouns} any more; {path} disappears.",
			"{Nouns} are a thing of the past: take {path} out of the service.",
		}
	}
	return relationWordings(operation)
}

func relationWordings(operation string) []string {
	switch operation {
	case "make_relation_required":
		return []string{
			"Every {noun} must belong to {a target}: {field} may no longer be missing.",
			"Please do not accept {nouns} without {field} any more.",
			"{A noun} without {a target} makes no sense to us. Make {field} a required field.",
			"From now on {field} has to be given for each {noun}, and it may not be null.",
		}
	case "make_relation_optional":
		return []string{
			"{A noun} no longer has to belong to {a target}: {field} may be left out.",
			"Please accept {nouns} without {field} too.",
			"There are {nouns} that have no {target}, so make {field} optional.",
			"{field} of {nouns} is not required any more.",
		}
	case "remove_relation":
		return []string{
			"{Nouns} no longer refer to {targets}: remove {field}.",
			"Please cut the link between {nouns} and {targets}; {field} goes away.",
			"We do not want to know any more which {target} {a noun} belongs to. Drop {field}.",
			"Stop storing {field} for {nouns}.",
		}
	}
	return presenceWordings(operation)
}
