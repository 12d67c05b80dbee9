package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamples runs the examples that -h shows, verb by verb, in a folder with a study, an outcome file, a finished run
// in runs/demo and a set in scenarios/main. The examples of demo itself take most of a minute, and those of harness
// install and check need the network: .ci/run runs them.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STINT_CACHE", t.TempDir()) // doctor starts every agent that is installed
	for from, to := range map[string]string{"small.yaml": "study.yaml", "outcomes.csv": "outcomes.csv", "rules.yaml": "my.yaml"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "manual", from))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, to, string(raw))
	}
	stint(t, dir, 0, "run", "study.yaml", "-o", filepath.Join("runs", "demo"), "-q")
	stint(t, dir, 0, "classify", filepath.Join("runs", "demo"), "-q")
	stint(t, dir, 0, "audit", "sample", filepath.Join("runs", "demo"), "--n", "60", "-q")
	stint(t, dir, 0, "scenario", "new", "--changes", "3", "--count", "2", "-q")
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			examples(sub)
		}
		if name := c.CommandPath(); c.Name() == "demo" || c.Name() == "stint" || name == "stint harness install" || name == "stint harness check" ||
			name == "stint audit serve" || name == "stint view" || name == "stint worker" { // which serve until they are interrupted, or need one that does
			return
		}
		if c.Runnable() && c.Example == "" {
			t.Errorf("%s -h shows no example", c.CommandPath())
		}
		in := dir
		if c.Name() == "init" {
			in = t.TempDir()
		}
		for line := range strings.Lines(c.Example) {
			runExample(t, in, strings.TrimSpace(line))
		}
	}
	examples(newRootCmd(&env{Self: "stint", Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: os.Getenv}))
}

func runExample(t *testing.T, dir, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("$ %s: %v\n%s", line, err, out)
	}
}
