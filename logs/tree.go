package logs

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A snapshot is a tree of blobs, one per folder: text lines sorted by name, so that an unchanged
// folder is the same blob and is neither read nor written again.
//
//	stint-tree 1
//	f SHA SIZE LINES "name"          a file; x instead of f: it is executable; LINES: see countLines
//	d SHA FILES BYTES LINES "name"   a folder and what it holds in all
//	l "name" "target"                a symlink, never followed
//
// Names are quoted Go strings, which keep any bytes.
const treeHead = "stint-tree 1\n"

type entryKind byte

const (
	plainFile      entryKind = 'f'
	executableFile entryKind = 'x'
	folder         entryKind = 'd'
	symlink        entryKind = 'l'
)

type treeEntry struct {
	kind   entryKind
	name   string
	sha    string // file: content; folder: its tree
	bytes  int64
	files  int   // folder only
	lines  int64 // non-blank lines; 0 for what is no text
	target string
}

func (e treeEntry) isFile() bool { return e.kind == plainFile || e.kind == executableFile }

func encodeTree(entries []treeEntry) []byte {
	b := []byte(treeHead)
	for _, e := range entries {
		b = append(b, byte(e.kind), ' ')
		switch e.kind {
		case folder:
			b = fmt.Appendf(b, "%s %d %d %d %q\n", e.sha, e.files, e.bytes, e.lines, e.name)
		case symlink:
			b = fmt.Appendf(b, "%q %q\n", e.name, e.target)
		default:
			b = fmt.Appendf(b, "%s %d %d %q\n", e.sha, e.bytes, e.lines, e.name)
		}
	}
	return b
}

// decodeTree reads what encodeTree wrote and refuses everything that could leave the folder it is
// restored into: names with a slash, "..", duplicates.
func decodeTree(p []byte) ([]treeEntry, error) {
	rest, ok := bytes.CutPrefix(p, []byte(treeHead))
	if !ok {
		return nil, fmt.Errorf("not a snapshot tree")
	}
	var entries []treeEntry
	for n := 2; len(rest) > 0; n++ {
		line, after, found := strings.Cut(string(rest[:lineEnd(rest)]), "\n")
		if !found || after != "" {
			return nil, fmt.Errorf("tree line %d has no end", n)
		}
		rest = rest[len(line)+1:]
		e, err := decodeEntry(line)
		if err != nil {
			return nil, fmt.Errorf("tree line %d: %w", n, err)
		}
		if len(entries) > 0 && entries[len(entries)-1].name >= e.name {
			return nil, fmt.Errorf("tree line %d: %q is out of order", n, e.name)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func lineEnd(p []byte) int {
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		return i + 1
	}
	return len(p)
}

func decodeEntry(line string) (e treeEntry, err error) {
	if len(line) < 2 || line[1] != ' ' {
		return e, fmt.Errorf("no entry")
	}
	e.kind, line = entryKind(line[0]), line[2:]
	switch e.kind {
	case symlink:
		var quoted string
		if quoted, err = strconv.QuotedPrefix(line); err != nil {
			return e, fmt.Errorf("name of a link: %w", err)
		}
		if e.target, err = strconv.Unquote(strings.TrimPrefix(line[len(quoted):], " ")); err != nil {
			return e, fmt.Errorf("target of a link: %w", err)
		}
		line = quoted
	case folder, plainFile, executableFile:
		fields := 3
		if e.kind == folder {
			fields = 4
		}
		part := strings.SplitN(line, " ", fields+1)
		if len(part) != fields+1 || !isSHA(part[0]) {
			return e, fmt.Errorf("no entry of kind %c", e.kind)
		}
		num := make([]int64, fields-1)
		for i := range num {
			if num[i], err = strconv.ParseInt(part[i+1], 10, 64); err != nil || num[i] < 0 {
				return e, fmt.Errorf("no number: %q", part[i+1])
			}
		}
		e.sha, line = part[0], part[fields]
		if e.kind == folder {
			e.files, num = int(num[0]), num[1:]
		}
		e.bytes, e.lines = num[0], num[1]
	default:
		return e, fmt.Errorf("unknown kind %q", byte(e.kind))
	}
	if e.name, err = strconv.Unquote(line); err != nil {
		return e, fmt.Errorf("name: %w", err)
	}
	if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsAny(e.name, "/\x00") {
		return e, fmt.Errorf("%q is no name", e.name)
	}
	return e, nil
}

// dependencyFolders hold code that is not the agent's; they count neither for LOC nor for churn.
var dependencyFolders = map[string]bool{
	".git": true, ".hg": true, ".svn": true,
	"node_modules": true, "bower_components": true, ".yarn": true, ".pnpm-store": true,
	"vendor": true, "third_party": true, "site-packages": true, "dist-packages": true,
	"venv": true, ".venv": true, ".tox": true, ".nox": true, ".eggs": true,
	"__pycache__": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true, ".cache": true,
	"target": true, "dist": true, ".gradle": true, ".m2": true, ".cargo": true, ".next": true,
}

// maxText bounds the files whose lines are counted or compared.
const maxText = 8 << 20

// isText says whether p looks like text: no zero byte near its beginning.
func isText(p []byte) bool {
	return len(p) <= maxText && bytes.IndexByte(p[:min(len(p), 8000)], 0) < 0
}

// countLines counts the non-blank lines of a text; 0 for what is no text.
func countLines(p []byte) int64 {
	if !isText(p) {
		return 0
	}
	var n int64
	for len(p) > 0 {
		end := lineEnd(p)
		if len(bytes.TrimSpace(p[:end])) > 0 {
			n++
		}
		p = p[end:]
	}
	return n
}

// Churn counts the non-blank lines that were added and deleted between two snapshots, in text files
// outside dependency folders. Within a file equal lines cancel out wherever they stand, so a moved
// line is no change. oldTree may be "": everything is new. Unchanged folders are not opened.
func Churn(b *Blobs, oldTree, newTree string) (added, deleted int64, err error) {
	c := churn{blobs: b}
	w := treeWalk{blobs: b, differ: func(_ string, a, b treeEntry) error { return c.differ(a, b) }}
	if err := w.folders(oldTree, newTree, "", 0); err != nil {
		return 0, 0, fmt.Errorf("comparing snapshots %s and %s: %w", short(oldTree), short(newTree), err)
	}
	return c.added, c.deleted, nil
}

type churn struct {
	blobs          *Blobs
	added, deleted int64
}

// treeWalk goes through two snapshots and calls differ with the files that are not the same in both, outside
// dependency folders; a zero entry is absent.
type treeWalk struct {
	blobs  *Blobs
	differ func(name string, a, b treeEntry) error
	links  bool // differ is told of links and of executable bits too
}

func (c *treeWalk) load(tree string) ([]treeEntry, error) {
	if tree == "" {
		return nil, nil
	}
	p, err := c.blobs.Get(tree)
	if err != nil {
		return nil, err
	}
	return decodeTree(p)
}

func (c *treeWalk) folders(oldTree, newTree, dir string, depth int) error {
	if oldTree == newTree {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("folders are nested deeper than %d", maxDepth)
	}
	before, err := c.load(oldTree)
	if err != nil {
		return err
	}
	after, err := c.load(newTree)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var a, b treeEntry
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].name < after[0].name:
			a, before = before[0], before[1:]
		case len(before) == 0 || after[0].name < before[0].name:
			b, after = after[0], after[1:]
		default:
			a, b, before, after = before[0], after[0], before[1:], after[1:]
		}
		if err := c.entries(a, b, dir, depth); err != nil {
			return fmt.Errorf("%s: %w", path.Join(a.name, b.name), err)
		}
	}
	return nil
}

// entries compares what two snapshots hold under one name; a zero entry is absent.
func (c *treeWalk) entries(a, b treeEntry, dir string, depth int) error {
	aDir, bDir := "", ""
	if a.kind == folder && !dependencyFolders[a.name] {
		aDir = a.sha
	}
	if b.kind == folder && !dependencyFolders[b.name] {
		bDir = b.sha
	}
	name := path.Join(dir, cmp.Or(a.name, b.name))
	if err := c.folders(aDir, bDir, name, depth+1); err != nil {
		return err
	}
	if !a.isFile() && (!c.links || a.kind != symlink) {
		a = treeEntry{}
	}
	if !b.isFile() && (!c.links || b.kind != symlink) {
		b = treeEntry{}
	}
	if a.sha == b.sha && (!c.links || a.kind == b.kind && a.target == b.target) {
		return nil
	}
	return c.differ(name, a, b)
}

// differ counts what was added to and deleted from one file.
func (c *churn) differ(a, b treeEntry) error {
	if a.lines == 0 || b.lines == 0 {
		c.deleted += a.lines
		c.added += b.lines
		return nil
	}
	return c.lines(a, b)
}

func (c *churn) lines(a, b treeEntry) error {
	before, err := c.blobs.Get(a.sha)
	if err != nil {
		return err
	}
	after, err := c.blobs.Get(b.sha)
	if err != nil {
		return err
	}
	count := map[string]int64{}
	for len(before) > 0 {
		end := lineEnd(before)
		count[string(bytes.TrimRight(before[:end], "\r\n"))]--
		before = before[end:]
	}
	for len(after) > 0 {
		end := lineEnd(after)
		count[string(bytes.TrimRight(after[:end], "\r\n"))]++
		after = after[end:]
	}
	for line, n := range count {
		switch {
		case strings.TrimSpace(line) == "":
		case n > 0:
			c.added += n
		default:
			c.deleted -= n
		}
	}
	return nil
}
