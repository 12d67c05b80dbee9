package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"

	"github.com/stint-bench/stint/logs"
)

// figureSets are the cases every figure must survive.
func figureSets() map[string]*logs.OutcomeSet {
	long := synthetic(40, 20, 1, 101)
	for i := range long.Rows {
		if row := &long.Rows[i]; strings.HasPrefix(row.Config, "model-03") {
			row.Config += strings.Repeat("-long", 60) + "<b>&\"'日本\x1b[31m"
		}
	}
	single := newSet(0)
	single.ValueName = "score"
	addRuns(single, "only", 0, 0.2)
	return map[string]*logs.OutcomeSet{
		"empty":    newSet(101),
		"one":      synthetic(1, 1, 1, 13),
		"four":     synthetic(4, 8, 1, 13),
		"26":       synthetic(26, 20, 1, 101),
		"40":       long,
		"stopped":  harnesses(true),
		"repeats":  synthetic(2, 5, 3, 50),
		"zero":     onePair(101, []float64{0, 0, 0}, []float64{0, 0, 0}),
		"cap":      onePair(101, []float64{101, 101}, []float64{101, 101}),
		"no cap":   onePair(0, []float64{1, 2, 900}, []float64{3, 4, 5}),
		"score":    single,
		"unending": unending(),
		"judged":   judged(harnesses(true)),
		"studied":  withCosts(studied(4, 20, 2, 101)),
		"deep":     studied(14, 8, 10, 101),
	}
}

// withCosts adds what every attempt cost: dollars for the first half of the rows, for the others tokens alone.
func withCosts(set *logs.OutcomeSet) *logs.OutcomeSet {
	for i := range set.Rows {
		row := &set.Rows[i]
		costs := &logs.AttemptCosts{}
		for turn := range len(row.Attempts) + 1 {
			n := 3 // the failed turn used the whole budget
			if turn < len(row.Attempts) {
				n = row.Attempts[turn]
			} else if row.Status != logs.StatusFailed {
				break
			}
			costs.Tokens = append(costs.Tokens, slices.Repeat([]float64{12_345}, n))
			costs.USD = append(costs.USD, slices.Repeat([]float64{0.0375}, n))
		}
		if i >= len(set.Rows)/2 {
			costs.USD = nil
		}
		row.Costs = costs
	}
	return set
}

// unending holds runs that were all stopped, some in the first turn.
func unending() *logs.OutcomeSet {
	set := newSet(20)
	for i := range 4 {
		addRun(set, "a", fmt.Sprint(i), 1, float64(i), "stopped", "provider")
	}
	return set
}

func figuresOf(t *testing.T, set *logs.OutcomeSet) []Figure {
	t.Helper()
	out, err := drawAll(mustCompare(t, set, CompareOptions{Episodes: true}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawn holds the figures of all sets, which several tests look at.
var drawn struct {
	once sync.Once
	sets map[string][]Figure
}

func drawnSets(t *testing.T) map[string][]Figure {
	t.Helper()
	drawn.once.Do(func() {
		drawn.sets = make(map[string][]Figure)
		for name, set := range figureSets() {
			drawn.sets[name] = figuresOf(t, set)
		}
	})
	return drawn.sets
}

// bothWidths adds the figures that are also drawn at the width of one column.
func bothWidths(figures []Figure) []Figure {
	out := figures
	for _, f := range figures {
		if f.Column != nil {
			f.Name, f.SVG = f.Name+"-column", f.Column
			out = append(out, f)
		}
	}
	return out
}

var viewBox = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)

// A placedText is one text element of an SVG, in points from the lower left corner.
type placedText struct {
	x, y, w, size float64
	text          string
}

// placedTexts reads the texts of an SVG and fails if it is not well-formed XML.
func placedTexts(t *testing.T, svg []byte) []placedText {
	t.Helper()
	fonts := font.NewCache(liberation.Collection())
	dec := xml.NewDecoder(bytes.NewReader(svg))
	var out []placedText
	var cur *placedText
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("SVG: %v", err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local != "text" {
				continue
			}
			cur = &placedText{}
			for _, a := range e.Attr {
				v, _ := strconv.ParseFloat(a.Value, 64)
				switch a.Name.Local {
				case "x":
					cur.x = v
				case "y":
					cur.y = -v
				case "style":
					_, size, _ := strings.Cut(a.Value, "font-size:")
					size, _, _ = strings.Cut(size, "px")
					cur.size, _ = strconv.ParseFloat(size, 64)
				}
			}
		case xml.CharData:
			if cur != nil {
				cur.text += string(e)
			}
		case xml.EndElement:
			if cur != nil && e.Name.Local == "text" {
				face := fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, font.Length(cur.size))
				cur.w = float64(face.Width(cur.text))
				out = append(out, *cur)
				cur = nil
			}
		}
	}
}

// TestFiguresFit holds that no text is cut by the edge of a figure and no two texts overlap.
func TestFiguresFit(t *testing.T) {
	for name, figures := range drawnSets(t) {
		checkFit(t, name, figures)
	}
}

// checkFit holds that no text of any figure is cut by its edge and no two overlap.
func checkFit(t *testing.T, name string, figures []Figure) {
	t.Helper()
	for _, f := range bothWidths(figures) {
		m := viewBox.FindSubmatch(f.SVG)
		if m == nil {
			t.Fatalf("%s/%s: no viewBox", name, f.Name)
		}
		w, _ := strconv.ParseFloat(string(m[1]), 64)
		h, _ := strconv.ParseFloat(string(m[2]), 64)
		texts := placedTexts(t, f.SVG)
		if len(texts) == 0 {
			t.Errorf("%s/%s: a figure without a word", name, f.Name)
		}
		for i, a := range texts {
			const slack = 0.5
			if a.x < -slack || a.x+a.w > w+slack || a.y < 0 || a.y+a.size > h+2 {
				t.Errorf("%s/%s: %q is cut: x %.1f–%.1f of %.1f, y %.1f of %.1f", name, f.Name, a.text, a.x, a.x+a.w, w, a.y, h)
			}
			for _, b := range texts[i+1:] {
				if a.x+a.w > b.x+slack && b.x+b.w > a.x+slack && math.Abs(a.y-b.y) < 0.72*math.Min(a.size, b.size) {
					t.Errorf("%s/%s: %q and %q overlap", name, f.Name, a.text, b.text)
				}
			}
		}
		if bytes.Contains(f.SVG, []byte("<b>")) || bytes.Contains(f.SVG, []byte("NaN")) {
			t.Errorf("%s/%s: the SVG holds markup of a name, or NaN", name, f.Name)
		}
	}
}

func TestFigureFormats(t *testing.T) {
	sets := figureSets()
	for name, first := range drawnSets(t) {
		set := sets[name]
		second := first
		if len(set.Rows) < 60 {
			second = figuresOf(t, set)
		}
		for i, f := range first {
			if !bytes.Equal(f.SVG, second[i].SVG) || !bytes.Equal(f.CSV, second[i].CSV) {
				t.Errorf("%s/%s: drawn twice, the bytes differ", name, f.Name)
			}
			if name == "judged" || name == "empty" || name == "one" {
				checkPixels(t, name, &f, &second[i])
			}
			rows, err := csv.NewReader(bytes.NewReader(f.CSV)).ReadAll()
			if err != nil || len(rows) < 1 || name != "empty" && len(rows) < 2 {
				t.Errorf("%s/%s: CSV of %d rows, %v", name, f.Name, len(rows), err)
			}
			if !bytes.Contains(f.SVG, []byte("Arial,Helvetica,sans-serif")) {
				t.Errorf("%s/%s: the font is not mapped", name, f.Name)
			}
		}
	}
}

// checkPixels holds that the PNGs of a figure are 6.85 and 3.33 in wide at 192 dots per inch, and the same when drawn
// twice, in whichever order.
func checkPixels(t *testing.T, name string, f, again *Figure) {
	t.Helper()
	column, err := f.ColumnPNG()
	if err != nil {
		t.Fatalf("%s/%s: %v", name, f.Name, err)
	}
	page, err := f.PNG()
	if err != nil {
		t.Fatalf("%s/%s: %v", name, f.Name, err)
	}
	if b, err := again.PNG(); err != nil || !bytes.Equal(page, b) {
		t.Errorf("%s/%s: drawn twice, the bytes of the PNG differ, %v", name, f.Name, err)
	}
	for width, pixels := range map[int][]byte{1315: page, 639: column} {
		img, err := png.DecodeConfig(bytes.NewReader(pixels))
		if err != nil || img.Width != width {
			t.Errorf("%s/%s: PNG is %d pixels wide, want %d; %v", name, f.Name, img.Width, width, err)
		}
	}
}

func TestFigureGolden(t *testing.T) {
	for _, f := range figuresOf(t, figureSets()["four"]) {
		checkGolden(t, "four-"+f.Name+".svg", f.SVG)
		checkGolden(t, "four-"+f.Name+".csv", f.CSV)
	}
}

// TestStillGoingNumbers checks a curve by hand: builds fail at 0, and a run stopped after 5 turns leaves at 4.
func TestStillGoingNumbers(t *testing.T) {
	set := newSet(10)
	addRuns(set, "a", 0, 0, 3, 10)
	addRun(set, "a", "s04", 1, 5, "stopped", "provider")
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	g := going{c: c, th: lightTheme()}
	if err := g.estimate(); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[float64]int{0: 4, 1: 3, 3: 3, 4: 2, 5: 1, 10: 1} {
		if got := atRisk(&g.curves[0], at); got != want {
			t.Errorf("known to have passed %v turns: %d, want %d", at, got, want)
		}
	}
	if s := g.curves[0].km.At(3); s != 0.5 {
		t.Errorf("share that passed more than 3 turns is %v", s)
	}
	if !g.band {
		t.Error("one configuration without repeats has a band")
	}
}

func TestTicks(t *testing.T) {
	for _, hi := range []float64{1e-9, 0.3, 1, 5, 13, 50, 99, 101, 1234, 1e9} {
		v := ticks(0, hi, 6)
		if len(v) < 2 || len(v) > 9 || v[0] != 0 || v[len(v)-1] > hi*(1+1e-9) {
			t.Errorf("ticks to %v: %v", hi, v)
		}
		for i := 1; i < len(v); i++ {
			if tickText(v[i]) == tickText(v[i-1]) && hi > 1e-5 {
				t.Errorf("ticks to %v: %q twice", hi, tickText(v[i]))
			}
		}
	}
}

// TestThemeContrast holds the promise of the theme: text 4.5, marks 3 on the background.
func TestThemeContrast(t *testing.T) {
	th := lightTheme()
	luminance := func(r, g, b uint32) float64 {
		lin := func(v uint32) float64 {
			c := float64(v) / 0xffff
			if c <= 0.04045 {
				return c / 12.92
			}
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
	}
	contrast := func(c interface{ RGBA() (r, g, b, a uint32) }) float64 {
		r, g, b, _ := c.RGBA()
		return 1.05 / (luminance(r, g, b) + 0.05)
	}
	if k := contrast(th.text); k < 4.5 {
		t.Errorf("text has a contrast of %.2f", k)
	}
	for i, l := range th.lines {
		if k := contrast(l.color); k < 3 {
			t.Errorf("line %d has a contrast of %.2f", i, k)
		}
	}
	if k := contrast(th.full); k < 3 {
		t.Errorf("full passes have a contrast of %.2f", k)
	}
}
