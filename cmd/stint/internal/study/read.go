package study

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// The readers below run after check, so a value that is there has the form its key asks for.

func textOr(n *node, fallback string) string {
	if n == nil {
		return fallback
	}
	return n.text
}

func countOr(n *node, fallback int) int {
	if n == nil {
		return fallback
	}
	v, _ := parseCount(n.text)
	return int(v)
}

func sizeOr(n *node, fallback int64) int64 {
	if n == nil {
		return fallback
	}
	v, _ := parseSize(n.text)
	return v
}

func durationOr(n *node, fallback time.Duration) time.Duration {
	if n == nil {
		return fallback
	}
	v, _ := parseDuration(n.text)
	return v
}

func numberOr(n *node, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	v, _ := parseNumber(n.text)
	return v
}

// wordsOf returns the values of a key that takes one value or a list of them, with their places.
func wordsOf(n *node) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == kindList:
		return n.items
	}
	return []*node{n}
}

func textsOf(n *node) []string {
	var out []string
	for _, w := range wordsOf(n) {
		out = append(out, w.text)
	}
	return out
}

func (s *Study) readHead(root *node) error {
	n := root.get("name")
	if !nameForm.MatchString(n.text) {
		return s.src.errorAt(n.place, "the name becomes a folder: letters, digits, dot, dash and underscore, at most 64", "%q cannot name a study", n.text)
	}
	s.Name = n.text
	s.Seed = defaultSeed
	if v := root.get("seed"); v != nil {
		s.Seed, _ = parseSeed(v.text)
	}
	s.Repeats = countOr(root.get("repeats"), 1)
	s.PriceName = textOr(root.get("prices"), "")
	s.Mode = textOr(root.get("mode"), episode.ModeFailStop)
	return nil
}

// unavailable is the answer to a key or word that a study may hold but this version cannot serve.
func (s *Study) unavailable(n *node, what, available string) error {
	return s.src.errorAt(n.place, "available here: "+available, "%s is not available in this version of stint", what)
}

func (s *Study) readModels(root *node) error {
	models := root.get("models")
	if models == nil {
		return nil
	}
	for _, e := range models.entries {
		if !nameForm.MatchString(e.key) {
			return s.src.errorAt(e.place, "letters, digits, dot, dash and underscore; the provider's own name goes to id:", "%q cannot name a model", e.key)
		}
		m, err := s.readModel(e)
		if err != nil {
			return err
		}
		s.Models = append(s.Models, m)
	}
	return nil
}

func (s *Study) readModel(e entry) (Model, error) {
	n := e.value
	if sim := n.get("simulate"); sim != nil {
		for _, x := range n.entries {
			if x.key != "simulate" && x.key != "transport" && x.key != "delay" {
				return Model{}, s.src.errorAt(x.place, "keep simulate, transport and delay only", "a simulated model has no %s", x.key)
			}
		}
		m := Model{Name: e.key, Simulate: sim.text, Transport: textOr(n.get("transport"), "server"), Delay: durationOr(n.get("delay"), 0), place: e.place}
		if m.Transport == "process" {
			return Model{}, s.unavailable(n.get("transport"), "transport: "+m.Transport, "server, inproc, python")
		}
		if m.Transport == harness.TransportInproc && s.Mode == episode.ModeTeleport {
			return Model{}, s.src.errorAt(n.get("transport").place, "use transport: server or python", "mode: teleport starts from servers that are processes, so nothing can be served inproc")
		}
		return m, nil
	}
	for _, key := range []string{"transport", "delay"} {
		if t := n.get(key); t != nil {
			return Model{}, s.src.errorAt(t.place, "leave it out, or add simulate: weak, medium or strong", "%s belongs to a simulated model", key)
		}
	}
	m := Model{
		Name: e.key, API: textOr(n.get("api"), "chat"), KeyEnv: textOr(n.get("key_env"), ""), ID: textOr(n.get("id"), e.key),
		Context: int(sizeOr(n.get("context"), 0)), MaxOutput: int(sizeOr(n.get("max_output"), 0)),
		Tools: textOr(n.get("tools"), "native"), place: e.place,
	}
	u := n.get("url")
	if u == nil {
		return Model{}, s.src.errorAt(e.place, `for example url: "http://127.0.0.1:8000/v1"; or simulate: medium`, "model %s has no url", e.key)
	}
	parsed, err := url.Parse(u.text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return Model{}, s.src.errorAt(u.place, `for example url: "http://127.0.0.1:8000/v1"`, "%q is no http or https URL", u.text)
	}
	if parsed.User != nil {
		return Model{}, s.src.errorAt(u.place, "put the key into an environment variable and name it with key_env", "the URL of model %s holds credentials", e.key)
	}
	m.URL = strings.TrimSuffix(u.text, "/")
	if k := n.get("key_env"); k != nil {
		m.keyAt = k.place
		if !envName(k.text) {
			return Model{}, s.src.errorAt(k.place, "key_env: EXAMPLE_KEY names the variable; the key itself never stands in a study", "key_env of model %s is no name of an environment variable", e.key)
		}
	}
	if t := n.get("temperature"); t != nil {
		v := numberOr(t, 0)
		m.Temperature = &v
	}
	return m, nil
}

// envName reports whether a text can name an environment variable. A key pasted by mistake seldom can, and
// the complaint does not repeat it.
func envName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// readRunning reads how episodes are run: agent, sandbox, budgets, gateway, jobs.
func (s *Study) readRunning(root *node) error {
	a := root.get("agent")
	s.Agent = AgentDefaults{Session: textOr(a.get("session"), "continue"), ProcessRetries: countOr(a.get("process_retries"), defaultProcessRetries)}

	if err := s.readSandbox(root.get("sandbox")); err != nil {
		return err
	}
	b := root.get("budgets")
	attempt := b.get("attempt")
	s.Budgets = Budgets{
		Wall:       durationOr(attempt.get("wall"), 0),
		Tokens:     sizeOr(attempt.get("tokens"), 0),
		Requests:   countOr(attempt.get("requests"), defaultRequests),
		EpisodeUSD: numberOr(b.get("episode").get("usd"), 0),
		StudyUSD:   numberOr(b.get("study").get("usd"), 0),
	}
	for _, scope := range []string{"episode", "study"} {
		if usd := b.get(scope).get("usd"); usd != nil && numberOr(usd, 0) == 0 {
			return s.src.errorAt(usd.place, "leave the key out for no limit", "budgets.%s.usd is 0, so nothing could run", scope)
		}
	}
	g := root.get("gateway")
	s.Gateway = Gateway{Retry: textOr(g.get("retry"), "true") == "true", ProviderWait: durationOr(g.get("provider_wait"), defaultProviderWait)}
	j := root.get("jobs")
	s.Jobs = Jobs{Episodes: countOr(j.get("episodes"), 0), PerModel: countOr(j.get("per_model"), 0)}
	return nil
}

func (s *Study) readSandbox(n *node) error {
	s.Sandbox = Sandbox{Kind: "auto"}
	if n == nil {
		return nil
	}
	kind := n.get("kind")
	if n.kind == kindScalar {
		kind = n
	}
	s.Sandbox.Kind = textOr(kind, "auto")
	limits := n.get("limits")
	s.Sandbox.Image = textOr(n.get("image"), "")
	switch container, image := s.Sandbox.Kind == sandbox.KindContainer, n.get("image"); {
	case container && image == nil:
		return s.src.errorAt(kind.place, "sandbox: {kind: container, image: NAME@sha256:…}", "a container needs an image")
	case container && !sandbox.ValidImage(s.Sandbox.Image):
		return s.src.errorAt(image.place, "write NAME@sha256:… with 64 hexadecimal digits; podman image inspect --format '{{.Digest}}' NAME prints them",
			"image %q is not named by its digest, so it could change", s.Sandbox.Image)
	case !container && image != nil:
		return s.src.errorAt(image.place, "add kind: container, or take image out", "an image is for containers, and the sandbox is %s", s.Sandbox.Kind)
	}
	s.Sandbox.Runtimes = textsOf(n.get("runtimes"))
	if r := n.get("runtimes"); r != nil && s.Mode == episode.ModeTeleport && !slices.Contains(s.Sandbox.Runtimes, pythonRuntime) {
		return s.src.errorAt(r.place, "add python3 to runtimes", "mode: teleport starts from servers in Python, which these runtimes cannot run")
	}
	s.Sandbox.Memory = sizeOr(limits.get("memory"), 0)
	s.Sandbox.Processes = countOr(limits.get("processes"), 0)
	s.Sandbox.Disk = sizeOr(limits.get("disk"), 0)
	return nil
}

func (s *Study) readJudge(root *node) error {
	n := root.get("judge")
	if n == nil {
		return nil
	}
	m := n.get("model")
	if s.Model(m.text) == nil {
		return s.src.errorAt(m.place, s.modelAdvice(m.text), "the judge's model %q is not in models", m.text)
	}
	s.Judge = &Judge{Model: m.text, MaxUSD: numberOr(n.get("max_usd"), 0)}
	return nil
}

func (s *Study) modelAdvice(name string) string {
	if len(s.Models) == 0 {
		return fmt.Sprintf("add models: {%s: {url: …}}", name)
	}
	names := make([]string, len(s.Models))
	for i, m := range s.Models {
		names[i] = m.Name
	}
	return DidYouMean(name, names, "models of this file")
}

// readPrices loads the price table and refuses a money limit that could not be kept because the price of a
// model in use is unknown.
func (s *Study) readPrices(root *node) error {
	s.Prices = logs.BuiltinPrices()
	if n := root.get("prices"); n != nil {
		s.PriceFile = s.PriceName
		if !filepath.IsAbs(s.PriceFile) {
			s.PriceFile = filepath.Join(filepath.Dir(s.Path), s.PriceFile)
		}
		p, err := logs.LoadPrices(s.PriceFile)
		if err != nil {
			return s.src.errorAt(n.place, "prices: names a file, counted from the study file", "the price table cannot be used: %v", err)
		}
		s.Prices = p
	}
	b := root.get("budgets")
	limit := b.get("study").get("usd")
	if limit == nil {
		limit = b.get("episode").get("usd")
	}
	if limit == nil {
		return nil
	}
	return s.checkPriced(func(m *Model) error {
		return s.src.errorAt(limit.place, fmt.Sprintf("add a price for %s to a table and name it with prices:, or drop the money limit", strconv.Quote(m.ID)),
			"a money limit is set, but the price of model %s (id %s) is unknown", m.Name, m.ID)
	})
}

// latestDay asks a price table for its newest entry of a model.
var latestDay = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// checkPriced calls complain for the first model in use whose price is unknown.
func (s *Study) checkPriced(complain func(*Model) error) error {
	for i := range s.Models {
		m := &s.Models[i]
		if m.Simulate != "" || !s.uses(m.Name) {
			continue
		}
		if !s.Prices.Known(m.ID, latestDay) {
			return complain(m)
		}
	}
	return nil
}
