package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// A theme holds every colour, width and size of the figures. Nothing else in the package picks a colour.
// The colours tell apart for colour-blind readers and as greys in print; marks have a contrast of at least 3 on
// the background, text of at least 4.5.
type theme struct {
	background, text, faint, grid color.Color

	drift, infra, bench, stopped, full color.Color // what a failure or an end was

	lines []lineStyle // of configurations, in order
	other color.Color // configurations beyond those

	textSize, tickSize vg.Length
	lineWidth          vg.Length
	gridWidth          vg.Length
	column, page       vg.Length // widths of one and two columns in print
}

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
		other:    rgb(0xB4B4B4),
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

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

// thin returns c with the given opacity, for bands and faint dots.
func thin(c color.Color, opacity float64) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(255*opacity + 0.5)
	return n
}
