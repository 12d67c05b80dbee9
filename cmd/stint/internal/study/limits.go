package study

import (
	"github.com/stint-bench/stint/logs"
)

// limitUSD is what may be spent in this run directory; 0 = no limit.
func (w *work) limitUSD() float64 {
	whole := w.study.Budgets.StudyUSD
	if set := w.control.limits().MaxUSD; set != nil {
		if most := w.opt.MaxUSD; most > 0 {
			return min(most, *set)
		}
		return *set
	}
	if most := w.opt.MaxUSD; most > 0 {
		if whole == 0 || most < whole {
			return most
		}
		return whole
	}
	return w.opt.Shard.part(whole)
}

// perModel is how many episodes of one model run at once; 0 = no limit.
func (w *work) perModel() int {
	if w.opt.PerModel > 0 {
		return w.opt.PerModel
	}
	if set := w.control.limits().PerModel; set != nil {
		return *set
	}
	return w.opt.Shard.partOf(w.study.Jobs.PerModel)
}

// jobs is how many episodes run at once.
func (w *work) jobs() int {
	if set := w.control.limits().Jobs; set != nil && w.opt.Jobs == 0 {
		return *set
	}
	return w.study.jobs(w.opt.Jobs)
}

// queue is where the run takes its episodes from.
func (w *work) queue(pending []Job) Queue {
	if w.opt.Queue != nil {
		return w.opt.Queue(pending)
	}
	return newPool(poolLimits{jobs: w.jobs(), perModel: w.perModel()}, pending)
}

// chargeBefore puts into the budget what was paid in this run directory before the run began.
func (w *work) chargeBefore() error {
	if w.charged {
		return nil
	}
	before, err := spentUSD(w.dir, w.began)
	if err != nil {
		return err
	}
	w.charged = true
	if before > 0 {
		w.budget.Charge(logs.Usage{USD: &before}) // what was paid is never refused
	}
	return nil
}
