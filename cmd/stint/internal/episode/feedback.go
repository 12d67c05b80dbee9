package episode

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

const (
	levelModerate = "moderate"
	levelDetailed = "detailed"
	maxToldLines  = 60 // of a build's output
	maxToldLine   = 180
)

// feedback renders what the agent is told. What a suite says is rendered by the suite; an attempt that was
// never tried says at moderate what went wrong, and at detailed also what is known of it.
func (r *GradeResult) feedback(level string, s *suite.Suite) suite.Told {
	told := suite.Feedback(level, s, r.Result)
	reason := r.Result.Reason
	if reason != reasonBuild && reason != reasonTooLarge || level != levelModerate && level != levelDetailed {
		return told
	}
	var b strings.Builder
	b.WriteString("The service does not yet meet the specification: it could not be tried.\n")
	switch {
	case reason == reasonBuild && level == levelDetailed:
		fmt.Fprintf(&b, "%s.\n", r.Result.Detail)
		b.WriteString(buildTail(r.Build))
	case reason == reasonBuild:
		b.WriteString("build.sh failed.\n")
	case level == levelDetailed:
		fmt.Fprintf(&b, "%s.\n", r.Result.Detail)
	default:
		b.WriteString("The folder is too large to be kept.\n")
	}
	return suite.Told{Text: b.String(), Omitted: r.Result.Failed}
}

// buildTail is the last lines of a build's output.
func buildTail(build *BuildResult) string {
	if build == nil || strings.TrimSpace(build.Log) == "" {
		return "It printed nothing.\n"
	}
	lines := strings.Split(strings.TrimRight(build.Log, "\r\n\t "), "\n")
	if len(lines) > maxToldLines {
		lines = lines[len(lines)-maxToldLines:]
	}
	var b strings.Builder
	b.WriteString("The last lines that it printed:\n")
	for _, line := range lines {
		line = oneLine(line)
		if r := []rune(line); len(r) > maxToldLine {
			line = string(r[:maxToldLine]) + "…"
		}
		b.WriteString("  | " + line + "\n")
	}
	return b.String()
}

// tooLarge is the grade of a workspace over the limits of a snapshot.
func tooLarge(s *suite.Suite, e *logs.TooLargeError, workspace string) *GradeResult {
	detail := oneLine(strings.ReplaceAll(e.Error(), workspace, "The folder"))
	return &GradeResult{Result: notGraded(s, reasonTooLarge, detail)}
}
