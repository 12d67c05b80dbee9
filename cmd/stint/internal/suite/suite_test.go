package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func TestEncodeDecode(t *testing.T) {
	s := suiteOf(t, scenarioOf(t, 4, 5), 5)
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, back); d != "" {
		t.Errorf("decoded suite differs:\n%s", d)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("encoding is not canonical (%v)", err)
	}
	if per := len(b) / len(s.Checks); per > 700 {
		t.Errorf("%d bytes per check", per)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := `{"version":"1","turn":0,"clauses":[],"worlds":[{"name":"W1"}],"checks":[{"id":"k1.a","title":"t","clauses":["c1"],"category":"read","intent":"value","mutation":"none","world":"W1","introduced":0,"age":"new","steps":[{"m":"GET","p":"/rows/${a}","s":200}]}]}`
	if _, err := Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	check := func(old, new, want string) {
		t.Helper()
		if _, err := Decode([]byte(strings.Replace(good, old, new, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: error %v, want %q", new, old, err, want)
		}
	}
	check(`"version":"1"`, `"version":""`, "no version")
	check(`"turn":0`, `"turn":0,"extra":1`, "unknown field")
	check(`"name":"W1"`, `"name":"W2"`, `no world "W1"`)
	check(`["c1"]`, `[]`, "cites no clause")
	check(`"GET"`, `"TRACE"`, "method")
	check(`/rows/${a}`, `//evil.example/`, "path")
	check(`/rows/${a}`, `/rows?x=1`, "path")
	check(`"s":200`, `"s":99`, "status")
	check(`"s":200`, `"s":200,"x":"loose","e":1`, "unknown comparison")
	check(`"s":200`, `"s":200,"e":1`, "no way of comparing")
	check(`"s":200`, `"s":200,"x":"exact"`, "no body to compare")
	check(good, good+good, "something follows")
}

func FuzzDecode(f *testing.F) {
	sc := scenarioOf(f, 1, 1)
	b, err := suiteOf(f, sc, 1).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":"1","turn":0,"worlds":[{"name":"W1"}],"checks":[]}`))
	f.Add([]byte(`{"version":"1","worlds":[{"name":"W0"}],"checks":[{"id":"k1.a","clauses":["c1"],"world":"W0","steps":[{"m":"GET","p":"/a/${b}/c","q":"sort=-d&e=%20f","s":200}]}]}`))
	f.Add([]byte(`{"version":"1","checks":[{"id":"k1.a","world":"W1","steps":[{"m":"GET","p":"/a","s":200,"x":"exact","e":{"a":1}}]}],"worlds":[{"name":"W1"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		one, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(one)
		if err != nil {
			t.Fatalf("what was encoded is refused: %v", err)
		}
		two, err := again.Encode()
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("encoding is not stable (%v)", err)
		}
	})
}

// TestGolden pins the bytes of one scenario's suites. They change with scenario.Version, oracle.Version or
// Version of this package and for no other reason.
func TestGolden(t *testing.T) {
	sc := scenarioOf(t, 7, 6)
	h := sha256.New()
	var suites []*Suite
	for turn := range sc.Steps {
		s := suiteOf(t, sc, turn)
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
		suites = append(suites, s)
	}
	golden(t, "suites.sha256", hex.EncodeToString(h.Sum(nil))+"\n")

	content := ContentHash(sc, suites)
	if len(content) != 64 || content != ContentHash(sc, suites) {
		t.Errorf("content hash %q", content)
	}
	suites[2].Checks[0].Steps[0].Status++
	if ContentHash(sc, suites) == content {
		t.Error("another suite has the same content hash")
	}
}

// TestCheckIDs holds what comparison over turns needs: ids never change their clause, a check whose clauses and
// entity an operation did not touch keeps its bytes, and a renaming keeps all ids.
func TestCheckIDs(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		sc := scenarioOf(t, seed, 8)
		var before *Suite
		for turn := range sc.Steps {
			s := suiteOf(t, sc, turn)
			if before != nil {
				compareTurns(t, sc, turn, before, s)
			}
			before = s
		}
	}
}

func compareTurns(t *testing.T, sc *scenario.Scenario, turn int, before, now *Suite) {
	t.Helper()
	old := map[string]Check{}
	for _, c := range before.Checks {
		old[c.ID] = c
	}
	op := sc.Steps[turn].Operation
	same, kept := 0, 0
	for _, c := range now.Checks {
		o, ok := old[c.ID]
		delete(old, c.ID)
		if !ok {
			if c.Age == AgeOld && op.Name != "remove_enum_value" && op.Name != "add_relation" && op.Name != "change_on_delete" {
				t.Errorf("turn %d (%s): check %s is new, but all its clauses are old", turn, op.ID, c.ID)
			}
			continue
		}
		kept++
		if c.Clauses[0] != o.Clauses[0] || c.Introduced != o.Introduced {
			t.Errorf("turn %d: check %s has changed its subject", turn, c.ID)
		}
		if cmp.Equal(c.Steps, o.Steps) {
			same++
		}
	}
	if op.Name == "rename_field" && len(old) > 0 {
		t.Errorf("turn %d: a renaming lost %d checks", turn, len(old))
	}
	want := 0.0
	switch op.Name {
	case "add_entity", "add_analytics", "no_behaviour_change", "add_optional_field", "set_length", "make_optional":
		want = 0.75 // most bodies are the same
	}
	if share := float64(same) / float64(kept); share < want {
		t.Errorf("turn %d (%s): only %.0f %% of the old checks send and expect the same", turn, op.ID, 100*share)
	}
}

func TestAges(t *testing.T) {
	sc := scenarioOf(t, 2, 3)
	s := suiteOf(t, sc, 0)
	if n := s.ByAge(); n[AgeNew] != len(s.Checks) || len(n) != 3 {
		t.Errorf("the first turn has ages %v", n)
	}
	for turn := 1; turn < len(sc.Steps); turn++ {
		s := suiteOf(t, sc, turn)
		n := s.ByAge()
		if n[AgeOld] == 0 || sc.Steps[turn].Operation.Label != "B" && n[AgeNew]+n[AgeChanged] == 0 {
			t.Errorf("turn %d (%s) has ages %v", turn, sc.Steps[turn].Operation.ID, n)
		}
	}
}

// golden compares with testdata/name, or writes it when STINT_UPDATE is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("STINT_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (STINT_UPDATE=1 writes it):\n%s", path, d)
	}
}
