package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Set is a folder of scenario files s01.json, s02.json, … of the same length.
type Set struct {
	Dir   string
	Files []*File // scenario i is Files[i]
}

// ReadSet reads a folder of scenario files. A gap in the numbers, files of different length and two of the same
// content are a *FileError: the first means that something was lost, the last that one pairing unit counts twice.
func ReadSet(dir string) (*Set, error) {
	names, err := setNames(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: dir}
	first := map[string]string{}
	for i, name := range names {
		want := ScenarioName(i)
		if name != want {
			return nil, &FileError{Path: dir, Message: fmt.Sprintf("%s.json is missing, but there is %s.json", want, name), Way: "stint scenario new with the same options writes what is missing"}
		}
		f, err := ReadFile(s.Path(i))
		if err != nil {
			return nil, err
		}
		switch {
		case f.Name != want:
			return nil, &FileError{Path: s.Path(i), Message: fmt.Sprintf("it holds the scenario %s", f.Name), Way: "name the file after the scenario in it"}
		case i > 0 && f.Changes != s.Files[0].Changes:
			return nil, &FileError{Path: s.Path(i), Message: fmt.Sprintf("it has %d changes, but s01 has %d", f.Changes, s.Files[0].Changes),
				Way: "scenarios of different length belong into different folders"}
		case first[f.Content] != "":
			return nil, &FileError{Path: s.Path(i), Message: fmt.Sprintf("it has the same content as %s", first[f.Content]), Way: "take one of them away"}
		}
		first[f.Content] = want
		s.Files = append(s.Files, f)
	}
	return s, nil
}

// Path is the name of the file of scenario i.
func (s *Set) Path(i int) string { return filepath.Join(s.Dir, ScenarioName(i)+".json") }

// Changes is the number of changes of every scenario.
func (s *Set) Changes() int { return s.Files[0].Changes }

// Find returns the position of a scenario that a person names: s07 or 7.
func (s *Set) Find(name string) (int, error) {
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "s")); err == nil && n >= 1 && n <= len(s.Files) {
		return n - 1, nil
	}
	return 0, &FileError{Path: s.Dir, Message: fmt.Sprintf("there is no scenario %q", name), Way: fmt.Sprintf("it has %s to %s", ScenarioName(0), ScenarioName(len(s.Files)-1))}
}

// setNames lists the scenarios of a folder by number.
func setNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{Path: dir, Message: "there is no such folder", Way: "stint scenario new -o DIR makes a set of scenarios"}
	case err != nil:
		return nil, fmt.Errorf("reading the folder of scenarios: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && fileName.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, &FileError{Path: dir, Message: "there is no scenario file in it", Way: "stint scenario new -o DIR makes a set of scenarios"}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, _ := strconv.Atoi(a[1:])
		y, _ := strconv.Atoi(b[1:])
		return x - y
	})
	return names, nil
}
