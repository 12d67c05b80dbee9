package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"
)

// File is a harness as data: how a program around a model is installed, started and continued, where its logs lie
// and how its end is read. Texts with {{…}} are templates over [Values].
type File struct {
	Name     string `yaml:"name"`     // as studies call it: opencode
	Title    string `yaml:"title"`    // as its makers call it
	Version  string `yaml:"version"`  // what the probe must say
	Protocol string `yaml:"protocol"` // chat, responses or anthropic
	Notes    string `yaml:"notes"`    // what a reader of results should know: retries, traps

	Install Install           `yaml:"install"`
	Prefix  string            `yaml:"prefix"` // folder with the program, for what stint does not install; relative to the file
	Probe   Probe             `yaml:"probe"`
	Env     map[string]string `yaml:"env"`
	Files   []Config          `yaml:"files"` // written into HOME before each attempt
	First   []string          `yaml:"first"` // command of a new conversation
	Next    []string          `yaml:"next"`  // command that goes on with one; none: every attempt is a new conversation
	Stdin   string            `yaml:"stdin"` // what these commands read; "" = nothing
	Session Session           `yaml:"session"`
	After   []After           `yaml:"after"` // commands run in the sandbox after each attempt
	Logs    []Log             `yaml:"logs"`  // files kept after each attempt
	Reader  string            `yaml:"reader"`
	Ends    []EndRule         `yaml:"ends"`  // the first that fits says how the program ended
	Clean   []string          `yaml:"clean"` // patterns under HOME: caches and credentials that no snapshot needs

	path   string // where it was read; "" = shipped with stint
	sha    string
	source []byte
	probe  *regexp.Regexp
}

// Install says how the pinned version gets into stint's cache. At most one of NPM and Pip is set.
type Install struct {
	NPM        []string `yaml:"npm"`        // packages with versions; install scripts are not run
	Node       bool     `yaml:"node"`       // Node 22 from npm beside them
	Pip        string   `yaml:"pip"`        // pins, one a line; nothing else is resolved
	Python     string   `yaml:"python"`     // minor version of the interpreter: "3.12"
	Executable []string `yaml:"executable"` // patterns of files that lack their execute bit
	// Megabytes is the room it takes, looked at beforehand; 0 = unknown. It is no part of what is installed.
	Megabytes int `yaml:"megabytes" json:"-"`
}

// Probe asks the program for its version.
type Probe struct {
	Run   []string `yaml:"run"`
	Match string   `yaml:"match"` // regular expression whose first group is the version; "" = the first number with dots
}

// Config is a file the program reads.
type Config struct {
	Path string `yaml:"path"` // under HOME
	Text string `yaml:"text"`
}

// Session says how a conversation is named. With neither field a follow-up needs no name.
type Session struct {
	Chosen bool   `yaml:"chosen"` // stint chooses a UUID
	Match  string `yaml:"match"`  // regular expression on stdout whose first group is the name

	match *regexp.Regexp
}

// After is a command whose standard output is kept like a log.
type After struct {
	Name string   `yaml:"name"`
	Run  []string `yaml:"run"`
	Trim *Trim    `yaml:"trim"`
}

// Trim keeps of a JSON document only what this attempt added to one of its lists.
type Trim struct {
	List string `yaml:"list"` // path of the list
	Time string `yaml:"time"` // path, in an element, of its time in milliseconds
}

// Log is a file to keep.
type Log struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"` // pattern under HOME; of several files the newest
	New  bool   `yaml:"new"`  // the file only grows: keep what this attempt appended
	Each bool   `yaml:"each"` // of several files, keep all that this attempt wrote, in the order of their names: a line for each JSON document
	// Optional says that the program writes it only if it has something to say.
	Optional bool `yaml:"optional"`
}

// EndRule reads an end. All its conditions must hold.
type EndRule struct {
	Exit []int    `yaml:"exit"` // exit codes
	In   string   `yaml:"in"`   // stdout, stderr or the name of a log
	Last []string `yaml:"last"` // look at the last line of In, as JSON, whose value at Key is one of these
	Key  string   `yaml:"key"`  // path in a line; "" = type
	JSON string   `yaml:"json"` // path in that line, or in In as a whole
	Is   []string `yaml:"is"`   // the value at the path is one of these; empty: it is there
	// Match is a regular expression that fits the last lines of In.
	Match string `yaml:"match"`

	Completion string `yaml:"completion"` // clean, cut or empty
	Say        string `yaml:"say"`        // path of a value that explains the end
	Detail     string `yaml:"detail"`     // words that explain it
	Damaged    bool   `yaml:"damaged"`    // the conversation can take no further prompt

	match *regexp.Regexp
}

// Values are what templates of a [File] are filled with. Paths are those inside the sandbox.
type Values struct {
	Prefix    string // folder of the installed program
	Arch      string // x64 or arm64, as npm calls it
	Home      string
	Workspace string
	Out       string // folder under HOME for what the program writes about itself; empty before each attempt
	Base      string // URL of the gateway without /v1
	URL       string // with it
	Token     string // API key of the attempt
	Model     string // name of the model, as the program asks for it
	Context   int    // tokens of its window
	MaxOutput int    // tokens of one answer
	Prompt    string
	Session   string
	Seconds   int // wall time of the attempt
}

// The bounds of a file and of a name in it.
const maxHarnessFile = 1 << 20

var (
	anyVersion  = regexp.MustCompile(`(\d+(?:\.\d+)+)`)
	harnessName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,39}$`)
	logName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
	protocols   = []string{"chat", "responses", "anthropic"}
)

// FileError says what is wrong with a harness file.
type FileError struct {
	Path, Text, Way string
}

func (e *FileError) Error() string { return fmt.Sprintf("harness file %s: %s", e.Path, e.Text) }

// Hint is the way out.
func (e *FileError) Hint() string { return e.Way }

// ExitCode is 2: an input must change.
func (e *FileError) ExitCode() int { return 2 }

// ReadFile reads a harness file of a user.
func ReadFile(path string) (*File, error) {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, &FileError{path, "there is no such file", "write one; `stint harness show opencode` prints an example"}
	case err != nil:
		return nil, fmt.Errorf("reading a harness file: %w", err)
	case !st.Mode().IsRegular() || st.Size() > maxHarnessFile:
		return nil, &FileError{path, fmt.Sprintf("it is no regular file of at most %d bytes", maxHarnessFile), ""}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a harness file: %w", err)
	}
	return ParseFile(path, b)
}

// ParseFile decodes and checks a harness file. Path is for messages, and for what the file names relative to itself.
func ParseFile(path string, b []byte) (*File, error) {
	f := &File{path: path, source: b}
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(f); err != nil {
		return nil, &FileError{path, strings.TrimSpace(yaml.FormatError(err, false, true)), "`stint harness show opencode` prints an example with every key that is needed"}
	}
	sum := sha256.Sum256(b)
	f.sha = hex.EncodeToString(sum[:])
	if what, way := f.check(); what != "" {
		return nil, &FileError{path, what, way}
	}
	return f, nil
}

// check returns what is wrong, and the way out.
func (f *File) check() (what, way string) {
	switch {
	case !harnessName.MatchString(f.Name):
		return fmt.Sprintf("name %q must be lower-case letters, digits, dots and dashes", f.Name), "for example name: my-agent"
	case slices.Contains([]string{"builtin", "simulated", "reference"}, f.Name):
		return fmt.Sprintf("name %q is one of stint's own agents", f.Name), "choose another name"
	case f.Version == "" || !logName.MatchString(f.Version):
		return fmt.Sprintf("version %q is missing or no version", f.Version), "pin the version that the probe prints, for example version: 1.2.3"
	case !slices.Contains(protocols, f.Protocol):
		return fmt.Sprintf("protocol %q is none of %s", f.Protocol, strings.Join(protocols, ", ")), "name the protocol that the program speaks to its model"
	case len(f.First) == 0:
		return "first is missing", "first: [PROGRAM, ARGUMENT, …] is the command that answers a prompt"
	case len(f.Probe.Run) == 0:
		return "probe.run is missing", "probe: {run: [PROGRAM, --version]}"
	case len(f.Install.NPM) > 0 && f.Install.Pip != "":
		return "install has npm and pip", "keep one"
	case f.Install.Pip != "" && f.Install.Python == "":
		return "install.pip without install.python", `for example python: "3.12"`
	case f.Installed() && f.Prefix != "":
		return "it has install and prefix", "prefix is for programs that stint does not install"
	case !f.Installed() && f.Prefix == "":
		return "it has neither install nor prefix", "say how the program is installed, or where it lies: prefix: ./folder"
	case len(f.Next) == 0 && (f.Session.Chosen || f.Session.Match != ""):
		return "session without next", "give the command that goes on with a conversation"
	case f.Session.Chosen && f.Session.Match != "":
		return "session has chosen and match", "keep one"
	}
	if what, way := f.checkExpressions(); what != "" {
		return what, way
	}
	return f.checkTemplates(), "templates may use the fields of the example; {{json .Prompt}} quotes a value for JSON"
}

func (f *File) checkExpressions() (what, way string) {
	compile := func(where, text string) *regexp.Regexp {
		if text == "" || what != "" {
			return nil
		}
		re, err := regexp.Compile(text)
		if err != nil {
			what, way = fmt.Sprintf("%s: %v", where, err), "write a Go regular expression"
		}
		return re
	}
	f.probe = compile("probe.match", f.Probe.Match)
	f.Session.match = compile("session.match", f.Session.Match)
	for _, re := range []*regexp.Regexp{f.probe, f.Session.match} {
		if re != nil && re.NumSubexp() != 1 && what == "" {
			return fmt.Sprintf("%q must have one group, around the value", re), "for example version (\\d+\\.\\d+)"
		}
	}
	for i := range f.Ends {
		e := &f.Ends[i]
		where := fmt.Sprintf("ends[%d]", i)
		e.match = compile(where+".match", e.Match)
		switch {
		case what != "":
		case !slices.Contains([]string{CompletionClean, CompletionCut, CompletionEmpty}, e.Completion):
			return fmt.Sprintf("%s.completion %q is none of clean, cut, empty", where, e.Completion), "say how the program ended"
		case e.In == "" && (e.Match != "" || e.JSON != "" || len(e.Last) > 0), e.JSON == "" && len(e.Is) > 0, len(e.Last) == 0 && e.Key != "":
			return where + " lacks what to look at", "in: stdout, json: PATH for `is`, and last: [VALUE] for `key`"
		case e.In != "" && !slices.Contains(f.logNames(), e.In):
			return fmt.Sprintf("%s.in %q is none of %s", where, e.In, strings.Join(f.logNames(), ", ")), "name a log of this file"
		}
	}
	seen := map[string]bool{}
	for _, n := range f.logNames() {
		if seen[n] || !logName.MatchString(n) {
			return fmt.Sprintf("log name %q stands twice or is no plain file name", n), "name each log once"
		}
		seen[n] = true
	}
	for _, p := range f.homePaths() {
		if !filepath.IsLocal(p) {
			return fmt.Sprintf("path %q leads out of HOME", p), "paths of files, logs and clean are relative to HOME"
		}
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Sprintf("path %q is no pattern: %v", p, err), "* and ? stand for what you do not know, [a-z] for one of several"
		}
	}
	return what, way
}

// logNames are the names under which output is kept.
func (f *File) logNames() []string {
	names := []string{"stdout", "stderr"}
	for _, a := range f.After {
		names = append(names, a.Name)
	}
	for _, l := range f.Logs {
		names = append(names, l.Name)
	}
	return names
}

func (f *File) homePaths() []string {
	var paths []string
	for _, c := range f.Files {
		paths = append(paths, c.Path)
	}
	for _, l := range f.Logs {
		paths = append(paths, l.Path)
	}
	return append(paths, f.Clean...)
}

// templates are all texts that are filled in.
func (f *File) templates() []string {
	all := slices.Concat(f.First, f.Next, f.Probe.Run, f.Install.NPM)
	for _, k := range f.envKeys() {
		all = append(all, f.Env[k])
	}
	for _, c := range f.Files {
		all = append(all, c.Text)
	}
	for _, a := range f.After {
		all = append(all, a.Run...)
	}
	for _, l := range f.Logs {
		all = append(all, l.Path)
	}
	return append(all, f.Stdin)
}

func (f *File) checkTemplates() string {
	for _, t := range f.templates() {
		if _, err := fill(t, &Values{}); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (f *File) envKeys() []string {
	keys := make([]string, 0, len(f.Env))
	for k := range f.Env {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fill fills one template in.
func fill(text string, v *Values) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("").Funcs(template.FuncMap{"json": jsonText, "replace": strings.ReplaceAll}).Parse(text)
	var b strings.Builder
	if err == nil {
		err = t.Execute(&b, v)
	}
	if err != nil {
		return "", fmt.Errorf("filling in %q: %w", clip(text, 60), err)
	}
	return b.String(), nil
}

func fillAll(texts []string, v *Values) ([]string, error) {
	out := make([]string, len(texts))
	for i, t := range texts {
		var err error
		if out[i], err = fill(t, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Installed says whether stint installs the program.
func (f *File) Installed() bool { return len(f.Install.NPM) > 0 || f.Install.Pip != "" }

// SHA is the hash of the file's bytes.
func (f *File) SHA() string { return f.sha }

// Source is the file's bytes.
func (f *File) Source() []byte { return f.source }

// Path is where the file was read, "" for one that stint ships.
func (f *File) Path() string { return f.path }

// clip shortens a text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
