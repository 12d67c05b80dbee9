package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// csvHead is the heading of [Comparison.CSV]: one rectangular table, so that every reader takes it.
var csvHead = []string{
	"row", "family", "declared", "a", "b", "n", "mean", "ci_lo", "ci_hi", "ci_method", "median", "full", "failed", "stopped", "drift", "infra", "bench", "unknown", "usd",
	"ahead", "level", "behind", "undecided", "diff", "diff_lo", "diff_hi", "test", "p", "p_other_zero", "bound_lo", "bound_hi",
	"holm", "holm_discrete", "least", "hl", "hl_lo", "hl_hi", "rank_biserial", "decision", "rank", "rank_lo", "rank_hi", "warnings",
}

// CSV writes one row per configuration (row = config, its name in a) and one per pair and family (row = pair).
// Numbers are exact, undefined values empty, warnings are the codes that hang on the row.
func (c *Comparison) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{csvHead}
	for i := range c.Configs {
		rows = append(rows, configRecord(&c.Configs[i]))
	}
	for i := range c.Families {
		for j := range c.Families[i].Pairs {
			rows = append(rows, pairRecord(&c.Families[i], &c.Families[i].Pairs[j]))
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing the comparison as CSV: %w", err)
	}
	return nil
}

// record fills the columns of csvHead by name.
func record(values map[string]string) []string {
	out := make([]string, len(csvHead))
	for i, h := range csvHead {
		out[i] = values[h]
	}
	return out
}

func configRecord(r *ConfigResult) []string {
	v := map[string]string{
		"row": "config", "a": r.Config, "n": strconv.Itoa(r.N), "mean": plain(r.Mean), "median": plain(r.Median), "usd": plain(r.USD),
		"failed": strconv.Itoa(r.Ends["failed"]), "stopped": strconv.Itoa(r.Ends["stopped"]), "warnings": codes(r.notes),
	}
	for name, n := range r.Causes {
		v[name] = strconv.Itoa(n)
	}
	if r.Full != nil {
		v["full"] = strconv.Itoa(*r.Full)
	}
	v["rank"] = plain(r.Rank)
	if r.RankCI != nil {
		v["rank_lo"], v["rank_hi"] = strconv.Itoa(r.RankCI[0]), strconv.Itoa(r.RankCI[1])
	}
	ends(v, "ci", r.CI)
	if r.CIMethod != nil {
		v["ci_method"] = *r.CIMethod
	}
	return record(v)
}

func pairRecord(f *FamilyResult, p *PairResult) []string {
	v := map[string]string{
		"row": "pair", "family": f.Name, "declared": strconv.FormatBool(f.Declared), "a": p.A, "b": p.B, "n": strconv.Itoa(p.N),
		"diff": plain(p.Diff), "test": p.Test, "p": plain(p.P), "p_other_zero": plain(p.POtherZero), "holm": plain(p.Holm),
		"holm_discrete": plain(p.HolmDiscrete), "least": plain(p.Least), "hl": plain(p.HL), "rank_biserial": plain(p.RankBiserial),
		"decision": p.Decision, "warnings": codes(p.notes),
	}
	if p.Diff != nil {
		v["ahead"], v["level"], v["behind"] = strconv.Itoa(p.Ahead), strconv.Itoa(p.Level), strconv.Itoa(p.Behind)
		v["undecided"] = strconv.Itoa(p.Undecided)
	}
	ends(v, "diff", p.DiffCI)
	ends(v, "hl", p.HLCI)
	ends(v, "bound", p.Bounds)
	return record(v)
}

// ends sets name_lo and name_hi.
func ends(v map[string]string, name string, ci *[2]float64) {
	if ci != nil {
		v[name+"_lo"], v[name+"_hi"] = plain(&ci[0]), plain(&ci[1])
	}
}

// codes lists the codes of notes once each.
func codes(notes []Warning) string {
	seen := make(map[string]bool)
	for _, n := range notes {
		seen[n.Code] = true
	}
	return strings.Join(sortedKeys(seen), " ")
}
