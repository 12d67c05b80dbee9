package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// The files a simulated or reference agent leaves in its workspace. The server is stint itself behind the
// hidden verb `stint __serve`; start.sh finds it through $STINT, which the grader sets, so that a workspace is the
// same on every machine.
const (
	schemaFile = "schema.json"
	faultsFile = "faults.json"
	startFile  = "start.sh"

	startScript = "#!/bin/sh\nexec \"$STINT\" __serve .\n"
)

// serverState is faults.json: what the server in the workspace does wrong.
type serverState struct {
	Turn    int            `json:"turn"`              // the last turn whose change was worked on; -1 = none
	Ignored bool           `json:"ignored,omitempty"` // but not made: the schema is that of the turn before
	Faults  []oracle.Fault `json:"faults"`
	Switch  *serverSwitch  `json:"switch,omitempty"`
}

// serverSwitch makes the server as a process misbehave.
type serverSwitch struct {
	Kind  string `json:"kind"`
	After int    `json:"after,omitempty"` // crash_after: requests answered before the end; flaky_500: every so many fail
}

// The server switches.
const (
	switchNoStart   = "no_start"    // there is no start.sh
	switchExitEarly = "exit_early"  // the process ends at once
	switchWrongPort = "wrong_port"  // it listens, but not on PORT
	switchUnhealthy = "unhealthy"   // it listens, but /health never answers 200
	switchCrash     = "crash_after" // it ends in the middle of a request
	switchFlaky     = "flaky_500"   // every nth request is answered with 500
)

// clean says that the server does nothing wrong.
func (s *serverState) clean() bool { return len(s.Faults) == 0 && s.Switch == nil && !s.Ignored }

// schema is the schema that a server in this state serves.
func (s *serverState) schema(sc *scenario.Scenario) *scenario.Schema {
	turn := s.Turn
	if s.Ignored {
		turn--
	}
	return sc.Steps[max(turn, 0)].Schema
}

// writeServer writes a server into a workspace.
func writeServer(dir string, schema *scenario.Schema, state serverState) error {
	b, err := json.Marshal(schema)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", schemaFile, err)
	}
	return writeFiles(dir, state, schemaFile, append(b, '\n'), startScript)
}

// writeFiles writes the one file that a server consists of, what it does wrong, and how it is started.
func writeFiles(dir string, state serverState, name string, content []byte, start string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	if state.Faults == nil {
		state.Faults = []oracle.Fault{}
	}
	b, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", faultsFile, err)
	}
	if err := errors.Join(root.WriteFile(name, content, 0o644), root.WriteFile(faultsFile, append(b, '\n'), 0o644)); err != nil {
		return fmt.Errorf("writing the server: %w", err)
	}
	if state.Switch != nil && state.Switch.Kind == switchNoStart {
		if err := root.Remove(startFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("writing the server: %w", err)
		}
		return nil
	}
	if err := root.WriteFile(startFile, []byte(start), 0o755); err != nil {
		return fmt.Errorf("writing the server: %w", err)
	}
	return nil
}

// readState reads faults.json; ok is false when the workspace has no server yet.
func readState(dir string) (state serverState, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, faultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return serverState{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &state)
	}
	if err != nil {
		return serverState{}, false, fmt.Errorf("reading the server's state: %w", err)
	}
	return state, true, nil
}

// readServer reads the server in a folder.
func readServer(dir string) (*scenario.Schema, serverState, error) {
	b, err := os.ReadFile(filepath.Join(dir, schemaFile))
	if err != nil {
		return nil, serverState{}, fmt.Errorf("reading the server: %w", err)
	}
	var schema scenario.Schema
	if err := json.Unmarshal(b, &schema); err != nil {
		return nil, serverState{}, fmt.Errorf("decoding %s: %w", schemaFile, err)
	}
	state, _, err := readState(dir)
	if err != nil {
		return nil, serverState{}, err
	}
	for _, f := range state.Faults {
		if !oracle.KnownFault(f.Kind) {
			return nil, serverState{}, fmt.Errorf("decoding %s: unknown kind %q", faultsFile, f.Kind)
		}
	}
	return &schema, state, nil
}

// ServeMain is the server of simulated and reference agents, behind the hidden verb `stint __serve DIR`. It
// serves the schema in DIR on PORT until it is stopped, and ends by itself when the process that started it is
// gone. It returns the exit code.
func ServeMain(args []string, getenv func(string) string, stdout io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stdout, "server: want one argument, the folder of the server")
		return 2
	}
	if err := serve(args[0], getenv("PORT"), stdout); err != nil {
		fmt.Fprintf(stdout, "server: %v\n", err)
		return 1
	}
	return 0
}

func serve(dir, port string, stdout io.Writer) error {
	schema, state, err := readServer(dir)
	if err != nil {
		return err
	}
	if port == "" {
		return errors.New("PORT is not set")
	}
	handler := oracle.Handler(schema, state.Faults...)
	if sw := state.Switch; sw != nil {
		switch sw.Kind {
		case switchExitEarly:
			return errors.New("cannot go on")
		case switchWrongPort:
			port = "0"
		}
		handler = sw.wrap(handler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return fmt.Errorf("listening on port %s: %w", port, err)
	}
	// One small store and one request at a time: a second processor and a collector in a hurry only cost.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800)
	go endWithParent(os.Getppid())
	fmt.Fprintln(stdout, "server: listening")
	return (&http.Server{Handler: handler}).Serve(l)
}

// endWithParent ends the process when its parent is gone: a run that was killed leaves no servers behind.
func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(250 * time.Millisecond)
	}
	os.Exit(1)
}

// wrap gives a handler the switch's behaviour. Requests for /health are not counted: how many the grader
// sends depends on time.
func (sw *serverSwitch) wrap(next http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			if sw.Kind == switchUnhealthy {
				http.Error(w, `{"error":{"code":"internal","field":null}}`, http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		count := int(n.Add(1))
		switch {
		case sw.Kind == switchCrash && count > sw.After:
			_, _ = io.Copy(io.Discard, r.Body) // unread bytes would turn the end of the connection into a reset
			os.Exit(70)
		case sw.Kind == switchFlaky && sw.After > 0 && count%sw.After == 0:
			http.Error(w, `{"error":{"code":"internal","field":null}}`, http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// InProcess is an agent whose server can be graded without a process of its own.
type InProcess interface {
	Agent
	// InProcess says whether it wants to be.
	InProcess() bool
	// Handler reads the server in a folder. Each call of fresh gives one with an empty store. A server that
	// would not have come up, or would not have stayed up, is no handler: broken says so in one line.
	Handler(dir string) (fresh func() http.Handler, broken string, err error)
}

// localHandler is InProcess.Handler for servers that writeServer wrote.
func localHandler(dir string) (fresh func() http.Handler, broken string, err error) {
	if _, err := os.Stat(filepath.Join(dir, startFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, "there is no start.sh", nil
	}
	schema, state, err := readServer(dir)
	if err != nil {
		return nil, "", err
	}
	if state.Switch != nil {
		return nil, "the server did not stay up", nil
	}
	return func() http.Handler { return oracle.Handler(schema, state.Faults...) }, "", nil
}
