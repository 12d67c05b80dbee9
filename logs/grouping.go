package logs

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// firstBytes is how much of a file tells it from others of the same session.
const firstBytes = 512

// groupInputs joins files that are one log: those of one folder, where a log is a folder, and those of one session,
// wherever they lie. Of the same file twice, copied while it grew, the longest counts; the others are returned too.
func groupInputs(f Format, files []inputFile) (all []logInput, copies []inputFile) {
	at := map[string]int{} // the group of a key
	var groups [][]int     // of files; emptied when it joins another
	of := make([]int, len(files))
	for i, file := range files {
		of[i] = len(groups)
		groups = append(groups, []int{i})
		var keys []string
		if file.dir != "" {
			keys = append(keys, "dir "+strings.TrimSuffix(file.path, file.name)+file.dir)
		}
		if len(file.session) > 3 {
			keys = append(keys, "session "+file.session)
		}
		for _, key := range keys {
			g, known := at[key]
			if !known {
				at[key] = i
				continue
			}
			from, to := of[i], of[g]
			if from == to {
				continue
			}
			for _, j := range groups[from] {
				of[j] = to
			}
			groups[to], groups[from] = append(groups[to], groups[from]...), nil
		}
	}
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		in := logInput{format: f}
		slices.Sort(g)
		for _, i := range g {
			if c := copyOf(in.files, &files[i]); c != nil {
				copies = append(copies, *c)
				continue
			}
			in.files = append(in.files, files[i])
		}
		all = append(all, in)
	}
	return all, copies
}

// copyOf finds the file of a session of which f is a copy, or which is one of f. The shorter one is returned and the
// longer one stays among the files; nil if f is a file of its own. What a program printed is no file that grows.
func copyOf(files []inputFile, f *inputFile) *inputFile {
	for i := range files {
		g := &files[i]
		n := min(len(f.first), len(g.first))
		if f.session == "" || f.session != g.session || f.part != g.part || f.part == "stdout" || n == 0 || !bytes.Equal(f.first[:n], g.first[:n]) {
			continue
		}
		if f.size <= g.size {
			return f
		}
		shorter := *g
		*g = *f
		return &shorter
	}
	return nil
}

// companion says whether a file that no format knows belongs to the logs around it by its name: what a program prints
// beside its log, its settings and its own bookkeeping.
func companion(name string) bool {
	base := strings.ToLower(path.Base(name))
	for _, part := range []string{"stderr", "stdout", ".log", "state.json", "config", "settings", "scheduled-loops", "checkpoint", "manifest", ".lock", ".pid"} {
		if strings.Contains(base, part) {
			return true
		}
	}
	dir := "/" + path.Dir(name) + "/"
	return strings.Contains(dir, "/chunks/") || strings.Contains(dir, "/generations/") || strings.Contains(dir, "/artifacts/")
}

// markCompanions finds the format that files of no known one belong to: that of the nearest log in their folder or one
// of three above it.
func markCompanions(reports []*FileReport) {
	of := map[string]*FileReport{}
	for _, r := range reports {
		if r.Format != "" {
			d := path.Dir(r.Path)
			for of[d] == nil {
				of[d] = r
				if !slices.Contains([]string{"session", "journal", "events", "agent", "sessions"}, path.Base(d)) {
					break
				}
				d = path.Dir(d)
			}
		}
	}
	for _, r := range reports {
		if r.Format != "" || r.Error != "" || r.Empty || !companion(r.Path) {
			continue
		}
		for d, n := path.Dir(r.Path), 0; n < 4; d, n = path.Dir(d), n+1 {
			if log := of[d]; log != nil {
				r.Format, r.Title, r.Beside = log.Format, log.Title, true
				break
			}
		}
	}
}

// doubtful are logs of one folder of which one is what a program printed and the other what it wrote, and nothing says
// whether they are the same session.
func doubtful(all []logInput) (pairs []Problem) {
	written := map[string]string{}
	key := func(f *inputFile) string { return path.Dir(f.path) }
	for _, in := range all {
		if f := &in.files[0]; len(in.files) == 1 && f.part != "" && f.part != "stdout" {
			written[in.format.Name+" "+key(f)] = f.path
		}
	}
	for _, in := range all {
		f := &in.files[0]
		if len(in.files) > 1 || f.part != "stdout" || f.session != "" {
			continue
		}
		if other := written[in.format.Name+" "+key(f)]; other != "" {
			pairs = append(pairs, Problem{File: f.path, Text: fmt.Sprintf("it may tell the same session as %s: then what it took counts twice; name one of them", other)})
		}
	}
	return pairs
}
