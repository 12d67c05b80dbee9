package report

import (
	"fmt"

	"gonum.org/v1/plot/vg"
)

// A panelGrid places panels of one size, from left to right and top to bottom.
type panelGrid struct {
	n, across     int
	width, height vg.Length // of one panel with the room around it
	left, top     vg.Length // of the first one
}

// newPanelGrid lays out n panels on a page, at most most in a row.
func newPanelGrid(th theme, n, most int, height vg.Length) panelGrid {
	across := max(1, min(n, most))
	return panelGrid{n: n, across: across, width: (th.page - 2*figureMargin) / vg.Length(across), height: height, left: figureMargin}
}

// rows is the number of rows of panels.
func (g panelGrid) rows() int { return (g.n + g.across - 1) / g.across }

// at returns the upper left corner of panel i.
func (g panelGrid) at(i int) (x, y vg.Length) {
	return g.left + g.width*vg.Length(i%g.across), g.top - g.height*vg.Length(i/g.across)
}

// moreWords says how many of all configurations a caption has to excuse: those beyond the shown ones, and beyond
// those of the file for one column.
func moreWords(shown, all, narrow int) string {
	s := ""
	if n := all - shown; n > 0 {
		s += fmt.Sprintf(" %d more configurations are in the CSV file.", n)
	}
	if shown > narrow {
		s += fmt.Sprintf(" The file for one column has the first %d.", narrow)
	}
	return s
}
