//go:build wasip1 || libyaml

package yaml

import (
	"bytes"
	"errors"
	"strings"
)

func load(text []byte, depth int) (n *Node, err error) {
	c := composer{parser: NewParser()}
	c.parser.SetInputReader(bytes.NewReader(text))
	c.parser.depthCheck = func(n int, _ *DepthContext) error {
		if n > depth {
			return errorf("exceeded max depth of %d", depth)
		}
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			n, err = nil, f.err
		}
	}()
	c.expect(STREAM_START_EVENT)
	n = c.document()
	if n == nil {
		return nil, errors.New("yaml: construct errors: <unknown position>: yaml: no documents in stream")
	}
	if c.document() != nil {
		return nil, errors.New("yaml: construct errors: <unknown position>: yaml: expected single document, found multiple")
	}
	return n, nil
}

// failure is what a composer panics with.
type failure struct{ err error }

// composer makes nodes of the parser's events, as the library's does.
type composer struct {
	parser  Parser
	event   Event
	anchors map[string]*Node
}

func (c *composer) fail(message string) {
	mark := c.event.StartMark
	mark.Index = 0
	panic(failure{&LoadError{Stage: ComposerStage, Message: message, Mark: mark}})
}

// peek returns the next event.
func (c *composer) peek() EventType {
	if c.event.Type == NO_EVENT {
		if err := c.parser.Parse(&c.event); err != nil {
			panic(failure{err})
		}
	}
	return c.event.Type
}

// expect takes an event of a type.
func (c *composer) expect(e EventType) {
	switch got := c.peek(); {
	case got == STREAM_END_EVENT:
		c.fail("attempted to go past the end of stream; corrupted value?")
	case got != e:
		c.fail(sprintf("expected %s event but got %s", e.String(), got.String()))
	}
	c.event = Event{}
}

// document reads one, and returns nil where there is none left.
func (c *composer) document() *Node {
	switch c.peek() {
	case STREAM_END_EVENT:
		return nil
	case DOCUMENT_START_EVENT:
	default:
		return c.node()
	}
	c.anchors = map[string]*Node{}
	c.expect(DOCUMENT_START_EVENT)
	n := c.node()
	c.expect(DOCUMENT_END_EVENT)
	return n
}

func (c *composer) node() *Node {
	switch c.peek() {
	case SCALAR_EVENT:
		return c.scalar()
	case ALIAS_EVENT:
		n := &Node{Kind: Alias, Value: string(c.event.Anchor)}
		if n.Target = c.anchors[n.Value]; n.Target == nil {
			c.fail("unknown anchor '" + n.Value + "' referenced")
		}
		c.expect(ALIAS_EVENT)
		return n
	case SEQUENCE_START_EVENT:
		n := c.begin(Sequence)
		c.expect(SEQUENCE_START_EVENT)
		for c.peek() != SEQUENCE_END_EVENT {
			n.Content = append(n.Content, c.node())
		}
		c.expect(SEQUENCE_END_EVENT)
		return n
	case MAPPING_START_EVENT:
		return c.mapping()
	}
	panic("internal error: an event of no node: " + c.event.Type.String())
}

func (c *composer) mapping() *Node {
	n := c.begin(Mapping)
	c.expect(MAPPING_START_EVENT)
	for c.peek() != MAPPING_END_EVENT {
		n.Content = append(n.Content, c.node())
		n.Content = append(n.Content, c.node())
		if c.peek() == TAIL_COMMENT_EVENT {
			c.expect(TAIL_COMMENT_EVENT)
		}
	}
	c.expect(MAPPING_END_EVENT)
	return n
}

func (c *composer) scalar() *Node {
	const quoted = DOUBLE_QUOTED_SCALAR_STYLE | SINGLE_QUOTED_SCALAR_STYLE | LITERAL_SCALAR_STYLE | FOLDED_SCALAR_STYLE
	n := c.begin(Scalar)
	n.Value = string(c.event.Value)
	switch {
	case n.Tag == "!":
		n.Tag = TagStr
	case n.Tag == "" && c.event.ScalarStyle()&quoted != 0:
		n.Tag = TagStr
	case n.Tag == "":
		n.Tag, n.Plain = plainTag(n.Value), true
	}
	c.expect(SCALAR_EVENT)
	return n
}

// begin makes a node of the event that begins it.
func (c *composer) begin(kind Kind) *Node {
	n := &Node{Kind: kind, Tag: string(c.event.Tag)}
	if name, ok := strings.CutPrefix(n.Tag, "tag:yaml.org,2002:"); ok {
		n.Tag = "!!" + name
	}
	if c.event.Anchor != nil {
		c.anchors[string(c.event.Anchor)] = n
	}
	return n
}
