package report

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// A pdfCanvas draws one page of PDF: vectors, and text of the one font of the figures, embedded as far as it is used
// and mapped to Unicode, so that it can be searched and copied. The backend of the plotting library is not used since
// it knows no character beyond code page 1252, not even the minus, and writes the date. The same drawing gives the
// same bytes.
type pdfCanvas struct {
	w, h    vg.Length
	content bytes.Buffer
	state   pdfState
	stack   []pdfState
	alphas  map[uint8]bool
	glyphs  map[sfnt.GlyphIndex]rune
	face    *sfnt.Font
	buf     sfnt.Buffer
	err     error
}

// A pdfState is what Push saves.
type pdfState struct {
	width vg.Length
	dash  string
	ink   color.NRGBA
}

func newPDF(w, h vg.Length) *pdfCanvas {
	return &pdfCanvas{w: w, h: h, state: pdfState{width: 1, dash: "[] 0 d", ink: color.NRGBA{A: 0xFF}}, alphas: map[uint8]bool{}, glyphs: map[sfnt.GlyphIndex]rune{0: 0}}
}

// Size returns the size of the page.
func (c *pdfCanvas) Size() (x, y vg.Length) { return c.w, c.h }

// SetLineWidth sets the width of lines drawn from now on.
func (c *pdfCanvas) SetLineWidth(w vg.Length) { c.state.width = w }

// SetLineDash sets the dashes of lines drawn from now on.
func (c *pdfCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	parts := make([]string, len(pattern))
	for i, p := range pattern {
		parts[i] = pdfNumber(float64(p))
	}
	c.state.dash = "[" + strings.Join(parts, " ") + "] " + pdfNumber(float64(offset)) + " d"
}

// SetColor sets the colour of all that is drawn from now on.
func (c *pdfCanvas) SetColor(k color.Color) {
	if k == nil {
		k = color.Black
	}
	c.state.ink = color.NRGBAModel.Convert(k).(color.NRGBA)
}

// Rotate turns what is drawn from now on.
func (c *pdfCanvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.op("%s %s %s %s 0 0 cm", pdfNumber(cos), pdfNumber(sin), pdfNumber(-sin), pdfNumber(cos))
}

// Translate moves what is drawn from now on.
func (c *pdfCanvas) Translate(pt vg.Point) { c.op("1 0 0 1 %s cm", pdfPoint(pt)) }

// Scale stretches what is drawn from now on.
func (c *pdfCanvas) Scale(x, y float64) { c.op("%s 0 0 %s 0 0 cm", pdfNumber(x), pdfNumber(y)) }

// Push saves the state.
func (c *pdfCanvas) Push() {
	c.stack = append(c.stack, c.state)
	c.op("q")
}

// Pop restores the state last saved.
func (c *pdfCanvas) Pop() {
	n := len(c.stack) - 1
	c.state, c.stack = c.stack[n], c.stack[:n]
	c.op("Q")
}

// Stroke draws a line along a path.
func (c *pdfCanvas) Stroke(p vg.Path) {
	if c.state.width <= 0 {
		return
	}
	c.ink("RG")
	c.op("%s w %s", pdfNumber(float64(c.state.width)), c.state.dash)
	c.path(p)
	c.op("S")
}

// Fill fills a path.
func (c *pdfCanvas) Fill(p vg.Path) {
	c.ink("rg")
	c.path(p)
	c.op("f")
}

// FillString writes text, whose base line begins at pt.
func (c *pdfCanvas) FillString(f plotfont.Face, pt vg.Point, text string) {
	if f.Font.Size == 0 || text == "" {
		return
	}
	c.face = f.Face
	em := fixed.Int26_6(f.Face.UnitsPerEm())
	var line strings.Builder
	var prev sfnt.GlyphIndex
	for i, r := range text {
		g, err := f.Face.GlyphIndex(&c.buf, r)
		if err != nil {
			c.err = fmt.Errorf("finding the glyph of %q: %w", r, err)
			return
		}
		if i > 0 {
			if k, err := f.Face.Kern(&c.buf, prev, g, em, font.HintingNone); err == nil && k != 0 {
				fmt.Fprintf(&line, ">%s<", pdfNumber(-1000*float64(k)/float64(em)))
			}
		}
		if _, ok := c.glyphs[g]; !ok {
			c.glyphs[g] = r
		}
		fmt.Fprintf(&line, "%04X", uint16(g))
		prev = g
	}
	c.ink("rg")
	c.op("BT /F %s Tf %s Td [<%s>] TJ ET", pdfNumber(float64(f.Font.Size)), pdfPoint(pt), line.String())
}

// DrawImage is not used by any figure.
func (c *pdfCanvas) DrawImage(vg.Rectangle, image.Image) {
	c.err = fmt.Errorf("figures hold no images")
}

func (c *pdfCanvas) op(format string, args ...any) {
	fmt.Fprintf(&c.content, format+"\n", args...)
}

// ink selects the colour, and its opacity.
func (c *pdfCanvas) ink(operator string) {
	k := c.state.ink
	c.alphas[k.A] = true
	part := func(v uint8) string { return pdfNumber(float64(v) / 255) }
	c.op("/A%d gs %s %s %s %s", k.A, part(k.R), part(k.G), part(k.B), operator)
}

// path writes a path; arcs become curves.
func (c *pdfCanvas) path(p vg.Path) {
	open := false
	for _, s := range p {
		switch s.Type {
		case vg.MoveComp:
			c.op("%s m", pdfPoint(s.Pos))
			open = true
		case vg.LineComp:
			c.op("%s l", pdfPoint(s.Pos))
		case vg.ArcComp:
			c.arc(s, open)
			open = true
		case vg.CurveComp:
			var parts []string
			for _, q := range s.Control {
				parts = append(parts, pdfPoint(q))
			}
			if len(parts) == 1 {
				parts = append(parts, parts[0])
			}
			c.op("%s %s c", strings.Join(parts, " "), pdfPoint(s.Pos))
		case vg.CloseComp:
			c.op("h")
			open = false
		}
	}
}

// arc writes an arc as curves of at most a quarter each.
func (c *pdfCanvas) arc(s vg.PathComp, open bool) {
	n := int(math.Ceil(math.Abs(s.Angle)/(math.Pi/2) - 1e-9))
	step := s.Angle / float64(max(1, n))
	at := func(a float64) vg.Point {
		return vg.Point{X: s.Pos.X + s.Radius*vg.Length(math.Cos(a)), Y: s.Pos.Y + s.Radius*vg.Length(math.Sin(a))}
	}
	if start := pdfPoint(at(s.Start)); open {
		c.op("%s l", start)
	} else {
		c.op("%s m", start)
	}
	k := vg.Length(4.0/3*math.Tan(step/4)) * s.Radius
	for i := range n {
		a := s.Start + step*float64(i)
		b := a + step
		p, q := at(a), at(b)
		p.X, p.Y = p.X-k*vg.Length(math.Sin(a)), p.Y+k*vg.Length(math.Cos(a))
		r := vg.Point{X: q.X + k*vg.Length(math.Sin(b)), Y: q.Y - k*vg.Length(math.Cos(b))}
		c.op("%s %s %s c", pdfPoint(p), pdfPoint(r), pdfPoint(q))
	}
}

// pdfNumber writes a number with at most three decimals.
func pdfNumber(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "" || s == "-" || s == "-0" {
		return "0"
	}
	return s
}

func pdfPoint(p vg.Point) string { return pdfNumber(float64(p.X)) + " " + pdfNumber(float64(p.Y)) }

// bytes completes the file.
func (c *pdfCanvas) bytes(title string) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	var states strings.Builder
	for a := range 256 {
		if c.alphas[uint8(a)] {
			fmt.Fprintf(&states, "/A%d << /CA %[2]s /ca %[2]s >> ", a, pdfNumber(float64(a)/255))
		}
	}
	fonts, fontObjects, err := c.fontObjects(6)
	if err != nil {
		return nil, err
	}
	objects := append([][]byte{
		[]byte("<< /Type /Catalog /Pages 2 0 R >>"),
		[]byte("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
		fmt.Appendf(nil, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %s %s] /Contents 4 0 R /Resources << /ExtGState << %s>> %s>> >>", pdfNumber(float64(c.w)), pdfNumber(float64(c.h)), states.String(), fonts),
		pdfStream("", c.content.Bytes()),
		fmt.Appendf(nil, "<< /Title %s /Producer (stint) >>", pdfText(title)),
	}, fontObjects...)
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n%\xE2\xE3\xCF\xD3\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes(), nil
}

// fontObjects are the font's objects, the first of which has the number given, and the entry that names it.
func (c *pdfCanvas) fontObjects(first int) (entry string, objects [][]byte, err error) {
	if c.face == nil {
		return "", nil, nil
	}
	used := make([]sfnt.GlyphIndex, 0, len(c.glyphs))
	for g := range c.glyphs {
		used = append(used, g)
	}
	slices.Sort(used)
	file, err := subsetFont(liberationsansregular.TTF, used)
	if err != nil {
		return "", nil, fmt.Errorf("embedding the font: %w", err)
	}
	em := c.face.UnitsPerEm()
	var widths, unicode strings.Builder
	for i, g := range used {
		adv, err := c.face.GlyphAdvance(&c.buf, g, fixed.Int26_6(em), font.HintingNone)
		if err != nil {
			return "", nil, fmt.Errorf("measuring the font: %w", err)
		}
		fmt.Fprintf(&widths, "%d [%s] ", g, pdfNumber(1000*float64(adv)/float64(em)))
		if i%100 == 0 {
			if i > 0 {
				unicode.WriteString("endbfchar\n")
			}
			fmt.Fprintf(&unicode, "%d beginbfchar\n", min(100, len(used)-i))
		}
		fmt.Fprintf(&unicode, "<%04X> <", uint16(g))
		for _, u := range utf16.Encode([]rune{c.glyphs[g]}) {
			fmt.Fprintf(&unicode, "%04X", u)
		}
		unicode.WriteString(">\n")
	}
	unicode.WriteString("endbfchar\n")
	cmap := "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n" + unicode.String() + "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
	const name = "STINTF+LiberationSans" // six letters mark a subset
	objects = [][]byte{
		fmt.Appendf(nil, "<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>", name, first+1, first+4),
		fmt.Appendf(nil, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /CIDToGIDMap /Identity /DW 1000 /W [%s] >>", name, first+2, widths.String()),
		fmt.Appendf(nil, "<< /Type /FontDescriptor /FontName /%s /Flags 4 /FontBBox [-544 -303 1302 980] /ItalicAngle 0 /Ascent 905 /Descent -212 /CapHeight 729 /StemV 80 /FontFile2 %d 0 R >>", name, first+3),
		pdfStream(fmt.Sprintf("/Length1 %d ", len(file)), file),
		pdfStream("", []byte(cmap)),
	}
	return fmt.Sprintf("/Font << /F %d 0 R >> ", first), objects, nil
}

// pdfStream is a compressed stream.
func pdfStream(extra string, data []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(data) // into memory: it does not fail
	w.Close()
	return fmt.Appendf(nil, "<< /Length %d %s/Filter /FlateDecode >>\nstream\n%s\nendstream", z.Len(), extra, z.Bytes())
}

// pdfText is a string of any characters.
func pdfText(s string) string {
	var b strings.Builder
	b.WriteString("<FEFF")
	for _, u := range utf16.Encode([]rune(Clean(s))) {
		fmt.Fprintf(&b, "%04X", u)
	}
	return b.String() + ">"
}
