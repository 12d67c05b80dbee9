package suite

import (
	"crypto/sha256"
	"encoding/binary"
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

// hexHash is the SHA-256 of some bytes, in hex.
func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Hash64 is the first 64 bits of the SHA-256 of some texts, each with its length before it so that no two lists
// collide. Seeds are made from it.
func Hash64(parts ...string) uint64 {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
