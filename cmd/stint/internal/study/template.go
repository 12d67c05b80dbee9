package study

import (
	_ "embed"
	"fmt"
)

//go:embed template.yaml
var template string

// Template returns the commented study.yaml that `stint init` writes. As it stands it runs offline.
func Template() string { return template }

// DemoStudy returns the study of `stint demo`: four configurations of the weak simulated agent, eight
// scenarios of a build and twelve changes, and three declared pairs.
func DemoStudy(seed uint64) []byte {
	return fmt.Appendf(nil, `# The study of stint demo: does feedback help, and do retries? Its agents are simulated, so it runs offline.
version: 1
name: demo
seed: %d
scenarios: {count: 8, changes: 12}
configs:
  - {model: weak, feedback: none, retries: 0}
  - {model: weak, feedback: [minimal, detailed], retries: 2}
  - {model: weak, feedback: detailed, retries: 10}
models:
  weak: {simulate: weak}
analysis:
  families:
    - name: does feedback help, and do retries
      pairs:
        - [weak+simulated/detailed/r2, weak+simulated/none/r0]
        - [weak+simulated/detailed/r2, weak+simulated/minimal/r2]
        - [weak+simulated/detailed/r10, weak+simulated/detailed/r2]
`, seed)
}
