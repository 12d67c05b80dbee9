package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

func newInitCmd(e *env) *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented study.yaml",
		Long: `init writes a study file with every key explained (default study.yaml, - for stdout).
It never overwrites a file. --schema prints the file's JSON schema for editors.`,
		Example: "  " + e.Self + " init\n  " + e.Self + " init --schema > study.schema.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema {
				_, err := e.Stdout.Write(study.Schema())
				return err
			}
			name := "study.yaml"
			if len(args) == 1 {
				name = args[0]
			}
			if name == "-" {
				_, err := fmt.Fprint(e.Stdout, study.Template())
				return err
			}
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return inputErrorf("name another file, or move this one away", "%s is there already; init never overwrites", name)
			}
			if err != nil {
				return fmt.Errorf("writing the study file: %w", err)
			}
			_, err = f.WriteString(study.Template())
			if err := errors.Join(err, f.Close()); err != nil {
				os.Remove(name)
				return fmt.Errorf("writing the study file: %w", err)
			}
			fmt.Fprintln(e.Stdout, name)
			e.next("run %s --dry-run", shellQuote(name))
			return nil
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of study.yaml")
	return cmd
}
