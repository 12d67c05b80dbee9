package suite

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// fileOf makes a scenario and its file.
func fileOf(t testing.TB, seed uint64, changes int) (*Material, *File) {
	t.Helper()
	sc := scenarioOf(t, seed, changes)
	m, err := Make(context.Background(), sc, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFile(m, scenario.ScheduleStratified, SamplerRules)
	f.Name = "s01"
	return m, f
}

// A file gives back scenario and suites, byte for byte, and stays small.
func TestFile(t *testing.T) {
	m, f := fileOf(t, 6, 30)
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s01.json")
	if st, err := os.Stat(path); err != nil || st.Size() > 150_000*30/100 {
		t.Errorf("%d bytes for 30 changes, %v", st.Size(), err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := again.Make(t.Context(), path, 1)
	if err != nil {
		t.Fatal(err)
	}
	for turn := range m.Encoded {
		if string(made.Encoded[turn]) != string(m.Encoded[turn]) {
			t.Errorf("the suite of turn %d is not the same", turn)
		}
	}
	again.Content = strings.Repeat("0", 64)
	var other *ContentError
	if _, err := again.Make(t.Context(), path, 0); !errors.As(err, &other) || other.Now != m.Content {
		t.Errorf("another content hash: %v", err)
	}
	if err := f.SameSuite(3, m.Suites[4]); !errors.As(err, &other) {
		t.Errorf("the suite of another turn: %v", err)
	}
}

// Seeds of a set do not depend on its size, and further tries give further seeds.
func TestScenarioSeed(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range 50 {
		for try := range 4 {
			s := ScenarioSeed(7, i, try)
			if seen[s] || s > SeedBits {
				t.Errorf("seed %d of scenario %d, try %d", s, i, try)
			}
			seen[s] = true
		}
	}
}

// FuzzFile reads hostile scenario files: every one is refused with an error or gives a well-formed scenario.
func FuzzFile(f *testing.F) {
	for seed := uint64(1); seed <= 3; seed++ {
		_, file := fileOf(f, seed, 5)
		b, err := json.Marshal(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"schema":"stint.scenario/1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := DecodeFile("fuzz", b)
		if err != nil || file.Changes > 20 {
			return
		}
		sc, err := file.Scenario("")
		if err != nil {
			return
		}
		for _, st := range sc.Steps {
			if err := st.Schema.Validate(); err != nil {
				t.Errorf("turn %d: %v", st.Turn, err)
			}
		}
	})
}

// Operations whose parameters were exchanged, cut or made up are refused, or give a well-formed schema.
func TestHostileOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	refused, taken := 0, 0
	for seed := uint64(1); seed <= 4; seed++ {
		_, file := fileOf(t, seed, 20)
		var values []string
		for _, x := range file.Turns {
			for _, v := range x.Params {
				values = append(values, v)
			}
		}
		values = append(values, "", "{}", "[]", "null", "e1", "e99", "e1.f1", "e1.f99", "-1", "9223372036854775808", `{"uid":"e1.f1"}`, strings.Repeat("x", 5000), "a,b", ",")
		for range 150 {
			at := 1 + r.IntN(file.Changes)
			spoiled := *file
			spoiled.Turns = append([]FileTurn(nil), file.Turns[:at+1]...)
			last := &spoiled.Turns[at]
			params := map[string]string{}
			for k, v := range last.Params {
				switch r.IntN(3) {
				case 0:
					v = values[r.IntN(len(values))]
				case 1:
					if len(v) > 0 {
						v = v[:r.IntN(len(v))]
					}
				}
				params[k] = v
			}
			last.Params, last.Operation = params, scenario.OperationID(last.Name, params)
			sc, err := spoiled.Scenario("")
			if err != nil {
				refused++
				continue
			}
			taken++
			for _, st := range sc.Steps {
				if err := st.Schema.Validate(); err != nil {
					t.Errorf("%s with %v: %v", last.Name, params, err)
				}
			}
		}
	}
	if refused < 150 || taken == 0 {
		t.Errorf("%d operations refused, %d taken", refused, taken)
	}
}
