package logs

import "slices"

// keyWatch notices objects that have a key twice, of which encoding/json keeps the last value only. Keys are compared by
// 64 bits of a hash.
type keyWatch struct {
	on     bool
	twice  bool
	hashes []uint64 // of the keys of all objects that are open
	starts []int    // where those of each begin
}

// manyKeys is from how many keys on an object's are sorted instead of compared one by one.
const manyKeys = 32

// again watches another value, in the same room.
func (w *keyWatch) again() keyWatch {
	return keyWatch{on: true, hashes: w.hashes[:0], starts: w.starts[:0]}
}

func (w *keyWatch) open() {
	if w.on {
		w.starts = append(w.starts, len(w.hashes))
	}
}

func (w *keyWatch) key(name []byte) {
	if !w.on || w.twice || len(w.starts) == 0 {
		return
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range name {
		h = (h ^ uint64(c)) * 1099511628211
	}
	mine := w.hashes[w.starts[len(w.starts)-1]:]
	w.twice = len(mine) < manyKeys && slices.Contains(mine, h)
	w.hashes = append(w.hashes, h)
}

func (w *keyWatch) close() {
	if !w.on || len(w.starts) == 0 {
		return
	}
	from := w.starts[len(w.starts)-1]
	w.starts = w.starts[:len(w.starts)-1]
	if mine := w.hashes[from:]; len(mine) > manyKeys && !w.twice {
		slices.Sort(mine)
		w.twice = len(slices.Compact(mine)) < len(w.hashes)-from
	}
	w.hashes = w.hashes[:from]
}

// keyNews is what whoever decoded a record noticed about its keys on the way.
type keyNews struct{ known, twice bool }

// keyWitness is a decoded record that may know about its keys, so that nobody looks at them again.
type keyWitness interface{ keyNews() keyNews }

// repeatsKey says whether an object within a JSON value has a key twice. What is no JSON has none.
func repeatsKey(raw []byte) bool {
	s := skimmer{b: raw, keys: keyWatch{on: true}}
	s.skip()
	return s.keys.twice && s.end()
}
