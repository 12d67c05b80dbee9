package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

func newScenarioExportCmd(e *env) *cobra.Command {
	var openapi, pytest bool
	var out string
	cmd := &cobra.Command{
		Use:   "export DIR N T (--openapi | --pytest) [-o FILE]",
		Short: "Hand on one turn as an OpenAPI document or a pytest file",
		Long: `export writes turn T of scenario N of a set in a form that other tools read. --openapi is
the service as an OpenAPI 3.1 document: paths, bodies with their limits, query parameters,
errors; what JSON Schema cannot say stands in descriptions and keys that begin with x-.
--pytest is the suite of the turn as one Python file with the same checks, which needs
pytest and nothing else and starts the server under test itself.`,
		Example: "  " + e.Self + " scenario export scenarios/main 1 3 --openapi -o s01.json\n" +
			"  " + e.Self + " scenario export scenarios/main 1 3 --pytest -o test_s01_turn3.py",
		Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			if openapi == pytest {
				return inputErrorf("name one of them", "export needs either --openapi or --pytest")
			}
			turn, err := strconv.Atoi(args[2])
			if err != nil || turn < 0 {
				return inputErrorf("turn 0 is the build", "%q is no turn", clean(args[2]))
			}
			b, err := exportTurn(args[0], args[1], turn, pytest)
			if err != nil {
				return err
			}
			if out == "" || out == "-" {
				_, err = e.Stdout.Write(b)
				return err
			}
			if err := suite.WriteWhole(out, b); err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.Stdout, clean(out))
			return err
		},
	}
	cmd.Flags().BoolVar(&openapi, "openapi", false, "an OpenAPI 3.1 document of the service")
	cmd.Flags().BoolVar(&pytest, "pytest", false, "a pytest file of the suite")
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default stdout)")
	return cmd
}

func exportTurn(dir, name string, turn int, pytest bool) ([]byte, error) {
	f, sc, err := openScenario(dir, name)
	if err != nil {
		return nil, err
	}
	s, err := suiteOf(f, sc, turn)
	if err != nil {
		return nil, err
	}
	if pytest {
		return s.Pytest(f.Name, f.Content)
	}
	schema := sc.Steps[turn].Schema
	return schema.OpenAPI(f.Name+", "+schema.Domain, turn)
}
