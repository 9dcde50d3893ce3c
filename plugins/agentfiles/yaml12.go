package agentfiles

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"waymark/plugins/internal/yaml"
	"waymark/sdk-guest/frontmatter"
)

// findYAML finds front matter that begins with the first byte, and ends where a line begins
// with ---.
func findYAML(text []byte) (block, rest []byte, err error) {
	after, found := bytes.CutPrefix(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")), []byte("---"))
	if !found {
		return nil, text, frontmatter.ErrNone
	}
	if block, rest, found = bytes.Cut(after, []byte("\n---")); !found {
		return nil, text, frontmatter.ErrNone
	}
	if len(block) > 0 {
		block = block[1:] // whatever follows the three hyphens
	}
	return []byte(string([]rune(string(block)))), rest, nil
}

// yamlFields accepts texts, by the core schema of YAML 1.2.
func yamlFields(block string) (v frontmatter.Value, err error) {
	v.Kind = frontmatter.Map
	if !hasContent([]byte(block)) {
		return v, nil
	}
	doc, err := yamlNode(block)
	if err != nil || doc.Kind != yaml.Mapping {
		return v, err
	}
	if v.Map, err = members(doc.Content); err != nil {
		return v, err
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, n := resolved(doc.Content[i]).Value, resolved(doc.Content[i+1])
		at := slices.IndexFunc(v.Map, func(m frontmatter.Member) bool { return m.Key == key })
		if at < 0 {
			continue
		}
		if v.Map[at].Value = coreValue(n); key == "name" && v.Map[at].Value.Kind != frontmatter.String && !isFalsy(n) {
			return v, errors.New("name is not a text")
		}
	}
	return v, nil
}

// yamlNode reads a block as any value.
func yamlNode(block string) (n *yaml.Node, err error) {
	// A library that panics on one file must not cost all the others.
	defer func() {
		if recover() != nil {
			n, err = nil, errors.New("front matter is not valid YAML")
		}
	}()
	if n, err = yaml.Load([]byte(strings.Map(hideControl, block)), maxDepth); err != nil {
		return nil, yamlError(err)
	}
	return n, nil
}

// controls is where hideControl puts characters that the library refuses, or takes for line
// ends, and that other readers of YAML take for any other.
const controls = '\ue000'

func hideControl(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 {
		return controls + r
	}
	return r
}

func showControl(r rune) rune {
	if r >= controls && r < controls+0x100 {
		return r - controls
	}
	return r
}

// coreValue is a value by the core schema.
func coreValue(n *yaml.Node) frontmatter.Value {
	v := valueOf("", n)
	if n.Kind != yaml.Scalar {
		return v
	}
	v = frontmatter.Value{Kind: frontmatter.String, Text: strings.Map(showControl, n.Value), Line: 1}
	switch {
	case n.Tag == yaml.TagStr && !n.Plain:
	case isCoreNull(n.Value) && n.Plain || n.Tag == yaml.TagNull:
		v = frontmatter.Value{Kind: frontmatter.Null, Line: 1}
	case n.Value == "true" || n.Value == "True" || n.Value == "TRUE" || n.Value == "false" || n.Value == "False" || n.Value == "FALSE":
		v = frontmatter.Value{Kind: frontmatter.Bool, Text: strings.ToLower(n.Value), Line: 1}
	case isCoreNumber(n.Value):
		v.Kind = frontmatter.Other
	}
	return v
}

func isCoreNull(text string) bool {
	return text == "" || text == "~" || text == "null" || text == "Null" || text == "NULL"
}

// isFalsy reports whether a value counts as none in JavaScript: null, false, 0 and NaN.
func isFalsy(n *yaml.Node) bool {
	v := coreValue(n)
	return v.Kind == frontmatter.Null || v.Kind == frontmatter.Bool && !v.True() || n.Kind == yaml.Scalar && v.Kind == frontmatter.Other && (strings.Trim(n.Value, "+-0.xoeE") == "" || strings.EqualFold(n.Value, ".nan"))
}

// isCoreNumber reports whether a text is a number.
func isCoreNumber(text string) bool {
	const digits = "0123456789"
	bare := strings.TrimLeft(text, "+-")
	if len(text)-len(bare) > 1 || bare == "" {
		return false
	}
	switch lower := strings.ToLower(bare); {
	case bare == ".inf" || bare == ".Inf" || bare == ".INF", text == ".nan" || text == ".NaN" || text == ".NAN":
		return true
	case strings.HasPrefix(text, "0x"):
		return len(lower) > 2 && strings.Trim(lower[2:], digits+"abcdef") == ""
	case strings.HasPrefix(text, "0o"):
		return len(lower) > 2 && strings.Trim(lower[2:], "01234567") == ""
	}
	number, exponent, scientific := strings.Cut(strings.ToLower(bare), "e")
	if exponent = strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-"); scientific && (exponent == "" || strings.Trim(exponent, digits) != "") {
		return false
	}
	whole, part, _ := strings.Cut(number, ".")
	return whole+part != "" && strings.Trim(whole, digits) == "" && strings.Trim(part, digits) == ""
}
