package study

import (
	"context"
	"sync"
)

// Job is one episode that a run may work on.
type Job struct {
	PlannedEpisode
	ID    string // of the episode
	Model string // as the study names it
}

// Claim is a job that this process holds.
type Claim struct {
	Job
	// Context ends when the job is to be left: with the run, or for a reason of the queue's own. A cause that is an
	// *episode.Stop with End ends the episode for good.
	Context context.Context
}

// Queue hands out the episodes of a run and takes back what became of them: the pool of this process, or one that
// serves many machines. Its methods are called from several goroutines.
type Queue interface {
	// Claim waits until this process may begin an episode. It returns nil when nothing more is to begin: all are
	// done or given out, the run stops, or ctx has ended.
	Claim(ctx context.Context) *Claim
	// Deliver gives a claimed job back with what its loop returned. Nil means that the episode has an end.
	Deliver(c *Claim, err error)
	// Result is asked once, when every claimed job was delivered: the errors of the jobs and, apart from them, the
	// exhausted budget of the study if that is why some are left.
	Result() (spent, err error)
}

// drain works on what the queue hands out until there is nothing more. How many jobs run at once is the queue's to say.
func drain(ctx context.Context, q Queue, run func(context.Context, Job) error) (spent, err error) {
	var running sync.WaitGroup
	for c := q.Claim(ctx); c != nil; c = q.Claim(ctx) {
		running.Go(func() { q.Deliver(c, run(c.Context, c.Job)) })
	}
	running.Wait()
	return q.Result()
}
