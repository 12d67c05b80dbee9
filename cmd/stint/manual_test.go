package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// TestManual runs the console blocks of README.md in order, in one folder that starts with the files of
// testdata/manual, and compares what is printed (stdout and stderr, as on a terminal) with what the manual
// shows. A line … stands for any lines. With -update the blocks without such a line are rewritten.
func TestManual(t *testing.T) {
	t.Parallel()
	readme := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "manual"))); err != nil {
		t.Fatal(err)
	}
	blocks := consoleBlock.FindAllSubmatch(text, -1)
	if len(blocks) < 5 {
		t.Fatalf("the manual has only %d console blocks", len(blocks))
	}
	for _, block := range blocks {
		var now strings.Builder
		for _, step := range strings.Split("\n"+string(block[1]), "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			want = strings.TrimSuffix(want, "\n")
			got := strings.TrimSuffix(shell(t, dir, command), "\n")
			if !matchesShown(want, got) {
				if !*update {
					t.Errorf("$ %s\nprints\n%s\n\nthe manual shows\n%s", command, got, want)
				}
				want = got
			}
			fmt.Fprintf(&now, "$ %s\n", command)
			if want != "" {
				fmt.Fprintf(&now, "%s\n", want)
			}
		}
		if *update {
			text = bytes.Replace(text, block[0], []byte("```console\n"+now.String()+"```\n"), 1)
		}
	}
	if *update {
		if err := os.WriteFile(readme, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shell runs one line of the manual as a reader would, with stint on the PATH.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatalf("$ %s: %v", command, err)
	}
	return string(out)
}

// matchesShown compares line by line; a line … in want stands for any lines.
func matchesShown(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	for i, part := range strings.Split("\n"+want+"\n", "\n…\n") {
		if i > 0 {
			pattern.WriteString("\n(?:.*\n)?")
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString("\n" + got + "\n")
}
