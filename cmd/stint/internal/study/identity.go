package study

import (
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// scenarioSeed derives the seed of scenario i (from 0) of a study, as that of a set with the study's seed.
func scenarioSeed(study uint64, i int) uint64 { return suite.ScenarioSeed(study, i, 0) }

// episodeSeed derives the seed of an episode. It does not hold the study's name: the same seed, configuration,
// scenario and repeat give the same simulated episode under any name.
func episodeSeed(study uint64, config, content string, repeat int) uint64 {
	return suite.Hash64("episode", strconv.FormatUint(study, 10), config, content, strconv.Itoa(repeat)) & suite.SeedBits
}
