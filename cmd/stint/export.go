package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
)

// exportFormat is a format of export, with what becomes of a run in it.
type exportFormat struct {
	name, what string
	tables     bool // it is made of the tables alone, events included
}

var exportFormats = []exportFormat{
	{name: "atif", what: "a trajectory of the Agent Trajectory Interchange Format per episode"},
	{name: "inspect", what: "a log of Inspect AI (.eval) per configuration, a sample per episode"},
	{name: "csv", what: "the seven tables, one file each", tables: true},
	{name: "jsonl", what: "the same as JSON lines", tables: true},
	{name: "arrow", what: "the same as Arrow IPC files", tables: true},
	{name: "git", what: "a bare git repository per episode, a commit per attempt"},
}

func newExportCmd(e *env) *cobra.Command {
	var to, out, filter string
	var list strings.Builder
	for _, f := range exportFormats {
		fmt.Fprintf(&list, "\n  %-8s %s", f.name, f.what)
	}
	cmd := &cobra.Command{
		Use:   "export DIR --to FORMAT -o OUT",
		Short: "Hand the data on: ATIF, Inspect, CSV, JSON lines, Arrow, git",
		Long: `export writes the episodes of a run directory, or its tables, for other programs:
` + list.String() + `

Secrets in texts are replaced, as everywhere before something leaves the machine; the
files of a workspace in git are as the agent left them. csv, jsonl and arrow also take a
folder of tables, whatever ingest made it from. OUT must not exist; it appears when all
of it is written. What ATIF and Inspect have no place for, such as the turns passed of an
episode, lies under the key "stint"; stint ingest finds it there.`,
		Example: "  " + e.Self + " export runs/demo --to atif -o trajectories\n  " + e.Self + " export runs/demo --to csv -o csv --filter feedback:detailed",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			x := exportJob{e: e, dir: args[0], out: out}
			if err := x.check(to, filter); err != nil {
				return err
			}
			return x.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`FORMAT`: "+exportNames())
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write, which must not exist")
	cmd.Flags().StringVar(&filter, "filter", "", "export only the episodes that match `EXPR`")
	return cmd
}

func exportNames() string {
	var names []string
	for _, f := range exportFormats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

type exportJob struct {
	e      *env
	dir    string
	to     exportFormat
	out    string
	filter *logs.Expr
}

func (x *exportJob) check(to, filter string) error {
	i := slices.IndexFunc(exportFormats, func(f exportFormat) bool { return f.name == to })
	switch {
	case to == "":
		return inputErrorf("name one with --to: "+exportNames(), "the format is missing")
	case i < 0:
		return inputErrorf("the formats are "+exportNames(), "--to %s: there is no such format", to)
	case x.out == "":
		return inputErrorf("name it with -o", "the folder to write is missing")
	}
	x.to = exportFormats[i]
	if _, err := os.Lstat(x.out); err == nil {
		return inputErrorf("name another folder, or delete this one", "%s exists: nothing is overwritten", clean(x.out))
	}
	if filter != "" {
		expr, err := logs.ParseExpr(filter)
		if err != nil {
			return err
		}
		x.filter = &expr
	}
	return nil
}

func (x *exportJob) run(ctx context.Context) error {
	d, err := logs.OpenRunDir(x.dir)
	if err != nil {
		var notRun *logs.NotRunDirError
		if !errors.As(err, &notRun) || !x.to.tables {
			return err
		}
		t, terr := logs.ReadTablesWith(x.dir, logs.ReadOptions{Events: true})
		if terr != nil {
			return terr
		}
		return x.write(ctx, nil, t)
	}
	t, problems, err := logs.ReadRunWith(d, logs.ReadOptions{Events: x.to.tables, OnEpisode: readProgress(x.e)})
	if err != nil {
		return err
	}
	sayProblems(x.e, problems)
	return x.write(ctx, d, t)
}

func (x *exportJob) write(ctx context.Context, d *logs.RunDir, t *logs.Tables) error {
	kept := make(map[string]bool)
	for i := range t.Episodes {
		row := &t.Episodes[i]
		matches := true
		if x.filter != nil {
			var err error
			if matches, err = x.filter.Match(row.Get); err != nil {
				return err
			}
		}
		if matches {
			kept[row.Episode] = true
		}
	}
	n := len(kept)
	if n == 0 {
		return inputErrorf("see what there is: "+x.e.Self+" ls "+shellQuote(x.dir), "%s has no episode to export", clean(x.dir))
	}
	m := newMeter(x.e, n, "episodes")
	defer m.finish()
	opt := logs.ExportOptions{Version: stintVersion(), Keep: func(row *logs.EpisodeRow) bool { return kept[row.Episode] }, OnEpisode: func(int, int) { m.add(1) }}
	var err error
	switch x.to.name {
	case "atif":
		err = logs.ExportATIF(ctx, d, t, x.out, opt)
	case "inspect":
		err = logs.ExportInspect(ctx, d, t, x.out, opt)
	case "git":
		err = x.histories(ctx, d, t, opt)
	default:
		err = logs.ExportTables(ctx, t, x.to.name, x.out, opt)
	}
	m.finish()
	if err != nil {
		return err
	}
	fmt.Fprintf(x.e.Stdout, "%s: %d episodes as %s\n", clean(x.out), n, x.to.name)
	return nil
}

// histories writes the workspaces of every episode as a git repository. git reads a stream that holds no program and no
// setting of the agent; neither the user's configuration nor his templates, with their hooks, have a part in it.
func (x *exportJob) histories(ctx context.Context, d *logs.RunDir, t *logs.Tables, opt logs.ExportOptions) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return inputErrorf("install git (Debian: apt-get install git)", "exporting to git needs the program git")
	}
	return logs.ExportFolders(ctx, d, t, x.out, opt, func(e *logs.EpisodeRow, dir string) error {
		run := func(stdin *os.File, args ...string) error {
			cmd := exec.CommandContext(ctx, git, args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir, "LC_ALL=C"}
			cmd.Stdin = stdin
			if b, err := cmd.CombinedOutput(); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("git %s: %w: %s", args[0], err, clean(strings.TrimSpace(string(b))))
			}
			return nil
		}
		if err := run(nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
			return err
		}
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		written := make(chan error, 1)
		go func() {
			_, err := logs.GitHistory(ctx, d, t, e.Episode, w)
			written <- errors.Join(err, w.Close())
		}()
		err = run(r, "--git-dir="+dir, "fast-import", "--quiet")
		r.Close() // ends the writer if git has ended early
		werr := <-written
		if err == nil || werr != nil && !errors.Is(werr, syscall.EPIPE) {
			err = werr
		}
		for _, left := range []string{"hooks", "description", "info"} {
			if rerr := os.RemoveAll(filepath.Join(dir, left)); err == nil {
				err = rerr
			}
		}
		return err
	})
}
