package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowedImports is the graph of architecture: which of our packages may import which others, tests included.
// A package that is not named here is not allowed to exist.
var allowedImports = map[string][]string{
	"stats":             {},
	"logs":              {},
	"logs/logstest":     {"logs"},
	"classify":          {"logs", "stats"},
	"report":            {"logs", "stats", "classify", "report/reporttest"},
	"report/view":       {"logs", "stats", "classify", "report", "report/reporttest"},
	"report/reporttest": {},

	"cmd/stint/internal/scenario":      {},
	"cmd/stint/internal/oracle":        {"cmd/stint/internal/scenario"},
	"cmd/stint/internal/oracle/python": {"cmd/stint/internal/scenario"},
	"cmd/stint/internal/suite":         {"cmd/stint/internal/scenario", "cmd/stint/internal/oracle", "cmd/stint/internal/oracle/python"},
	"cmd/stint/internal/sandbox":       {"logs"},
	"cmd/stint/internal/gateway":       {"logs"},
	"cmd/stint/internal/harness": {"cmd/stint/internal/scenario", "cmd/stint/internal/oracle", "cmd/stint/internal/oracle/python",
		"cmd/stint/internal/sandbox", "cmd/stint/internal/gateway", "logs"},
	"cmd/stint/internal/episode": {"cmd/stint/internal/scenario", "cmd/stint/internal/suite", "cmd/stint/internal/harness",
		"cmd/stint/internal/sandbox", "cmd/stint/internal/gateway", "logs"},
	"cmd/stint/internal/study": {"cmd/stint/internal/scenario", "cmd/stint/internal/suite", "cmd/stint/internal/harness",
		"cmd/stint/internal/sandbox", "cmd/stint/internal/gateway", "cmd/stint/internal/episode", "logs", "stats"},
	"cmd/stint/internal/fleet": {"cmd/stint/internal/study", "cmd/stint/internal/episode", "logs"},
}

// goFiles calls f for every Go file of the repository with its package folder.
func goFiles(t *testing.T, f func(dir, file string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" || d.Name() == "runs") {
			return fs.SkipDir
		}
		if strings.HasSuffix(p, ".go") {
			rel, err := filepath.Rel(root, filepath.Dir(p))
			if err != nil {
				return err
			}
			f(filepath.ToSlash(rel), p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportGraph(t *testing.T) {
	const module = "github.com/stint-bench/stint/"
	files := 0
	goFiles(t, func(dir, file string) {
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		allowed, known := allowedImports[dir]
		for _, imp := range parsed.Imports {
			target := strings.Trim(imp.Path.Value, `"`)
			if target == "math/rand" {
				t.Errorf("%s imports math/rand; use math/rand/v2", file)
			}
			if strings.HasPrefix(target, "github.com/apache/arrow/") && dir != "logs" && dir != "report" {
				t.Errorf("%s imports Arrow; only logs and report may", file)
			}
			ours, ok := strings.CutPrefix(target, module)
			if !ok || dir == "cmd/stint" || ours == dir {
				continue
			}
			if !slices.Contains(allowed, ours) {
				t.Errorf("%s: %s may not import %s", file, dir, ours)
			}
		}
		if !known && dir != "cmd/stint" {
			t.Errorf("%s lies in %s, which the layout does not have", file, dir)
		}
	})
	if files < 20 {
		t.Errorf("only %d Go files found: is the walk broken?", files)
	}
}

// TestLayout holds the top level to what is fixed.
func TestLayout(t *testing.T) {
	allowed := []string{"cmd", "stats", "classify", "report", "logs", "go.mod", "go.sum", "README.md", "LICENSE", "runs"}
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			t.Errorf("top level has %s; only %s and dotfiles belong there", e.Name(), path.Join(allowed...))
		}
	}
}
