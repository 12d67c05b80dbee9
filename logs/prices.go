package logs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

//go:embed prices.yaml
var builtinPrices []byte

// Prices is a table of what tokens cost, by model and day.
type Prices struct {
	name    string
	source  []byte
	byModel map[string][]price // sorted by from
}

type price struct {
	from                              time.Time
	input, cached, cacheWrite, output *float64 // USD per million tokens; nil = unknown
}

// priceFile is a price table as YAML: a list of entries, or a mapping with a name and the list.
type priceFile struct {
	Name   string       `yaml:"name"`
	Prices []priceEntry `yaml:"prices"`
}

type priceEntry struct {
	Model  string `yaml:"model"`
	From   string `yaml:"from"`
	USD    usd    `yaml:"usd_per_mtok"`
	Source string `yaml:"source"`
}

type usd struct {
	Input      *float64 `yaml:"input"`
	Cached     *float64 `yaml:"cached"`
	CacheWrite *float64 `yaml:"cache_write"`
	Output     *float64 `yaml:"output"`
}

// PriceError is a price table that cannot be used.
type PriceError struct {
	File string
	Line int // of the entry; 0 = the file as a whole, or the text names the place
	Text string
}

func (e *PriceError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("prices %s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("prices %s: %s", e.File, e.Text)
}

// Hint tells the way out.
func (e *PriceError) Hint() string {
	return "an entry is {model: NAME, from: YYYY-MM-DD, usd_per_mtok: {input: 1.0, cached: 0.2, cache_write: 1.0, output: 3.2}, source: URL}; leave out what is not known"
}

// ExitCode is 2: the input is wrong.
func (e *PriceError) ExitCode() int { return 2 }

var parsedBuiltin = sync.OnceValue(func() *Prices {
	p, err := ParsePrices("builtin", builtinPrices)
	if err != nil {
		panic("logs: " + err.Error())
	}
	return p
})

// BuiltinPrices returns the table that comes with stint: a few public list prices, dated in its
// name. Every other model is unknown.
func BuiltinPrices() *Prices { return parsedBuiltin() }

// LoadPrices reads a price table from a YAML file. Its errors are *[PriceError] where the content is wrong.
func LoadPrices(path string) (*Prices, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading prices: %w", err)
	}
	defer f.Close()
	const limit = 16 << 20
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading prices %s: %w", path, err)
	}
	if len(b) > limit {
		return nil, &PriceError{File: path, Text: "the file is over 16 MiB"}
	}
	return ParsePrices(path, b)
}

// ParsePrices reads a price table; name is the file's name for errors.
func ParsePrices(name string, b []byte) (*Prices, error) {
	var file priceFile
	target := any(&file)
	if text := skipComments(b); len(text) > 0 && (text[0] == '-' || text[0] == '[') {
		target = &file.Prices
	}
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(target); err != nil && !errors.Is(err, io.EOF) {
		return nil, &PriceError{File: name, Text: shortLines(yaml.FormatError(err, false, true))}
	}
	p := &Prices{name: file.Name, source: b, byModel: map[string][]price{}}
	if p.name == "" {
		sum := sha256.Sum256(b)
		p.name = "sha256:" + hex.EncodeToString(sum[:])[:12]
	}
	for i, e := range file.Prices {
		if err := p.add(e); err != nil {
			return nil, &PriceError{File: name, Line: entryLine(b, i), Text: fmt.Sprintf("entry %d: %s", i+1, err)}
		}
	}
	return p, nil
}

// shortLines cuts the lines of a message that shows the source, which may hold lines of any length.
func shortLines(s string) string {
	const most = 160
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if r := []rune(l); len(r) > most {
			lines[i] = string(r[:most]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// entryLine is the line on which the i-th entry of a table that can be parsed begins, 0 if it is not found.
func entryLine(b []byte, i int) int {
	file, err := parser.ParseBytes(b, 0)
	if err != nil || len(file.Docs) == 0 {
		return 0
	}
	list := file.Docs[0].Body
	if m, ok := list.(*ast.MappingNode); ok {
		for _, v := range m.Values {
			if v.Key.String() == "prices" {
				list = v.Value
			}
		}
	}
	seq, ok := list.(*ast.SequenceNode)
	if !ok || i >= len(seq.Values) {
		return 0
	}
	return seq.Values[i].GetToken().Position.Line
}

func skipComments(b []byte) []byte {
	for {
		b = bytes.TrimLeft(b, " \t\r\n")
		if len(b) == 0 || b[0] != '#' {
			return b
		}
		b = b[lineEnd(b):]
	}
}

func (p *Prices) add(e priceEntry) error {
	if e.Model == "" {
		return errors.New("model is missing")
	}
	from := time.Time{}
	if e.From != "" {
		var err error
		if from, err = time.Parse(time.DateOnly, e.From); err != nil {
			return fmt.Errorf("from of %s is no day: %q", e.Model, e.From)
		}
	}
	for _, v := range []*float64{e.USD.Input, e.USD.Cached, e.USD.CacheWrite, e.USD.Output} {
		if v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("price of %s is no amount: %v", e.Model, *v)
		}
	}
	for _, old := range p.byModel[e.Model] {
		if old.from.Equal(from) {
			return fmt.Errorf("%s has two prices from %s on", e.Model, e.From)
		}
	}
	list := append(p.byModel[e.Model], price{from: from, input: e.USD.Input, cached: e.USD.Cached, cacheWrite: e.USD.CacheWrite, output: e.USD.Output})
	sort.Slice(list, func(i, j int) bool { return list[i].from.Before(list[j].from) })
	p.byModel[e.Model] = list
	return nil
}

// Name returns what the journal records: the name written in the table, or the beginning of its hash.
func (p *Prices) Name() string { return p.name }

// YAML returns the table as it was read, to be kept with a study.
func (p *Prices) YAML() []byte { return bytes.Clone(p.source) }

// Len is the number of entries.
func (p *Prices) Len() int {
	n := 0
	for _, list := range p.byModel {
		n += len(list)
	}
	return n
}

// Known says whether the model has a price on that day.
func (p *Prices) Known(model string, day time.Time) bool {
	_, ok := p.on(model, day)
	return ok
}

// on returns the entry with the latest from that is not after the day.
func (p *Prices) on(model string, day time.Time) (found price, ok bool) {
	for _, e := range p.byModel[model] {
		if !e.from.After(day) {
			found, ok = e, true
		}
	}
	return found, ok
}

// Cost returns what the usage cost in US dollars, and what it would have cost had every prompt token
// been billed as plain input. Each is nil if it is unknown: no price for the model on that day, no
// count of input or output tokens, or tokens of a kind whose price is missing. Output tokens include
// reasoning tokens, as providers bill them; a count of cached or written tokens that is not known
// means the provider does not report it and that the input count holds all of them.
func (p *Prices) Cost(model string, day time.Time, u Usage) (usd, noCache *float64) {
	e, ok := p.on(model, day)
	if !ok || u.In == nil || u.Out == nil {
		return nil, nil
	}
	cached, written := int64(0), int64(0)
	if u.Cached != nil {
		cached = *u.Cached
	}
	if u.CacheWrite != nil {
		written = *u.CacheWrite
	}
	usd = bill(e.input, *u.In, e.cached, cached, e.cacheWrite, written, e.output, *u.Out)
	noCache = bill(e.input, *u.In+cached+written, e.output, *u.Out)
	return usd, noCache
}

// bill adds up pairs of price per million and count. A kind without a price is free only if there is none of it.
func bill(pairs ...any) *float64 {
	sum := 0.0
	for i := 0; i < len(pairs); i += 2 {
		price, n := pairs[i].(*float64), pairs[i+1].(int64)
		switch {
		case price != nil:
			sum += *price * float64(n)
		case n > 0:
			return nil
		}
	}
	sum /= 1e6
	return &sum
}
