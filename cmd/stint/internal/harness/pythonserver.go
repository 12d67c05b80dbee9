package harness

import (
	"errors"
	"fmt"
	"os"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle/python"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// WriteCorrect writes a correct server of a schema into a folder: server.py and start.sh, as a careful person would
// have written them. It needs python3 and nothing else.
func WriteCorrect(dir string, schema *scenario.Schema) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the folder of a server: %w", err)
	}
	defer root.Close()
	if err := errors.Join(root.WriteFile(python.File, python.Source(schema), 0o644), root.WriteFile(startFile, []byte(python.Start()), 0o755)); err != nil {
		return fmt.Errorf("writing a correct server: %w", err)
	}
	return nil
}

// writePython is writeServer for the transport python: the faults are in the code.
func writePython(dir string, schema *scenario.Schema, state serverState) error {
	var opt python.Options
	for _, f := range state.Faults {
		opt.Flaws = append(opt.Flaws, flaw(f))
	}
	if state.Switch != nil {
		opt.Switch, opt.After = state.Switch.Kind, state.Switch.After
	}
	return writeFiles(dir, state, python.File, python.SourceWith(schema, opt), python.Start())
}

func flaw(f oracle.Fault) python.Flaw {
	return python.Flaw{Kind: f.Kind, Subject: f.Subject, Param: f.Param}
}

// inPython says whether a server in Python can be written with a fault.
func inPython(s *scenario.Schema, f oracle.Fault) bool { return flaw(f).Supported(s) }
