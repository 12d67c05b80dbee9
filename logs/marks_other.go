//go:build !amd64

package logs

// blockMarks has a bit for each of 64 bytes: whether it is a quote or a control character, and whether it is a backslash.
func blockMarks(b *[64]byte) (stops, backs uint64) { return wordMarks(b) }
