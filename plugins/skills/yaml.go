package skills

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	guest "waymark/sdk-guest"
)

// maxDepth bounds nesting, which costs the library half a KiB of memory a
// level.
const maxDepth = 64

// parseYAML reads a block with the YAML library, as far as a tree of nodes:
// decoding into Go values compares all keys with each other, so that a block of
// 64 KiB could use up the memory of a run. It also expands aliases; here an
// alias is followed where it stands for one of the two values. Other keys than
// the two are checked for syntax, and for standing only once.
func parseYAML(block []byte) (m meta, err error) {
	// A library that panics on one skill must not cost all the others.
	defer func() {
		if recover() != nil {
			m, err = meta{}, errors.New("front matter is not valid YAML")
		}
	}()
	if !hasContent(block) {
		return meta{}, nil // to the library it is an error
	}
	var doc yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth))
	if err := yaml.Load(block, &doc, yaml.WithPlugin(limits)); err != nil {
		return meta{}, yamlError(err)
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return meta{}, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return meta{}, errors.New("front matter is not a mapping of keys to values")
	}
	return metaOf(doc.Content[0].Content)
}

// metaOf picks the two values out of the keys and values of a mapping.
func metaOf(pairs []*yaml.Node) (m meta, err error) {
	seen := make(map[string]bool, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		key := valueOf(pairs[i])
		if key.kind != isString {
			continue
		}
		if seen[key.text] {
			return meta{}, errors.New("front matter is not valid YAML: key " + quote(key.text) + " stands twice")
		}
		seen[key.text] = true
		switch key.text {
		case "name":
			m.name = valueOf(pairs[i+1])
		case "description":
			m.description = valueOf(pairs[i+1])
		}
	}
	return m, nil
}

// hasContent reports whether a block holds more than blank lines and comments.
func hasContent(block []byte) bool {
	for line := range strings.SplitSeq(string(block), "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

func valueOf(n *yaml.Node) value {
	if n.Kind == yaml.AliasNode && n.Alias != nil { // an alias never leads to another
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return value{}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return value{isString, n.Value}
	}
	return value{kind: isOther}
}

func yamlError(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New("front matter is not valid YAML: " + guest.Truncate(strings.TrimPrefix(text, "yaml: "), 512))
}
