package classify

import (
	"regexp"
	"slices"
	"strings"
)

// Program is what is known of the processes of a program that runs agents: what a kill by a pattern can hit.
type Program struct {
	Name      string   `yaml:"name"`      // as in the column harness
	Processes []string `yaml:"processes"` // names of its processes
	Argv      []string `yaml:"argv"`      // command lines, without what differs from run to run
	Prompt    bool     `yaml:"prompt"`    // the prompt is one of its arguments
}

// broad is a command that kills by something other than a recorded pid.
type broad struct {
	text    string         // the command as it was written
	full    bool           // it looks at whole command lines
	all     bool           // it takes whatever there is, or whoever holds a port
	names   []string       // exact names; nil = the pattern says
	pattern *regexp.Regexp // nil if it cannot be known, a variable for example
}

// What a broad kill can do to a program.
const (
	killHits    = "hits"
	killMay     = "may hit"
	killCannot  = "cannot hit"
	maxKillText = 120
)

var (
	killedPort = regexp.MustCompile(`\blsof\b|\bfuser\b|\bss -|\bnetstat\b`)
	byPattern  = regexp.MustCompile(`\bpgrep\b|\bpidof\b|\bps\b.*\bgrep\b|\bgrep\b`)
)

// broadKill returns the first broad kill in a shell text, or nil.
func broadKill(text string) *broad {
	if all := broadKills(text); len(all) > 0 {
		return all[0]
	}
	return nil
}

// broadKills are the broad kills in a shell text, in order.
func broadKills(text string) (all []*broad) {
	list := commands(text)
	for i := range list {
		c := &list[i]
		if b := c.broad(); b != nil {
			b.text = c.text
			all = append(all, b)
			continue
		}
		// pids that another command found: kill $(pgrep x), … | xargs kill.
		from := ""
		switch {
		case c.name() == "kill":
			for _, w := range c.words[1:] {
				if strings.HasPrefix(w, "$(") || strings.HasPrefix(w, "`") {
					from = w
				}
			}
		case c.name() == "xargs" && slices.Contains(c.words, "kill") && c.piped:
			for k := i - 1; k >= 0; k-- {
				from = list[k].text + " | " + from
				if !list[k].piped {
					break
				}
			}
		}
		if from == "" {
			continue
		}
		if b := searched(from, c.text); b != nil {
			all = append(all, b)
		}
	}
	if m := windowsKill.FindString(text); m != "" {
		all = append(all, &broad{text: m, names: namesIn(m)})
	}
	return all
}

var (
	windowsKill = regexp.MustCompile(`(?i)\bstop-process\b[^;\n]*-name\b[^;\n|]*|\bget-process\b[^;\n]*\|[^;\n]*\bstop-process\b[^;\n]*|\bnpx\s+kill-port\b[^;\n]*`)
	processWord = regexp.MustCompile(`[\w.-]+`)
)

func namesIn(s string) []string {
	var out []string
	for _, w := range processWord.FindAllString(strings.ToLower(s), 40) {
		out = append(out, strings.TrimSuffix(w, ".exe"))
	}
	return out
}

// searched is a kill of the pids that a search brings.
func searched(from, text string) *broad {
	b := &broad{text: from + " " + text}
	switch {
	case killedPort.MatchString(from):
		b.all = true
	case byPattern.MatchString(from):
		b.full = true
		if list := commands(strings.Trim(from, "$()`")); len(list) > 0 {
			for i := range list {
				if n := list[i].name(); n == "grep" || n == "pgrep" || n == "pidof" || n == "egrep" {
					b.setPattern(list[i].operands())
				}
				if list[i].name() == "pgrep" {
					b.full = list[i].has("f", "--full")
				}
			}
		}
	default:
		return nil // pids of a file, or of jobs
	}
	return b
}

// operands are the arguments that are no options.
func (c *simple) operands() []string {
	var out []string
	for _, w := range c.words[1:] {
		if !strings.HasPrefix(w, "-") {
			out = append(out, w)
		}
	}
	return out
}

// has says whether an option is given, alone or among other letters.
func (c *simple) has(letter, long string) bool {
	return slices.ContainsFunc(c.words[1:], func(w string) bool {
		return w == long || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Trim(w[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && (len(w) == 2 || w != strings.ToUpper(w)) && strings.Contains(w[1:], letter)
	})
}

func (b *broad) setPattern(operands []string) {
	if len(operands) == 0 || strings.ContainsAny(operands[0], "$`") && !strings.HasSuffix(operands[0], "$") {
		return
	}
	if re, err := regexp.Compile(operands[0]); err == nil {
		b.pattern = re
	}
}

// broad says whether a simple command kills by name, by port or everything.
func (c *simple) broad() *broad {
	b := &broad{}
	switch c.name() {
	case "pkill":
		ops := c.operands()
		if len(ops) == 0 {
			b.all = c.has("u", "--euid")
		}
		if c.has("P", "--parent") || len(ops) == 0 && !b.all {
			return nil // children of a pid
		}
		if b.full = c.has("f", "--full"); len(ops) > 0 {
			b.setPattern(ops[len(ops)-1:])
		}
	case "killall":
		ops := c.operands()
		if len(ops) == 0 {
			return nil
		}
		if c.has("r", "--regexp") {
			b.setPattern(ops[len(ops)-1:])
			return b
		}
		for _, o := range ops {
			if !strings.ContainsAny(o, "$`") {
				b.names = append(b.names, strings.ToLower(o))
			}
		}
	case "killall5":
		b.all = true
	case "kill":
		if len(c.words) < 3 || c.words[len(c.words)-1] != "-1" {
			return nil
		}
		b.all = true
	case "fuser":
		if !slices.ContainsFunc(c.words[1:], func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "k") }) {
			return nil
		}
		b.all = true
	case "taskkill", "taskkill.exe":
		for i, w := range c.words {
			if (strings.EqualFold(w, "/im") || strings.EqualFold(w, "//im")) && i+1 < len(c.words) {
				b.names = append(b.names, strings.TrimSuffix(strings.ToLower(c.words[i+1]), ".exe"))
			}
		}
		if b.names == nil {
			return nil
		}
	case "timeout":
		if ops := c.operands(); len(ops) > 1 {
			at := slices.Index(c.words, ops[1])
			inner := simple{words: c.words[at:]}
			return inner.broad()
		}
		return nil
	default:
		return nil
	}
	return b
}

// maxComm is how much of a process's name the kernel keeps.
const maxComm = 15

// does says what the command can do to a program whose processes are known, given the prompt it was started with. Nil is
// a program of which nothing is known.
func (b *broad) does(p *Program, prompt string) string {
	if p == nil || b.all || b.pattern == nil && b.names == nil {
		return killMay
	}
	for _, name := range p.Processes {
		name = name[:min(len(name), maxComm)]
		if slices.Contains(b.names, strings.ToLower(name)) || b.pattern != nil && b.pattern.MatchString(name) {
			return killHits
		}
	}
	if b.full && b.pattern != nil {
		if slices.ContainsFunc(p.Argv, b.pattern.MatchString) {
			return killHits
		}
		if p.Prompt {
			if b.pattern.MatchString(prompt) {
				return killHits
			}
			if prompt == "" {
				return killMay
			}
		}
	}
	return killCannot
}
