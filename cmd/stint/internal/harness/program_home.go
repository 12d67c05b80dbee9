package harness

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
)

// outFolder, under HOME, is where a program writes about itself; it is empty before each attempt.
const outFolder = ".stint"

// conversationFile, under HOME, names the conversation that the files of HOME belong to, so that a snapshot of HOME
// holds it too.
const conversationFile = ".stint-conversation.json"

// conversation is what a follow-up needs to know.
type conversation struct {
	Turn    int    `json:"turn"` // the last turn it was used in
	Session string `json:"session,omitempty"`
}

var sessionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// home is the agent's HOME between attempts. The agent can put anything there: links are never followed out of it,
// and what stands in the way is removed.
type home struct {
	root  *os.Root
	sizes map[string]int64 // of the logs that only grow, before the attempt
}

func openHome(dir string) (*home, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the agent's HOME: %w", err)
	}
	return &home{root: root, sizes: map[string]int64{}}, nil
}

func (h *home) close() { h.root.Close() }

// conversation says whether this attempt goes on with one, and which.
func (h *home) conversation(f *File, r Request) (session string, goesOn bool) {
	if len(f.Next) == 0 {
		return "", false
	}
	b, err := h.read(conversationFile, 4096)
	var c conversation
	if err != nil || json.Unmarshal(b, &c) != nil || c.Session != "" && !sessionForm.MatchString(c.Session) {
		return "", false
	}
	if c.Session == "" && (f.Session.Chosen || f.Session.Match != "") || r.Session == SessionFresh && c.Turn != r.Turn {
		return "", false
	}
	return c.Session, true
}

// remember writes down which conversation HOME now holds. One that cannot go on is forgotten, so that the next attempt
// begins another.
func (h *home) remember(f *File, r Request, session string, canGoOn bool) error {
	if len(f.Next) == 0 {
		return nil
	}
	if !canGoOn {
		if err := h.remove(conversationFile); err != nil {
			return fmt.Errorf("forgetting a conversation: %w", err)
		}
		return nil
	}
	b, err := json.Marshal(conversation{Turn: r.Turn, Session: session})
	if err != nil {
		return fmt.Errorf("encoding the name of a conversation: %w", err)
	}
	return h.write(conversationFile, string(b))
}

// chosenSession is a UUID for a new conversation: the same for the same attempt.
func chosenSession(r Request) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "stint conversation %s %d %d %d", r.Episode, r.Turn, r.Attempt, r.Try))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// prepare writes the program's files, empties its folder and notes how long its logs are.
func (h *home) prepare(f *File, v *Values, goesOn bool) error {
	if err := h.clean([]string{outFolder}); err != nil {
		return err
	}
	if err := h.folder(outFolder); err != nil {
		return err
	}
	for _, c := range f.Files {
		text, err := fill(c.Text, v)
		if err != nil {
			return err
		}
		if err := h.write(c.Path, text); err != nil {
			return err
		}
	}
	if !goesOn {
		return nil
	}
	for _, l := range f.Logs {
		if !l.New {
			continue
		}
		// What cannot be looked at now is kept whole afterwards.
		if found, err := h.matches(l.Path, v); err == nil {
			for _, f := range found {
				h.sizes[f.name] = f.Size()
			}
		}
	}
	return nil
}

// folder makes a folder; a file in its way is removed.
func (h *home) folder(name string) error {
	err := h.root.MkdirAll(name, 0o755)
	for at := name; err != nil && at != "."; at = path.Dir(at) {
		if st, serr := h.root.Lstat(at); serr == nil && !st.IsDir() {
			if rerr := h.remove(at); rerr != nil {
				break
			}
			err = h.root.MkdirAll(name, 0o755)
		}
	}
	if err != nil {
		return fmt.Errorf("making a folder in the agent's HOME: %w", err)
	}
	return nil
}

// write replaces a file.
func (h *home) write(name, text string) error {
	if err := h.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := h.remove(name); err != nil {
		return fmt.Errorf("replacing a file in the agent's HOME: %w", err)
	}
	f, err := h.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing a file in the agent's HOME: %w", err)
	}
	return nil
}

// read reads a regular file of at most so many bytes.
func (h *home) read(name string, most int64) ([]byte, error) {
	f, err := h.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() > most {
		return nil, fmt.Errorf("%s is too long", name)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// open opens a regular file; nothing that would block.
func (h *home) open(name string) (*os.File, error) {
	st, err := h.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := h.root.Open(name)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return f, nil
}

// foundFile is a regular file of HOME with its name there.
type foundFile struct {
	name string
	fs.FileInfo
}

// matches are the regular files of a pattern, in the order of their names.
func (h *home) matches(pattern string, v *Values) ([]foundFile, error) {
	pattern, err := fill(pattern, v)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(h.root.FS(), path.Clean(filepath.ToSlash(pattern)))
	if err != nil {
		return nil, fmt.Errorf("looking for the log %s: %w", pattern, err)
	}
	slices.Sort(names)
	var out []foundFile
	for _, name := range names {
		if st, err := h.root.Lstat(name); err == nil && st.Mode().IsRegular() {
			out = append(out, foundFile{name, st})
		}
	}
	return out, nil
}

// newest is the newest regular file of a pattern that was written since a time, "" if there is none.
func (h *home) newest(pattern string, v *Values, since time.Time) (string, error) {
	found, err := h.matches(pattern, v)
	best, at := "", since
	for _, f := range found {
		if !f.ModTime().Before(at) {
			best, at = f.name, f.ModTime()
		}
	}
	return best, err
}

// remove removes an entry and all in it.
func (h *home) remove(name string) error {
	parent := h.root
	if dir := path.Dir(name); dir != "." {
		sub, err := h.root.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer sub.Close()
		parent = sub
	}
	return sandbox.RemoveIn(parent, path.Base(name))
}

// clean removes what no snapshot needs, by patterns.
func (h *home) clean(patterns []string) error {
	for _, pattern := range patterns {
		names := []string{path.Clean(pattern)}
		if strings.ContainsAny(pattern, `*?[`) {
			var err error
			if names, err = fs.Glob(h.root.FS(), names[0]); err != nil {
				return fmt.Errorf("looking for %s: %w", pattern, err)
			}
		}
		for _, name := range names {
			err := h.remove(name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				// A link in the path that leads elsewhere: what lies there is not ours.
				if _, serr := h.root.Lstat(name); serr == nil {
					return fmt.Errorf("cleaning the agent's HOME: %w", err)
				}
			}
		}
	}
	return nil
}
