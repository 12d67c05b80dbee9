package logs

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// parseEnvelope reads a line up to the offset at which its chain begins. Lines as Append writes them
// take a short way that leaves the data unparsed; every other line goes through encoding/json.
func parseEnvelope(raw []byte, at int) (Record, error) {
	if r, ok := fastEnvelope(raw[:at]); ok {
		r.Chain = string(raw[at+len(chainKey) : len(raw)-len("\"}\n")])
		return r, nil
	}
	var r Record
	err := json.Unmarshal(raw, &r)
	return r, err
}

// fastEnvelope relies on the order of keys in which Append writes them.
func fastEnvelope(line []byte) (r Record, ok bool) {
	p := envelopeParser{rest: line, ok: true}
	r.V = int(p.integer(`{"v":`))
	r.Seq = p.integer(`,"seq":`)
	r.TWall = p.text(`,"t_wall":`)
	r.TMono = p.number(`,"t_mono":`)
	r.Episode = p.text(`,"episode":`)
	r.Turn = p.optional(`,"turn":`)
	r.Attempt = p.optional(`,"attempt":`)
	r.Type = p.text(`,"type":`)
	p.key(`,"data":`)
	r.Data = p.rest
	return r, p.ok && len(p.rest) > 0
}

type envelopeParser struct {
	rest []byte
	ok   bool
}

func (p *envelopeParser) key(name string) {
	if !p.ok || len(p.rest) < len(name) || string(p.rest[:len(name)]) != name {
		p.ok = false
		return
	}
	p.rest = p.rest[len(name):]
}

// token returns what stands before the next comma.
func (p *envelopeParser) token(name string) []byte {
	p.key(name)
	end := bytes.IndexByte(p.rest, ',')
	if !p.ok || end < 0 {
		p.ok = false
		return nil
	}
	t := p.rest[:end]
	p.rest = p.rest[end:]
	return t
}

func (p *envelopeParser) integer(name string) int64 {
	n, err := strconv.ParseInt(string(p.token(name)), 10, 64)
	p.ok = p.ok && err == nil
	return n
}

func (p *envelopeParser) number(name string) float64 {
	n, err := strconv.ParseFloat(string(p.token(name)), 64)
	p.ok = p.ok && err == nil
	return n
}

func (p *envelopeParser) optional(name string) *int {
	t := string(p.token(name))
	if t == "null" {
		return nil
	}
	n, err := strconv.Atoi(t)
	p.ok = p.ok && err == nil
	return &n
}

// text reads a string without escapes.
func (p *envelopeParser) text(name string) string {
	p.key(name)
	if !p.ok || len(p.rest) == 0 || p.rest[0] != '"' {
		p.ok = false
		return ""
	}
	end := bytes.IndexByte(p.rest[1:], '"')
	if end < 0 || bytes.IndexByte(p.rest[1:end+1], '\\') >= 0 {
		p.ok = false
		return ""
	}
	s := string(p.rest[1 : end+1])
	p.rest = p.rest[end+2:]
	return s
}
