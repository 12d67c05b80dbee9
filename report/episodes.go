package report

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// An episodeLink names the runs that a number stands for: those of one of the configurations, or of any, that carry
// all the keys. Keys hold no blank and no bar.
type episodeLink struct {
	configs []string
	keys    []string
	label   string
}

// runsOf names the runs of a configuration with the keys, which are words: an end ("full", "drift", …), "halted",
// "incomplete", "void", "resumed", or those of leafKey and windowKey.
func (c *Comparison) runsOf(config string, keys ...string) *episodeLink {
	l := &episodeLink{configs: []string{config}, keys: keys, label: c.brief(config)}
	for _, k := range keys {
		if l.words(k) {
			l.label += ", " + k
		}
	}
	return l
}

// words says whether a key is a word a reader knows.
func (l *episodeLink) words(key string) bool { return !strings.ContainsAny(key, "0123456789") }

// runsOfPair names the runs of two configurations.
func (c *Comparison) runsOfPair(a, b string) *episodeLink {
	return &episodeLink{configs: []string{a, b}, label: c.brief(a) + " and " + c.brief(b)}
}

// leafKey is the key of the runs that ended with a leaf, which may be any text.
func leafKey(leaf string) string {
	h := fnv.New32a()
	h.Write([]byte(leaf))
	return "leaf" + strconv.FormatUint(uint64(h.Sum32()), 16) + "-" + strconv.Itoa(len(leaf))
}

// windowKey is the key of the runs that failed in the k-th window of turns of their configuration.
func windowKey(k int) string { return "window" + strconv.Itoa(k) }

// linked gives a cell the runs it stands for.
func linked(cell tableCell, link *episodeLink) tableCell {
	cell.link = link
	return cell
}

// view writes the link for the page; index numbers the configurations. It is nil if none of them is on the page.
func (l *episodeLink) view(index map[string]string) *linkView {
	v := &linkView{Label: Clean(l.label), Href: "#table-episodes"}
	var any []string
	for _, config := range l.configs {
		if n := index[config]; n != "" {
			any = append(any, "c"+n)
		}
	}
	if len(l.configs) > 0 && len(any) == 0 {
		return nil // of another study
	}
	if len(any) == 1 {
		v.Href = "#runs-" + any[0][1:]
	}
	parts := slices.Clone(l.keys)
	if len(any) > 0 {
		parts = append([]string{strings.Join(any, "|")}, parts...)
	}
	v.Keys = strings.Join(parts, " ")
	return v
}

// maxEpisodes bounds the list of single runs on the page; the heat map's CSV file has all.
const maxEpisodes = 3000

// An episodeRow is one run in the list of runs.
type episodeRow struct {
	config string
	id     string   // of the episode; "" if it has none
	keys   []string // what links select it by, the configuration aside
	cells  []tableCell
}

// runKeys says what links select a run by.
func (r *ConfigResult) runKeys(u *run) []string {
	keys := []string{u.ended()}
	if u.cause != noCause {
		keys = append(keys, "failed", leafKey(u.row.EndLeaf))
	}
	if u.row.Status == logs.StatusStopped {
		if u.row.Incomplete {
			keys = append(keys, "incomplete")
		} else {
			keys = append(keys, "halted")
		}
	}
	if u.row.Status == logs.StatusFailed && r.FailureRate != nil {
		for k, w := range r.FailureRate.Windows {
			if int(u.value) >= w.From && (w.To == nil || int(u.value) <= *w.To) {
				keys = append(keys, windowKey(k))
			}
		}
	}
	return keys
}

// An episodeKey finds the episode of a run.
type episodeKey struct {
	config, scenario string
	repeat           int
}

// wastefulEpisodes returns the ids of episodes by run, and how many attempts of each did not count.
func wastefulEpisodes(t *logs.Tables) (ids map[episodeKey]string, void, resumed map[string]int) {
	ids, void, resumed = make(map[episodeKey]string), make(map[string]int), make(map[string]int)
	if t == nil {
		return ids, void, resumed
	}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		ids[episodeKey{e.Config, e.Scenario, e.Repeat}] = e.Episode
	}
	for i := range t.Attempts {
		switch a := &t.Attempts[i]; {
		case !isVoid(a):
		case resumedVoid[*a.VoidReason]:
			resumed[a.Episode]++
		default:
			void[a.Episode]++
		}
	}
	return ids, void, resumed
}

// episodeRows lists single runs; ids and attempts come from the tables, where there are any.
func (c *Comparison) episodeRows(t *logs.Tables) (columns []tableColumn, rows []episodeRow, left int) {
	ids, void, resumed := wastefulEpisodes(t)
	columns = []tableColumn{{head: "configuration"}, {head: "scenario"}, {head: "repeat", mark: " "}, {head: c.columnWord(), mark: "."}, {head: "ended"}, {head: "leaf"}, {head: "$", mark: "."}}
	wasted := len(void)+len(resumed) > 0
	if wasted {
		columns = append(columns, tableColumn{head: "attempts that did not count", mark: " "})
	}
	if len(ids) > 0 {
		columns = append(columns, tableColumn{head: "episode"})
	}
	for i := range c.Configs {
		r := &c.Configs[i]
		for _, u := range r.byScenario() {
			if len(rows) == maxEpisodes {
				left++
				continue
			}
			row := episodeRow{config: r.Config, id: ids[episodeKey{r.Config, u.row.Scenario, u.row.Repeat}], keys: r.runKeys(u)}
			ended := u.ended()
			if ended == "failed" && c.cap() == 0 {
				ended = undefinedMark // without a cap nothing tells a failed run from one that finished
			}
			if ended == "stopped" && u.row.EndReason != "" {
				ended += " (" + Clean(u.row.EndReason) + ")"
			}
			row.cells = []tableCell{
				words(Clean(c.Short(row.config))), words(Clean(u.row.Scenario)), whole(u.row.Repeat), amount(&u.value, compact(u.value)),
				words(ended), words(orUndefined(leafName(u.row.EndLeaf))), amount(u.row.USD, optionalDollars(u.row.USD)),
			}
			if wasted {
				row.cells = append(row.cells, whole(void[row.id]+resumed[row.id]))
				if void[row.id] > 0 {
					row.keys = append(row.keys, "void")
				}
				if resumed[row.id] > 0 {
					row.keys = append(row.keys, "resumed")
				}
			}
			if len(ids) > 0 {
				row.cells = append(row.cells, words(Clean(row.id)))
			}
			rows = append(rows, row)
		}
	}
	return columns, rows, left
}

// ended says how a run ended, in the words of the columns that count ends.
func (u *run) ended() string {
	switch {
	case u.row.Status == logs.StatusStopped:
		return "stopped"
	case u.row.Status == logs.StatusCapped:
		return "full"
	case u.cause != noCause:
		return u.cause.String()
	}
	return "failed"
}

// episodeView is the table of single runs, each with an anchor, to which the numbers of the page lead.
func (rep *Report) episodeView(t *logs.Tables, index map[string]string) *tableView {
	columns, rows, left := rep.Comparison.episodeRows(t)
	list := table{name: "episodes", caption: "All runs", columns: columns}
	if left > 0 {
		list.caption = fmt.Sprintf("The first %d runs; %d more are in the tables of the study", len(rows), left)
	}
	for _, r := range rows {
		list.rows = append(list.rows, r.cells)
	}
	if len(rows) > 0 && rows[0].id != "" {
		list.caption += "; stint explain DIR EPISODE says why one ended, line by line"
	}
	v := list.withoutEmpty().view(index)
	seen := make(map[string]bool)
	for i := range v.Rows {
		r := &rows[i]
		n := index[r.config]
		v.Rows[i].Keys = strings.Join(append([]string{"c" + n}, r.keys...), " ")
		if anchorable(r.id) && !seen["run-"+r.id] {
			v.Rows[i].ID = "run-" + r.id
			seen[v.Rows[i].ID] = true
		}
		if !seen["runs-"+n] {
			v.Rows[i].First = "runs-" + n
			seen["runs-"+n] = true
		}
	}
	return v
}

// anchorable says whether an id can stand in an address as it is.
func anchorable(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}
