package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// stampName is the file beside the tables that says what they were made from.
const stampName = ".made-from"

// sourceStamp is a hash over the names, sizes and times of everything the tables are made from.
type sourceStamp string

// stamp looks at the run directory without reading a journal. Journals only grow, and a change of one
// changes its time, so equal stamps mean equal tables.
func (d *RunDir) stamp() (sourceStamp, error) {
	ids, err := d.Episodes()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "stint.tables/%d\n", tablesVersion)
	note := func(name, path string) {
		if st, err := os.Lstat(path); err == nil {
			fmt.Fprintf(h, "%s %d %d\n", name, st.Size(), st.ModTime().UnixNano())
		}
	}
	for _, id := range ids {
		note(id, filepath.Join(d.EpisodeDir(id), JournalName))
	}
	for _, name := range verdictFiles {
		note(name, filepath.Join(d.VerdictsDir(), name))
	}
	return sourceStamp(hex.EncodeToString(h.Sum(nil))), nil
}

// tablesVersion changes whenever the same journals give other tables.
const tablesVersion = 2

func (s sourceStamp) write(dir string) error {
	return writeAtomic(filepath.Join(dir, stampName), func(w io.Writer) error {
		_, err := io.WriteString(w, string(s)+"\n")
		return err
	})
}

// Fresh says whether the tables of the run directory hold everything its journals and verdicts hold
// now. It compares sizes and times with those at the last [IngestRun] into [RunDir.TablesDir], without
// reading a journal. False may also mean that it cannot tell, or that something could not be read.
func (d *RunDir) Fresh() bool {
	f, err := openRegular(filepath.Join(d.TablesDir(), stampName))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return false
	}
	now, err := d.stamp()
	if err != nil || strings.TrimSpace(string(text)) != string(now) {
		return false
	}
	for _, name := range TableNames() {
		if st, err := os.Lstat(filepath.Join(d.TablesDir(), name+".parquet")); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return true
}
