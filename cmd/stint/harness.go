package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

func newHarnessCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "harness",
		Short: "What can answer: list, show, install and check agents",
		Long: `harness deals with the agents that stint drives. Each is one YAML file: how it is installed,
started and continued, which files it reads, where its logs lie. stint ships some; a file of
your own is named by its path, here and under harness: in study.yaml.`,
		Example: "  " + e.Self + " harness list\n  " + e.Self + " harness show opencode",
		Args:    verbArgs(e),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHarnessListCmd(e), newHarnessShowCmd(e), newHarnessInstallCmd(e), newHarnessCheckCmd(e))
	for _, c := range cmd.Commands() {
		c.Args = inputArgs(e, c.Args)
	}
	return cmd
}

// loadHarness reads the file of an agent that a user named.
func loadHarness(name string) (*harness.File, error) {
	switch f, err := harness.Load(name, "."); {
	case err == nil || harness.IsPath(name) || slices.Contains(harness.Shipped(), name):
		return f, err
	case slices.Contains(study.OwnHarnesses(), name):
		return nil, inputErrorf("name it under harness: in study.yaml", "%s is a part of stint: it has no file, and there is nothing to install", name)
	default:
		return nil, inputErrorf(study.DidYouMean(name, harness.Shipped(), "stint ships")+"; a file of your own is named by its path, for example ./my-agent.yaml", "unknown harness %q", name)
	}
}

func (e *env) installer() harness.Installer {
	in := harness.Installer{Getenv: e.Getenv, Now: e.Now}
	if !e.Quiet {
		in.Say = func(format string, args ...any) { e.say("%s", clean(fmt.Sprintf(format, args...))) }
	}
	return in
}

// listedHarness is one line of harness list.
type listedHarness struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Version   string `json:"version"`
	Protocol  string `json:"protocol"`
	Installed bool   `json:"installed"`
	Where     string `json:"where,omitempty"`
	Hint      string `json:"hint,omitempty"`

	Measured *measuredHarness `json:"measured,omitempty"`

	conversation string
}

func newHarnessListCmd(e *env) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list [NAME|FILE...]",
		Short: "The agents stint ships, and which are installed here",
		Long: `list names the agents that stint ships a file for, with their pinned versions, and says
which of them are installed in stint's cache ($STINT_CACHE, else the user's cache folder).

--measure plays with every installed one, a minute each: how long an answer takes that needs
no work, how much memory the agent's processes hold while it builds a service, and what of a
model's oddities its own record does not tell, so that the gateway alone does.`,
		Example: "  " + e.Self + " harness list\n  " + e.Self + " harness list --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.listHarnesses(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&f.measure, "measure", false, "play with the installed ones and say what that took")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print a table in Markdown")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

type listFlags struct{ json, measure, markdown bool }

func (e *env) listHarnesses(ctx context.Context, names []string, f listFlags) error {
	if len(names) == 0 {
		names = harness.Shipped()
	}
	var list []listedHarness
	for _, name := range names {
		l, err := e.listed(ctx, name, f.measure)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	switch {
	case f.json:
		return e.printJSON(list)
	case f.markdown:
		_, err := io.WriteString(e.Stdout, harnessTable(list, f.measure))
		return err
	}
	next := "harness check NAME"
	for _, l := range list {
		state := "installed"
		if !l.Installed {
			state, next = "not installed", "harness install NAME"
		}
		if m := l.Measured; m != nil {
			state = fmt.Sprintf("%.1f s (%.1f s of a processor), %.0f MB; by the gateway only: %s", m.StartS, m.StartCPU, m.MemoryMB, wordsOr(m.GatewayOnly, "nothing"))
		}
		fmt.Fprintf(e.Stdout, "%-12s %-16s %-10s %-10s %s\n", clean(l.Name), clean(l.Title), l.Version, l.Protocol, clean(state))
	}
	e.next("%s", next)
	return nil
}

func wordsOr(words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, ", ")
}

// harnessTable is the table of a manual.
func harnessTable(list []listedHarness, measured bool) string {
	var b strings.Builder
	b.WriteString("| `harness:` | program | protocol | conversation |")
	if measured {
		b.WriteString(" by the gateway only | one answer | of a processor | memory |")
	}
	b.WriteString("\n| --- | --- | --- | --- |" + strings.Repeat(" --- |", 4*boolInt(measured)) + "\n")
	cell := func(s string) string { return strings.ReplaceAll(clean(s), "|", "\\|") }
	for _, l := range list {
		fmt.Fprintf(&b, "| `%s` | %s %s | %s | %s |", cell(l.Name), cell(l.Title), cell(l.Version), l.Protocol, l.conversation)
		switch m := l.Measured; {
		case m != nil:
			fmt.Fprintf(&b, " %s | %.1f s | %.1f s | %.0f MB |", cell(wordsOr(m.GatewayOnly, "–")), m.StartS, m.StartCPU, m.MemoryMB)
		case measured:
			b.WriteString(" not installed here | | | |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// listed looks whether a harness is installed and, if asked for, plays with it.
func (e *env) listed(ctx context.Context, name string, measure bool) (listedHarness, error) {
	f, err := loadHarness(name)
	if err != nil {
		return listedHarness{}, err
	}
	l := listedHarness{Name: f.Name, Title: f.Title, Version: f.Version, Protocol: f.Protocol, conversation: conversationOf(f)}
	where, _, err := e.installer().Find(f)
	var missing *harness.InstallError
	switch {
	case errors.As(err, &missing):
		l.Hint, err = missing.Way, nil
	case err != nil:
		return l, err
	default:
		l.Installed, l.Where = true, where
	}
	if l.Installed && measure {
		if f.Path() != "" {
			if name, err = filepath.Abs(f.Path()); err != nil {
				return l, fmt.Errorf("finding the harness file: %w", err)
			}
		}
		if !e.Quiet {
			e.say("measuring %s", f.Name)
		}
		l.Measured, err = e.measureHarness(ctx, f, name)
	}
	return l, err
}

func newHarnessShowCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME|FILE",
		Short:   "Print an agent's file",
		Long:    "show prints the YAML file of an agent: a model for a file of your own. A file that cannot\nbe used is refused with the reason.",
		Example: "  " + e.Self + " harness show opencode",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := loadHarness(args[0])
			if err != nil {
				return err
			}
			_, err = e.Stdout.Write(f.Source())
			return err
		},
	}
}

func newHarnessInstallCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "install NAME|FILE...",
		Short: "Install the pinned version of an agent into stint's cache",
		Long: `install puts the pinned version of an agent into stint's cache, as an npm prefix or a Python
virtual environment, and asks it for its version. What is installed is left alone; what an
interrupted installation left is done again.`,
		Example: "  " + e.Self + " harness install opencode qwen-code mini-swe",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.installHarnesses(cmd.Context(), args)
		},
	}
}

func (e *env) installHarnesses(ctx context.Context, names []string) error {
	var files []*harness.File
	for _, name := range names {
		f, err := loadHarness(name)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	for _, f := range files {
		where, err := e.installer().Install(ctx, f)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "%s %s %s\n", f.Name, f.Version, where)
	}
	return nil
}
