package report

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// heatSteps are the steps of the sequential colours that a page has as classes.
const heatSteps = 20

// PageStyle is the style sheet that every page of stint shares: the colours of the theme, light, dark and in print, also
// by what they mean (--drift, --infra, --bench, --stopped, --full), tables and text, and the classes of [HeatClass].
func PageStyle() string {
	var b strings.Builder
	b.WriteString(pageColours())
	pairs := inTheDark()
	t := lightTheme()
	b.WriteString(":root{")
	for _, named := range []struct {
		name string
		is   color.Color
	}{{"drift", t.drift}, {"infra", t.infra}, {"bench", t.bench}, {"stopped", t.stopped}, {"full", t.full}} {
		for i, p := range pairs {
			if p[0] == named.is {
				fmt.Fprintf(&b, "--%s:var(--c%d);", named.name, i)
			}
		}
	}
	b.WriteString("}\n")
	for i := range heatSteps + 1 {
		fill := t.ofValue(float64(i) / heatSteps)
		fmt.Fprintf(&b, ".heat%d{background:%s;color:%s}\n", i, hexOf(fill), hexOf(t.inkOn(fill)))
	}
	b.WriteString(pageStyle)
	return b.String()
}

// HeatClass is the class of [PageStyle] that paints a cell for a share from 0 to 1; "" for what is no number.
func HeatClass(share float64) string {
	if math.IsNaN(share) {
		return ""
	}
	return fmt.Sprintf("heat%d", int(math.Round(math.Max(0, math.Min(1, share))*heatSteps)))
}
