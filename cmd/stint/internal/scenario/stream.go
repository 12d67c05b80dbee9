package scenario

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// stream returns the random source of one decision: PCG seeded from SHA-256 of seed and label. Streams of
// different labels are independent, so a new decision does not shift the draws of others.
func stream(seed uint64, label string) *rand.Rand {
	b := make([]byte, 8, 8+len(label))
	binary.BigEndian.PutUint64(b, seed)
	sum := sha256.Sum256(append(b, label...))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// chance reports true with probability p.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// pick returns one element, each equally likely.
func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// arrival returns an exponential waiting time of the given rate. The earliest of several independent
// arrivals is a weighted draw in which adding a competitor leaves the others' times as they were.
func arrival(r *rand.Rand, rate float64) float64 { return -math.Log(1-r.Float64()) / rate }
