package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A collected run directory keeps the journals that it did not take, as wasted/EPISODE/CHAIN.jsonl: what they cost was
// paid, and is counted as wasted.
const wastedName = "wasted"

// WastedDir holds the journals of an episode that were not taken when the run was collected.
func (d *RunDir) WastedDir(id string) string { return filepath.Join(d.Root, wastedName, id) }

// WastedJournals lists those of an episode, sorted.
func (d *RunDir) WastedJournals(id string) ([]string, error) {
	entries, err := os.ReadDir(d.WastedDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the journals not taken: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok && isSHA(name) && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(d.WastedDir(id), e.Name()))
		}
	}
	return paths, nil
}

// Shared is how many records two journals of an episode have in common: one of them is a copy of the other up to there.
func Shared(a, b []Record) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].Chain == b[n].Chain {
		n++
	}
	return n
}

// CostOf sums what the records say was consumed, void attempts included. Of an attempt that was counted twice, by the
// gateway and by the agent's own log, the gateway's count is taken. Nil is unknown.
func CostOf(records []Record) (tokens *int64, usd *float64, err error) {
	var all total[int64]
	var dollars total[float64]
	var last *Usage // of the attempt at hand
	flush := func() {
		if u := last; u != nil {
			all.add(u.In)
			all.add(u.Out)
			all.addKnown(u.Cached)
			all.addKnown(u.CacheWrite)
			dollars.add(u.USD)
		}
		last = nil
	}
	for _, r := range records {
		switch r.Type {
		case TypeAttemptStart:
			flush()
		case TypeUsage:
			u, err := Decode[Usage](r)
			if err != nil {
				return nil, nil, err
			}
			if last == nil || last.Via != ViaGateway {
				last = &u
			}
		}
	}
	flush()
	return all.value(), dollars.value(), nil
}

// wastedCopies adds what the journals of the episode that were not taken have cost beyond what they share with its own.
func (p *replay) wastedCopies(d *RunDir, id string) {
	paths, err := d.WastedJournals(id)
	if err != nil {
		p.wrong("%v", err)
	}
	if len(paths) == 0 {
		return
	}
	own, _, _ := ReadJournal(filepath.Join(d.EpisodeDir(id), JournalName)) // its problems are known
	before := make([][]Record, 0, len(paths)+1)
	before = append(before, own)
	for _, path := range paths {
		records, _, err := ReadJournal(path)
		if err != nil {
			p.wrong("%v", err)
			continue
		}
		from := 0
		for _, b := range before { // copies may have begun as copies of each other
			from = max(from, Shared(b, records))
		}
		before = append(before, records)
		tokens, usd, err := CostOf(records[from:])
		if err != nil {
			p.wrong("%s: %v", path, err)
			continue
		}
		e := &p.episode
		e.WastedTokens, e.WastedUSD = plus(e.WastedTokens, tokens), plus(e.WastedUSD, usd)
	}
}

// plus adds two sums; unknown if either is.
func plus[N int64 | float64](a, b *N) *N {
	var t total[N]
	t.add(a)
	t.add(b)
	return t.value()
}

// CopyJournal writes the first length bytes of a journal to a new file and syncs it.
func CopyJournal(from string, length int64, to string) error {
	src, err := openRegular(from)
	if err != nil {
		return fmt.Errorf("copying the journal: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("copying the journal: %w", err)
	}
	_, err = io.CopyN(dst, src, length)
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return fmt.Errorf("copying the journal %s: %w", from, err)
	}
	return nil
}
