package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// ContentHash identifies a scenario by what an agent meets: SHA-256 over the change text, SPEC.md and suite of
// every turn, as 64 hex digits. Outcomes are paired on it. The generators' version is left out: what another version
// makes the same is the same. Every part is preceded by its length, so that no two scenarios give the same bytes.
// A suite that can not be encoded, which none of Generate or Decode is, gives "".
func ContentHash(sc *scenario.Scenario, suites []*Suite) string {
	h := sha256.New()
	for i, st := range sc.Steps {
		part(h, []byte(st.Request))
		part(h, []byte(st.Spec))
		if i >= len(suites) {
			continue
		}
		s := *suites[i]
		s.Version = ""
		b, err := s.Encode()
		if err != nil {
			return ""
		}
		part(h, b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func part(h hash.Hash, b []byte) {
	fmt.Fprintf(h, "%d\n", len(b))
	h.Write(b)
}
