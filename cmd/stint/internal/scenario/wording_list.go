package scenario

// listWordings holds the operations about lists and analytics.
func listWordings(operation string) []string {
	switch operation {
	case "add_filter":
		return []string{
			"It should be possible to pick {nouns} by {field} when they are listed.",
			"Please let the list of {nouns} be filtered by {field}.",
			"Nobody wants to read through all {nouns}: give {path} a filter for {field}.",
			"We often look for {nouns} by their {field}. Add a query parameter for that to the list.",
		}
	case "add_sort":
		return []string{
			"The list of {nouns} should be sortable by {field}.",
			"Please let {path} be ordered by {field}, in both directions.",
			"People want to see {nouns} in the order of {field}. Make this possible in the list.",
			"Add {field} to what the list of {nouns} can be sorted by.",
		}
	case "change_default_sort":
		return []string{
			"When nobody asks for an order, {nouns} should be listed by {field}.",
			"Please change the usual order of the list of {nouns}: it goes by {field} from now on.",
			"The order in which {path} lists {nouns} by default is to be that of {field}.",
			"Opening the list of {nouns}, we expect them in the order of {field}.",
		}
	case "add_pagination":
		return []string{
			"There are too many {nouns} for one answer. Divide {path} into pages.",
			"Please make the list of {nouns} come in pages.",
			"The list of {nouns} has grown too long: answer with a part of it at a time.",
			"{path} should return a limited number of {nouns} and let us ask for the next ones.",
		}
	case "change_page_limits":
		return []string{
			"The pages of the list of {nouns} get other sizes.",
			"Please change how many {nouns} a page of {path} holds.",
			"The limits for pages of {nouns} have to be adjusted.",
			"The page sizes of {path} did not prove themselves; here are new ones.",
		}
	case "add_nested_route":
		return []string{
			"We would like to list the {nouns} of one {target} under that {target}.",
			"Please offer the {nouns} that belong to {a target} below its own path.",
			"For {a target}, all its {nouns} should be found in one place, under the {target} itself.",
			"Add a list of {nouns} to every single {target}.",
		}
	}
	return statisticWordings(operation)
}

func statisticWordings(operation string) []string {
	switch operation {
	case "add_analytics":
		return []string{
			"We would like a new figure under {path}.",
			"Please add an analytics endpoint {path}.",
			"For our overview of {nouns} we need one more number: {path}.",
			"The people who plan ask for a statistic about {nouns}; serve it under {path}.",
			"Add {path} to the analytics.",
		}
	case "add_grouped_analytics":
		return []string{
			"We would like to see the {nouns} broken down, under {path}.",
			"Please add a statistic about {nouns} in more detail: {path}.",
			"One number about {nouns} is not enough for the people who plan. Offer {path} as well.",
			"For the yearly report we need a closer look at {nouns}; serve it under {path}.",
		}
	case "change_analytics_filter":
		return []string{
			"The figure under {path} should take other {nouns} into account.",
			"Please change which {nouns} count for {path}.",
			"{path} has looked at the wrong {nouns} so far.",
			"From now on {path} is about a different choice of {nouns}.",
		}
	case "rename_analytics":
		return []string{
			"The figure under {path} moves: its new name is {new}, and the old one disappears.",
			"Please rename {path} to {new}.",
			"The name of {path} has led to misunderstandings; call it {new} instead.",
			"What {path} answers should be found under the name {new} from now on, and only there.",
		}
	case "remove_analytics":
		return []string{
			"Nobody looks at {path} any more. Take it away.",
			"Please remove the figure under {path}.",
			"Drop {path} from the analytics.",
			"{path} can go; we do not need it.",
		}
	}
	return nil
}
