package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// RunDir is the folder of one study.
type RunDir struct{ Root string }

// NotRunDirError is a folder that holds no study.
type NotRunDirError struct{ Root, Reason string }

func (e *NotRunDirError) Error() string {
	return fmt.Sprintf("%s is no run directory (no study.yaml, no episodes/): %s", e.Root, e.Reason)
}

// Hint tells the way out.
func (e *NotRunDirError) Hint() string {
	return "name the folder `stint run` wrote (by default runs/NAME), or `stint ls` to see the studies below runs/"
}

// ExitCode is 2: the input is wrong.
func (e *NotRunDirError) ExitCode() int { return 2 }

// OpenRunDir opens a run directory. It holds study.yaml or episodes/ or both.
func OpenRunDir(root string) (*RunDir, error) {
	st, err := os.Stat(root)
	switch {
	case os.IsNotExist(err):
		return nil, &NotRunDirError{Root: root, Reason: "there is nothing of that name"}
	case err != nil:
		return nil, fmt.Errorf("opening run directory %s: %w", root, err)
	case !st.IsDir():
		return nil, &NotRunDirError{Root: root, Reason: "it is a file"}
	}
	d := &RunDir{Root: root}
	if st, err := os.Stat(d.StudyFile()); err == nil && st.Mode().IsRegular() {
		return d, nil
	}
	if st, err := os.Stat(d.EpisodesDir()); err == nil && st.IsDir() {
		return d, nil
	}
	return nil, &NotRunDirError{Root: root, Reason: "both are missing"}
}

// StudyFile is the frozen input of the study.
func (d *RunDir) StudyFile() string { return filepath.Join(d.Root, "study.yaml") }

// EpisodesDir holds one folder per episode.
func (d *RunDir) EpisodesDir() string { return filepath.Join(d.Root, "episodes") }

// EpisodeDir is the folder of one episode.
func (d *RunDir) EpisodeDir(id string) string { return filepath.Join(d.EpisodesDir(), id) }

// TablesDir holds the Parquet files, rebuilt from the journals at any time.
func (d *RunDir) TablesDir() string { return filepath.Join(d.Root, "tables") }

// ScenariosDir holds what was asked.
func (d *RunDir) ScenariosDir() string { return filepath.Join(d.Root, "scenarios") }

// ReportDir holds the report, rebuilt at any time.
func (d *RunDir) ReportDir() string { return filepath.Join(d.Root, "report") }

// PricesFile is the price table the study was run with.
func (d *RunDir) PricesFile() string { return filepath.Join(d.Root, "prices.yaml") }

// Episodes lists the ids of the episodes that have a folder, sorted. Links and other files are not
// episodes. A study that has not run yet has none.
func (d *RunDir) Episodes() ([]string, error) {
	entries, err := os.ReadDir(d.EpisodesDir())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the episodes of %s: %w", d.Root, err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && isEpisodeID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

func isEpisodeID(s string) bool {
	return len(s) == 12 && strings.Trim(s, "0123456789abcdef") == ""
}

// EpisodeID is the id of an episode: the first 12 hex digits of the SHA-256 over the study's name,
// the configuration, the content hash of the scenario and the repeat (from 1), separated by zero
// bytes.
func EpisodeID(study, config, content string, repeat int) string {
	h := sha256.Sum256([]byte(strings.Join([]string{study, config, content, strconv.Itoa(repeat)}, "\x00")))
	return hex.EncodeToString(h[:])[:12]
}
