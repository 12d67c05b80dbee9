package stats

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// stream returns the random stream of a procedure. It depends on the seed, the
// procedure's name and its data only, so results do not depend on the order in
// which procedures run, on goroutines or on the platform.
func stream(seed uint64, procedure string, data ...[]float64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(procedure))
	var buf [8]byte
	for _, x := range data {
		binary.LittleEndian.PutUint64(buf[:], uint64(len(x)))
		h.Write(buf[:])
		for _, v := range x {
			binary.LittleEndian.PutUint64(buf[:], math.Float64bits(v))
			h.Write(buf[:])
		}
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
