package fleet

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// TestUngraded: without grading, what was planted decides, and episodes end as they do when they are graded. The two are
// never mixed, neither in one folder nor in a collection.
func TestUngraded(t *testing.T) {
	t.Parallel()
	s, whole := finished(t)
	run := ran(t, s, study.RunOptions{GradeNone: true})
	ends := func(d *logs.RunDir) map[string]string {
		tables, problems, err := logs.ReadRun(d, nil)
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		out := map[string]string{}
		for _, e := range tables.Episodes {
			out[e.Episode] = strings.Repeat("passed ", *e.TurnsPassed) + *e.EndReason
		}
		if d == run && len(tables.Checks) > 0 {
			t.Errorf("%d checks of a run that was not graded", len(tables.Checks))
		}
		return out
	}
	if diff := cmp.Diff(ends(whole), ends(run)); diff != "" {
		t.Errorf("ends differ (-graded +not):\n%s", diff)
	}
	var bad *study.InputError
	for d, opt := range map[*logs.RunDir]study.RunOptions{run: {}, whole: {GradeNone: true}} {
		opt.Dir = d.Root
		if _, err := s.Run(t.Context(), opt); !errors.As(err, &bad) || bad.File != d.Root {
			t.Errorf("mixed in one folder: %v", err)
		}
	}
	if _, _, err := collectInto(t, CollectOptions{}, whole, run); !errors.As(err, &bad) || !strings.Contains(err.Error(), "without grading") {
		t.Errorf("mixed in a collection: %v", err)
	}
}
