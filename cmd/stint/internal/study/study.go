package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// Study is one experiment as its file describes it: defaults filled in, configurations and families resolved.
type Study struct {
	Path      string // of the file, as the user named it
	Source    []byte // the file's bytes
	Name      string
	Seed      uint64
	Scenarios Scenarios
	Repeats   int    // at least 1
	Mode      string // fail-stop, continue or teleport
	Configs   []Config
	Models    []Model // in the order of the file
	Agent     AgentDefaults
	Sandbox   Sandbox
	Budgets   Budgets
	Gateway   Gateway
	Jobs      Jobs
	PriceName string // the price table as written; "" = the built-in table
	PriceFile string // its resolved path
	Prices    *logs.Prices
	Analysis  Analysis
	Judge     *Judge
	Families  []Family
	Expect    []Expectation
	Harnesses map[string]*harness.File // by name, those that are programs

	src    *source
	set    *suite.Set // prepared scenarios; nil = they are drawn
	frozen bool       // read from a run directory
}

// Scenarios says what the agents are asked to do.
type Scenarios struct {
	Count    int
	Changes  int    // after the build; turns_max = Changes + 1
	Sampler  string // rules or llm
	Model    string // with the sampler llm: the model of this file that chooses
	Schedule string // stratified or iid
	Delivery string // delta, delta+file or full; a configuration may choose its own
	Set      string // folder of the prepared set, as written; "" = the scenarios are drawn
}

// Model is one entry of models: an endpoint, or the preset of a simulated agent.
type Model struct {
	Name        string
	API         string // chat, responses or anthropic; "" for a simulated one
	URL         string
	KeyEnv      string // name of the environment variable with the key; "" = no key
	ID          string // what the provider calls it
	Context     int    // tokens; 0 = unknown
	MaxOutput   int    // tokens; 0 = the provider's
	Temperature *float64
	Tools       string        // native or text
	Simulate    string        // weak, medium or strong; "" = a real model
	Transport   string        // of a simulated agent: server, inproc, python
	Delay       time.Duration // of a simulated agent: what an attempt takes beyond its work

	place place
	keyAt place
}

// AgentDefaults apply to every configuration that does not say otherwise.
type AgentDefaults struct {
	Session        string
	ProcessRetries int
}

// Sandbox says where agents and their servers run. Zero limits mean the sandbox's own defaults.
type Sandbox struct {
	Kind      string
	Image     string
	Runtimes  []string
	Memory    int64 // bytes
	Processes int
	Disk      int64 // bytes
}

// Budgets are the limits of an attempt, an episode and the study. Zero = no limit, except that Wall zero
// means the default of the harness.
type Budgets struct {
	Wall       time.Duration
	Tokens     int64
	Requests   int
	EpisodeUSD float64
	StudyUSD   float64
}

// Gateway says how requests to a model are made.
type Gateway struct {
	Retry        bool
	ProviderWait time.Duration
}

// Jobs bounds how much runs at once. Zero = the default (Episodes) or no limit (PerModel).
type Jobs struct {
	Episodes int
	PerModel int
}

// Analysis is what was declared to be tested; the families themselves are Study.Families.
type Analysis struct {
	Outcome string
	Alpha   float64
}

// Judge is the model that labels failures which the rules leave open. It is kept for `stint classify`.
type Judge struct {
	Model  string
	MaxUSD float64 // 0 = no limit
}

// Defaults of a study file.
const (
	defaultSeed           = 1
	defaultChanges        = 100
	defaultProcessRetries = 1
	defaultWall           = 30 * time.Minute
	defaultSimulatedWall  = 10 * time.Second
	defaultRequests       = 200
	defaultProviderWait   = 10 * time.Minute
	defaultAlpha          = 0.05
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Load reads a study file. Errors about its content are *InputError.
func Load(path string) (*Study, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// LoadFrozen reads the study of a run directory: what was declared, with the price table it is billed by.
func LoadFrozen(d *logs.RunDir) (*Study, error) {
	b, err := readFile(d.StudyFile())
	if err != nil {
		return nil, err
	}
	s, err := parse(d.StudyFile(), b, priceFromRunDir)
	if err != nil {
		return nil, err
	}
	s.Prices, err = logs.LoadPrices(d.PricesFile())
	if errors.Is(err, fs.ErrNotExist) {
		s.Prices, err = logs.BuiltinPrices(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the price table of the run directory: %w", err)
	}
	return s, nil
}

// readFile reads a study file, bounded.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, &InputError{File: path, Message: "there is no such study file", Advice: "stint init writes a commented study.yaml to start from"}
	case err != nil:
		return nil, fmt.Errorf("reading the study file: %w", err)
	case info.IsDir():
		return nil, &InputError{File: path, Message: "this is a directory, not a study file", Advice: fmt.Sprintf("name the file, for example %s", filepath.Join(path, "study.yaml"))}
	case info.Size() > maxFile:
		return nil, &InputError{File: path, Message: fmt.Sprintf("the study file has %d bytes; at most %d are read", info.Size(), maxFile)}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the study file: %w", err)
	}
	return b, nil
}

// Parse reads the bytes of a study file; relative paths in it count from the folder of name.
func Parse(name string, b []byte) (*Study, error) {
	return parse(name, b, priceFromStudy)
}

// priceSource says where a study's price table is found.
type priceSource int

const (
	priceFromStudy  priceSource = iota // the file that the study names, or the built-in table
	priceFromRunDir                    // not read: a frozen study's table lies beside it and is read by the run
)

func parse(name string, b []byte, prices priceSource) (*Study, error) {
	src := newSource(name, b)
	root, err := parseNodes(src, b)
	if err != nil {
		return nil, err
	}
	if root.kind != kindMapping {
		return nil, src.errorAt(root.place, "stint init writes a commented study.yaml to start from", "a study must be a mapping, not %s", root.kind)
	}
	if err := src.check(root, studyKeys()); err != nil {
		return nil, err
	}
	s := &Study{Path: name, Source: b, src: src, frozen: prices == priceFromRunDir}
	steps := []func(*node) error{s.readHead, s.readScenarios, s.readModels, s.checkSampler, s.readRunning, s.readConfigs, s.readAnalysis, s.readExpect, s.readJudge}
	for _, step := range steps {
		if err := step(root); err != nil {
			return nil, err
		}
	}
	if prices == priceFromStudy {
		if err := s.readPrices(root); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// TurnsMax is the number of turns of an episode: the build and every change.
func (s *Study) TurnsMax() int { return s.Scenarios.Changes + 1 }

// Model returns the model of that name, or nil.
func (s *Study) Model(name string) *Model {
	for i := range s.Models {
		if s.Models[i].Name == name {
			return &s.Models[i]
		}
	}
	return nil
}

// Config returns the configuration of that name, or nil.
func (s *Study) Config(name string) *Config {
	for i := range s.Configs {
		if s.Configs[i].Name == name {
			return &s.Configs[i]
		}
	}
	return nil
}

// OfflineOnly reports whether no configuration talks to a model: only simulated and reference harnesses.
func (s *Study) OfflineOnly() bool {
	for _, c := range s.Configs {
		if c.Harness != harnessSimulated && c.Harness != harnessReference {
			return false
		}
	}
	return true
}

// Needs names the runtimes without which no server of the study can start: those of what stint itself writes.
func (s *Study) Needs() []string {
	if s.Mode == episode.ModeTeleport {
		return []string{pythonRuntime}
	}
	for i := range s.Models {
		if s.Models[i].Transport == harness.TransportPython && s.uses(s.Models[i].Name) {
			return []string{pythonRuntime}
		}
	}
	return nil
}

// pythonRuntime is what servers that stint writes as code run on.
const pythonRuntime = "python3"

// AttemptWall is the wall time an attempt of a configuration may take.
func (s *Study) AttemptWall(c Config) time.Duration {
	switch {
	case s.Budgets.Wall > 0:
		return s.Budgets.Wall
	case c.Harness == harnessSimulated || c.Harness == harnessReference:
		return defaultSimulatedWall
	}
	return defaultWall
}

// CheckKeys reports the first model in use whose key variable is not set, as an *InputError.
func (s *Study) CheckKeys(getenv func(string) string) error {
	return s.missingKey(getenv, s.order())
}

// missingKey is CheckKeys for some of the episodes.
func (s *Study) missingKey(getenv func(string) string, episodes []PlannedEpisode) error {
	asked := map[string]bool{}
	for _, e := range episodes {
		asked[s.Config(e.Config).Model] = true
	}
	for i := range s.Models {
		m := &s.Models[i]
		if !asked[m.Name] {
			continue
		}
		if err := s.modelKey(m, getenv); err != nil {
			return err
		}
	}
	return nil
}

// modelKey reports that the variable with the key of a model is not set.
func (s *Study) modelKey(m *Model, getenv func(string) string) error {
	if m.KeyEnv == "" || getenv(m.KeyEnv) != "" {
		return nil
	}
	return s.src.errorAt(m.keyAt, fmt.Sprintf("export %s=… and run again; a model without a key has no key_env", m.KeyEnv),
		"the environment variable %s, which holds the key of model %s, is not set", m.KeyEnv, m.Name)
}

// uses reports whether a configuration asks a model.
func (s *Study) uses(model string) bool {
	for _, c := range s.Configs {
		if c.Model == model {
			return true
		}
	}
	return false
}
