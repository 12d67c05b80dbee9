package logs

import "golang.org/x/sys/cpu"

// blockMarks has a bit for each of 64 bytes: whether it is a quote or a control character, and whether it is a backslash.
func blockMarks(b *[64]byte) (stops, backs uint64) {
	if cpu.X86.HasAVX2 {
		return marksAVX2(b)
	}
	return wordMarks(b)
}

//go:noescape
func marksAVX2(b *[64]byte) (stops, backs uint64)
