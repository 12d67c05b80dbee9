package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Rows streams the rows of a table: of a Parquet file, of an Arrow file (.arrow), or of a folder of such files, whose
// names may tell columns (config=…/part-0.parquet). T is a struct with col tags, as [EpisodeRow] is; columns that it
// does not name are not read, and neither are row groups and files that the filter rules out. The keys of the filter are
// columns of the table, of T or not; a null is "". One row group is held at a time.
//
//	type row struct {
//		Config string `col:"config"`
//		Turns  *int   `col:"turns_passed"`
//	}
//	for r, err := range logs.Rows[row]("tables/episodes.parquet", filter) { … }
//
// An error ends the rows. A file that arrow v17 would read wrongly is an error that says what to do about it.
func Rows[T any](path string, filter Expr) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		files, err := datasetFiles(path)
		s := &tableScan[T]{cols: columnsOf[T](), filter: filter, yield: yield}
		for i := 0; err == nil && i < len(files); i++ {
			if err = s.file(&files[i]); errors.Is(err, errEnough) {
				return
			}
		}
		if err != nil {
			var t T
			yield(t, err)
		}
	}
}

var errEnough = errors.New("enough")

// datasetFile is a file of a table, with the columns that its folders tell.
type datasetFile struct {
	path  string
	folds map[string]string
}

// chance is what the folders say about a key having one of some values.
func (f *datasetFile) chance(key string, values []string) chance {
	v, ok := f.folds[key]
	return sureIf(ok, slices.Contains(values, v))
}

// noValue is the folder of rows whose value is null.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// datasetFiles lists the files of a table in the order of their paths. What begins with a dot or an underscore is none.
func datasetFiles(path string) ([]datasetFile, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []datasetFile{{path: path}}, nil
	}
	var files []datasetFile
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != path && strings.ContainsAny(d.Name()[:1], "._"):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && (strings.HasSuffix(p, ".parquet") || strings.HasSuffix(p, ".arrow")):
			rel, err := filepath.Rel(path, filepath.Dir(p))
			if err != nil {
				return err
			}
			files = append(files, datasetFile{p, foldColumns(filepath.ToSlash(rel))})
		}
		return nil
	})
	return files, err
}

// foldColumns are the columns in the names of folders: key=value, with %XX for what a name cannot hold.
func foldColumns(rel string) map[string]string {
	columns := map[string]string{}
	for _, part := range strings.Split(rel, "/") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		if value == noValue {
			value = ""
		} else if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		columns[key] = value
	}
	return columns
}

// tableScan reads the files of a table.
type tableScan[T any] struct {
	cols   []column
	filter Expr
	yield  func(T, error) bool
}

func (s *tableScan[T]) file(f *datasetFile) error {
	if s.filter.possible(f.chance) == never {
		return nil
	}
	var err error
	if strings.HasSuffix(f.path, ".arrow") {
		err = s.arrowFile(f)
	} else {
		err = s.parquetFile(f)
	}
	var known *TableError
	if err == nil || errors.Is(err, errEnough) || errors.As(err, &known) {
		return err
	}
	return &TableError{File: f.path, Text: err.Error(), Way: "write it again with the tool it came from"}
}

// emit hands on the rows that match: all of them if sure is set. extra has the filter's columns that T does not name.
func (s *tableScan[T]) emit(f *datasetFile, rows []T, extra map[string][]string, sure bool) error {
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for c := range s.cols {
			if v, ok := f.folds[s.cols[c].name]; ok {
				if err := s.cols[c].parse(row, v); err != nil {
					return fmt.Errorf("column %s of its folders: %w", s.cols[c].name, err)
				}
			}
		}
		if sure {
			if !s.yield(rows[i], nil) {
				return errEnough
			}
			continue
		}
		ok, err := s.filter.Match(func(key string) (string, bool) {
			if v, ok := f.folds[key]; ok {
				return v, true
			}
			if v, ok := extra[key]; ok {
				return v[i], true
			}
			for c := range s.cols {
				if s.cols[c].name == key {
					return s.cols[c].text(row), true
				}
			}
			return "", false
		})
		if err != nil {
			return err
		}
		if ok && !s.yield(rows[i], nil) {
			return errEnough
		}
	}
	return nil
}

// outside lists the filter's columns that neither T nor the folders have.
func (s *tableScan[T]) outside(f *datasetFile) []string {
	var keys []string
	for _, k := range s.filter.keys() {
		_, fold := f.folds[k]
		if !fold && !slices.ContainsFunc(s.cols, func(c column) bool { return c.name == k }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// parse stores a text in the field of a row; "" is null where there may be one.
func (c *column) parse(row reflect.Value, text string) error {
	if c.nullable && text == "" {
		return nil
	}
	switch c.kind {
	case textColumn:
		c.set(row, reflect.ValueOf(text))
	case intColumn:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", clip(text, 60))
		}
		c.set(row, reflect.ValueOf(n))
	default:
		return errors.New("only text and whole numbers are read from names")
	}
	return nil
}
