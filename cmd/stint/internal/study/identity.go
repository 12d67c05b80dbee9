package study

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// hash64 is the first 64 bits of the SHA-256 of some texts, each with its length before it so that no two
// lists collide.
func hash64(parts ...string) uint64 {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// seedBits keeps seeds in the range that every JSON reader holds exactly.
const seedBits = 1<<53 - 1

// scenarioSeed derives the seed of scenario i (from 0) of a study, as that of a set with the study's seed.
func scenarioSeed(study uint64, i int) uint64 { return suite.ScenarioSeed(study, i, 0) }

// episodeSeed derives the seed of an episode. It does not hold the study's name: the same seed, configuration,
// scenario and repeat give the same simulated episode under any name.
func episodeSeed(study uint64, config, content string, repeat int) uint64 {
	return hash64("episode", strconv.FormatUint(study, 10), config, content, strconv.Itoa(repeat)) & seedBits
}
