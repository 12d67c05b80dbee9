package view

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// An episode is everything about one episode but its events.
type episode struct {
	*logs.EpisodeRow
	Tables   *logs.Tables // its own rows; no events
	Problems []logs.Problem
	stamp    string
}

// name is how readers call the episode.
func (ep *episode) name() string { return episodeName(ep.EpisodeRow) }

func episodeName(e *logs.EpisodeRow) string {
	name := e.Config + "/" + e.Scenario
	if e.Config == "" {
		name = e.Scenario
	}
	return name + "#" + strconv.Itoa(e.Repeat)
}

// keptEpisodes bounds the episodes whose tables are kept.
const keptEpisodes = 16

// episodeStamp says whether anything of an episode changed.
func (st *study) episodeStamp(id string) string {
	if st.Foreign {
		return st.stamp()
	}
	return stampOf(st.journal(id)) + st.verdictStamp()
}

// episode reads one episode.
func (st *study) episode(id string) (*episode, error) {
	stamp := st.episodeStamp(id)
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := slices.IndexFunc(st.episodes, func(ep *episode) bool { return ep.Episode == id }); i >= 0 {
		ep := st.episodes[i]
		st.episodes = slices.Delete(st.episodes, i, i+1)
		if ep.stamp == stamp {
			st.episodes = slices.Insert(st.episodes, 0, ep)
			return ep, nil
		}
	}
	ep := &episode{stamp: stamp}
	var err error
	if st.Foreign {
		ep.Tables, err = st.episodeTables(id)
	} else {
		err = st.episodeJournal(ep, id)
	}
	if err != nil {
		return nil, err
	}
	if len(ep.Tables.Episodes) == 0 {
		return nil, notFound("the study has no such episode")
	}
	ep.EpisodeRow = &ep.Tables.Episodes[0]
	st.episodes = slices.Insert(st.episodes, 0, ep)
	st.episodes = st.episodes[:min(len(st.episodes), keptEpisodes)]
	return ep, nil
}

// episodeJournal reads an episode from its journal; the id is checked against the folders that there are.
func (st *study) episodeJournal(ep *episode, id string) error {
	ids, err := st.Dir.Episodes()
	if err != nil {
		return err
	}
	if !slices.Contains(ids, id) {
		return notFound("the study has no such episode")
	}
	if ep.Tables, ep.Problems, err = logs.ReadEpisode(st.Dir, id); err != nil {
		return fmt.Errorf("reading the episode %s: %w", id, err)
	}
	if _, err := st.allVerdicts(); err != nil {
		return err
	}
	ep.Tables.Verdicts = st.verdicts.byEpisode[id]
	ep.Tables.SetEnds()
	return nil
}

// ofEpisode matches the rows of an episode, or of one of its turns if turn is not negative.
func ofEpisode(id string, turn int) (logs.Expr, error) {
	text := "episode:" + strconv.Quote(id)
	if turn >= 0 {
		text += " turn:" + strconv.Itoa(turn)
	}
	return logs.ParseExpr(text)
}

// episodeTables reads an episode from tables.
func (st *study) episodeTables(id string) (*logs.Tables, error) {
	filter, err := ofEpisode(id, -1)
	if err != nil {
		return nil, notFound("the study has no such episode")
	}
	t := &logs.Tables{}
	var g errgroup.Group
	g.Go(func() (err error) { t.Episodes, err = rowsOf[logs.EpisodeRow](st.table("episodes"), filter); return })
	g.Go(func() (err error) { t.Turns, err = rowsOf[logs.TurnRow](st.table("turns"), filter); return })
	g.Go(func() (err error) { t.Clauses, err = rowsOf[logs.ClauseRow](st.table("clauses"), filter); return })
	g.Go(func() (err error) { t.Attempts, err = rowsOf[logs.AttemptRow](st.table("attempts"), filter); return })
	g.Go(func() (err error) { t.Checks, err = rowsOf[logs.CheckRow](st.table("checks"), filter); return })
	g.Go(func() (err error) { t.Verdicts, err = rowsOf[logs.VerdictRow](st.table("verdicts"), filter); return })
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("reading the episode %s: %w", id, err)
	}
	return t, nil
}
