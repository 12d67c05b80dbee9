package episode

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// codeBase writes a correct service of a turn, with the SPEC.md that its agent would have had, and returns the tree:
// what the next turn starts from under teleport.
func (l *loop) codeBase(turn int) (tree string, err error) {
	dir := filepath.Join(l.box.root, "base")
	if err := renew(dir); err != nil {
		return "", err
	}
	if err := harness.WriteCorrect(dir, l.spec.Scenario.Steps[turn].Schema); err != nil {
		return "", err
	}
	if text := l.specFile(turn); text != "" {
		if err := os.WriteFile(filepath.Join(dir, specName), []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("writing %s of turn %d: %w", specName, turn, err)
		}
	}
	snap, err := logs.TakeSnapshot(l.blobs, dir, l.spec.Snapshot)
	if err != nil {
		return "", fmt.Errorf("keeping the code base of turn %d: %w", turn, err)
	}
	return snap.Tree, removeAll(dir)
}
