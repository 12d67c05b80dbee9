package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/classify"
)

// A label is one line of a file of labels.
type label struct {
	Item      string
	Annotator string // "" = the file's name
	Scenario  string
	Leaves    []string // several where any of them is right
	USD       *float64
	Tokens    int64
}

// maxLabelFile bounds a file of labels.
const maxLabelFile = 256 << 20

const labelHint = "a file of labels is CSV with a header or JSON lines with: verdict (EPISODE@TURN.ATTEMPT) or episode, turn and attempt; leaf (or l1); and, if known, annotator, scenario, usd, tokens"

// readLabels reads CSV or JSON lines of labels; rows of verdicts/*.jsonl are such lines.
func readLabels(path string, book *classify.Taxonomy) ([]label, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, inputErrorf(labelHint, "reading labels: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxLabelFile {
		return nil, inputErrorf(labelHint, "labels %s: it is no file of at most %d MiB", clean(path), maxLabelFile>>20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, inputErrorf(labelHint, "reading labels: %w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	read := csvLabels
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		read = jsonLabels
	}
	var out []label
	err = read(b, func(line int, cells map[string]string) error {
		l, err := labelOf(cells)
		if err == nil {
			for _, leaf := range l.Leaves {
				if _, level := book.Levels[leaf]; leaf != "" && !level && book.Leaf(leaf) == nil && classify.NoLabel != leaf {
					err = fmt.Errorf("%q is no leaf and no level of %s", leaf, book.Name)
				}
			}
		}
		if err != nil {
			return inputErrorf(labelHint, "%s:%d: %w", clean(path), line, err)
		}
		if l.Annotator == "" {
			l.Annotator = filepath.Base(path)
		}
		out = append(out, l)
		return nil
	})
	var own *exitError
	if err != nil && !errors.As(err, &own) {
		err = inputErrorf(labelHint, "%s: %w", clean(path), err)
	}
	if err == nil && len(out) == 0 {
		err = inputErrorf(labelHint, "%s holds no label", clean(path))
	}
	return out, err
}

func csvLabels(b []byte, each func(line int, cells map[string]string) error) error {
	r := csv.NewReader(bytes.NewReader(b))
	if line, _, _ := bytes.Cut(b, []byte("\n")); bytes.ContainsRune(line, '\t') {
		r.Comma = '\t'
	}
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("reading the header: %w", err)
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		cells := map[string]string{}
		for i, name := range header {
			cells[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(row[i])
		}
		if err := each(line, cells); err != nil {
			return err
		}
	}
}

func jsonLabels(b []byte, each func(line int, cells map[string]string) error) error {
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 16<<20)
	for line := 1; sc.Scan(); line++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		cells := map[string]string{}
		for name, raw := range row {
			var s string
			if json.Unmarshal(raw, &s) != nil { // a number, or nothing of ours
				s = string(raw)
			}
			if s != "null" {
				cells[name] = s
			}
		}
		if err := each(line, cells); err != nil {
			return err
		}
	}
	return sc.Err()
}

var verdictName = regexp.MustCompile(`^.+@\d+\.\d+$`)

func labelOf(cells map[string]string) (label, error) {
	l := label{Annotator: cells["annotator"], Scenario: cells["scenario"]}
	for _, name := range []string{"verdict", "item", "id"} {
		if l.Item == "" {
			l.Item = cells[name]
		}
	}
	if l.Item == "" && cells["episode"] != "" {
		l.Item = fmt.Sprintf("%s@%s.%s", cells["episode"], cells["turn"], cells["attempt"])
		if !verdictName.MatchString(l.Item) {
			return l, fmt.Errorf("turn %q and attempt %q are no numbers", cells["turn"], cells["attempt"])
		}
	}
	if l.Item == "" {
		return l, errors.New("it does not say what is labelled")
	}
	text, found := cells["leaf"]
	if !found || text == "" {
		for _, name := range []string{"label", "l1"} {
			if v, ok := cells[name]; ok && text == "" {
				text, found = v, true
			}
		}
	}
	if !found {
		return l, errors.New("it has no leaf")
	}
	for _, leaf := range strings.Split(text, "|") {
		l.Leaves = append(l.Leaves, strings.TrimSpace(leaf))
	}
	for name, into := range map[string]func(float64){"usd": func(v float64) { l.USD = &v }, "tokens": func(v float64) { l.Tokens = int64(v) }} {
		if cells[name] == "" {
			continue
		}
		v, err := strconv.ParseFloat(cells[name], 64)
		if err != nil || v < 0 || v > 1e15 {
			return l, fmt.Errorf("%s is %q, and no amount", name, cells[name])
		}
		into(v)
	}
	return l, nil
}

// truthOfLabels is a file of labels as truth: one line per item.
func truthOfLabels(labels []label, path string) ([]truthItem, error) {
	seen := map[string]bool{}
	var out []truthItem
	for _, l := range labels {
		if seen[l.Item] {
			return nil, inputErrorf("leave one line per item, or write the leaves that are all right as a|b", "%s: %s has two labels, and one is the truth", clean(path), clean(l.Item))
		}
		seen[l.Item] = true
		right := slices.DeleteFunc(slices.Clone(l.Leaves), func(s string) bool { return s == "" })
		if len(right) == 0 {
			continue // nobody knows
		}
		out = append(out, truthItem{Item: l.Item, Scenario: l.Scenario, Right: right})
	}
	return out, nil
}
