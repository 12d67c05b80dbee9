package report

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/image/font/sfnt"
)

// subsetFont returns a TrueType font with the outlines of the glyphs given alone. The others keep their numbers and
// lose their outlines, so that text names glyphs as in the whole font.
func subsetFont(ttf []byte, glyphs []sfnt.GlyphIndex) ([]byte, error) {
	t, err := fontTables(ttf)
	if err != nil {
		return nil, err
	}
	for name, least := range map[string]int{"head": 54, "maxp": 6, "hhea": 36, "hmtx": 4, "loca": 4, "glyf": 1} {
		if len(t[name]) < least {
			return nil, fmt.Errorf("the font has no table %q", name)
		}
	}
	count := int(binary.BigEndian.Uint16(t["maxp"][4:]))
	at, err := glyphOffsets(t["loca"], binary.BigEndian.Uint16(t["head"][50:]) == 1, count, len(t["glyf"]))
	if err != nil {
		return nil, err
	}
	keep := make([]bool, count)
	todo := append([]sfnt.GlyphIndex{0}, glyphs...)
	for len(todo) > 0 {
		g := int(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if g >= count {
			return nil, fmt.Errorf("the font has no glyph %d", g)
		}
		if keep[g] {
			continue
		}
		keep[g] = true
		todo = append(todo, glyphParts(t["glyf"][at[g]:at[g+1]])...)
	}
	var glyf []byte
	loca := make([]byte, 0, 4*(count+1))
	for g := range count {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		if keep[g] {
			glyf = append(glyf, t["glyf"][at[g]:at[g+1]]...)
			glyf = append(glyf, make([]byte, -len(glyf)&3)...)
		}
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	head := slices.Clone(t["head"])
	binary.BigEndian.PutUint32(head[8:], 0)  // the sum of the whole, below
	binary.BigEndian.PutUint16(head[50:], 1) // long offsets
	t["head"], t["glyf"], t["loca"] = head, glyf, loca
	return joinFont(t), nil
}

// fontTables cuts a font into its tables.
func fontTables(ttf []byte) (map[string][]byte, error) {
	if len(ttf) < 12 {
		return nil, fmt.Errorf("the font has %d bytes", len(ttf))
	}
	n := int(binary.BigEndian.Uint16(ttf[4:]))
	if len(ttf) < 12+16*n {
		return nil, fmt.Errorf("the font ends in its directory")
	}
	out := make(map[string][]byte, n)
	for i := range n {
		rec := ttf[12+16*i:]
		from, size := int(binary.BigEndian.Uint32(rec[8:])), int(binary.BigEndian.Uint32(rec[12:]))
		if from > len(ttf) || size > len(ttf)-from {
			return nil, fmt.Errorf("the font's table %q lies outside of it", rec[:4])
		}
		out[string(rec[:4])] = ttf[from : from+size]
	}
	return out, nil
}

// glyphOffsets reads where outlines begin; the last is the end of all.
func glyphOffsets(loca []byte, long bool, count, size int) ([]int, error) {
	width := 2
	if long {
		width = 4
	}
	if len(loca) < width*(count+1) {
		return nil, fmt.Errorf("the font has fewer outlines than glyphs")
	}
	at := make([]int, count+1)
	for i := range at {
		if long {
			at[i] = int(binary.BigEndian.Uint32(loca[4*i:]))
		} else {
			at[i] = 2 * int(binary.BigEndian.Uint16(loca[2*i:]))
		}
		if at[i] > size || i > 0 && at[i] < at[i-1] {
			return nil, fmt.Errorf("the outline of glyph %d lies outside of the font", i)
		}
	}
	return at, nil
}

// glyphParts lists the glyphs of which an outline is made, such as a letter and its accent.
func glyphParts(outline []byte) []sfnt.GlyphIndex {
	const (
		words, scale, more, both, matrix = 0x01, 0x08, 0x20, 0x40, 0x80
	)
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil
	}
	var out []sfnt.GlyphIndex
	for rest := outline[10:]; len(rest) >= 4; {
		flags := binary.BigEndian.Uint16(rest)
		out = append(out, sfnt.GlyphIndex(binary.BigEndian.Uint16(rest[2:])))
		size := 6
		if flags&words != 0 {
			size = 8
		}
		switch {
		case flags&scale != 0:
			size += 2
		case flags&both != 0:
			size += 4
		case flags&matrix != 0:
			size += 8
		}
		if flags&more == 0 || size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	return out
}

// joinFont writes the tables that a PDF needs as a font.
func joinFont(t map[string][]byte) []byte {
	var names []string
	for _, name := range []string{"cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"} { // in order of the alphabet
		if t[name] != nil {
			names = append(names, name)
		}
	}
	n := len(names)
	log := 0
	for 2<<log <= n {
		log++
	}
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{n, 16 << log, log, 16*n - 16<<log} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	at := len(out) + 16*n
	headAt := 0
	for _, name := range names {
		if name == "head" {
			headAt = at
		}
		out = append(out, name...)
		out = binary.BigEndian.AppendUint32(out, fontSum(t[name]))
		out = binary.BigEndian.AppendUint32(out, uint32(at))
		out = binary.BigEndian.AppendUint32(out, uint32(len(t[name])))
		at += (len(t[name]) + 3) &^ 3
	}
	for _, name := range names {
		out = append(out, t[name]...)
		out = append(out, make([]byte, -len(out)&3)...)
	}
	binary.BigEndian.PutUint32(out[headAt+8:], 0xB1B0AFBA-fontSum(out))
	return out
}

// fontSum adds the words of a table.
func fontSum(b []byte) uint32 {
	var sum uint32
	for ; len(b) >= 4; b = b[4:] {
		sum += binary.BigEndian.Uint32(b)
	}
	if len(b) > 0 {
		var last [4]byte
		copy(last[:], b)
		sum += binary.BigEndian.Uint32(last[:])
	}
	return sum
}
