package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// stampName is the file beside the tables that says what they were made from.
const stampName = ".made-from"

// sourceStamp holds hashes over the names, sizes and times of what the tables are made from.
type sourceStamp struct{ journals, verdicts string }

// tablesVersion changes whenever the same journals give other tables.
const tablesVersion = 2

// stamp looks at the run directory without reading a journal. Journals only grow, and a change of one
// changes its time, so equal stamps mean equal tables.
func (d *RunDir) stamp() (sourceStamp, error) {
	ids, err := d.Episodes()
	if err != nil {
		return sourceStamp{}, err
	}
	var journals, verdicts []string
	for _, id := range ids {
		journals = append(journals, filepath.Join(d.EpisodeDir(id), JournalName))
		wasted, err := d.WastedJournals(id)
		if err != nil {
			return sourceStamp{}, err
		}
		journals = append(journals, wasted...)
	}
	for _, name := range verdictFiles {
		verdicts = append(verdicts, filepath.Join(d.VerdictsDir(), name))
	}
	return sourceStamp{hashStates(d.Root, journals), hashStates(d.Root, verdicts)}, nil
}

// hashStates hashes the sizes and times of those of the files that exist.
func hashStates(root string, paths []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "stint.tables/%d\n", tablesVersion)
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			continue
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			name = path
		}
		fmt.Fprintf(h, "%s %d %d\n", filepath.ToSlash(name), st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s sourceStamp) String() string {
	return "journals " + s.journals + "\nverdicts " + s.verdicts + "\n"
}

func (s sourceStamp) write(dir string) error {
	return writeAtomic(filepath.Join(dir, stampName), func(w io.Writer) error {
		_, err := io.WriteString(w, s.String())
		return err
	})
}

// readStamp is empty if there is no stamp.
func readStamp(dir string) sourceStamp {
	f, err := openRegular(filepath.Join(dir, stampName))
	if err != nil {
		return sourceStamp{}
	}
	defer f.Close()
	var s sourceStamp
	if _, err := fmt.Fscanf(io.LimitReader(f, 256), "journals %s\nverdicts %s\n", &s.journals, &s.verdicts); err != nil {
		return sourceStamp{}
	}
	return s
}

// Fresh says whether the tables of the run directory hold everything its journals and verdicts hold
// now. It compares sizes and times with those at the last [IngestRun] into [RunDir.TablesDir], without
// reading a journal. False may also mean that it cannot tell, or that something could not be read.
func (d *RunDir) Fresh() bool {
	now, err := d.stamp()
	return err == nil && readStamp(d.TablesDir()) == now && d.allTables()
}

func (d *RunDir) allTables() bool {
	for _, name := range TableNames() {
		if st, err := os.Lstat(filepath.Join(d.TablesDir(), name+".parquet")); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// RelabelRun brings the tables of the run directory up to date. If nothing but the verdicts changed,
// only the tables verdicts and episodes are written, with the bytes [IngestRun] would write.
func RelabelRun(d *RunDir, opt IngestOptions) ([]Problem, error) {
	now, err := d.stamp()
	if err != nil {
		return nil, err
	}
	old := readStamp(d.TablesDir())
	if old == now && d.allTables() {
		return nil, nil
	}
	if old.journals == now.journals && d.allTables() {
		if problems, err := relabel(d, now); err == nil {
			return problems, nil
		}
	}
	_, problems, err := IngestRun(d, d.TablesDir(), opt)
	return problems, err
}

func relabel(d *RunDir, now sourceStamp) ([]Problem, error) {
	dir := d.TablesDir()
	problems, err := relabelTables(d, dir)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	return nil, now.write(dir)
}

// IsTables says whether a folder holds the tables that [IngestLogs] made of logs.
func IsTables(dir string) bool {
	for _, name := range TableNames() {
		if st, err := os.Lstat(filepath.Join(dir, name+".parquet")); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// RelabelTables puts the verdicts below a folder of tables that [IngestLogs] made, in verdicts/, into its tables verdicts
// and episodes.
func RelabelTables(dir string) ([]Problem, error) { return relabelTables(&RunDir{Root: dir}, dir) }

// relabelTables writes the tables verdicts and episodes in dir anew, with the verdicts of the run directory.
func relabelTables(d *RunDir, dir string) ([]Problem, error) {
	verdicts, problems, err := ReadVerdicts(d)
	if err != nil {
		return nil, err
	}
	t := &Tables{Verdicts: verdicts}
	if err := errors.Join(readTable(dir, "episodes", &t.Episodes), readTable(dir, "attempts", &t.Attempts)); err != nil {
		return nil, err
	}
	t.SetEnds()
	w := &tablesWriter{dir: dir}
	defer w.abort()
	if w.episodes, err = createTable[EpisodeRow](w, nil, "episodes"); err != nil {
		return nil, err
	}
	if w.verdicts, err = createTable[VerdictRow](w, nil, "verdicts"); err != nil {
		return nil, err
	}
	if err := errors.Join(w.episodes.add(t.Episodes), w.verdicts.add(t.Verdicts), w.commit()); err != nil {
		return nil, err
	}
	return problems, nil
}
