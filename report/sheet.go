package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"math"
	"strings"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one picture in three formats, as wide as a page and as one of two columns, with its numbers and what
// stands beside it. Its bytes depend on the comparison alone.
type Figure struct {
	Name      string // base name of its files
	SVG       []byte // 6.85 in wide, as PDF and PNG are
	PDF       []byte
	Column    []byte // SVG 3.33 in wide
	ColumnPDF []byte
	CSV       []byte
	Caption   string // n, method and footnotes; plain text
	// Sentence is what the figure lets a paper say; "" if nothing can be said.
	Sentence string
	Title    string

	raster func(th theme) ([]byte, error)
}

// PNG draws the figure in pixels, as many as print and screens at 200 % need. It takes longer than all other formats.
// Calls for one figure must not overlap.
func (f *Figure) PNG() ([]byte, error) { return f.pixels(lightTheme()) }

// ColumnPNG is [Figure.PNG] in the width of one column.
func (f *Figure) ColumnPNG() ([]byte, error) { return f.pixels(lightTheme().oneColumn()) }

func (f *Figure) pixels(th theme) ([]byte, error) {
	if f.raster == nil {
		return nil, fmt.Errorf("a figure without a picture")
	}
	return f.raster(th)
}

// A sheet is a page to draw on, in points from the lower left corner.
type sheet struct {
	c     draw.Canvas
	th    theme
	fonts *font.Cache
	buf   sfnt.Buffer
}

// The alignments of text.
type textAlign float64

const (
	flushLeft  textAlign = 0
	centred    textAlign = 0.5
	flushRight textAlign = 1
)

// pngDPI makes a figure of print size sharp at 200 %.
const pngDPI = 192

// vectorPicture draws the same thing as SVG and PDF.
func vectorPicture(title string, th theme, h vg.Length, paint func(s *sheet)) (svg, pdf []byte, err error) {
	fonts := font.NewCache(liberation.Collection())
	vector := vgsvg.New(th.page, h)
	paintOn(draw.New(vector), th, fonts, paint)
	var out bytes.Buffer
	if _, err := vector.WriteTo(&out); err != nil {
		return nil, nil, fmt.Errorf("drawing %q as SVG: %w", title, err)
	}
	page := newPDF(th.page, h)
	paintOn(draw.New(page), th, fonts, paint)
	if pdf, err = page.bytes(title); err != nil {
		return nil, nil, fmt.Errorf("drawing %q as PDF: %w", title, err)
	}
	return webSVG(out.Bytes(), title), pdf, nil
}

// pixels draws as PNG.
func pixels(title string, th theme, h vg.Length, paint func(s *sheet)) ([]byte, error) {
	raster := vgimg.NewWith(vgimg.UseWH(th.page, h), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(th.background))
	paintOn(draw.New(raster), th, font.NewCache(liberation.Collection()), paint)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, raster.Image()); err != nil {
		return nil, fmt.Errorf("drawing %q as PNG: %w", title, err)
	}
	return out.Bytes(), nil
}

func paintOn(c draw.Canvas, th theme, fonts *font.Cache, paint func(s *sheet)) {
	s := &sheet{c: c, th: th, fonts: fonts}
	s.rect(c.Min.X, c.Min.Y, c.Max.X, c.Max.Y, th.background)
	paint(s)
}

// webSVG maps the font to those every system has (Liberation Sans shares its widths with Arial and Helvetica)
// and adds a title for screen readers.
func webSVG(svg []byte, title string) []byte {
	// A quote in a text is escaped, so these bytes occur in style attributes only.
	svg = bytes.ReplaceAll(svg, []byte(`style="font-family:Liberation Sans;font-variant:normal;`), []byte(`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
	head := []byte("xlink\">\n")
	return bytes.Replace(svg, head, append(head, []byte("<title>"+html.EscapeString(title)+"</title>\n")...), 1)
}

func (s *sheet) face(size vg.Length) font.Face {
	return s.fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// printable replaces what the font has no glyph for, which would vanish without a word.
func (s *sheet) printable(text string) string {
	face := s.face(s.th.textSize)
	var b strings.Builder
	for _, r := range Clean(text) {
		if i, err := face.Face.GlyphIndex(&s.buf, r); (err != nil || i == 0) && !unicode.In(r, unicode.Mn, unicode.Me) {
			r = '□'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// width returns the width of a text that is printable.
func (s *sheet) width(text string, size vg.Length) vg.Length {
	face := s.face(size)
	return face.Width(text)
}

// text writes one line; y is its base line.
func (s *sheet) text(x, y vg.Length, align textAlign, size vg.Length, col color.Color, text string) {
	if text == "" {
		return
	}
	face := s.face(size)
	s.c.SetColor(col)
	s.c.FillString(face, vg.Point{X: x - vg.Length(align)*face.Width(text), Y: y}, text)
}

// shorten cuts the middle out of a printable text until it is at most most wide.
func (s *sheet) shorten(text string, size, most vg.Length) string {
	if s.width(text, size) <= most {
		return text
	}
	n := len([]rune(text))
	lo, hi := 1, n
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if s.width(shorten(text, mid), size) <= most {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return shorten(text, lo)
}

// line draws a straight line.
func (s *sheet) line(x0, y0, x1, y1, width vg.Length, col color.Color, dash []vg.Length) {
	s.path([]vg.Point{{X: x0, Y: y0}, {X: x1, Y: y1}}, width, col, dash)
}

// path draws a line through points.
func (s *sheet) path(points []vg.Point, width vg.Length, col color.Color, dash []vg.Length) {
	if len(points) < 2 {
		return
	}
	var p vg.Path
	p.Move(points[0])
	for _, pt := range points[1:] {
		p.Line(pt)
	}
	s.c.SetColor(col)
	s.c.SetLineWidth(width)
	s.c.SetLineDash(dash, 0)
	s.c.Stroke(p)
	s.c.SetLineDash(nil, 0)
}

// area fills a polygon.
func (s *sheet) area(points []vg.Point, col color.Color) {
	if len(points) < 3 {
		return
	}
	var p vg.Path
	p.Move(points[0])
	for _, pt := range points[1:] {
		p.Line(pt)
	}
	p.Close()
	s.c.SetColor(col)
	s.c.Fill(p)
}

func (s *sheet) rect(x0, y0, x1, y1 vg.Length, col color.Color) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	s.area([]vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}, col)
}

// dot fills a circle.
func (s *sheet) dot(x, y, r vg.Length, col color.Color) {
	s.dots([]vg.Point{{X: x, Y: y}}, r, col)
}

// frame draws the border of a rectangle inside of it.
func (s *sheet) frame(x0, y0, x1, y1, width vg.Length, col color.Color) {
	h := width / 2
	s.path([]vg.Point{{X: x0 + h, Y: y0 + h}, {X: x1 - h, Y: y0 + h}, {X: x1 - h, Y: y1 - h}, {X: x0 + h, Y: y1 - h}, {X: x0 + h, Y: y0}}, width, col, nil)
}

// hatch fills a rectangle with rising lines, gap apart.
func (s *sheet) hatch(x0, y0, x1, y1, gap vg.Length, col color.Color) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	var p vg.Path // one for all lines: it is one node of a page
	w, h := x1-x0, y1-y0
	for d := gap / 2; d < w+h; d += gap {
		// The line x - x0 + (y1 - y) = d, cut to the rectangle.
		ax, ay := x0, y1-d
		if d > h {
			ax, ay = x0+d-h, y0
		}
		bx, by := x0+d, y1
		if d > w {
			bx, by = x1, y1-(d-w)
		}
		p.Move(vg.Point{X: ax, Y: ay})
		p.Line(vg.Point{X: bx, Y: by})
	}
	s.c.SetColor(col)
	s.c.SetLineWidth(s.th.gridWidth)
	s.c.SetLineDash(nil, 0)
	s.c.Stroke(p)
}

// ring draws a circle that is not filled; dots makes it of dots.
func (s *sheet) ring(x, y, r, width vg.Length, col color.Color, dots bool) {
	var p vg.Path
	p.Move(vg.Point{X: x + r, Y: y})
	p.Arc(vg.Point{X: x, Y: y}, r, 0, 2*math.Pi)
	p.Close()
	s.c.SetColor(col)
	s.c.SetLineWidth(width)
	if dots {
		s.c.SetLineDash([]vg.Length{0.9, 1.2}, 0)
	}
	s.c.Stroke(p)
	s.c.SetLineDash(nil, 0)
}

// whisker draws a level interval with its ends as one line.
func (s *sheet) whisker(lo, hi, y vg.Length, col color.Color) {
	var p vg.Path
	p.Move(vg.Point{X: lo, Y: y})
	p.Line(vg.Point{X: hi, Y: y})
	for _, x := range []vg.Length{lo, hi} {
		p.Move(vg.Point{X: x, Y: y - 2})
		p.Line(vg.Point{X: x, Y: y + 2})
	}
	s.c.SetColor(col)
	s.c.SetLineWidth(1.4 * s.th.lineWidth)
	s.c.SetLineDash(nil, 0)
	s.c.Stroke(p)
}

// dots fills circles as one shape.
func (s *sheet) dots(at []vg.Point, r vg.Length, col color.Color) {
	var p vg.Path
	for _, c := range at {
		p.Move(vg.Point{X: c.X + r, Y: c.Y})
		p.Arc(c, r, 0, 2*math.Pi)
		p.Close()
	}
	if len(p) == 0 {
		return
	}
	s.c.SetColor(col)
	s.c.Fill(p)
}

// rects fills rectangles, each given by two corners, as one shape.
func (s *sheet) rects(corners [][2]vg.Point, col color.Color) {
	var p vg.Path
	for _, r := range corners {
		if r[1].X <= r[0].X || r[1].Y <= r[0].Y {
			continue
		}
		p.Move(r[0])
		p.Line(vg.Point{X: r[1].X, Y: r[0].Y})
		p.Line(r[1])
		p.Line(vg.Point{X: r[0].X, Y: r[1].Y})
		p.Close()
	}
	if len(p) == 0 {
		return
	}
	s.c.SetColor(col)
	s.c.Fill(p)
}

// verdict draws the mark of a pair: filled if it is significant, open if not, of dots if it could not have been.
func (s *sheet) verdict(x, y vg.Length, decision string) {
	const r = vg.Length(2.8)
	switch decision {
	case DecisionAhead, DecisionBehind:
		s.dot(x, y, r, s.th.text)
	default:
		s.dot(x, y, r, s.th.background)
		s.ring(x, y, r-0.4, 0.9, s.th.text, decision == DecisionCannot)
	}
}

// diamond fills a square that stands on its corner.
func (s *sheet) diamond(x, y, r vg.Length, col color.Color) {
	s.area([]vg.Point{{X: x + r, Y: y}, {X: x, Y: y + r}, {X: x - r, Y: y}, {X: x, Y: y - r}}, col)
}

// A plotted is a figure about to be drawn: its picture and its height, the numbers beside it, and its words.
type plotted interface {
	layout(th theme) vg.Length // for the width of a page of the theme
	paint(s *sheet)
	csv() ([]byte, error)
	caption() string
	sentence() string
}

// drawFigure completes a figure, in both widths, from what is to be drawn.
func drawFigure(fig Figure, p plotted) (Figure, error) {
	th := lightTheme()
	h := p.layout(th.oneColumn())
	var err error
	if fig.Column, fig.ColumnPDF, err = vectorPicture(fig.Title, th.oneColumn(), h, p.paint); err != nil {
		return Figure{}, err
	}
	h = p.layout(th)
	if fig.SVG, fig.PDF, err = vectorPicture(fig.Title, th, h, p.paint); err != nil {
		return Figure{}, err
	}
	fig.raster = func(th theme) ([]byte, error) { return pixels(fig.Title, th, p.layout(th), p.paint) }
	if fig.CSV, err = p.csv(); err != nil {
		return Figure{}, err
	}
	fig.Caption, fig.Sentence = p.caption(), p.sentence()
	return fig, nil
}
