package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
}

func newHarnessListCmd(e *env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The agents stint ships, and which are installed here",
		Long:    "list names the agents that stint ships a file for, with their pinned versions, and says\nwhich of them are installed in stint's cache ($STINT_CACHE, else the user's cache folder).",
		Example: "  " + e.Self + " harness list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var list []listedHarness
			for _, name := range harness.Shipped() {
				l, err := e.listed(name)
				if err != nil {
					return err
				}
				list = append(list, l)
			}
			if asJSON {
				return e.printJSON(list)
			}
			next := "harness check NAME"
			for _, l := range list {
				state := "installed"
				if !l.Installed {
					state, next = "not installed", "harness install NAME"
				}
				fmt.Fprintf(e.Stdout, "%-12s %-16s %-10s %-10s %s\n", l.Name, l.Title, l.Version, l.Protocol, state)
			}
			e.next("%s", next)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listed looks whether a harness is installed, without starting it.
func (e *env) listed(name string) (listedHarness, error) {
	f, err := harness.Load(name, "")
	if err != nil {
		return listedHarness{}, err
	}
	l := listedHarness{Name: f.Name, Title: f.Title, Version: f.Version, Protocol: f.Protocol}
	where, _, err := e.installer().Find(f)
	var missing *harness.InstallError
	switch {
	case errors.As(err, &missing):
		l.Hint = missing.Way
	case err != nil:
		return l, err
	default:
		l.Installed, l.Where = true, where
	}
	return l, nil
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
