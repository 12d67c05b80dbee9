package report

import (
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkCompareMillion compares 10 configurations on 100 scenarios with 1,000 repeats each: 45 pairs over
// 1,000,000 outcomes. The bar is 2 s on two cores.
func BenchmarkCompareMillion(b *testing.B) {
	set := synthetic(10, 100, 1000, 101)
	for b.Loop() {
		if _, err := Compare(set, CompareOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompare325 compares 26 configurations on 20 scenarios, all 325 pairs, and prints them. The bar is far
// below 1 s.
func BenchmarkCompare325(b *testing.B) {
	set := synthetic(26, 20, 1, 101)
	for b.Loop() {
		c, err := Compare(set, CompareOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Text(io.Discard, 100); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReport writes the whole report of 26 configurations with ten retries on 20 scenarios of 101 turns. The
// bar is 5 s and 5 MB of page.
func BenchmarkReport(b *testing.B) {
	c := mustCompare(b, studied(26, 20, 10, 101), CompareOptions{Episodes: true})
	dir := filepath.Join(b.TempDir(), "report")
	for b.Loop() {
		if err := Write(dir, Input{Study: "full", Comparison: c}); err != nil {
			b.Fatal(err)
		}
	}
}
