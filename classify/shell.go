package classify

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// maxCommand bounds the shell text that is analysed, maxCommands the simple commands found in it.
const (
	maxCommand  = 16 << 10
	maxCommands = 400
	maxNested   = 3 // sh -c 'sh -c "…"'
)

// commandOf is the shell text of a tool call: the arguments themselves, or their command key.
func commandOf(args string) string {
	args = args[:min(len(args), maxCommand)]
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) == nil {
		for _, k := range []string{"command", "cmd", "script"} {
			var s string
			if json.Unmarshal(object[k], &s) == nil && s != "" {
				return s
			}
			var list []string
			if json.Unmarshal(object[k], &list) == nil && len(list) > 0 {
				return strings.Join(quoted(list), " ")
			}
		}
		return ""
	}
	return args
}

// quoted makes words of a command line into a shell text again.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; strings.ContainsAny(w, " \t\n'\"|&;<>()$`\\") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return out
}

// simple is one simple command of a shell text.
type simple struct {
	words      []string // with quotes taken away
	text       string   // as it was written
	background bool     // it is followed by &
	piped      bool     // what the command before it prints is its input
	redirected bool     // its output goes to a file
	fed        bool     // its input comes from a file
}

// name is the program: the last part of its path, in lower case.
func (c *simple) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return path.Base(strings.ToLower(c.words[0]))
}

// lexer takes a shell text apart as far as it is needed to see which programs run: quotes, comments, here-documents,
// lists, pipes and substitutions. It knows no variables and runs nothing.
type lexer struct {
	s      string
	at     int
	depth  int
	out    []simple
	now    simple
	word   strings.Builder
	open   bool // a word has begun
	begin  int
	bodies []string // words that end here-documents that begin with the next line
}

// commands are the simple commands of a shell text, those in substitutions and of nested shells included.
func commands(text string) []simple { return lex(text, 0) }

func lex(text string, depth int) []simple {
	if depth > maxNested {
		return nil
	}
	l := &lexer{s: text[:min(len(text), maxCommand)], depth: depth}
	for l.at < len(l.s) && len(l.out) < maxCommands {
		l.step()
	}
	l.end(false, false)
	return l.out
}

func (l *lexer) step() {
	c := l.s[l.at]
	switch {
	case c == '\\' && l.at+1 < len(l.s):
		if l.s[l.at+1] != '\n' {
			l.put(l.s[l.at+1 : l.at+2])
		}
		l.at += 2
	case c == '\'':
		to := strings.IndexByte(l.s[l.at+1:], '\'')
		if to < 0 {
			to = len(l.s) - l.at - 1
		}
		l.put(l.s[l.at+1 : l.at+1+to])
		l.at += to + 2
	case c == '"':
		l.double()
	case c == '$' && strings.HasPrefix(l.s[l.at:], "$("), c == '`':
		l.put(l.substitution())
	case c == '#' && !l.open:
		to := strings.IndexByte(l.s[l.at:], '\n')
		if to < 0 {
			to = len(l.s) - l.at
		}
		l.at += to
	case c == ' ' || c == '\t' || c == '\r':
		l.endWord()
		l.at++
	case c == '\n':
		l.end(false, false)
		l.at++
		l.skipBodies()
	case c == ';' || c == '(' || c == ')':
		l.end(false, false)
		l.at++
	case c == '|' || c == '&':
		l.operator(c)
	case c == '<' || c == '>':
		l.redirection(c)
	default:
		l.put(l.s[l.at : l.at+1])
		l.at++
	}
}

func (l *lexer) put(s string) {
	if len(l.now.words) == 0 && !l.open {
		l.begin = l.at
	}
	l.open = true
	l.word.WriteString(s)
}

// double reads a text in double quotes, in which substitutions run.
func (l *lexer) double() {
	l.put("")
	for l.at++; l.at < len(l.s) && l.s[l.at] != '"'; {
		switch {
		case l.s[l.at] == '\\' && l.at+1 < len(l.s):
			l.put(l.s[l.at+1 : l.at+2])
			l.at += 2
		case strings.HasPrefix(l.s[l.at:], "$(") || l.s[l.at] == '`':
			l.put(l.substitution())
		default:
			l.put(l.s[l.at : l.at+1])
			l.at++
		}
	}
	l.at++
}

// substitution reads $(…) or `…`, adds the commands in it, and returns its text.
func (l *lexer) substitution() string {
	from := l.at
	inner := ""
	if l.s[l.at] == '`' {
		to := strings.IndexByte(l.s[l.at+1:], '`')
		if to < 0 {
			to = len(l.s) - l.at - 1
		}
		inner = l.s[l.at+1 : l.at+1+to]
		l.at = min(len(l.s), l.at+to+2)
	} else {
		level := 0
		for l.at += 1; l.at < len(l.s); l.at++ {
			if l.s[l.at] == '(' {
				level++
			} else if l.s[l.at] == ')' {
				if level--; level == 0 {
					break
				}
			}
		}
		inner = l.s[min(from+2, len(l.s)):max(min(from+2, len(l.s)), min(l.at, len(l.s)))]
		l.at = min(len(l.s), l.at+1)
	}
	l.out = append(l.out, lex(inner, l.depth+1)...)
	return l.s[from:l.at]
}

func (l *lexer) operator(c byte) {
	double := l.at+1 < len(l.s) && l.s[l.at+1] == c
	switch {
	case c == '&' && l.at+1 < len(l.s) && l.s[l.at+1] == '>':
		l.redirection('>')
		return
	case double:
		l.end(false, false)
		l.at++
	case c == '|':
		l.end(false, true)
		if l.at+1 < len(l.s) && l.s[l.at+1] == '&' {
			l.at++
		}
	default:
		l.end(true, false)
	}
	l.at++
}

// redirection leaves out where input comes from and output goes to.
func (l *lexer) redirection(c byte) {
	if w := l.word.String(); l.open && strings.Trim(w, "0123456789") == "" {
		l.word.Reset()
		l.open = false
	}
	l.endWord()
	if c == '<' && strings.HasPrefix(l.s[l.at:], "<<") && !strings.HasPrefix(l.s[l.at:], "<<<") {
		l.at += 2
		rest := strings.TrimLeft(l.s[l.at:], "- \t")
		end := strings.IndexAny(rest, " \t\n;|&<>)")
		if end < 0 {
			end = len(rest)
		}
		l.now.fed = true
		l.bodies = append(l.bodies, strings.Trim(rest[:end], `'"\`))
		l.at = len(l.s) - len(rest) + end
		return
	}
	l.now.redirected = l.now.redirected || c == '>'
	l.now.fed = l.now.fed || c == '<'
	l.at += len(l.s[l.at:]) - len(strings.TrimLeft(l.s[l.at:], "<>&| \t"))
	for l.at < len(l.s) && !strings.ContainsRune(" \t\n;|&<>()", rune(l.s[l.at])) {
		l.at++
	}
}

// skipBodies passes over the here-documents that were announced on the line before.
func (l *lexer) skipBodies() {
	for _, end := range l.bodies {
		for l.at < len(l.s) {
			line, _, more := strings.Cut(l.s[l.at:], "\n")
			l.at += len(line)
			if more {
				l.at++
			}
			if strings.TrimLeft(line, "\t") == end {
				break
			}
		}
	}
	l.bodies = nil
}

func (l *lexer) endWord() {
	if l.open {
		l.now.words = append(l.now.words, l.word.String())
	}
	l.word.Reset()
	l.open = false
}

// end ends a simple command.
func (l *lexer) end(background, pipe bool) {
	l.endWord()
	if background { // of a list in the background every part is
		for i := len(l.out) - 1; i >= 0 && l.now.piped && l.out[i].text != ""; i-- {
			l.out[i].background = true
			if !l.out[i].piped {
				break
			}
		}
	}
	if words := unwrapped(l.now.words); len(words) > 0 {
		l.now.words, l.now.background = words, background || slices.Contains(l.now.words[:len(l.now.words)-len(words)], "setsid")
		to := min(l.at, len(l.s))
		l.now.text = strings.TrimSpace(l.s[min(l.begin, to):to])
		l.out = append(l.out, l.now)
		if inner := nestedShell(words); inner != "" {
			for _, c := range lex(inner, l.depth+1) {
				c.background = c.background || l.now.background
				l.out = append(l.out, c)
			}
		}
	}
	l.now = simple{piped: pipe}
}

// prefixes are commands that run the command after them, and key words before one.
var prefixes = []string{"sudo", "exec", "nohup", "env", "command", "setsid", "time", "nice", "then", "do", "else", "if", "while", "!", "{", "busybox"}

// unwrapped leaves out what stands before the program: assignments, key words, and programs that run another one.
func unwrapped(words []string) []string {
	for len(words) > 0 {
		name := path.Base(words[0])
		assignment := strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")
		if !assignment && !slices.Contains(prefixes, name) && !(name == "nice" || len(words[0]) > 1 && words[0][0] == '-') {
			break
		}
		words = words[1:]
	}
	return words
}

// nestedShell is the text that a shell is given with -c.
func nestedShell(words []string) string {
	switch path.Base(words[0]) {
	case "sh", "bash", "dash", "zsh", "ash":
	default:
		return ""
	}
	for i, w := range words[1:] {
		if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+2 < len(words) {
			return words[i+2]
		}
		if !strings.HasPrefix(w, "-") {
			break
		}
	}
	return ""
}
