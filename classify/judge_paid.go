package classify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stint-bench/stint/logs"
)

// Paid is what the calls of one judge took, over all passes on a run directory.
type Paid struct {
	Calls   int64   `json:"calls"`
	Tokens  int64   `json:"tokens"`
	USD     float64 `json:"usd"`
	Unknown int64   `json:"calls_of_unknown_price"`
	Done    int     `json:"attempts_done"`
}

// ReadPaid reads from the ledger what each judge took, by the annotator of its verdicts. Calls that nothing came of count
// with the most they can have taken. Without a ledger there is nothing, and that is no error.
func ReadPaid(d *logs.RunDir) (map[string]*Paid, error) {
	path := filepath.Join(JudgeDir(d), "ledger.jsonl")
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the judge's ledger: %w", err)
	}
	defer f.Close()
	out := map[string]*Paid{}
	open, done := map[string]entry{}, map[string]bool{}
	of := func(annotator string) *Paid {
		if out[annotator] == nil {
			out[annotator] = &Paid{}
		}
		return out[annotator]
	}
	took := func(e *entry) {
		p := of(e.Annotator)
		p.Calls++
		p.Tokens += e.Tokens
		switch {
		case e.USD != nil:
			p.USD += *e.USD
		case e.Tokens > 0:
			p.Unknown++
		}
	}
	br := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, err := readBounded(br, maxLedgerLine)
		if err == io.EOF {
			break // a last line without an end was being written when stint was killed
		}
		var e entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s, line %d: %w", path, n, err)
		}
		switch e.Type {
		case entryCall:
			open[e.tryKey()] = e
		case entryAnswer, entryLost:
			call := open[e.tryKey()]
			delete(open, e.tryKey())
			if e.Annotator == "" {
				e.Annotator = call.Annotator
			}
			took(&e)
		case entryDone:
			if !done[e.itemKey()] {
				done[e.itemKey()] = true
				of(e.Annotator).Done++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(open)) {
		e := open[key]
		took(&e)
	}
	return out, nil
}

// readBounded reads one line with its end.
func readBounded(br *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, errors.New("the line is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
