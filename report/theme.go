package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// A theme holds every colour, width and size of the figures. Nothing else in the package picks a colour.
// The colours tell apart for colour-blind readers and as greys in print; marks have a contrast of at least 3 on
// the background, text of at least 4.5.
type theme struct {
	background, text, faint, grid color.Color

	drift, infra, bench, stopped, full color.Color // what a failure or an end was

	sequential        []color.Color // of values: from few (light) to many (dark)
	less, level, more color.Color   // of effects: against, none, for
	ahead, behind     color.Color   // the same two on the background
	onLight, onDark   color.Color   // text and marks on those; the same in the dark

	lines []lineStyle // of configurations, in order
	other color.Color // configurations beyond those

	textSize, tickSize vg.Length
	lineWidth          vg.Length
	gridWidth          vg.Length
	column, page       vg.Length // widths of one and two columns in print
}

// oneColumn is the theme of figures that are as wide as one column.
func (t theme) oneColumn() theme {
	t.page = t.column
	return t
}

// narrow reports whether figures are as wide as one column.
func (t theme) narrow() bool { return t.page == t.column }

// A lineStyle tells one configuration from the others by colour and, when the colours are used up, by dashes.
type lineStyle struct {
	color color.Color
	dash  []vg.Length
}

// lightTheme is the theme of figures in print and on a white page.
func lightTheme() theme {
	t := theme{
		background: rgb(0xFFFFFF), text: rgb(0x1A1A1A), faint: rgb(0x9A9A9A), grid: rgb(0xDDDDDD),
		drift: rgb(0x0072B2), infra: rgb(0xD55E00), bench: rgb(0x7F7F7F), stopped: rgb(0xC7C7C7), full: rgb(0x009E73),
		other:      rgb(0xB4B4B4),
		sequential: []color.Color{rgb(0xF9F5CE), rgb(0xBFE0A8), rgb(0x6CC2A1), rgb(0x2F96A0), rgb(0x2F6690), rgb(0x3B3270), rgb(0x2D0F4A)},
		less:       rgb(0x7B3294), level: rgb(0xF7F7F7), more: rgb(0x008837),
		ahead: rgb(0x1B7837), behind: rgb(0x762A83),
		onLight: rgb(0x111111), onDark: rgb(0xFAFAFA),
		textSize: 8, tickSize: 7, lineWidth: 0.8, gridWidth: 0.5,
		column: 3.33 * vg.Inch, page: 6.85 * vg.Inch,
	}
	// Okabe and Ito's order without the colours that stand for causes and full passes; orange and sky blue are
	// darkened until they reach the contrast of a mark on white.
	hues := []color.Color{rgb(0x1A1A1A), rgb(0xC2608F), rgb(0xB87A00), rgb(0x2E86C1)}
	for _, dash := range [][]vg.Length{nil, {3, 1.6}} {
		for _, h := range hues {
			t.lines = append(t.lines, lineStyle{h, dash})
		}
	}
	return t
}

// ofCause is the colour of a cause.
func (t theme) ofCause(k cause) color.Color {
	switch k {
	case causeDrift:
		return t.drift
	case causeInfra:
		return t.infra
	case causeBench:
		return t.bench
	}
	return t.stopped
}

// ofValue is the sequential colour of a share from 0 to 1.
func (t theme) ofValue(f float64) color.Color {
	f = math.Max(0, math.Min(1, f)) * float64(len(t.sequential)-1)
	i := min(int(f), len(t.sequential)-2)
	return mix(t.sequential[i], t.sequential[i+1], f-float64(i))
}

// ofEffect is the diverging colour of an effect from -1 to 1.
func (t theme) ofEffect(v float64) color.Color {
	if v < 0 {
		return mix(t.level, t.less, math.Min(1, -v))
	}
	return mix(t.level, t.more, math.Min(1, v))
}

// inkOn is the colour of text on a fill: the one with the higher contrast.
func (t theme) inkOn(fill color.Color) color.Color {
	l := luminance(fill)
	if (luminance(t.onDark)+0.05)*(luminance(t.onLight)+0.05) > (l+0.05)*(l+0.05) {
		return t.onDark
	}
	return t.onLight
}

// luminance is the relative luminance of the Web Content Accessibility Guidelines 2.
func luminance(c color.Color) float64 {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	lin := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(n.R) + 0.7152*lin(n.G) + 0.0722*lin(n.B)
}

// mix goes the share f of the way from a to b.
func mix(a, b color.Color, f float64) color.Color {
	x, y := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	part := func(p, q uint8) uint8 { return uint8(math.Round(float64(p) + f*(float64(q)-float64(p)))) }
	return color.NRGBA{R: part(x.R, y.R), G: part(x.G, y.G), B: part(x.B, y.B), A: 0xFF}
}

// inTheDark gives, for every colour that stands on the background, the one it has on a dark page. The colours of
// heat map and matrix, and what is written on them, stay.
func inTheDark() [][2]color.Color {
	t := lightTheme()
	return [][2]color.Color{
		{t.background, rgb(0x14171A)}, {t.text, rgb(0xE8E8E8)}, {t.faint, rgb(0x8A8F94)}, {t.grid, rgb(0x33383D)},
		{t.drift, rgb(0x56B4E9)}, {t.infra, rgb(0xE69F00)}, {t.bench, rgb(0xA6A6A6)}, {t.stopped, rgb(0x5A5A5A)}, {t.full, rgb(0x2FBF9B)},
		{t.other, rgb(0x5F656A)}, {t.ahead, rgb(0x7FBF7B)}, {t.behind, rgb(0xC2A5CF)},
		{rgb(0xC2608F), rgb(0xE08BB4)}, {rgb(0xB87A00), rgb(0xE0A030)}, {rgb(0x2E86C1), rgb(0x6CB6E8)},
	}
}

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

// thin returns c with the given opacity, for bands and faint dots.
func thin(c color.Color, opacity float64) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(255*opacity + 0.5)
	return n
}
