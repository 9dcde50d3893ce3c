//go:build !wasip1 && !libyaml

package yaml

import (
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// LoadError is the library's.
type LoadError = yaml.LoadError

func load(text []byte, depth int) (*Node, error) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(depth)))); err != nil {
		return nil, err
	}
	return convert(doc.Content[0], map[*yaml.Node]*Node{}), nil
}

// convert makes ours of the library's node. seen are those with an anchor.
func convert(n *yaml.Node, seen map[*yaml.Node]*Node) *Node {
	made := &Node{Value: n.Value}
	if n.Anchor != "" {
		seen[n] = made
	}
	switch n.Kind {
	case yaml.AliasNode:
		made.Kind, made.Target = Alias, seen[n.Alias]
		return made
	case yaml.ScalarNode:
		made.Kind, made.Tag = Scalar, n.ShortTag()
		const quoted = yaml.TaggedStyle | yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		made.Plain = n.Style&quoted == 0
		switch made.Tag {
		case "!!bool", "!!int", "!!float", "!!timestamp", "!!merge":
			if n.Style&yaml.TaggedStyle == 0 {
				made.Tag = TagOther
			}
		}
		return made
	case yaml.SequenceNode:
		made.Kind = Sequence
	default:
		made.Kind = Mapping
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" { // one that stands there
		made.Tag = n.Tag
	}
	made.Value = ""
	for _, c := range n.Content {
		made.Content = append(made.Content, convert(c, seen))
	}
	return made
}
