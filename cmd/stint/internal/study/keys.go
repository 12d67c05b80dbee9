package study

// form is what a value of a key may be.
type form int

const (
	formText     form = iota // any scalar
	formWord                 // one of key.choices
	formCount                // an integer in [min, max]
	formSeed                 // an unsigned 64-bit integer
	formSize                 // an integer with a suffix: k, M, G (1000) or KiB, MiB, GiB (1024)
	formDuration             // Go's: 30m, 1h30m
	formMoney                // a number ≥ 0
	formNumber               // any finite number ≥ 0
	formShare                // a number strictly between 0 and 1
	formFlag                 // true or false
	formSection              // a mapping with the keys of key.section
	formNamed                // a mapping from free names to mappings with the keys of key.section
	formPairs                // `all`, or a list of pairs of configuration names
	formSampler              // rules, or {llm: MODEL}
)

// key is one key of study.yaml. The same table checks a file, names the nearest key and makes the JSON schema.
type key struct {
	name     string
	doc      string
	form     form
	choices  []string // formWord
	min, max int64    // formCount; max 0 = no bound
	list     bool     // a list of values
	many     bool     // one value or a list of values
	required bool
	section  *section
	scalar   string // formSection: the key that a bare value stands for (`sandbox: none` = {kind: none})
}

// section is a mapping with known keys.
type section struct {
	where string // as messages call it: "scenarios", "an entry of configs"
	keys  []key
}

func (s *section) names() []string {
	out := make([]string, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.name
	}
	return out
}

func (s *section) key(name string) *key {
	for i := range s.keys {
		if s.keys[i].name == name {
			return &s.keys[i]
		}
	}
	return nil
}

// The words of a study.
var (
	modes      = []string{"fail-stop", "continue", "teleport"}
	schedules  = []string{"stratified", "iid"}
	deliveries = []string{"delta", "delta+file", "full"}
	feedbacks  = []string{"none", "minimal", "moderate", "detailed"}
	sessions   = []string{"continue", "fresh"}
	toolForms  = []string{"native", "text"}
	apis       = []string{"chat", "responses", "anthropic"}
	presets    = []string{"weak", "medium", "strong"}
	transports = []string{"server", "inproc", "process", "python"}
	sandboxes  = []string{"auto", "bubblewrap", "container", "none"}
	outcomes   = []string{"turns_passed", "full", "share", "usd"}
	// factorNames are the axes of a configuration, in the order in which names and messages list them.
	factorNames = []string{"model", "harness", "feedback", "retries", "session", "process_retries", "delivery", "tools"}
)

// maxRetries bounds a retry budget; it keeps a slip of the finger from planning a year of work.
const maxRetries = 1000

// studyKeys returns the whole grammar of study.yaml.
func studyKeys() *section {
	return &section{where: "a study", keys: []key{
		{name: "version", doc: "version of this format", form: formCount, min: 1, max: 1, required: true},
		{name: "name", doc: "name of the study; its run directory is runs/NAME", form: formText, required: true},
		{name: "seed", doc: "seed of everything drawn: scenarios, order of episodes, simulated agents (default 1)", form: formSeed},
		{name: "scenarios", doc: "what the agents are asked to do", form: formSection, section: scenarioKeys(), required: true},
		{name: "repeats", doc: "episodes per configuration and scenario (default 1)", form: formCount, min: 1, max: 1000},
		{name: "mode", doc: "what a failed turn means for the episode: fail-stop ends it (default), continue goes on from the broken code, teleport starts every turn from correct code", form: formWord, choices: modes},
		{name: "configs", doc: "what is compared: each entry is the product of its lists", form: formSection, section: configKeys(), list: true, required: true},
		{name: "models", doc: "the models by name: how to reach them", form: formNamed, section: modelKeys()},
		{name: "agent", doc: "defaults of the agents", form: formSection, section: &section{where: "agent", keys: []key{
			{name: "session", doc: "does the conversation carry over turns (default continue)", form: formWord, choices: sessions},
			{name: "process_retries", doc: "same prompt again when the agent program died, per turn, outside the retry budget (default 1)", form: formCount, max: 100},
		}}},
		{name: "sandbox", doc: "where agents and their servers run", form: formSection, section: sandboxKeys(), scalar: "kind"},
		{name: "budgets", doc: "limits of an attempt, an episode, the study", form: formSection, section: budgetKeys()},
		{name: "gateway", doc: "how model requests are made", form: formSection, section: &section{where: "gateway", keys: []key{
			{name: "retry", doc: "wait out 429, 5xx and broken connections (default true)", form: formFlag},
			{name: "provider_wait", doc: "how long one request may wait for the provider (default 10m)", form: formDuration},
		}}},
		{name: "jobs", doc: "how much runs at once", form: formSection, section: &section{where: "jobs", keys: []key{
			{name: "episodes", doc: "episodes at once (default: twice the processors, at most 4)", form: formCount, min: 1, max: 10000},
			{name: "per_model", doc: "episodes of one model at once (default: no limit)", form: formCount, min: 1, max: 10000},
		}}},
		{name: "prices", doc: "file with a price table (default: the built-in table); an unknown price is an unknown cost, never 0", form: formText},
		{name: "analysis", doc: "what is tested; frozen with the first episode", form: formSection, section: analysisKeys()},
		{name: "expect", doc: "what the plan of a run expects; of every figure the first entry that fits a configuration counts", form: formSection, section: expectKeys(), list: true},
		{name: "judge", doc: "model that labels failures the rules leave open", form: formSection, section: &section{where: "judge", keys: []key{
			{name: "model", doc: "a model of this file", form: formText, required: true},
			{name: "max_usd", doc: "most it may cost, in dollars", form: formMoney},
		}}},
	}}
}

func scenarioKeys() *section {
	return &section{where: "scenarios", keys: []key{
		{name: "count", doc: "number of scenarios; the pairing unit of every test", form: formCount, min: 1, max: 100000},
		{name: "changes", doc: "change requests after the initial build (default 100)", form: formCount, max: 1000},
		{name: "sampler", doc: "who chooses the changes: rules (default), or {llm: MODEL} for a model of this file, with an OpenAI-compatible endpoint", form: formSampler},
		{name: "schedule", doc: "stratified: kinds of change are spread evenly over the turns (default); iid: independent draws", form: formWord, choices: schedules},
		{name: "delivery", doc: "what the agent gets: delta (the change), delta+file (and SPEC.md, default), full (the specification in the request)", form: formWord, choices: deliveries},
		{name: "set", doc: "folder of a set that stint scenario new has made; count takes the first of them", form: formText},
	}}
}

func configKeys() *section {
	return &section{where: "an entry of configs", keys: []key{
		{name: "model", doc: "a model of this file", form: formText, many: true},
		{name: "harness", doc: "the program around the model: builtin, one that stint harness list names, or the path of a harness file; simulated and reference need no model server", form: formText, many: true},
		{name: "feedback", doc: "what a retry is told about the failure", form: formWord, choices: feedbacks, many: true},
		{name: "retries", doc: "retries per turn after the first attempt", form: formCount, max: maxRetries, many: true},
		{name: "session", doc: "see agent.session", form: formWord, choices: sessions, many: true},
		{name: "process_retries", doc: "see agent.process_retries", form: formCount, max: 100, many: true},
		{name: "delivery", doc: "see scenarios.delivery", form: formWord, choices: deliveries, many: true},
		{name: "tools", doc: "see models.NAME.tools", form: formWord, choices: toolForms, many: true},
	}}
}

func modelKeys() *section {
	return &section{where: "a model", keys: []key{
		{name: "api", doc: "protocol of the endpoint (default chat)", form: formWord, choices: apis},
		{name: "url", doc: "base URL of the endpoint, for example http://127.0.0.1:8000/v1", form: formText},
		{name: "key_env", doc: "environment variable that holds the API key; the key itself never stands in a study", form: formText},
		{name: "id", doc: "what the provider calls the model (default: its name here)", form: formText},
		{name: "context", doc: "context window in tokens", form: formSize},
		{name: "max_output", doc: "largest answer in tokens", form: formSize},
		{name: "temperature", doc: "sampling temperature (default: the provider's)", form: formNumber},
		{name: "tools", doc: "native tool calls (default) or text: fenced commands, for models without tool calling", form: formWord, choices: toolForms},
		{name: "simulate", doc: "a simulated agent instead of a model; harness is then simulated", form: formWord, choices: presets},
		{name: "transport", doc: "how a simulated agent serves: server (default), inproc (no process), python (writes server.py)", form: formWord, choices: transports},
		{name: "delay", doc: "how long an attempt of a simulated agent takes beyond its work (default: no time)", form: formDuration},
	}}
}

func sandboxKeys() *section {
	return &section{where: "sandbox", keys: []key{
		{name: "kind", doc: "auto (default): bubblewrap if it works here, else an error; only simulated and reference harnesses: else none", form: formWord, choices: sandboxes},
		{name: "image", doc: "container image by digest, IMAGE@sha256…", form: formText},
		{name: "runtimes", doc: "runtimes the agents may use, read-only, standard libraries only", form: formText, list: true},
		{name: "limits", doc: "what agents and servers may use", form: formSection, section: &section{where: "sandbox.limits", keys: []key{
			{name: "memory", doc: "bytes of memory", form: formSize},
			{name: "processes", doc: "number of processes", form: formCount, min: 1},
			{name: "disk", doc: "bytes of disk for workspace and home", form: formSize},
		}}},
	}}
}

func budgetKeys() *section {
	usd := key{name: "usd", doc: "dollars", form: formMoney}
	return &section{where: "budgets", keys: []key{
		{name: "attempt", doc: "reached: the attempt failed", form: formSection, section: &section{where: "budgets.attempt", keys: []key{
			{name: "wall", doc: "wall time (default 30m; 10s for simulated agents)", form: formDuration},
			{name: "tokens", doc: "tokens, all kinds (default: no limit)", form: formSize},
			{name: "requests", doc: "model requests (default 200)", form: formCount, min: 1},
		}}},
		{name: "episode", doc: "reached: the episode is stopped, not failed", form: formSection, section: &section{where: "budgets.episode", keys: []key{usd}}},
		{name: "study", doc: "reached: no new attempt starts", form: formSection, section: &section{where: "budgets.study", keys: []key{usd}}},
	}}
}

func analysisKeys() *section {
	return &section{where: "analysis", keys: []key{
		{name: "outcome", doc: "what is compared (default turns_passed; under mode: teleport share)", form: formWord, choices: outcomes},
		{name: "alpha", doc: "family-wise error rate (default 0.05)", form: formShare},
		{name: "families", doc: "one entry = one family of tests under Holm; anything undeclared is exploratory", form: formSection, list: true,
			section: &section{where: "an entry of analysis.families", keys: []key{
				{name: "name", doc: "how tables call the family", form: formText},
				{name: "by", doc: "factors the pairs differ in", form: formWord, choices: factorNames, many: true},
				{name: "within", doc: "factors the pairs agree in", form: formWord, choices: factorNames, many: true},
				{name: "baseline", doc: "a configuration that every other one is compared with", form: formText},
				{name: "pairs", doc: "all, or a list of [CONFIG, CONFIG]", form: formPairs},
				{name: "filter", doc: "which configurations take part, for example model:glm-5", form: formText},
				{name: "outcome", doc: "what is compared (default: analysis.outcome)", form: formWord, choices: outcomes},
			}}},
	}}
}
