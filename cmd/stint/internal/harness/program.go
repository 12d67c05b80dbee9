package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// Where a program finds itself and the gateway inside the sandbox.
const (
	insidePrefix = "/opt/harness"
	insidePort   = 4000
)

// What the templates say about a model whose study does not.
const (
	defaultContext   = 128_000
	defaultMaxOutput = 8_192
)

const (
	programOutput = 8 << 20         // bytes kept of each output stream
	programGrace  = 3 * time.Second // to end after SIGTERM
	// afterBudget is how long a program may go on when it can get no further answer: time to write its log.
	afterBudget = 3 * time.Second
	// afterFailure is how long a program may try again by itself once the gateway has waited for the provider in vain.
	afterFailure = 20 * time.Second
	watchProgram = 250 * time.Millisecond
	maxArgument  = 128 << 10 // Linux: MAX_ARG_STRLEN
)

// ProgramOptions configures an agent that is a program outside stint, described by a file.
type ProgramOptions struct {
	File      *File
	Model     gateway.Model
	Gateway   gateway.Options // Retry, ProviderWait, MinWait, Prices, HTTP, Now; the rest is set per attempt
	Proxy     *gateway.Proxy  // where it reaches its model
	Installer Installer
}

// program is an agent described by a [File].
type program struct {
	opt    ProgramOptions
	prefix string
	python string
}

// NewProgram finds the program; [Installer.Check] asks it for its version. The error is an *InstallError with the
// command that installs it.
func NewProgram(opt ProgramOptions) (Agent, error) {
	p := &program{opt: opt}
	var err error
	if p.prefix, p.python, err = opt.Installer.Find(opt.File); err != nil {
		return nil, err
	}
	return p, nil
}

// Name is the file's.
func (p *program) Name() string { return p.opt.File.Name }

// Version is what the program said.
func (p *program) Version() string { return p.opt.File.Version }

// FileSHA is the hash of the harness file.
func (p *program) FileSHA() string { return p.opt.File.sha }

// work is one attempt of a program.
type work struct {
	*program
	request Request
	line    *gateway.Attempt
	rec     *gateway.Recorder
	values  Values
	home    *home
	since   time.Time
	goesOn  bool // a conversation is continued
	refused int  // requests that the gateway had refused before

	waitsTill atomic.Int64 // until then a request waits for the provider, in nanoseconds since 1970

	env     []string
	forward *sandbox.Forward
	exit    sandbox.Exit
	cause   error // why we ended the program; nil = we did not
	logs    []logs.LogFile
}

// The causes for which stint ends a program.
var (
	errSpent    = errors.New("a budget refused a request")
	errProvider = errors.New("the provider does not answer")
)

// Run makes one attempt.
func (p *program) Run(ctx context.Context, r Request) (Result, error) {
	w := &work{program: p, request: r, rec: gateway.NewRecorder(r.Blobs), since: time.Now(), refused: p.opt.Proxy.Refused()}
	opt := p.opt.Gateway
	opt.Model, opt.Recorder = p.opt.Model, w.rec
	opt.OnWait = func(class string, pause time.Duration) {
		w.waitsTill.Store(time.Now().Add(pause).UnixNano())
		w.request.waits(class, pause)
	}
	opt.Budget = &gateway.Budget{Scope: gateway.ScopeAttempt, Tokens: r.Tokens, Requests: int64(r.Requests), Also: r.Spent}
	var err error
	if w.line, err = p.opt.Proxy.Open(opt); err != nil {
		return Result{}, fmt.Errorf("opening the gateway for an attempt: %w", err)
	}
	defer w.line.Close()
	stop, err := w.prepare()
	if err != nil {
		return Result{}, err
	}
	defer stop()
	before := treeStamp(r.Workspace)
	res, err := w.play(ctx)
	if err != nil {
		return Result{}, err
	}
	w.line.Close() // what is still in flight belongs to nobody
	res.Edited = treeStamp(r.Workspace) != before
	res.ToolCalls, res.Usage, res.Note = w.line.State().ToolCalls, w.line.Usage(), w.note()
	if res.Void == "" && res.Completion == CompletionClean && res.ToolCalls == 0 && !res.Edited {
		res.Completion = CompletionEmpty
	}
	return res, w.store(&res)
}

// play runs the command and says how it ended.
func (w *work) play(ctx context.Context) (Result, error) {
	argv, err := w.command()
	if err != nil {
		return Result{}, err
	}
	if i := slices.IndexFunc(argv, func(a string) bool { return len(a) >= maxArgument }); i >= 0 {
		return setupVoid(fmt.Sprintf("the prompt has %d bytes, and Linux passes at most %d as an argument", len(argv[i]), maxArgument)), nil
	}
	err = w.start(ctx, argv)
	var spawn *sandbox.SpawnError
	switch {
	case errors.As(err, &spawn) && spawn.Missing:
		res := setupVoid(fmt.Sprintf("harness %s: %v", w.Name(), spawn.Err))
		res.Way = "correct the command in " + w.opt.File.argument() + ", or put the program there"
		if w.opt.File.Installed() {
			res.Way = "stint harness install " + w.opt.File.argument() + " installs what is missing"
		}
		return res, nil
	case err != nil:
		return Result{}, err
	}
	w.keep(ctx)
	return w.end(ctx), nil
}

func setupVoid(evidence string) Result {
	return Result{By: BySelf, Completion: CompletionNeverStarted, Detail: evidence, Void: VoidSetup, VoidEvidence: evidence}
}

// prepare writes what the program reads, and opens its way to the gateway.
func (w *work) prepare() (stop func(), err error) {
	r, f := w.request, w.opt.File
	if w.home, err = openHome(r.Home); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("http://127.0.0.1:%d", insidePort)
	prefix := insidePrefix
	var relay net.Listener
	if r.Sandbox.Kind() == sandbox.KindNone {
		prefix = w.prefix
		if relay, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			w.home.close()
			return nil, fmt.Errorf("opening a port for the gateway: %w", err)
		}
		base = "http://" + relay.Addr().String()
		go sandbox.Relay(relay, w.opt.Proxy.Socket())
	} else {
		w.forward = &sandbox.Forward{Port: insidePort, Socket: w.opt.Proxy.Socket()}
	}
	stop = func() {
		w.home.close()
		if relay != nil {
			relay.Close()
		}
	}
	m := w.opt.Model
	w.values = Values{
		Prefix: prefix, Arch: arch(), Home: r.Sandbox.HomePath(r.Home), Workspace: r.Sandbox.WorkspacePath(r.Workspace),
		Base: base, URL: base + "/v1", Token: w.line.Token(), Model: m.Name, Context: m.Context, MaxOutput: m.MaxOutput, Prompt: r.Prompt, Seconds: int(r.Wall.Seconds()),
	}
	if m.ID != "" {
		w.values.Model = m.ID
	}
	if m.Context <= 0 {
		w.values.Context = defaultContext
	}
	if m.MaxOutput <= 0 {
		w.values.MaxOutput = min(defaultMaxOutput, w.values.Context/4)
	}
	w.values.Out = w.values.Home + "/" + outFolder
	if w.values.Session, w.goesOn = w.home.conversation(f, r); !w.goesOn && f.Session.Chosen {
		w.values.Session = chosenSession(r)
	}
	if err := w.home.prepare(f, &w.values, w.goesOn); err != nil {
		stop()
		return nil, err
	}
	for _, k := range f.envKeys() {
		v, err := fill(f.Env[k], &w.values)
		if err != nil {
			stop()
			return nil, err
		}
		w.env = append(w.env, k+"="+v)
	}
	return stop, nil
}

// command is what answers the prompt.
func (w *work) command() ([]string, error) {
	argv := w.opt.File.First
	if w.goesOn {
		argv = w.opt.File.Next
	}
	return fillAll(argv, &w.values)
}

// inSandbox is a command as the program sees its surroundings.
func (w *work) inSandbox(argv []string) sandbox.Command {
	return sandbox.Command{
		Argv: argv, Workspace: w.request.Workspace, Home: w.request.Home, Env: w.env, Interpreter: w.python,
		Binds: []sandbox.Bind{{Host: w.prefix, Inside: insidePrefix}}, MaxOutput: programOutput, Grace: programGrace,
	}
}

// start runs the command to its end, which we bring about when it can get nowhere any more.
func (w *work) start(ctx context.Context, argv []string) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(done, cancel)
	}()
	c := w.inSandbox(argv)
	stdin, err := fill(w.opt.File.Stdin, &w.values)
	if err != nil {
		return err
	}
	if stdin != "" {
		c.Stdin = strings.NewReader(stdin)
	}
	c.Forward, c.Timeout = w.forward, w.request.Wall
	w.rec.Event("start", map[string]any{"harness": w.Name(), "version": w.Version(), "turn": w.request.Turn, "attempt": w.request.Attempt, "continued": w.goesOn})
	w.exit, err = w.request.Sandbox.Run(run, c)
	close(done)
	<-watched
	if run.Err() != nil && ctx.Err() == nil {
		w.cause = context.Cause(run)
	}
	return err
}

// watch ends the program a while after a budget refused it, or after the provider failed it for good.
func (w *work) watch(done <-chan struct{}, end context.CancelCauseFunc) {
	tick := time.NewTicker(watchProgram)
	defer tick.Stop()
	var spent, failed time.Time
	answers, said := 0, ""
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		s := w.line.State()
		words := plural(s.Requests, "request") + ", " + plural(s.ToolCalls, "tool call")
		switch {
		case w.request.Progress == nil:
		case time.Now().UnixNano() < w.waitsTill.Load():
			said = "" // what was said last is what is waited for
		case words != said:
			w.request.Progress(words)
			said = words
		}
		if s.Budget != nil && spent.IsZero() {
			spent = time.Now()
		}
		if s.Last == nil || s.Answers != answers || !voids(s.Last) {
			failed, answers = time.Time{}, s.Answers
		} else if failed.IsZero() {
			failed = time.Now()
		}
		switch {
		case !spent.IsZero() && time.Since(spent) > afterBudget:
			end(errSpent)
			return
		case !failed.IsZero() && w.opt.Gateway.Retry && time.Since(failed) > afterFailure:
			end(errProvider)
			return
		}
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// voids says whether a failure of the provider, if none but it followed, makes the attempt void.
func voids(p *gateway.ProviderError) bool {
	return p.Class != gateway.ClassContextLength && p.Class != gateway.ClassBadRequest
}

// end decides how the attempt ended, in the order of the closed list: operator and budgets, the provider, limits,
// and then what the program says itself.
func (w *work) end(ctx context.Context) Result {
	s := w.line.State()
	res := Result{Exit: w.exit.Code, Signal: w.exit.Signal, By: BySelf}
	own := w.own()
	switch {
	case ctx.Err() != nil:
		return Result{By: ByStint, Completion: CompletionCut, Detail: "interrupted", Void: VoidOperator, VoidEvidence: "interrupted"}
	case s.Budget != nil && s.Budget.Scope == gateway.ScopeAttempt:
		return Result{By: ByLimit, Limit: s.Budget.What, Completion: CompletionCut, Detail: s.Budget.Error()}
	case s.Budget != nil:
		return Result{By: ByStint, Completion: CompletionCut, Detail: s.Budget.Error(), Void: VoidBudget, VoidEvidence: s.Budget.Error()}
	// A program that goes on without an answer it could do without has recovered; one that never had any has not.
	case s.Last != nil && (s.Answers == 0 || own.Completion != CompletionClean):
		e := endOfProvider(s.Last, s.Answers > 0).result
		e.Exit, e.Signal = w.exit.Code, w.exit.Signal
		e.SessionDamaged = e.SessionDamaged || own.Damaged
		if w.exit.By == "limit" {
			e.By, e.Limit = ByLimit, w.exit.Limit
		}
		return e
	case w.exit.By == "limit":
		res.By, res.Limit, res.Completion = ByLimit, w.exit.Limit, CompletionCut
		res.Detail = fmt.Sprintf("the limit of the attempt (%s) ended the program", w.exit.Limit)
	case w.exit.By == "oom":
		res.By, res.Limit, res.Completion, res.Detail = ByOOM, "memory", CompletionCut, "the kernel ended it for want of memory"
	case own.Completion == CompletionClean && s.Cut:
		res.Completion, res.Detail = CompletionCut, "the answer was cut at the output limit"
	default:
		res.Completion, res.Detail, res.SessionDamaged = own.Completion, own.Detail, own.Damaged
	}
	if s.Requests == 0 {
		res.Completion, res.Detail = CompletionNeverStarted, w.neverStarted()
		res.Way = "its file must tell it the address {{.URL}} and the key {{.Token}}: stint harness show " + w.opt.File.argument()
	}
	return res
}

// note tells of what did not end the attempt.
func (w *work) note() string {
	var all []string
	if n := len(w.exit.Left); n > 0 {
		all = append(all, fmt.Sprintf("it left processes running (%d), which were ended", n))
	}
	if w.exit.Truncated {
		all = append(all, fmt.Sprintf("it printed over %d MB, of which the middle is left out", programOutput>>20))
	}
	return strings.Join(all, "; ")
}

// neverStarted says what a program did that made no request.
func (w *work) neverStarted() string {
	words := "no request reached the gateway: the program "
	switch {
	case w.exit.By == "limit":
		words += "was ended at its limit (" + w.exit.Limit + ")"
	case w.exit.Code != nil:
		words += fmt.Sprintf("ended with exit code %d", *w.exit.Code)
	default:
		words += "ended by " + w.exit.Signal
	}
	if w.opt.Proxy.Refused() > w.refused {
		words += "; meanwhile a request with a key that is no attempt's was refused"
	}
	if said := lastWords(w.exit.Stderr); said != "" {
		words += ", saying: " + clip(said, 300)
	}
	return words + "; stint harness check " + w.opt.File.argument() + " tries it alone"
}

// store keeps the two logs of the attempt, and the conversation.
func (w *work) store(res *Result) error {
	if res.Void == "" {
		if err := w.home.remember(w.opt.File, w.request, w.values.Session, w.canGoOn(res.SessionDamaged)); err != nil {
			return err
		}
	}
	end := map[string]any{"by": res.By, "limit": res.Limit, "completion": res.Completion, "detail": res.Detail, "void": res.Void, "exit_code": res.Exit, "signal": res.Signal}
	w.rec.Event("end", end)
	if len(w.exit.Left) > 0 {
		w.logs = append(w.logs, logs.LogFile{Name: "left_running", Data: []byte(strings.Join(w.exit.Left, "\n") + "\n")})
	}
	sha, err := w.request.Blobs.Put(w.rec.Bytes())
	if err != nil {
		return fmt.Errorf("storing the gateway's log: %w", err)
	}
	res.Gateway = logs.LogRef{Reader: gateway.Reader, Blob: sha}
	bundle, err := logs.BundleLog(w.logs)
	if err != nil {
		return err
	}
	if sha, err = w.request.Blobs.Put(bundle); err != nil {
		return fmt.Errorf("storing the program's log: %w", err)
	}
	res.Log = logs.LogRef{Reader: w.opt.File.Reader, Blob: sha}
	if res.Log.Reader == "" {
		res.Log.Reader = logs.TextReader
	}
	res.Reported = logs.ReportedUsage(res.Log.Reader, bundle)
	return w.home.clean(w.opt.File.Clean)
}
