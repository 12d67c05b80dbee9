// Command agentlog writes a made-up session log of a coding agent, JSON Lines, for the benchmark of stint ingest: nested
// messages, texts of 2 to 6 kB, outputs of tools of 2 to 20 kB, one text in five with \u escapes. The same size and seed
// give the same bytes.
//
//	go run ./.ci/bench-ingest/agentlog.go -bytes 1000000000 -seed 1 >log.jsonl
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

func main() {
	size := flag.Int64("bytes", 1e9, "stop after so many `bytes`")
	seed := flag.Uint64("seed", 1, "`seed` of the texts")
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	g := &generator{rng: rand.New(rand.NewPCG(*seed, 7))}
	g.words()
	var written int64
	for written < *size {
		for _, line := range g.step() {
			n, err := out.Write(line)
			written += int64(n)
			if err != nil {
				fail(err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "agentlog:", err)
	os.Exit(1)
}

type generator struct {
	rng   *rand.Rand
	vocab []string
	n     int // steps so far
	a, b  []byte
}

// words makes a vocabulary of 5000 pieces of prose and code, already escaped.
func (g *generator) words() {
	const letters = "etaoinshrdlucmfwygpbvkxqjz"
	for range 5000 {
		var w []byte
		for range 2 + g.rng.IntN(9) {
			w = append(w, letters[min(g.rng.IntN(26), g.rng.IntN(26))])
		}
		switch g.rng.IntN(12) {
		case 0:
			w = append(w, '(', ')')
		case 1:
			w = append([]byte(`\"`), append(w, `\"`...)...)
		case 2:
			w = append(w, `:\n    `...)
		case 3:
			w = append(w, ".\\n"...)
		case 4:
			w = strconv.AppendInt(append(w, " = "...), int64(g.rng.IntN(10000)), 10)
		}
		g.vocab = append(g.vocab, string(w))
	}
}

// text appends about so many bytes of escaped text.
func (g *generator) text(dst []byte, size int, escapes bool) []byte {
	end := len(dst) + size
	for len(dst) < end {
		// Few words make up most of a text.
		i := g.rng.IntN(len(g.vocab))
		if g.rng.IntN(3) > 0 {
			i = g.rng.IntN(1 + i/8)
		}
		dst = append(append(dst, g.vocab[i]...), ' ')
		if escapes && g.rng.IntN(20) == 0 {
			dst = append(dst, `\u00fc\ud83d\ude00 \u2713 `...)
		}
	}
	return dst
}

// step is an answer of the model, with a text and a call, and what the tool gave; every fiftieth begins with a prompt.
func (g *generator) step() [][]byte {
	g.n++
	n, session := g.n, g.n/400
	escapes := g.rng.IntN(5) == 0
	stamp := func(line int) string {
		ms := int64(n)*4000 + int64(line)*1500
		return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%03dZ", 1+ms/2419200000%12, 1+ms/86400000%28, ms/3600000%24, ms/60000%60, ms/1000%60, ms%1000)
	}
	head := func(dst []byte, typ string, line int) []byte {
		return fmt.Appendf(dst, `{"parentUuid":"%08x-aaaa-4bbb-8ccc-%012x","isSidechain":false,"userType":"external","cwd":"/workspace","sessionId":"session-%04d","version":"2.1.0","gitBranch":"main","type":"%s","uuid":"%08x-dddd-4eee-8fff-%012x","timestamp":"%s","message":{"role":"%s",`,
			n, line, session, typ, n, line+1, stamp(line), typ)
	}
	var lines [][]byte
	if n%50 == 1 {
		p := head(nil, "user", 0)
		p = append(g.text(append(p, `"content":[{"type":"text","text":"`...), 2000+g.rng.IntN(4000), escapes), "\"}]}}\n"...)
		lines = append(lines, p)
	}
	tool := []string{"Bash", "Read", "Edit", "Grep"}[g.rng.IntN(4)]
	g.a = head(g.a[:0], "assistant", 1)
	g.a = fmt.Appendf(g.a, `"id":"msg_%010x","type":"message","model":"sim-model-1","content":[{"type":"text","text":"`, n)
	g.a = g.text(g.a, 2000+g.rng.IntN(4000), escapes)
	g.a = fmt.Appendf(g.a, `"},{"type":"tool_use","id":"toolu_%010x","name":"%s","input":{"command":"`, n, tool)
	g.a = g.text(g.a, 100+g.rng.IntN(2000), false)
	g.a = fmt.Appendf(g.a, `","timeout":%d}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"service_tier":"standard"}},"requestId":"req_%010x"}`+"\n",
		1000*(1+g.rng.IntN(100)), 3+g.rng.IntN(50), g.rng.IntN(4000), g.rng.IntN(150000), 1+g.rng.IntN(3000), n)
	g.b = head(g.b[:0], "user", 2)
	g.b = fmt.Appendf(g.b, `"content":[{"tool_use_id":"toolu_%010x","type":"tool_result","content":"`, n)
	g.b = g.text(g.b, 2000+g.rng.IntN(18000), escapes)
	g.b = fmt.Appendf(g.b, `","is_error":%t}]}}`+"\n", n%17 == 0)
	return append(lines, g.a, g.b)
}
