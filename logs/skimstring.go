package logs

import (
	"encoding/binary"
	"math/bits"
)

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
	lowBits   = 0x7f7f7f7f7f7f7f7f
	// gatherHigh moves, by multiplication, the high bits of eight bytes into the highest byte.
	gatherHigh = 0x0002040810204081
)

// unusual marks, in the high bits, the bytes of a word that need a look within a string: quote, backslash and control
// characters. Above the lowest mark there may be wrong ones.
func unusual(w uint64) uint64 {
	quote, back := w^(everyByte*'"'), w^(everyByte*'\\')
	return ((quote-everyByte)&^quote | (back-everyByte)&^back | (w-everyByte*' ')&^w) & highBits
}

// wordMarks is blockMarks eight bytes at a time, for any processor.
func wordMarks(b *[64]byte) (stops, backs uint64) {
	for i := range 8 {
		w := binary.LittleEndian.Uint64(b[8*i : 8*i+8])
		// The high bit of a sum is set if the seven low bits are not those of the character, or no less than a space.
		low := w & lowBits
		quote, back, space := (low^everyByte*'"')+lowBits, (low^everyByte*'\\')+lowBits, low+everyByte*(0x80-' ')
		stops = stops>>8 | (^(quote&space|w)&highBits*gatherHigh)&(0xff<<56)
		backs = backs>>8 | (^(back|w)&highBits*gatherHigh)&(0xff<<56)
	}
	return stops, backs
}

// quoted reads the string that begins here.
func (s *skimmer) quoted() skimText {
	b, i, plain := s.b, s.at+1, true
	from := i
	if i+16 <= len(b) { // most are short
		m := unusual(binary.LittleEndian.Uint64(b[i:]))
		if m != 0 {
			i += bits.TrailingZeros64(m) >> 3
		} else if m = unusual(binary.LittleEndian.Uint64(b[i+8:])); m != 0 {
			i += 8 + bits.TrailingZeros64(m)>>3
		} else {
			i, plain = skipBlocks(b, i+16)
		}
	}
	for {
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) || b[i] < ' ' {
			s.fault()
			return skimText{}
		}
		if b[i] == '"' {
			s.at = i + 1
			return skimText{raw: b[from:i:i], plain: plain, valid: s.valid, present: true}
		}
		n := escapeLen(b[i:])
		if n == 0 {
			s.fault()
			return skimText{}
		}
		i, plain = i+n, false
		if i+64 < len(b) {
			var also bool
			i, also = skipBlocks(b, i)
			plain = plain && also
		}
	}
}

// skipBlocks walks within a string over blocks of 64 bytes and valid escapes, and says whether there were none. It ends
// at or before the first byte that is neither.
func skipBlocks(b []byte, i int) (next int, plain bool) {
	plain = true
	for i+64 < len(b) { // one more for what follows a backslash
		stops, backs := blockMarks((*[64]byte)(b[i:]))
		last := 64
		for backs != 0 {
			k := bits.TrailingZeros64(backs)
			if bits.TrailingZeros64(stops) < k {
				break
			}
			plain = false
			if !shortEscapes[b[i+k+1]] && escapeLen(b[i+k:]) == 0 {
				return i + k, plain
			}
			backs &= backs - 1
			escaped := uint64(2) << k
			stops &^= escaped
			backs &^= escaped
			if k == 63 {
				last = 65
			}
		}
		if stops != 0 {
			return i + bits.TrailingZeros64(stops), plain
		}
		i += last
	}
	return i, plain
}

// shortEscapes are what may follow a backslash, but u.
var shortEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// escapeLen is the length of the escape at the beginning of b, 0 if it is none.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2:
	case shortEscapes[b[1]]:
		return 2
	case b[1] == 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}
