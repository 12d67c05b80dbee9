package logs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Expr selects rows by their columns, in the manner of benchproc:
//
//	key:value          the column has exactly this value; key:"" is null
//	key:(a OR b)       one of several
//	-key:value         not; -(…) too
//	a:x b:y            both; the word AND may stand between them
//	a:x OR b:y         either; binds weaker than AND
//	(…)  *             grouping; everything
//
// Words that hold blanks, parentheses, colons or quotes are written "…" with \" and \\. The zero
// value matches everything.
type Expr struct {
	root node
	text string
}

// ExprError is an expression that cannot be read or used. Pos counts characters from 1.
type ExprError struct {
	Expr string
	Pos  int
	Text string
	hint string
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("filter %q, character %d: %s", e.Expr, e.Pos, e.Text)
}

// Hint tells the way out.
func (e *ExprError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return "write key:value, key:(a OR b), -key:value; terms with a blank between them must all hold; quote values that hold blanks or parentheses"
}

// ExitCode is 2: the input is wrong.
func (e *ExprError) ExitCode() int { return 2 }

type node interface {
	match(get func(string) (string, bool)) (bool, *unknownKey)
}

type unknownKey struct {
	key string
	pos int
}

type (
	term struct {
		key    string
		pos    int
		values []string
	}
	not        struct{ of node }
	all        []node
	oneOf      []node
	everything struct{}
)

func (t term) match(get func(string) (string, bool)) (bool, *unknownKey) {
	v, ok := get(t.key)
	if !ok {
		return false, &unknownKey{t.key, t.pos}
	}
	return slices.Contains(t.values, v), nil
}

func (n not) match(get func(string) (string, bool)) (bool, *unknownKey) {
	ok, err := n.of.match(get)
	return !ok, err
}

// match looks at every part, so that an unknown key is found whatever the row holds.
func (a all) match(get func(string) (string, bool)) (bool, *unknownKey) {
	result := true
	for _, n := range a {
		ok, err := n.match(get)
		if err != nil {
			return false, err
		}
		result = result && ok
	}
	return result, nil
}

func (a oneOf) match(get func(string) (string, bool)) (bool, *unknownKey) {
	result := false
	for _, n := range a {
		ok, err := n.match(get)
		if err != nil {
			return false, err
		}
		result = result || ok
	}
	return result, nil
}

func (everything) match(func(string) (string, bool)) (bool, *unknownKey) { return true, nil }

// Match evaluates the expression; get returns the value of a key and whether there is such a key. An
// unknown key is an *[ExprError] that lists the columns of the table episodes.
func (e Expr) Match(get func(key string) (string, bool)) (bool, error) {
	if e.root == nil {
		return true, nil
	}
	ok, unknown := e.root.match(get)
	if unknown != nil {
		return false, &ExprError{Expr: e.text, Pos: unknown.pos, Text: fmt.Sprintf("unknown key %q", unknown.key),
			hint: "the keys are: " + strings.Join(EpisodeKeys(), ", ")}
	}
	return ok, nil
}

// String returns the expression as it was written.
func (e Expr) String() string { return e.text }

// maxExpr bounds length and nesting of an expression.
const (
	maxExpr      = 1 << 16
	maxExprDepth = 100
)

// ParseExpr reads an expression. An empty one matches everything. Its errors are *[ExprError].
func ParseExpr(s string) (Expr, error) {
	p := exprParser{text: s}
	if len(s) > maxExpr {
		return Expr{}, &ExprError{Expr: s[:40] + "…", Pos: maxExpr, Text: "the expression is too long"}
	}
	if err := p.lex(); err != nil {
		return Expr{}, err
	}
	if len(p.tokens) == 0 {
		return Expr{text: s}, nil
	}
	root, err := p.either()
	if err != nil {
		return Expr{}, err
	}
	if len(p.tokens) > 0 {
		return Expr{}, p.fail(p.tokens[0], "unexpected %s", p.tokens[0])
	}
	return Expr{root: root, text: s}, nil
}

type token struct {
	kind rune // '(' ')' ':' '-' '*', 'w' for a bare word, 'q' for a quoted one
	text string
	pos  int
}

func (t token) String() string {
	if t.kind == 'w' || t.kind == 'q' {
		return fmt.Sprintf("%q", t.text)
	}
	return fmt.Sprintf("%q", string(t.kind))
}

func (t token) isWord() bool          { return t.kind == 'w' || t.kind == 'q' }
func (t token) is(word string) bool   { return t.kind == 'w' && t.text == word }
func startsWord(c rune) bool          { return !strings.ContainsRune("():\"", c) && !unicode.IsSpace(c) }
func (p *exprParser) end() token      { return token{pos: utf8.RuneCountInString(p.text) + 1} }
func (p *exprParser) at(i int) rune   { return p.runes[i] }
func (p *exprParser) more(i int) bool { return i < len(p.runes) }

type exprParser struct {
	text   string
	runes  []rune
	tokens []token
	depth  int
}

func (p *exprParser) fail(t token, format string, args ...any) error {
	return &ExprError{Expr: p.text, Pos: t.pos, Text: fmt.Sprintf(format, args...)}
}

// lex cuts the text into tokens. A dash or star is an operator only where a term begins.
func (p *exprParser) lex() error {
	p.runes = []rune(p.text)
	for i := 0; p.more(i); {
		c := p.at(i)
		t := token{kind: c, pos: i + 1}
		begins := len(p.tokens) == 0 || p.tokens[len(p.tokens)-1].kind != ':'
		switch {
		case unicode.IsSpace(c):
			i++
			continue
		case c == '(' || c == ')' || c == ':':
			i++
		case begins && (c == '-' || c == '*' && (!p.more(i+1) || !startsWord(p.at(i+1)))):
			i++
		case c == '"':
			text, next, ok := p.quoted(i)
			if !ok {
				return p.fail(t, "the quotation has no end")
			}
			t.kind, t.text, i = 'q', text, next
		default:
			j := i
			for p.more(j) && startsWord(p.at(j)) {
				j++
			}
			t.kind, t.text, i = 'w', string(p.runes[i:j]), j
		}
		p.tokens = append(p.tokens, t)
	}
	return nil
}

func (p *exprParser) quoted(i int) (text string, next int, ok bool) {
	var b strings.Builder
	for i++; p.more(i); i++ {
		switch c := p.at(i); {
		case c == '"':
			return b.String(), i + 1, true
		case c == '\\' && p.more(i+1):
			i++
			b.WriteRune(p.at(i))
		default:
			b.WriteRune(c)
		}
	}
	return "", i, false
}

func (p *exprParser) peek() token {
	if len(p.tokens) == 0 {
		return p.end()
	}
	return p.tokens[0]
}

func (p *exprParser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *exprParser) either() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxExprDepth {
		return nil, p.fail(p.peek(), "too many parentheses")
	}
	var parts oneOf
	for {
		n, err := p.both()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if !p.peek().is("OR") {
			break
		}
		p.next()
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

func (p *exprParser) both() (node, error) {
	var parts all
	for {
		n, err := p.factor()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		t := p.peek()
		if t.is("AND") {
			p.next()
			continue
		}
		if t.kind == 0 || t.kind == ')' || t.is("OR") {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

func (p *exprParser) factor() (node, error) {
	negative := false
	for p.peek().kind == '-' {
		p.next()
		negative = !negative
	}
	n, err := p.operand()
	if err == nil && negative {
		n = not{n}
	}
	return n, err
}

func (p *exprParser) operand() (node, error) {
	t := p.next()
	switch {
	case t.kind == '*':
		return everything{}, nil
	case t.kind == '(':
		n, err := p.either()
		if err != nil {
			return nil, err
		}
		if end := p.next(); end.kind != ')' {
			return nil, p.fail(end, "the parenthesis opened at character %d is not closed", t.pos)
		}
		return n, nil
	case t.kind == 0:
		return nil, p.fail(t, "a term is missing at the end")
	case t.is("AND") || t.is("OR") || !t.isWord():
		return nil, p.fail(t, "expected key:value, found %s", t)
	}
	if colon := p.next(); colon.kind != ':' {
		return nil, p.fail(colon, "expected a colon after %s", t)
	}
	values, err := p.values(t)
	return term{key: t.text, pos: t.pos, values: values}, err
}

// values reads a value, or several: (a OR b).
func (p *exprParser) values(key token) ([]string, error) {
	t := p.next()
	if t.isWord() {
		return []string{t.text}, nil
	}
	if t.kind != '(' {
		return nil, p.fail(t, "the value of %s is missing", key)
	}
	var values []string
	for {
		v := p.next()
		if v.kind == '-' || v.kind == '*' {
			return nil, p.fail(v, "quote a value that begins with %s", v)
		}
		if !v.isWord() || v.is("OR") || v.is("AND") {
			return nil, p.fail(v, "expected a value of %s", key)
		}
		values = append(values, v.text)
		switch sep := p.next(); {
		case sep.kind == ')':
			return values, nil
		case !sep.is("OR"):
			return nil, p.fail(sep, "expected OR or a closing parenthesis")
		}
	}
}

// episodeColumns are the keys of a filter.
var episodeColumns = columnsOf[EpisodeRow]()

// EpisodeKeys lists the columns of the table episodes, the keys an expression may use.
func EpisodeKeys() []string {
	names := make([]string, len(episodeColumns))
	for i, c := range episodeColumns {
		names[i] = c.name
	}
	return names
}

// Get returns the value of a column as text, "" for null, and whether there is such a column. The
// column sandbox answers with its kind alone, since nobody types a fingerprint.
func (r *EpisodeRow) Get(key string) (string, bool) {
	for i := range episodeColumns {
		if c := &episodeColumns[i]; c.name == key {
			v := c.text(reflect.ValueOf(r).Elem())
			if key == "sandbox" {
				v, _, _ = strings.Cut(v, " ")
			}
			return v, true
		}
	}
	return "", false
}
