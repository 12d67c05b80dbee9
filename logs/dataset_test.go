package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArrowAndPartitions writes the same tables in three ways and reads them back.
func TestArrowAndPartitions(t *testing.T) {
	tables := sampleTables(t)
	tables.sortRows()
	arrowDir, parts := t.TempDir(), t.TempDir()
	if err := WriteArrow(arrowDir, tables); err != nil {
		t.Fatal(err)
	}
	if err := WriteTables(parts, tables); err != nil {
		t.Fatal(err)
	}
	if err := PartitionTables(parts, "config"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{arrowDir, parts} {
		got, err := ReadTablesWith(dir, ReadOptions{Events: true})
		if err != nil {
			t.Fatal(err)
		}
		got.sortRows()
		if diff := cmp.Diff(Digest(tables), Digest(got)); diff != "" {
			t.Errorf("%s: −written +read\n%s", dir, diff)
		}
		if diff := cmp.Diff(tables.Events, got.Events); diff != "" {
			t.Errorf("%s: events −written +read\n%.2000s", dir, diff)
		}
	}
	config := tables.Episodes[0].Config
	if _, err := os.Stat(filepath.Join(parts, "checks", "config="+foldName(config), "part-0.parquet")); err != nil || strings.Contains(foldName(config), "/") {
		t.Error(err)
	}
	for _, by := range []string{"nothing", "episode", "seed", "tokens_input"} {
		if err := PartitionTables(arrowDir, by); err == nil || CheckPartition(by) == nil {
			t.Errorf("divided by %s", by)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(parts, ".*")); len(left) > 0 {
		t.Error(left)
	}
}

// someColumns is a projection of checks.
type someColumns struct {
	Check string `col:"check"`
	Last  *int   `col:"last_passed_turn"`
}

func TestRowsFilter(t *testing.T) {
	tables := &Tables{}
	for i := range 400 {
		tables.Checks = append(tables.Checks, CheckRow{Episode: "e" + string(rune('a'+i/40)), Turn: i, Check: "k", Clauses: []string{}, Actual: strings.Repeat("x", 50_000), LastPassedTurn: ptr(i % 7)})
	}
	dir := t.TempDir()
	if err := WriteTables(dir, tables); err != nil {
		t.Fatal(err)
	}
	if err := WriteArrow(dir, tables); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter string
		rows   int
	}{{"", 400}, {"episode:ec", 40}, {"-episode:ec", 360}, {"turn:(3 OR 4) last_passed_turn:4", 1}, {"last_passed_turn:6", 57}, {"episode:nobody", 0}, {"turn:x", 0}, {"episode:ea OR turn:399", 41}, {"config:c", 0}, {"check:k", 400}, {"check:k turn:7", 1}, {"-check:k", 0}, {"check:(j OR k) -turn:7", 399}, {"turn:007", 0}} {
		e, err := ParseExpr(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"checks.parquet", "checks.arrow"} {
			n, err := 0, error(nil)
			for row, e := range Rows[someColumns](filepath.Join(dir, file), e) {
				if err = e; err != nil {
					break
				}
				if row.Check != "k" || row.Last == nil {
					t.Fatalf("%+v", row)
				}
				n++
			}
			if fails := c.filter == "config:c"; n != c.rows || (err != nil) != fails {
				t.Errorf("%s, %q: %d rows, want %d (%v)", file, c.filter, n, c.rows, err)
			}
		}
	}
	// Row groups without matching rows are not read at all.
	p, err := openParquet(filepath.Join(dir, "checks.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	e, _ := ParseExpr("episode:ec")
	s := &tableScan[someColumns]{cols: columnsOf[someColumns](), filter: e}
	read := 0
	for g := range p.r.NumRowGroups() {
		if s.chance(p, g, &datasetFile{}) != never {
			read++
		}
	}
	same, _ := ParseExpr("check:k -episode:nobody")
	s.filter = same
	if c := s.chance(p, 0, &datasetFile{}); c != always {
		t.Errorf("every row matches, but the chance is %d", c)
	}
	if read == 0 || read > p.r.NumRowGroups()/2 {
		t.Errorf("%d of %d row groups are read", read, p.r.NumRowGroups())
	}
	for range Rows[someColumns](filepath.Join(dir, "checks.parquet"), Expr{}) {
		break // leaving early is fine
	}
	type wrong struct {
		Nothing string `col:"nothing"`
	}
	for _, err := range Rows[wrong](filepath.Join(dir, "checks.parquet"), Expr{}) {
		if err == nil || !strings.Contains(err.Error(), "nothing") {
			t.Error(err)
		}
	}
}

// TestArrowBroken reads an Arrow file torn or with a changed byte at many places: an error or rows, never a panic.
func TestArrowBroken(t *testing.T) {
	dir := t.TempDir()
	tables := sampleTables(t)
	tables.Checks = tables.Checks[:min(len(tables.Checks), 5)]
	if err := WriteArrow(dir, tables); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "checks.arrow")
	good := readFile(t, path)
	read := func(b []byte) (err error) {
		mustWrite(t, path, string(b), 0o644)
		for _, e := range Rows[CheckRow](path, Expr{}) {
			err = e
		}
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	step := max(1, len(good)/40)
	for i := 0; i < len(good); i += step {
		if err := read(good[:i]); err == nil {
			t.Errorf("torn after %d of %d bytes: no error", i, len(good))
		}
		bad := append([]byte{}, good...)
		bad[i] ^= 0xff
		_ = read(bad)
	}
}
