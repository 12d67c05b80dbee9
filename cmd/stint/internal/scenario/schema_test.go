package scenario

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// FuzzSchema reads schemas that somebody has edited. Validate must find whatever the rest of the package could not bear: what
// it accepts has a specification, an estimate of its size and operations, and every operation can be applied.
func FuzzSchema(f *testing.F) {
	for _, seed := range []uint64{1, 2, 5} {
		sc, err := Generate(Options{Seed: seed, Changes: 40})
		if err != nil {
			f.Fatal(err)
		}
		for _, turn := range []int{0, 40} {
			s := sc.Steps[turn].Schema.Clone()
			s.Clauses = nil // the clauses are derived below
			f.Add([]byte(marshal(s)), seed)
		}
	}
	f.Add([]byte(`{"entities":[{"uid":"e1","machine":{}}]}`), uint64(1))
	f.Add([]byte(`{"domain":"library","entities":[{"uid":"e1","name":"a","plural":"as","fields":[{"uid":"e1.f1","name":"b","type":"ref","target":"e1","required":true,"on_delete":"cascade"}]}]}`), uint64(1))
	f.Fuzz(func(t *testing.T, text []byte, draw uint64) {
		var s Schema
		if json.Unmarshal(text, &s) != nil {
			return
		}
		err := s.Validate()
		if clauses := s.checkClauses(); err == nil || clauses == nil || err.Error() != clauses.Error() {
			return
		}
		s.deriveClauses(1)
		if s.Validate() != nil {
			return
		}
		s.spec()
		if size := s.ExpectedSize(); size <= 0 {
			t.Errorf("a size of %v", size)
		}
		r := rand.New(rand.NewPCG(draw, 1))
		ops := Enumerate(&s, r)
		for range min(5, len(ops)) {
			op := ops[r.IntN(len(ops))]
			next, err := Apply(&s, op, 2)
			if err != nil {
				t.Errorf("%s (%s): %v", op.ID, op.Title, err)
				continue
			}
			wording(r, &s, next, op)
		}
	})
}
