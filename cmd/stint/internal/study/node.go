package study

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile is the largest study file read; a study is written by a person.
const maxFile = 1 << 20

// maxDepth bounds nesting, which no key of a study needs beyond six.
const maxDepth = 32

// place is a position in the file, from 1.
type place struct{ line, col int }

// kind is the shape of a YAML node.
type kind int

const (
	kindNull kind = iota
	kindScalar
	kindList
	kindMapping
)

func (k kind) String() string {
	return [...]string{"nothing", "a value", "a list", "a mapping"}[k]
}

// node is one YAML value with its place. Scalars keep their text: what a number or a word means is decided
// by the key, so `200k`, `1` and `"1"` are read alike.
type node struct {
	place
	kind    kind
	text    string // kindScalar
	quoted  bool   // kindScalar: written in quotes or as a block
	entries []entry
	items   []*node
}

// entry is one key of a mapping.
type entry struct {
	place
	key   string
	value *node
}

// get returns the value under a key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// parseNodes reads the file as one YAML document.
func parseNodes(src *source, b []byte) (root *node, err error) {
	if len(b) > maxFile {
		return nil, &InputError{File: src.file, Message: fmt.Sprintf("the study file has %d bytes; at most %d are read", len(b), maxFile)}
	}
	// The YAML library is given whatever the user has; a fault inside it must not end the program.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &InputError{File: src.file, Message: fmt.Sprintf("the file is no readable YAML (%v)", r)}
		}
	}()
	file, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(src, err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		n, err := convert(src, doc.Body, 0)
		if err != nil {
			return nil, err
		}
		if root != nil {
			return nil, src.errorAt(n.place, "keep one study per file", "a second YAML document begins here")
		}
		root = n
	}
	if root == nil {
		return nil, &InputError{File: src.file, Message: "the study file is empty", Advice: "stint init writes a commented study.yaml to start from"}
	}
	return root, nil
}

// syntaxError gives the YAML parser's complaint our form.
func syntaxError(src *source, err error) error {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		return src.errorAt(at(ye.GetToken()), "", "%s", ye.GetMessage())
	}
	return &InputError{File: src.file, Message: printable(err.Error())}
}

func at(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, t.Position.Column}
}

// convert turns a parsed node into ours, refusing what a study has no use for.
func convert(src *source, n ast.Node, depth int) (*node, error) {
	p := at(n.GetToken())
	if depth > maxDepth {
		return nil, src.errorAt(p, "", "nested deeper than %d levels", maxDepth)
	}
	switch v := n.(type) {
	case *ast.NullNode:
		return &node{place: p, kind: kindNull}, nil
	case *ast.StringNode:
		t := v.Token.Type
		return &node{place: p, kind: kindScalar, text: v.Value, quoted: t == token.SingleQuoteType || t == token.DoubleQuoteType}, nil
	case *ast.LiteralNode:
		return &node{place: p, kind: kindScalar, text: v.Value.Value, quoted: true}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{place: p, kind: kindScalar, text: n.GetToken().Value}, nil
	case *ast.SequenceNode:
		out := &node{place: at(v.Start), kind: kindList}
		for _, item := range v.Values {
			c, err := convert(src, item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, c)
		}
		return out, nil
	case *ast.MappingNode:
		if v.IsFlowStyle {
			p = at(v.Start)
		}
		return convertMapping(src, p, v.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping(src, p, []*ast.MappingValueNode{v}, depth)
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, src.errorAt(p, "write the value out", "a study has no anchors or aliases")
	case *ast.TagNode:
		return nil, src.errorAt(p, "leave it out: the key decides the type", "a study has no tags")
	}
	return nil, src.errorAt(p, "", "a study has no place for a %s", n.Type())
}

func convertMapping(src *source, p place, values []*ast.MappingValueNode, depth int) (*node, error) {
	out := &node{place: p, kind: kindMapping}
	if len(values) > 0 && p.line == 0 {
		out.place = at(values[0].Key.GetToken())
	}
	seen := map[string]place{}
	for i, mv := range values {
		kp := at(mv.Key.GetToken())
		if i == 0 {
			out.place = firstOf(out.place, kp)
		}
		if mv.Key.IsMergeKey() {
			return nil, src.errorAt(kp, "write the keys out", "a study has no merge keys")
		}
		key := mv.Key.GetToken().Value
		if before, dup := seen[key]; dup {
			return nil, src.errorAt(kp, fmt.Sprintf("it is already on line %d; keep one of the two", before.line), "duplicate key %q", key)
		}
		seen[key] = kp
		value := &node{place: kp, kind: kindNull}
		if mv.Value != nil {
			c, err := convert(src, mv.Value, depth+1)
			if err != nil {
				return nil, err
			}
			value = c
		}
		out.entries = append(out.entries, entry{place: kp, key: key, value: value})
	}
	return out, nil
}

// firstOf returns the earlier of two places: the parser's token of a block mapping is its first colon.
func firstOf(a, b place) place {
	if a.line == 0 || b.line < a.line || b.line == a.line && b.col < a.col {
		return b
	}
	return a
}
