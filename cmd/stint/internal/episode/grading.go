package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// The reasons of a grade that only the episode gives, and one it has to know.
const (
	reasonBuild    = "build"
	reasonTooLarge = "snapshot_too_large"
	reasonStart    = suite.ReasonStart
)

// The faults of a grading that failed on our side.
const (
	faultHost  = "host"  // no process, no port
	faultBench = "bench" // the reference fails too, the grader crashed
)

const (
	buildTimeout = 300 * time.Second
	// gradeTimeout is above the worst case of one grading: a build, three runs with their starts, solo runs.
	gradeTimeout = 20 * time.Minute
	maxRequest   = 64 << 20 // of a GradeRequest on stdin
	maxAnswer    = 64 << 20 // of a GradeResult on stdout
	maxBuildLog  = 1 << 20
	buildName    = "build.sh"
)

// GradeRequest asks for one checkout to be graded. Paths are as the grader sees them.
type GradeRequest struct {
	Suite        *suite.Suite     `json:"suite"`
	Schema       *scenario.Schema `json:"schema"`   // for the reference check
	Checkout     string           `json:"checkout"` // a fresh copy of the snapshot; build.sh runs in it
	Scratch      string           `json:"scratch"`  // empty, writable: the worlds' copies of the built checkout
	Stint        string           `json:"stint"`    // path of stint for servers that are stint; "" = none
	MaxChecks    int              `json:"max_checks,omitempty"`
	ReadyTimeout time.Duration    `json:"ready_timeout,omitempty"` // nanoseconds
	Limits       sandbox.Limits   `json:"limits"`
}

// GradeResult is the grade of one checkout. It is stored as a blob, from which the feedback is rendered.
type GradeResult struct {
	Result *suite.Result `json:"result"`
	Build  *BuildResult  `json:"build,omitempty"` // nil: there is no build.sh
	Fault  string        `json:"fault,omitempty"` // host or bench, when Result.Passed is nil
}

// BuildResult is how build.sh ended.
type BuildResult struct {
	MS   float64 `json:"ms"`
	Exit *int    `json:"exit"` // nil: a signal or the time limit ended it
	Log  string  `json:"log"`  // stdout and stderr, bounded
}

// GradeMain is the grader behind the hidden verb `stint __grade`. It returns the exit code: 0 if a
// GradeResult was written, whatever the grade.
func GradeMain(stdin io.Reader, stdout io.Writer) int {
	ctx, stop := untilSignalled()
	defer stop()
	debug.SetGCPercent(400) // a short life with little memory: collecting costs more than it gives
	if err := gradeStream(ctx, stdin, stdout); err != nil {
		fmt.Fprintf(os.Stderr, "stint: grading: %v\n", err)
		return 1
	}
	return 0
}

func gradeStream(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	// The servers run beside this process: nothing of them may look into it, nothing they leave behind may live on.
	if err := sandbox.Harden(); err != nil {
		return err
	}
	req, err := readRequest(stdin)
	if err != nil {
		return err
	}
	box, err := sandbox.New(ctx, sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Limits: req.Limits})
	if err != nil {
		return err
	}
	// The minimal environment of this process is that of the sandbox around it.
	g := &grader{req: req, box: box, env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}}
	res, err := g.grade(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(res)
}

func readRequest(stdin io.Reader) (req GradeRequest, err error) {
	b, err := io.ReadAll(io.LimitReader(stdin, maxRequest))
	if err != nil {
		return req, fmt.Errorf("reading the request: %w", err)
	}
	if err := json.Unmarshal(b, &req); err != nil {
		return req, fmt.Errorf("decoding the request: %w", err)
	}
	if req.Suite == nil || req.Checkout == "" || req.Scratch == "" {
		return req, errors.New("the request lacks a suite, a checkout or a scratch folder")
	}
	return req, nil
}

// grader grades one checkout with servers that are processes of this process.
type grader struct {
	req GradeRequest
	box *sandbox.Sandbox // of kind none: runs build.sh
	env []string         // for build.sh and servers, on top of the minimal environment
	// checkout puts a fresh copy of the unbuilt snapshot into a folder that does not exist yet; nil = copy
	// req.Checkout.
	checkout func(dir string) error
	built    bool // req.Checkout was built: copies must come from it
}

// grade builds once and runs the suite. Its error is our own fault.
func (g *grader) grade(ctx context.Context) (*GradeResult, error) {
	res := &GradeResult{}
	if err := os.MkdirAll(g.req.Scratch, 0o755); err != nil {
		return nil, fmt.Errorf("creating the grader's scratch folder: %w", err)
	}
	if err := g.build(ctx, res); err != nil {
		return nil, err
	}
	if res.Result == nil {
		r, err := suite.Run(ctx, g.req.Suite, suite.RunOptions{Start: g.start, Schema: g.req.Schema, Limit: g.req.MaxChecks})
		if err != nil {
			return nil, err
		}
		res.Result = r
	}
	switch {
	case res.Result.Passed != nil:
	case res.Result.Reason == suite.ReasonGrader:
		res.Fault = faultHost
	default:
		res.Fault = faultBench
	}
	return res, nil
}

// build runs build.sh if there is one. A build that fails is the whole grade.
func (g *grader) build(ctx context.Context, res *GradeResult) error {
	st, err := os.Lstat(filepath.Join(g.req.Checkout, buildName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for %s: %w", buildName, err)
	}
	argv := []string{"./" + buildName}
	if st.Mode()&0o111 == 0 {
		argv = []string{"/bin/sh", "./" + buildName}
	}
	g.built = true
	exit, err := g.box.Run(ctx, sandbox.Command{Role: sandbox.Work, Argv: argv, Workspace: g.req.Checkout, Env: g.environ(),
		MaxOutput: maxBuildLog, Timeout: buildTimeout, Merge: true})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log := strings.ReplaceAll(strings.ToValidUTF8(string(exit.Stdout), "\uFFFD"), g.req.Checkout, ".")
	res.Build = &BuildResult{MS: milliseconds(exit.Duration), Exit: exit.Code, Log: log}
	if exit.By != "self" || exit.Code == nil || *exit.Code != 0 {
		res.Result = notGraded(g.req.Suite, reasonBuild, buildWord(exit))
		return nil
	}
	// Each world gets a copy.
	err = sandbox.CheckTree(g.req.Checkout, g.box.Limits().Disk)
	var large *sandbox.TreeError
	if errors.As(err, &large) {
		res.Result, err = notGraded(g.req.Suite, reasonBuild, "what build.sh left cannot be copied: "+large.Text), nil
	}
	return err
}

func buildWord(e sandbox.Exit) string {
	switch {
	case e.By == "limit" && e.Limit == "wall":
		return fmt.Sprintf("build.sh did not end within %s", buildTimeout)
	case e.By == "limit":
		return "build.sh was stopped at the limit of " + e.Limit
	case e.Code != nil:
		return fmt.Sprintf("build.sh ended with exit code %d", *e.Code)
	}
	return "build.sh was ended by " + e.Signal
}

// notGraded is a failed result without a single check carried out.
func notGraded(s *suite.Suite, reason, detail string) *suite.Result {
	failed := false
	return &suite.Result{Passed: &failed, Reason: reason, Detail: detail, Checks: len(s.Checks), Failed: len(s.Checks)}
}

func (g *grader) environ() []string {
	env := g.env
	if g.req.Stint != "" {
		env = append(env[:len(env):len(env)], "STINT="+g.req.Stint)
	}
	return env
}

// start starts a server for a world: own copy of the built checkout, own data folder, own HOME.
func (g *grader) start(ctx context.Context, world string) (suite.Server, time.Duration, error) {
	dir, err := os.MkdirTemp(g.req.Scratch, "world-")
	if err != nil {
		return nil, 0, fmt.Errorf("making a folder for world %s: %w", world, err)
	}
	srv, took, err := g.startIn(ctx, dir)
	if err == nil {
		return srv, took, nil
	}
	removeErr := removeAll(dir)
	var se *sandbox.ServerError
	if errors.As(err, &se) {
		err = &suite.StartError{Reason: se.Reason, Exit: se.Exit, Signal: se.Signal, Log: se.Log, Detail: se.Detail, Ours: se.Ours}
	}
	if removeErr != nil {
		err = errors.Join(err, removeErr)
	}
	return nil, took, err
}

func (g *grader) startIn(ctx context.Context, dir string) (*worldServer, time.Duration, error) {
	app, data, home := filepath.Join(dir, "app"), filepath.Join(dir, "data"), filepath.Join(dir, "home")
	for _, d := range []string{data, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, 0, fmt.Errorf("making a server's folders: %w", err)
		}
	}
	if g.checkout != nil && !g.built {
		if err := g.checkout(app); err != nil {
			return nil, 0, err
		}
	} else if err := copyTree(g.req.Checkout, app); err != nil {
		return nil, 0, err
	}
	p, took, err := sandbox.StartServer(ctx, sandbox.ServerSpec{Dir: app, DataDir: data, Home: home, Env: g.environ(),
		ReadyTimeout: g.req.ReadyTimeout, Limits: g.box.Limits()})
	if err != nil {
		return nil, took, err
	}
	return &worldServer{ServerProcess: p, dir: dir}, took, nil
}

// worldServer is a server process with the folder it lives in.
type worldServer struct {
	*sandbox.ServerProcess
	dir string
}

// Stop ends the server and removes its folder.
func (w *worldServer) Stop(ctx context.Context) suite.ServerEnd {
	code, sig, log := w.ServerProcess.Stop(ctx)
	_ = removeAll(w.dir) // what stays is removed with the scratch folder
	return suite.ServerEnd{Exit: code, Signal: sig, Log: log}
}

// gradeHandler grades a server that is a handler in this process.
func gradeHandler(ctx context.Context, req GradeRequest, fresh func() http.Handler) (*GradeResult, error) {
	r, err := suite.RunHandler(ctx, req.Suite.Limited(req.MaxChecks), fresh)
	if err != nil {
		return nil, err
	}
	return &GradeResult{Result: r}, nil
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
