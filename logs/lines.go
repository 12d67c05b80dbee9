package logs

// rawLine is a line with its place. Of one that is longer than the reader keeps, data is its beginning.
type rawLine struct {
	data   []byte // valid until the next line, newline included
	offset int64
	length int64
	sha    string
	torn   bool // it has no newline: the file ends within it, or is just written so
}

// keptOfCut is how much of a line that is too long stays.
const keptOfCut = 4 << 10

// inputLines hands the lines of a file on, with the place set and what decode made of them. Lines that are too long come
// cut.
func (b *eventBuilder) inputLines(f *inputFile, decode newDecoder, yield func(int, *decodedLine) bool) bool {
	b.place(f.path, 0, nil)
	u, err := f.open()
	if err != nil {
		b.unreadable(0, "it cannot be read: %s", plainError(err))
		return true
	}
	defer u.Close()
	n, on := 0, true
	offset, err := decodeLines(u.Reader, b.maxLine(), decode, func(l *decodedLine) bool {
		n++
		b.at, b.sha, b.torn = Place{File: f.path, Offset: l.offset, Length: l.length}, l.sha, l.torn
		on = !b.stopped() && yield(n, l)
		return on
	})
	b.torn = false
	if on && err != nil {
		b.at, b.sha = Place{File: f.path, Offset: offset}, ""
		b.unreadable(n+1, "reading stopped here: %s", plainError(err))
	}
	return on
}
