package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nodePackage is Node itself from npm, by the platform's name.
const nodePackage = "node-linux-%s@22.23.3"

// Installer puts harnesses into stint's cache. The zero value uses the environment of the process.
type Installer struct {
	Cache    string                              // "" = $STINT_CACHE, else the user's cache folder for stint
	Getenv   func(string) string                 // nil = os.Getenv
	LookPath func(string) (string, error)        // nil = exec.LookPath
	Say      func(format string, args ...any)    // progress, one line each; nil = silent
	Now      func() time.Time                    // nil = time.Now
	Run      func(cmd *exec.Cmd) ([]byte, error) // nil = run it; a test's own registry
	Glob     func(pattern string) []string       // nil = filepath.Glob; where Pythons are looked for
}

// InstallError says why a harness is not there, or could not be installed.
type InstallError struct {
	Name, Text, Way string
	Missing         bool // it was not installed, or not completely
}

func (e *InstallError) Error() string { return fmt.Sprintf("harness %s %s", e.Name, e.Text) }

// Hint is the way out.
func (e *InstallError) Hint() string { return e.Way }

// ExitCode is 2 for a study that names a harness which is not there, else 1.
func (e *InstallError) ExitCode() int {
	if e.Missing {
		return 2
	}
	return 1
}

// installed is the mark of a complete installation: it is written last, before the folder gets its name.
type installed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Install string `json:"install"` // what was installed, as text
	Python  string `json:"python,omitempty"`
}

const installedMark = ".stint-installed.json"

func (in Installer) getenv(k string) string {
	if in.Getenv == nil {
		return os.Getenv(k)
	}
	return in.Getenv(k)
}

func (in Installer) lookPath(name string) (string, error) {
	if in.LookPath == nil {
		return exec.LookPath(name)
	}
	return in.LookPath(name)
}

func (in Installer) say(format string, args ...any) {
	if in.Say != nil {
		in.Say(format, args...)
	}
}

func (in Installer) now() time.Time {
	if in.Now == nil {
		return time.Now()
	}
	return in.Now()
}

// folder is where harnesses are installed.
func (in Installer) folder() (string, error) {
	cache := in.Cache
	if cache == "" {
		cache = in.getenv("STINT_CACHE")
	}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding stint's cache: %w; set STINT_CACHE to a folder", err)
		}
		cache = filepath.Join(user, "stint")
	}
	abs, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("finding stint's cache: %w", err)
	}
	return filepath.Join(abs, "harness"), nil
}

// Prefix is the folder of a harness: in the cache, or where its own file says.
func (in Installer) Prefix(f *File) (string, error) {
	if !f.Installed() {
		if filepath.IsAbs(f.Prefix) {
			return filepath.Clean(f.Prefix), nil
		}
		return filepath.Abs(filepath.Join(filepath.Dir(f.path), f.Prefix))
	}
	dir, err := in.folder()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, f.Name+"-"+f.Version), nil
}

// Find returns where a harness is installed, and the Python it runs on. The error is an *InstallError.
func (in Installer) Find(f *File) (prefix, python string, err error) {
	if prefix, err = in.Prefix(f); err != nil {
		return "", "", err
	}
	if !f.Installed() {
		if st, err := os.Stat(prefix); err != nil || !st.IsDir() {
			return "", "", &InstallError{f.Name, fmt.Sprintf("has no folder %s, which its file names as prefix", prefix), "correct prefix in " + f.path, true}
		}
		return prefix, "", nil
	}
	way := "stint harness install " + f.argument()
	m, ok := readMark(prefix)
	switch {
	case !ok:
		return "", "", &InstallError{f.Name, f.Version + " is not installed", way, true}
	case m.Install != f.installText():
		return "", "", &InstallError{f.Name, f.Version + " was installed by another version of its file", way, true}
	}
	return prefix, m.Python, nil
}

// argument is what a user types to name the harness.
func (f *File) argument() string {
	if f.path != "" {
		return f.path
	}
	return f.Name
}

func readMark(prefix string) (installed, bool) {
	b, err := os.ReadFile(filepath.Join(prefix, installedMark))
	var m installed
	return m, err == nil && json.Unmarshal(b, &m) == nil
}

// installText is everything that decides what an installation holds.
func (f *File) installText() string {
	b, err := json.Marshal(f.Install)
	if err != nil {
		panic("harness: an installation did not encode")
	}
	return string(b)
}

// Install puts the pinned version into the cache, unless it is there, and asks it for its version. What an
// interrupted installation left, or one by another version of the file, is done again. Two at once wait for each other.
func (in Installer) Install(ctx context.Context, f *File) (prefix string, err error) {
	if !f.Installed() {
		prefix, _, err := in.Find(f)
		if err == nil {
			err = in.verify(ctx, f, prefix)
		}
		return prefix, err
	}
	if prefix, err = in.Prefix(f); err != nil {
		return "", err
	}
	// What is there and works may be in use, and needs nobody to wait.
	release, err := in.Use(ctx, f)
	if err != nil {
		return "", err
	}
	err = in.Check(ctx, f)
	release()
	if err == nil {
		in.say("%s %s is installed in %s", f.Name, f.Version, prefix)
		return prefix, nil
	}
	tool, err := in.tool(ctx, f)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(prefix), 0o755); err != nil {
		return "", in.explain(f, prefix, fmt.Errorf("making stint's cache: %w", err))
	}
	unlock, err := in.lock(ctx, f, prefix+lockSuffix, unix.LOCK_EX)
	if err != nil {
		return "", in.explain(f, prefix, err)
	}
	defer unlock()
	if err = in.Check(ctx, f); err == nil { // somebody else has installed it meanwhile
		in.say("%s %s is installed in %s", f.Name, f.Version, prefix)
		return prefix, nil
	}
	if _, there := os.Lstat(prefix); there == nil {
		in.say("what is in %s is of no use (%v); it is installed again", prefix, err)
	}
	return prefix, in.explain(f, prefix, in.renew(ctx, f, prefix, tool))
}

// renew installs beside and gives the result its name. Its lock is held.
func (in Installer) renew(ctx context.Context, f *File, prefix, tool string) error {
	fresh := prefix + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("removing a half-finished installation: %w", err)
	}
	if err := in.room(f, filepath.Dir(prefix)); err != nil {
		return err
	}
	began := in.now()
	if err := in.build(ctx, f, fresh, tool); err != nil {
		return errors.Join(in.explain(f, prefix, err), os.RemoveAll(fresh))
	}
	if err := os.RemoveAll(prefix); err != nil {
		return fmt.Errorf("removing the installation before: %w", err)
	}
	if err := os.Rename(fresh, prefix); err != nil {
		return fmt.Errorf("giving the installation its name: %w", err)
	}
	if err := in.verify(ctx, f, prefix); err != nil {
		return errors.Join(err, os.Remove(filepath.Join(prefix, installedMark)))
	}
	in.say("%s %s is installed in %s, in %s", f.Name, f.Version, prefix, in.now().Sub(began).Round(time.Second))
	return nil
}

// lockSuffix, after the name of an installation, is the file that is locked: shared by who uses it, alone by who
// installs it.
const lockSuffix = ".lock"

// Use keeps an installation as it is until release is called: nobody installs another over it. It waits for one that
// is being made.
func (in Installer) Use(ctx context.Context, f *File) (release func(), err error) {
	if !f.Installed() {
		return func() {}, nil
	}
	prefix, err := in.Prefix(f)
	if err != nil {
		return nil, err
	}
	release, err = in.lock(ctx, f, prefix+lockSuffix, unix.LOCK_SH)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return func() {}, nil // nobody has installed it, or somebody else keeps this cache
	}
	return release, err
}

// lock waits until nobody installs the same harness and, for LOCK_EX, nobody uses it.
func (in Installer) lock(ctx context.Context, f *File, path string, how int) (unlock func(), err error) {
	flags, words := os.O_CREATE|os.O_RDWR, "another stint installs or uses"
	if how == unix.LOCK_SH {
		flags, words = os.O_RDONLY, "another stint is installing"
	}
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking an installation: %w", err)
	}
	for said := false; ; said = true {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("locking an installation: %w", err)
		}
		if !said {
			in.say("%s %s %s; waiting for it", words, f.Name, f.Version)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tool finds the program of this machine that an installation begins with: npm, or the interpreter that it will run on.
func (in Installer) tool(ctx context.Context, f *File) (string, error) {
	if len(f.Install.NPM) > 0 {
		npm, err := in.lookPath("npm")
		if err != nil {
			return "", &InstallError{f.Name, "needs npm, which is not on PATH", "install Node with npm (`apt-get install npm`), then run the same command again", false}
		}
		return npm, nil
	}
	python, err := in.python(ctx, f.Install.Python)
	var none *noPython
	if errors.As(err, &none) {
		return "", &InstallError{f.Name, none.Error(), in.pythonWay(ctx, none), false}
	}
	return python, err
}

// build fills a folder.
func (in Installer) build(ctx context.Context, f *File, dir, tool string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a folder for %s: %w", f.Name, err)
	}
	mark := installed{Name: f.Name, Version: f.Version, Install: f.installText()}
	var err error
	if len(f.Install.NPM) > 0 {
		err = in.npm(ctx, f, dir, tool)
	} else {
		mark.Python, err = tool, in.pip(ctx, f, dir, tool)
	}
	if err != nil {
		return err
	}
	for _, pattern := range f.Install.Executable {
		if err := makeExecutable(filepath.Join(dir, filepath.FromSlash(pattern))); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(mark, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, installedMark), append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("marking the installation as complete: %w", err)
	}
	return nil
}

func makeExecutable(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("looking for %s: %w", pattern, err)
	}
	for _, p := range files {
		if st, err := os.Lstat(p); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if err := os.Chmod(p, 0o755); err != nil {
			return fmt.Errorf("making a file executable: %w", err)
		}
	}
	return nil
}

func (in Installer) npm(ctx context.Context, f *File, dir, npm string) error {
	packages, err := fillAll(f.Install.NPM, &Values{Arch: arch()})
	if err != nil {
		return err
	}
	if f.Install.Node {
		packages = append(packages, fmt.Sprintf(nodePackage, arch()))
	}
	in.say("npm install %s", strings.Join(packages, " "))
	args := append([]string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error"}, packages...)
	return in.step(ctx, f, dir, npm, args...)
}

// pip makes a virtual environment of an interpreter, with exactly the pins.
func (in Installer) pip(ctx context.Context, f *File, dir, python string) error {
	in.say("a virtual environment of %s with %d packages", python, len(strings.Fields(f.Install.Pip)))
	if err := in.step(ctx, f, dir, python, "-I", "-m", "venv", dir); err != nil {
		return err
	}
	pins := filepath.Join(dir, "pins.txt")
	if err := os.WriteFile(pins, []byte(f.Install.Pip), 0o644); err != nil {
		return fmt.Errorf("writing the pins of %s: %w", f.Name, err)
	}
	return in.step(ctx, f, dir, filepath.Join(dir, "bin/python"), "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-input",
		"--progress-bar", "off", "-r", pins)
}

func (in Installer) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	b, err := cmd.Output()
	return string(b), err
}

// step runs one program of an installation, and says every ten seconds that it still runs.
func (in Installer) step(ctx context.Context, f *File, dir, name string, args ...string) error {
	// What is unpacked on the way lies on the same disk, whose room was looked at.
	tmp := filepath.Join(dir, ".tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("making a folder for %s: %w", f.Name, err)
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PYTHONNOUSERSITE=1", "PYTHONPATH=", "NODE_PATH=", "NO_COLOR=1", "CI=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	began := in.now()
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				in.say("%s still runs, %s so far", filepath.Base(name), in.now().Sub(began).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	run := in.Run
	if run == nil {
		run = (*exec.Cmd).CombinedOutput
	}
	out, err := run(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		said := lastWords(out)
		if full := spaceWords.Find(out); full != nil {
			said += " (" + string(full) + ")" // npm says it far from its end
		}
		return &InstallError{f.Name, fmt.Sprintf("was not installed: %s: %v: %s", filepath.Base(name), err, said), "try the command yourself: " + name + " " + strings.Join(args, " "), false}
	}
	return nil
}

// lastWords are the last lines of an output, on one line.
func lastWords(out []byte) string {
	text := strings.TrimSpace(string(out))
	if len(text) > 600 {
		text = text[len(text)-600:]
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}

// verify asks the program for its version, with an empty HOME and without the user's environment.
func (in Installer) verify(ctx context.Context, f *File, prefix string) error {
	got, err := in.Version(ctx, f, prefix)
	if err != nil {
		return err
	}
	if got != f.Version {
		return &InstallError{f.Name, fmt.Sprintf("says that it is version %q, and its file pins %s", got, f.Version), "pin the version that is there, or install the one that is pinned", true}
	}
	return nil
}

// Check looks whether a harness is installed and says the version that its file pins. The error is an *InstallError.
func (in Installer) Check(ctx context.Context, f *File) error {
	prefix, _, err := in.Find(f)
	if err != nil {
		return err
	}
	return in.verify(ctx, f, prefix)
}

// probeLimit is how long a program may take to say its version: on a busy machine the slow ones take more than a minute.
const probeLimit = 3 * time.Minute

// Version asks a program for its version.
func (in Installer) Version(ctx context.Context, f *File, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	home, err := os.MkdirTemp("", "stint-probe-")
	if err != nil {
		return "", fmt.Errorf("making a folder for a probe: %w", err)
	}
	defer os.RemoveAll(home)
	argv, err := fillAll(f.Probe.Run, &Values{Prefix: prefix, Arch: arch(), Home: home, Out: home})
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = home, time.Second
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		text := fmt.Sprintf("does not say its version: %v: %s", err, lastWords(out))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			text = fmt.Sprintf("does not say its version within %s: %s", probeLimit, lastWords(out))
		}
		if errors.Is(err, fs.ErrNotExist) {
			text = fmt.Sprintf("is not there: %s is missing", argv[0])
		}
		return "", &InstallError{f.Name, text, "stint harness install " + f.argument() + " installs it again", true}
	}
	re := f.probe
	if re == nil {
		re = anyVersion
	}
	m := re.FindSubmatch(out)
	if m == nil {
		return "", &InstallError{f.Name, fmt.Sprintf("answers its version probe with %q, where no version is found", clip(lastWords(out), 100)), "correct probe in its file", true}
	}
	return string(m[1]), nil
}

// arch is this machine's architecture in npm's words.
func arch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}
