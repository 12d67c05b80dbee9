package episode

import (
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// The deliveries of the specification.
const (
	deliveryDelta     = "delta"      // the prompt has the change alone
	deliveryDeltaFile = "delta+file" // and SPEC.md holds everything
	deliveryFull      = "full"       // the prompt has everything
)

// promptInput is everything a prompt may depend on. The retry budget is not in it, so one run with budget R
// gives the outcome of every smaller one.
type promptInput struct {
	step      *scenario.Step
	attempt   int
	delivery  string
	toolchain string      // sentence
	alone     bool        // no turn builds on a conversation before it
	told      *suite.Told // about the attempt before; nil for attempt 0
	anew      bool        // the conversation about this turn was not kept: it is that before the turn, or none
}

// prompt renders what the agent is told. Attempt 0 has the same bytes at every feedback level. Where no
// SPEC.md names the toolchain, the prompt does: once when changes build on one conversation, each time when
// every prompt stands for itself.
func (in promptInput) prompt() string {
	switch {
	case in.attempt > 0 && in.anew:
		first := in
		first.attempt = 0
		return strings.TrimRight(first.prompt(), "\n") + "\n\n" + in.told.Text
	case in.attempt > 0:
		return in.told.Text
	case in.delivery == deliveryFull, in.delivery == deliveryDelta && (in.step.Turn == 0 || in.alone):
		return withToolchain(in.step.Request, in.toolchain)
	}
	return in.step.Request
}

// file is what SPEC.md holds from this turn on, or "" when the delivery has no file.
func (in promptInput) file() string {
	if in.delivery == deliveryDeltaFile || in.delivery == "" {
		return withToolchain(in.step.Spec, in.toolchain)
	}
	return ""
}

// estimateTokens is the usual rule of thumb, four bytes to a token.
func estimateTokens(text string) int64 { return int64(len(text)+3) / 4 }
