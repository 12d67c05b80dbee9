package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// The manual's table has every format that ingest reads, and says which were never seen on real data.
func TestManualNamesFormats(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range logs.Formats() {
		row := ""
		for line := range strings.Lines(string(manual)) {
			if strings.HasPrefix(line, "| `") && strings.Contains(line, "`"+f.Name+"`") {
				row = line
			}
		}
		if row == "" {
			t.Errorf("the manual's table lacks the format %s", f.Name)
		}
		if marked := strings.Contains(row, "`"+f.Name+"` (unverified)"); marked != f.Unverified {
			t.Errorf("the manual says unverified %v of %s, which is %v", marked, f.Name, f.Unverified)
		}
	}
}
