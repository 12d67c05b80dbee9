package stats

import "fmt"

// CodeNested and CodeBudgetVisible are the codes of [NestedError] and
// [BudgetVisibleError] in output.
const (
	CodeNested        = "NESTED"
	CodeBudgetVisible = "BUDGET_VISIBLE"
)

// A NestedError refuses a test between two sides that share runs, such as two
// retry budgets derived from the same runs: a run never gets worse with a larger
// budget, so no difference has no distribution to compare with.
type NestedError struct {
	Where  string
	Shared int    // runs both sides hold
	Run    string // one of them
}

// Error says what to report instead.
func (e *NestedError) Error() string {
	return fmt.Sprintf("testing %s (%s): %s on both sides, such as %q; results derived from the same runs cannot be tested against each other: report the gain with its interval",
		pairName(e.Where), CodeNested, countOf(e.Shared, "run is", "runs are"), e.Run)
}

// CheckNested returns a [*NestedError] if the two sides of a comparison hold a
// common run; runs are named by any unique id. Different budgets of one
// configuration must come from separate runs.
func CheckNested(where string, a, b []string) error {
	seen := make(map[string]bool, len(a))
	for _, id := range a {
		seen[id] = true
	}
	var e *NestedError
	for _, id := range b {
		if !seen[id] {
			continue
		}
		seen[id] = false
		if e == nil {
			e = &NestedError{Where: where, Run: id}
		}
		e.Shared++
	}
	if e == nil {
		return nil
	}
	return e
}

// A BudgetVisibleError refuses a retry curve of runs whose prompts told the
// agent its budget: it could then have behaved differently with another one.
type BudgetVisibleError struct {
	Run   string // id of the run
	Place string // where its log says so
}

// Error names the run.
func (e *BudgetVisibleError) Error() string {
	return fmt.Sprintf("retry curve (%s): run %q: the prompt shows the retry budget (%s), so smaller budgets cannot be derived from it",
		CodeBudgetVisible, e.Run, e.Place)
}

// countOf writes a number with the singular or plural of a noun.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
