package skills

import (
	"errors"
	"strings"

	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
)

// maxDepth bounds nesting, which costs the parser half a KiB of memory a
// level.
const maxDepth = 64

// parseYAML reads a block as the YAML library does, as far as a tree of nodes:
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
	doc, err := yaml.Load(block, maxDepth)
	if err != nil {
		return meta{}, yamlError(err)
	}
	if doc.Tag == yaml.TagNull {
		return meta{}, nil
	}
	if doc.Kind != yaml.Mapping {
		return meta{}, errors.New("front matter is not a mapping of keys to values")
	}
	return metaOf(doc.Content)
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
	if n.Kind == yaml.Alias { // which never leads to another
		n = n.Target
	}
	switch {
	case n.Kind == yaml.Scalar && n.Tag == yaml.TagNull:
		return value{}
	case n.Kind == yaml.Scalar && n.Tag == yaml.TagStr:
		return value{isString, n.Value}
	}
	return value{kind: isOther}
}

func yamlError(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New("front matter is not valid YAML: " + guest.Truncate(strings.TrimPrefix(text, "yaml: "), 512))
}
