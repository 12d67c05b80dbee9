package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stint-bench/stint/logs"
)

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	out, format string
	partition   string
	strict      bool
	text        bool
	columns     logs.OutcomeColumns
}

// formatNames lists the formats that ingest reads.
func formatNames() string {
	var names []string
	for _, f := range logs.Formats() {
		name := f.Name
		if f.Unverified {
			name += " (unverified)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// ingestMemory is from how many bytes on memory is collected as often as it takes to stay below, unless documents need it.
const ingestMemory = 208 << 20

// ingestLogs reads logs of any kind into tables.
func ingestLogs(ctx context.Context, e *env, paths []string, opt ingestFlags) error {
	start := e.Now()
	if opt.out == "" {
		return inputErrorf("for example: "+e.Self+" ingest "+shellQuote(paths[0])+" -o tables", "%s is no run directory: say with -o where the tables go", clean(paths[0]))
	}
	if opt.columns != (logs.OutcomeColumns{}) && opt.format == "" {
		opt.format = "outcomes" // who names columns says what the file is
	}
	r, err := logs.Open(logs.ReaderOptions{Format: opt.format, Stdin: e.Stdin, Text: opt.text, Columns: opt.columns}, paths...)
	if err != nil {
		return err
	}
	defer r.Close()
	if !slices.ContainsFunc(r.Files(), func(f logs.FileReport) bool { return f.Format != "" && !f.Beside }) {
		sayUnknown(e, opt.out, r.Files())
		return inputErrorf("the formats are "+formatNames(), "no log of a known format among %s", plural(len(r.Files()), "file"))
	}
	// Little stays of what is read, so that some more room saves much collecting. What stays, such as the footer of a
	// table with thousands of row groups, counts towards the limit.
	if !opt.text {
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), ingestMemory)))
	count := recordProgress(e)
	res, err := logs.IngestLogs(ctx, r, opt.out, count)
	if count != nil {
		fmt.Fprint(e.Stderr, "\r\x1b[K")
	}
	if err != nil {
		return fmt.Errorf("writing the tables to %s: %w", opt.out, err)
	}
	if opt.partition != "" {
		if err := logs.PartitionTables(opt.out, opt.partition); err != nil {
			return err
		}
	}
	printFiles(e, res.Files)
	sayUnknown(e, opt.out, res.Files)
	sayProblems(e, res.Doubts)
	sayProblems(e, res.Problems)
	fmt.Fprintf(e.Stdout, "%s: %s, %s, %s, %s\n", opt.out, plural(res.Episodes, "episode"), plural(res.Attempts, "attempt"), plural(res.Events, "event"), plural(res.Bad, "bad record"))
	if e.Verbose {
		e.say("read and written in %s", e.Now().Sub(start).Round(time.Millisecond))
	}
	if opt.strict && res.Bad > 0 {
		return &exitError{code: exitGate, err: fmt.Errorf("--strict: %s could not be read", plural(res.Bad, "record"))}
	}
	return nil
}

// listedFiles is how many files are listed one by one; of more there is a line per format.
const listedFiles = 30

// printFiles prints what files were taken for.
func printFiles(e *env, files []logs.FileReport) {
	files = slices.DeleteFunc(slices.Clone(files), func(f logs.FileReport) bool { return f.Format == "" })
	label := "file"
	if len(files) > listedFiles {
		label = "files"
		files = sumFormats(files)
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\ttaken for\trecords\tbad\tof unknown kind\n", label)
	for _, f := range files {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", clean(f.Path), takenFor(f), f.Records, f.Bad, unknownKinds(f))
	}
	w.Flush()
}

// takenFor names the format of a file.
func takenFor(f logs.FileReport) string {
	name := f.Format
	switch {
	case f.Beside:
		name += ", beside it"
	case f.Unverified:
		name += ", unverified"
	}
	if f.InvalidUTF8 > 0 {
		name += fmt.Sprintf(", %d not UTF-8", f.InvalidUTF8)
	}
	if f.RepeatedKeys > 0 {
		name += fmt.Sprintf(", %d with a key twice", f.RepeatedKeys)
	}
	return name
}

// unknownKinds counts them and names the most frequent ones.
func unknownKinds(f logs.FileReport) string {
	total := 0
	for _, n := range f.Unknown {
		total += n
	}
	if total == 0 {
		return "0"
	}
	var names []string
	for i, kind := range f.UnknownKinds() {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, clean(kind))
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(names, ", "))
}

// sumFormats adds up the files of each format; Path is how many there are.
func sumFormats(files []logs.FileReport) []logs.FileReport {
	sums := map[string]*logs.FileReport{}
	count := map[string]int{}
	for _, f := range files {
		key := takenFor(logs.FileReport{Format: f.Format, Beside: f.Beside, Unverified: f.Unverified})
		s := sums[key]
		if s == nil {
			s = &logs.FileReport{Format: f.Format, Beside: f.Beside, Unverified: f.Unverified, Unknown: map[string]int{}}
			sums[key] = s
		}
		count[key]++
		s.RepeatedKeys += f.RepeatedKeys
		s.Records, s.Bad, s.InvalidUTF8 = s.Records+f.Records, s.Bad+f.Bad, s.InvalidUTF8+f.InvalidUTF8
		for kind, n := range f.Unknown {
			s.Unknown[kind] += n
		}
		s.Path = fmt.Sprint(count[key])
	}
	var out []logs.FileReport
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, *sums[key])
	}
	slices.SortStableFunc(out, func(a, b logs.FileReport) int { return cmp.Compare(a.Format, b.Format) })
	return out
}

// sayUnknown names files of no known format.
func sayUnknown(e *env, out string, files []logs.FileReport) {
	const shown = 10
	var names []string
	empty := 0
	for _, f := range files {
		if f.Empty {
			empty++
		} else if f.Format == "" && f.Error == "" {
			names = append(names, clean(f.Path))
		}
	}
	if empty > 0 && !e.Quiet {
		e.say("empty: %s", plural(empty, "file"))
	}
	if len(names) == 0 || e.Quiet {
		return
	}
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more; all of them: %s", len(names)-shown, filepath.Join(out, "files.json"))
	}
	e.say("not read, of no known format: %s%s", strings.Join(names[:min(len(names), shown)], ", "), more)
}

// recordProgress counts records in a line of a terminal, which is to be cleared at the end; elsewhere it is nil.
func recordProgress(e *env) func(n int) {
	if !e.terminal() {
		return nil
	}
	return func(n int) {
		if n%(1<<16) == 0 {
			fmt.Fprintf(e.Stderr, "\rreading records %d", n)
		}
	}
}
