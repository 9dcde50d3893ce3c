// Package yaml reads YAML as the library go.yaml.in/yaml/v4 does, into a tree of nodes.
// Outside a guest it uses that library. In a guest it uses only the library's scanner and
// parser, which internal/tools/generate extracts while the guest is built, and makes nodes of their output.
// The whole library doubles the size of a guest, and the memory that its native code takes,
// because making Go values of nodes needs reflection, regular expressions and the printing of
// anything.
//
// # Guarantees
//
// Both return the same tree and the same error; a fuzz test compares them. There is one
// difference: of a second document, which is an error in any case, a guest checks only the
// syntax.
//
// # Limits
//
// Nodes have tag, value, style and children, but no comments and positions. Aliases aren't
// expanded.
//
// The library panics on a bug of its own, and so does Load. Callers recover.
//
// # Concurrency
//
// The functions have no state.
package yaml

import "errors"

// Kind says what a node is.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota + 1
	Sequence
	Mapping
	Alias
)

// The tags that are told apart here.
const (
	TagNull = "!!null"
	TagStr  = "!!str"
	// TagOther is what a text without quotes has that is a boolean, a number, a
	// date or a merge key: which of them doesn't matter here.
	TagOther = "!!other"
)

// Node is a value, or a key.
type Node struct {
	Kind Kind
	// Tag is the one that was written, in its short form, or what a scalar without
	// one is; empty for other nodes without one.
	Tag   string
	Value string // of a scalar, without quotes; the name that an alias has
	// Plain says that a scalar has neither quotes nor a tag.
	Plain bool
	// Target is what an alias stands for.
	Target *Node
	// Content has what is in a sequence, and keys and values of a mapping in
	// turn.
	Content []*Node
}

// Load reads exactly one document, in which nodes may lie so deep in each other.
//
// # Errors
//
// What the library says, but for what the package says of it.
func Load(text []byte, depth int) (*Node, error) { return load(text, depth) }

// Line is where an error of Load is, from 1; 0 where that isn't known.
func Line(err error) int {
	if at, ok := errors.AsType[*LoadError](err); ok {
		return at.Mark.Line
	}
	return 0
}
