package logs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// GitHistory writes the workspaces of one episode as a stream for git fast-import
// (https://git-scm.com/docs/git-fast-import): a commit per attempt in the order of the journal, on the branch main, with
// the time at which the attempt began and the grade as its message, and a tag turn-N where a turn was passed. The same
// episode gives the same hashes everywhere. Nothing of the agent's is executed, links stay links, and whatever is called
// .git, which git itself would read, is left out and named in the message; the bytes of files are as the agent left
// them. An episode without any snapshot gives no commit; n is the number of commits.
func GitHistory(ctx context.Context, d *RunDir, t *Tables, episode string, w io.Writer) (n int, err error) {
	x := &exporting{run: d, tables: t, opt: ExportOptions{Keep: func(e *EpisodeRow) bool { return e.Episode == episode }}}
	g := &gitStream{w: bufio.NewWriter(w), blobs: existingBlobs(d, episode), marks: map[string]int{}}
	err = x.episodes(ctx, func(e *exportEpisode) error {
		for _, a := range e.attempts {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := g.attempt(d, e, a); err != nil {
				return fmt.Errorf("turn %d: %w", a.Turn, err)
			}
		}
		return nil
	})
	if err == nil {
		err = g.w.Flush()
	}
	if err != nil {
		return g.commits, fmt.Errorf("writing the history of %s: %w", episode, err)
	}
	return g.commits, nil
}

type gitStream struct {
	w       *bufio.Writer
	blobs   *Blobs
	marks   map[string]int // by hash of the content, or by the target of a link
	mark    int
	last    int // mark of the last commit
	commits int
	left    []string // what is left out of the commit that is being made
}

func (g *gitStream) attempt(d *RunDir, e *exportEpisode, a *AttemptRow) error {
	if a.Snapshot == nil && g.last == 0 || g.blobs == nil {
		return nil // nothing is there yet
	}
	_, began, err := attemptStart(d, a)
	if err != nil {
		return err
	}
	if began == nil {
		began = &restoredTime
	}
	var files []string
	g.left = nil
	if a.Snapshot != nil {
		files = append(files, "deleteall\n")
		if err := g.folder(*a.Snapshot, "", 0, &files); err != nil {
			return err
		}
	}
	title, _, _ := strings.Cut(e.graded(a), "\n")
	message := fmt.Sprintf("%s\n\nconfig: %s\nscenario: %s\nrepeat: %d\nepisode: %s\n", title, e.Config, e.Scenario, e.Repeat, e.Episode)
	if t := e.turns[a.Turn]; t != nil {
		message += "operation: " + t.Operation + "\n"
	}
	for _, name := range g.left {
		message += fmt.Sprintf("left out: %q\n", name)
	}
	g.mark++
	fmt.Fprintf(g.w, "commit refs/heads/main\nmark :%d\nauthor agent <agent@stint.invalid> %d +0000\ncommitter stint <stint@stint.invalid> %d +0000\ndata %d\n%s\n",
		g.mark, began.Unix(), began.Unix(), len(message), message)
	if g.last > 0 {
		fmt.Fprintf(g.w, "from :%d\n", g.last)
	}
	g.last = g.mark
	g.commits++
	for _, f := range files {
		g.w.WriteString(f)
	}
	g.w.WriteString("\n")
	if a.Passed != nil && *a.Passed {
		fmt.Fprintf(g.w, "reset refs/tags/turn-%d\nfrom :%d\n\n", a.Turn, g.last)
	}
	return nil
}

// folder writes the contents of a tree that are not written yet and lists what the commit holds.
func (g *gitStream) folder(tree, at string, depth int, files *[]string) error {
	if depth > maxDepth {
		return fmt.Errorf("folders are nested deeper than %d", maxDepth)
	}
	p, err := g.blobs.Get(tree)
	if err != nil {
		return err
	}
	entries, err := decodeTree(p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.name)
		if isGitName(e.name) {
			g.left = append(g.left, name)
			continue
		}
		mode := "100644"
		switch e.kind {
		case folder:
			if err := g.folder(e.sha, name, depth+1, files); err != nil {
				return err
			}
			continue
		case symlink:
			mode = "120000"
		case executableFile:
			mode = "100755"
		}
		mark, err := g.content(&e)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		*files = append(*files, fmt.Sprintf("M %s :%d %s\n", mode, mark, gitPath(name)))
	}
	return nil
}

// isGitName says whether git, on any file system, could take a name for its own folder.
func isGitName(name string) bool {
	// HFS+ ignores some characters, NTFS trailing dots, blanks and streams, and it knows a short name.
	plain := strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name))
	plain, _, _ = strings.Cut(plain, ":")
	plain = strings.TrimRight(plain, ". ")
	return plain == ".git" || plain == "git~1"
}

func (g *gitStream) content(e *treeEntry) (mark int, err error) {
	key := e.sha
	if e.kind == symlink {
		key = "link to " + e.target
	}
	if m, ok := g.marks[key]; ok {
		return m, nil
	}
	g.mark++
	g.marks[key] = g.mark
	if e.kind == symlink {
		_, err = fmt.Fprintf(g.w, "blob\nmark :%d\ndata %d\n%s\n", g.mark, len(e.target), e.target)
		return g.mark, err
	}
	fmt.Fprintf(g.w, "blob\nmark :%d\ndata %d\n", g.mark, e.bytes)
	n, err := g.blobs.WriteTo(e.sha, g.w)
	if err == nil && n != e.bytes {
		err = fmt.Errorf("it holds %d bytes and should hold %d", n, e.bytes)
	}
	if err == nil {
		err = g.w.WriteByte('\n')
	}
	return g.mark, err
}

// gitPath quotes a path as git does: every byte that could be misread as three octal digits.
func gitPath(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(p) {
		if c := p[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
