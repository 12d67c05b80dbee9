package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stint-bench/stint/stats"
)

// A paperCell is one model under one harness with its mean turns passed, without and with feedback and retries.
type paperCell struct {
	model, harness int
	without, with  float64
}

const (
	paperScenarios = 20
	paperCap       = 101
)

// paperCells are 26 cells of 7 models and 6 harnesses in the shape of the published tables of StaminaBench (arXiv
// 2606.19613). Published are 57.0, 15.1 and 8.7 (one model under three harnesses), 6.2 (the first of them without
// retries), 10.7, 39.4 and 2.8, that all 26 cells gain and that 6 of 7 models do. All other means are chosen between.
var paperCells = []paperCell{
	{1, 1, 6.2, 57.0}, {1, 2, 3.4, 15.1}, {1, 3, 2.9, 8.7}, {1, 4, 4.1, 24.3}, {1, 5, 3.8, 19.0}, {1, 6, 5.0, 33.5},
	{2, 1, 4.4, 39.4}, {2, 2, 0.8, 2.8}, {2, 3, 1.9, 7.1}, {2, 4, 3.0, 12.5}, {2, 5, 2.6, 9.9}, {2, 6, 3.6, 20.6},
	{3, 1, 2.7, 10.7}, {3, 2, 1.5, 5.3}, {3, 3, 1.7, 6.0}, {3, 4, 2.2, 8.1},
	{4, 1, 2.1, 7.4}, {4, 2, 1.2, 3.9}, {4, 3, 1.4, 4.6}, {4, 4, 1.8, 5.7},
	{5, 1, 1.6, 4.9}, {5, 2, 1.0, 3.1},
	{6, 1, 1.3, 3.7}, {6, 2, 0.9, 2.5},
	{7, 1, 0.7, 1.4}, {7, 2, 0.6, 1.9},
}

// simulatedTurns draws one run per scenario whose mean is exactly the published one: every turn passes with a chance
// that depends on the scenario, runs end at the first failed turn or at the cap, and of many such studies one near
// the mean is taken and moved onto it turn by turn.
func simulatedTurns(t *testing.T, rng *rand.Rand, effects []float64, mean float64) []int {
	t.Helper()
	const spread = 0.5
	success, err := stats.SuccessForMean(mean, spread, paperCap)
	if err != nil {
		t.Fatal(err)
	}
	want := int(math.Round(mean * paperScenarios))
	turns := make([]int, paperScenarios)
	for {
		sum := 0
		for i := range turns {
			logit := math.Log(success/(1-success)) + spread*effects[i]
			turns[i] = min(int(-rng.ExpFloat64()/math.Log(1/(1+math.Exp(-logit)))), paperCap)
			sum += turns[i]
		}
		if off := want - sum; math.Abs(float64(off)) <= 3 {
			for off != 0 {
				step := 1
				if off < 0 {
					step = -1
				}
				if i := rng.IntN(paperScenarios); turns[i]+step >= 0 && turns[i] < paperCap && turns[i]+step < paperCap {
					turns[i] += step
					off -= step
				}
			}
			return turns
		}
	}
}

// paperFiles makes the outcome files of the manual's section on published tables.
func paperFiles(t *testing.T) map[string][]byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(2606, 19613))
	effects := make([]float64, paperScenarios)
	for i := range effects {
		effects[i] = rng.NormFloat64()
	}
	var runs, cells, models bytes.Buffer
	fmt.Fprintln(&runs, "config,scenario,turns_passed")
	fmt.Fprintln(&cells, "feedback,cell,mean")
	fmt.Fprintln(&models, "harness,model,mean")
	for _, c := range paperCells {
		name := fmt.Sprintf("m%d+h%d", c.model, c.harness)
		for _, side := range []struct {
			config, word string
			mean         float64
		}{{"/none/r0", "none", c.without}, {"/detailed/r10", "retries", c.with}} {
			for i, v := range simulatedTurns(t, rng, effects, side.mean) {
				fmt.Fprintf(&runs, "%s%s,s%02d,%d\n", name, side.config, i+1, v)
			}
			fmt.Fprintf(&cells, "%s,%s,%s\n", side.word, name, strconv.FormatFloat(side.mean, 'f', 1, 64))
		}
		if c.harness <= 2 {
			fmt.Fprintf(&models, "h%d,m%d,%s\n", c.harness, c.model, strconv.FormatFloat(c.with, 'f', 1, 64))
		}
	}
	return map[string][]byte{"paper.csv": runs.Bytes(), "paper-cells.csv": cells.Bytes(), "paper-models.csv": models.Bytes()}
}

// TestPaperFiles: the committed files are those the generator makes. What they say is checked by TestManual.
func TestPaperFiles(t *testing.T) {
	if len(paperCells) != 26 {
		t.Fatalf("%d cells", len(paperCells))
	}
	for name, want := range paperFiles(t) {
		path := filepath.Join("testdata", "manual", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes: go test ./cmd/stint -run TestPaperFiles -update", path)
		}
	}
}
