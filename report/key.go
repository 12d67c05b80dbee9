package report

import "gonum.org/v1/plot/vg"

// A keyItem is a sign of a figure and what it means.
type keyItem struct {
	word  string
	width vg.Length // of the sign
	sign  func(x, y vg.Length)
}

// keyRow is the height of a row of signs.
const keyRow = vg.Length(10)

// key writes what the signs mean, from x on; what does not fit begins a new row below, at left.
func (s *sheet) key(x, y, left, right vg.Length, items []keyItem) {
	const gap, between = vg.Length(4), vg.Length(10)
	for _, k := range items {
		w := k.width + s.width(k.word, s.th.tickSize)
		if k.width > 0 {
			w += gap
		}
		if x+w > right && x > left {
			x, y = left, y-keyRow
		}
		if k.sign != nil {
			k.sign(x, y)
			s.text(x+k.width+gap, y, flushLeft, s.th.tickSize, s.th.text, k.word)
		} else {
			s.text(x, y, flushLeft, s.th.tickSize, s.th.text, k.word)
		}
		x += w + between
	}
}
