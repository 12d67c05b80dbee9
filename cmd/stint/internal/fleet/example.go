package fleet

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// The names of the examples in a folder of shards, and of the folder below it into which they put their runs.
const (
	SlurmName      = "run.slurm"
	KubernetesName = "job.yaml"
	outName        = "out"
)

//go:embed run.slurm.tmpl
var slurmText string

//go:embed job.yaml.tmpl
var kubernetesText string

// example is what the examples for schedulers say.
type example struct {
	Study   string // fit for a comment
	Name    string // a DNS label
	Dir     string // absolute, quoted for a shell
	N       int
	AtOnce  int // shards that may run at once; N without a limit of its own
	Limited string
	Keys    []string // environment variables with the keys of models
}

// newExample gathers it. A limit on episodes of one model that is smaller than the number of shards can be kept only
// by running fewer shards at once, since a shard runs at least one.
func newExample(s *study.Study, sh *Shards, abs string) *example {
	x := &example{Study: s.Name, Name: dnsLabel("stint-" + s.Name), Dir: shellQuote(abs), N: sh.N, AtOnce: sh.N}
	if most := s.Jobs.PerModel; most > 0 && most < sh.N {
		x.AtOnce, x.Limited = most, fmt.Sprintf("jobs.per_model is %d, and a shard runs at least one episode", most)
	}
	keys := map[string]bool{}
	for _, m := range s.Models {
		if m.KeyEnv != "" {
			keys[m.KeyEnv] = true
		}
	}
	x.Keys = slices.Sorted(maps.Keys(keys))
	return x
}

func (x *example) slurm() []byte      { return x.render(SlurmName, slurmText) }
func (x *example) kubernetes() []byte { return x.render(KubernetesName, kubernetesText) }

func (x *example) render(name, text string) []byte {
	var b bytes.Buffer
	if err := template.Must(template.New(name).Parse(text)).Execute(&b, x); err != nil {
		panic("fleet: " + err.Error()) // the templates are ours
	}
	return b.Bytes()
}

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// dnsLabel makes a name that Kubernetes takes for a Job whose pods add their index to it.
func dnsLabel(name string) string {
	label := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return strings.TrimRight(label[:min(len(label), 52)], "-")
}

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
