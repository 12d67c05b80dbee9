package episode

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// decide acts on a grade: a turn that is passed or failed, a process retry, or another attempt with feedback.
func (l *loop) decide() error {
	s := &l.state
	switch {
	case s.grade.Passed == nil:
		return l.gradeAgain()
	case *s.grade.Passed:
		return l.endTurn(true)
	}
	if c := s.exit.Completion; c != harness.CompletionClean && s.processUsed < s.start.ProcessRetries {
		evidence := oneLine(strings.TrimSpace(c + " " + s.exit.Limit + " " + s.exit.Detail))
		return l.voidAttempt(voidProcessRetry, evidence)
	}
	if s.attempt < s.start.Retries {
		return l.sendFeedback()
	}
	return l.endTurn(false)
}

// gradeAgain grades the same snapshot once more, or gives up on the episode.
func (l *loop) gradeAgain() error {
	s := &l.state
	if s.nulls < MaxGradings {
		s.phase = phaseGrade
		s.fails = map[string]bool{}
		return nil
	}
	reason := EndBench
	if s.grade.Fault == faultHost {
		reason = EndHost
	}
	return l.end(reason, fmt.Sprintf("%d gradings failed, the last one: %s: %s", s.nulls, s.grade.Reason, s.grade.Detail))
}

func (l *loop) endTurn(passed bool) error {
	e := Event{Kind: EventTurnEnd, Passed: passed}
	if !passed { // the record ends the turn, and with it what is known of its failed checks
		e.Why, e.Way = l.why(), l.wayOut()
	}
	if err := l.append(logs.TypeTurnEnd, logs.TurnEnd{Passed: passed, AttemptsUsed: l.state.attempt + 1}, true); err != nil {
		return err
	}
	l.report(e)
	return nil
}

// nextTurn goes on after a turn, or ends the episode.
func (l *loop) nextTurn() error {
	s := &l.state
	last := s.passed[len(s.passed)-1]
	switch {
	case !last && s.start.Mode == ModeFailStop:
		return l.end(EndFailed, "")
	case len(s.passed) < s.start.TurnsMax:
		return l.startTurn(len(s.passed))
	case s.turnsPassed() < s.start.TurnsMax:
		return l.end(EndFailed, "")
	}
	return l.end(EndCapped, "")
}

func (l *loop) end(reason, evidence string) error {
	return l.append(logs.TypeEpisodeEnd, logs.EpisodeEnd{EndReason: reason, TurnsPassed: l.state.turnsPassed(), Evidence: oneLine(evidence)}, true)
}

// sendFeedback records what the agent will be told about the failed attempt.
func (l *loop) sendFeedback() error {
	told, err := l.feedback(l.state.grade.Result)
	if err != nil {
		return err
	}
	sha, err := l.blobs.Put([]byte(told.Text))
	if err != nil {
		return err
	}
	return l.append(logs.TypeFeedbackSent, logs.FeedbackSent{Level: l.state.start.Feedback, SHA: sha, Bytes: len(told.Text), Omitted: told.Omitted}, false)
}

// feedback renders the feedback on a result that is stored as a blob.
func (l *loop) feedback(sha string) (suite.Told, error) {
	res := l.results[sha]
	if res == nil {
		b, err := l.blobs.Get(sha)
		if err != nil {
			return suite.Told{}, err
		}
		res = &GradeResult{}
		if err := json.Unmarshal(b, res); err != nil {
			return suite.Told{}, fmt.Errorf("decoding result %s: %w", sha, err)
		}
		l.results = map[string]*GradeResult{sha: res}
	}
	told := res.feedback(l.state.start.Feedback, l.suite())
	if told.Text == "" {
		return told, fmt.Errorf("feedback level %q has nothing to say on a failed attempt", l.state.start.Feedback)
	}
	return told, nil
}
