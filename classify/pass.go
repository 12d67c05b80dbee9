package classify

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// engineVersion changes whenever the same journal, blobs and codebook give other verdicts.
const engineVersion = 1

// madeFromName is the file beside rules.jsonl that says what its rows were made from.
const madeFromName = ".rules-made-from"

// PassOptions are the options of [Pass].
type PassOptions struct {
	Book      *Taxonomy             // nil = the embedded [Codebook]
	OnEpisode func(done, total int) // is told the progress; nil = nobody
}

// PassResult is what [Pass] came to.
type PassResult struct {
	Verdicts []logs.VerdictRow // sorted by key
	Configs  map[string]string // of each episode, by its id
	Reused   int               // episodes that had not changed
	Problems []logs.Problem    // records that could not be read
}

// Pass brings verdicts/rules.jsonl of a run directory up to date. One episode at a time is read for each core, so what is
// kept in memory does not grow with the logs. An episode is decided about again only if its journal, the codebook or the
// engine is another one than last time; the file is the same, byte for byte, as without an earlier pass.
func Pass(ctx context.Context, d *logs.RunDir, opt PassOptions) (*PassResult, error) {
	opt.Book = cmp.Or(opt.Book, Codebook())
	ids, err := d.Episodes()
	if err != nil {
		return nil, err
	}
	before := readMadeFrom(d)
	made := make([]*passed, len(ids))
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			made[i], err = passEpisode(ctx, d, id, opt.Book, before)
			mu.Lock()
			defer mu.Unlock()
			if done++; opt.OnEpisode != nil && err == nil {
				opt.OnEpisode(done, len(ids))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r := &PassResult{Verdicts: []logs.VerdictRow{}, Configs: map[string]string{}}
	for _, p := range made {
		r.Verdicts = append(r.Verdicts, p.verdicts...)
		r.Problems = append(r.Problems, p.problems...)
		if p.Begun {
			r.Configs[p.Episode] = p.Config
		}
		if p.reused {
			r.Reused++
		}
	}
	return r, writePass(d, r.Verdicts, made)
}

// passed is one episode in a pass. Its exported fields are a line of the file that says what the rows were made from.
type passed struct {
	Episode string `json:"episode"`
	Key     string `json:"key"` // "" = not to be reused
	Config  string `json:"config"`
	Begun   bool   `json:"begun"`

	verdicts []logs.VerdictRow
	problems []logs.Problem
	reused   bool
}

func passEpisode(ctx context.Context, d *logs.RunDir, id string, book *Taxonomy, before map[string]*passed) (*passed, error) {
	key := episodeKey(d, id, book)
	if old := before[id]; old != nil && key != "" && old.Key == key {
		old.reused = true
		return old, nil
	}
	t, problems, err := logs.ReadEpisode(d, id)
	if err != nil {
		return nil, err
	}
	r, err := Run(ctx, d, t, Options{Book: book})
	if err != nil {
		return nil, err
	}
	p := &passed{Episode: id, Key: key, verdicts: r.Verdicts, problems: problems}
	if len(problems) > 0 {
		p.Key = "" // they are told every time
	}
	if len(t.Episodes) > 0 {
		p.Begun, p.Config = true, t.Episodes[0].Config
	}
	return p, nil
}

// episodeKey names what the verdicts of an episode follow from: the bytes of its journal, which names all else by hash, and
// what is decided with. It is "" if the journal cannot be read.
func episodeKey(d *logs.RunDir, id string, book *Taxonomy) string {
	path := filepath.Join(d.EpisodeDir(id), logs.JournalName)
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return ""
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %x", engineVersion, book.Hash(), n, h.Sum(nil)))
	return hex.EncodeToString(key[:])
}

func rulesPath(d *logs.RunDir) string { return filepath.Join(d.VerdictsDir(), "rules.jsonl") }

// readMadeFrom reads what the last pass left, by episode; nothing if rules.jsonl is not what that pass wrote.
func readMadeFrom(d *logs.RunDir) map[string]*passed {
	b, err := os.ReadFile(filepath.Join(d.VerdictsDir(), madeFromName))
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	rules, err := os.ReadFile(rulesPath(d))
	if err != nil || !lines.Scan() || lines.Text() != hashOf(rules) {
		return nil
	}
	byID := map[string]*passed{}
	for lines.Scan() {
		var p passed
		if json.Unmarshal(lines.Bytes(), &p) != nil {
			return nil
		}
		byID[p.Episode] = &p
	}
	if lines.Err() != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(rules))
	for {
		var v logs.VerdictRow
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return byID
		} else if err != nil {
			return nil
		}
		p := byID[v.Episode]
		if p == nil {
			return nil
		}
		p.verdicts = append(p.verdicts, v)
	}
}

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// WriteRules writes verdicts/rules.jsonl, unless it says the same already, and returns its bytes.
func WriteRules(d *logs.RunDir, verdicts []logs.VerdictRow) ([]byte, error) {
	fresh := filepath.Join(d.VerdictsDir(), ".rules-new.jsonl")
	if err := logs.WriteVerdicts(fresh, verdicts); err != nil {
		return nil, err
	}
	defer os.Remove(fresh)
	now, err := os.ReadFile(fresh)
	if err != nil {
		return nil, fmt.Errorf("reading the verdicts just written: %w", err)
	}
	if old, err := os.ReadFile(rulesPath(d)); err == nil && bytes.Equal(old, now) {
		return now, nil
	}
	if err := os.Rename(fresh, rulesPath(d)); err != nil {
		return nil, fmt.Errorf("writing the verdicts: %w", err)
	}
	return now, nil
}

// writePass writes rules.jsonl, and after it what it was made from.
func writePass(d *logs.RunDir, verdicts []logs.VerdictRow, made []*passed) error {
	now, err := WriteRules(d, verdicts)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(hashOf(now) + "\n")
	enc := json.NewEncoder(&b)
	for _, p := range made {
		if err := enc.Encode(p); err != nil {
			return fmt.Errorf("writing what the verdicts were made from: %w", err)
		}
	}
	path := filepath.Join(d.VerdictsDir(), madeFromName)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	if err := os.WriteFile(path+".tmp", b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing what the verdicts were made from: %w", err)
	}
	return os.Rename(path+".tmp", path)
}
