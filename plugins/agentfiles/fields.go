package agentfiles

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	"waymark/plugins/internal/toml"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/jsonlite"
)

// yamlBudget bounds what the YAML library reads in one run, in bytes. In a sandbox it reads
// about 1 KiB per millisecond, and a run has two seconds. Front matter has a few hundred
// bytes, so this is a thousand files.
type yamlBudget int

const fullYAMLBudget yamlBudget = 512 << 10

var errYAMLBudget = errors.New("front matter uses anchors, tags or the like, and this root has too much of that to read it all")

// spend takes a cost from the budget and reports whether there was enough.
func (b *yamlBudget) spend(cost int) bool {
	*b -= yamlBudget(cost)
	return cost == 0 || *b >= 0
}

// head is what was read of a file's fields.
type head struct {
	fields frontmatter.Value
	// unquoted says that they are YAML only once a value with a colon is quoted.
	unquoted bool
	cost     int // for spend
	size     int // of the file's begin that is no text, in bytes
}

// parseYAML reads a block with the SDK's reader and, if that fails and the budget allows it,
// with a YAML library. In rules, unquoted globs are first taken literally.
func (b *yamlBudget) parseYAML(block []byte, rules bool) (h head, err error) {
	h.fields, err = frontmatter.Parse(block, frontmatter.Options{})
	if err == nil && (rules || certain(h.fields)) {
		return h, nil
	}
	var lenient frontmatter.Value
	taken := false
	if err != nil {
		lenient, err = frontmatter.Parse(block, frontmatter.Options{Lenient: true})
		taken = err == nil
		// A value that begins with ! or * may be YAML that the lenient reader takes for a
		// text.
		if taken && (rules || !bytes.ContainsAny(block, "!*")) {
			return head{fields: lenient, unquoted: true}, nil
		}
	}
	h = head{cost: len(block)}
	if int(*b) < len(block) {
		return h, errYAMLBudget
	}
	if h.fields, err = loadYAML(block); err != nil && taken {
		h.fields, h.unquoted, err = lenient, true, nil
	}
	return h, err
}

// certain reports whether name and description are the same in every version of YAML.
func certain(v frontmatter.Value) bool {
	for i := range v.Map {
		if m := &v.Map[i]; m.Value.Kind == frontmatter.Other && (m.Key == "name" || m.Key == "description") {
			return false
		}
	}
	return true
}

// maxDepth bounds nesting, which costs the parser half a KiB of memory per level.
const maxDepth = 64

// loadYAML reads a block as the YAML library does, but only into a tree of nodes: decoding
// into Go values compares all keys with each other, so that a block of 64 KiB could use up
// the memory of a run. It also expands aliases; here an alias is followed only if it is a
// field's value.
func loadYAML(block []byte) (v frontmatter.Value, err error) {
	// A library that panics on one file must not cost all the others.
	defer func() {
		if recover() != nil {
			v, err = frontmatter.Value{}, errors.New("front matter is not valid YAML")
		}
	}()
	v.Kind = frontmatter.Map
	if !hasContent(block) {
		return v, nil // to the library it is an error
	}
	doc, err := yaml.Load(block, maxDepth)
	if err != nil {
		return v, yamlError(err)
	}
	if doc.Tag == yaml.TagNull {
		return v, nil
	}
	if doc.Kind != yaml.Mapping {
		return v, errors.New("front matter is not a mapping of keys to values")
	}
	v.Map, err = members(doc.Content)
	return v, err
}

// members makes fields of the keys and values of a mapping. Keys that aren't texts only have
// their syntax checked.
func members(pairs []*yaml.Node) (list []frontmatter.Member, err error) {
	seen := make(map[string]bool, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		key := scalarOf(pairs[i])
		if key.Kind != frontmatter.String {
			continue
		}
		if seen[key.Text] {
			return nil, errors.New("front matter is not valid YAML: key " + quote(key.Text) + " stands twice")
		}
		seen[key.Text] = true
		list = append(list, frontmatter.Member{Key: key.Text, Value: valueOf(key.Text, pairs[i+1])})
	}
	return list, nil
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

// valueOf returns a field's value: the scalars of a list, and a map without its content.
func valueOf(key string, n *yaml.Node) frontmatter.Value {
	if n.Kind == yaml.Alias { // which never leads to another
		n = n.Target
	}
	v := scalarOf(n)
	switch n.Kind {
	case yaml.Sequence:
		v.Kind = frontmatter.List
		for _, e := range n.Content {
			v.List = append(v.List, scalarOf(e))
		}
	case yaml.Mapping:
		v.Kind = frontmatter.Map
	case yaml.Scalar:
		// A description may have any tag, or be written like a merge key.
		plain := n.Tag == yaml.TagNull || n.Tag == yaml.TagStr || n.Tag == yaml.TagOther
		if key == "description" && (!plain || n.Value == "<<" && n.Tag == yaml.TagOther) {
			v = frontmatter.Value{Kind: frontmatter.String, Text: n.Value, Line: 1}
		}
	}
	return v
}

func scalarOf(n *yaml.Node) frontmatter.Value {
	if n.Kind == yaml.Alias {
		n = n.Target
	}
	v := frontmatter.Value{Kind: frontmatter.Other, Line: 1}
	switch {
	case n.Kind != yaml.Scalar:
		return v
	case n.Tag == yaml.TagNull:
		v.Kind = frontmatter.Null
	case n.Tag == yaml.TagStr:
		v.Kind, v.Text = frontmatter.String, n.Value
	case strings.EqualFold(n.Value, "true"), strings.EqualFold(n.Value, "false"):
		v.Kind, v.Text = frontmatter.Bool, strings.ToLower(n.Value)
	default:
		v.Text = n.Value
	}
	return v
}

// yamlError says what is wrong with front matter, and in which line of the file: it begins in
// the second one.
func yamlError(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if _, problem, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "go-yaml") {
		text = problem
	}
	in := ""
	if line := yaml.Line(err); line > 0 {
		in = " in line " + strconv.Itoa(line+1)
	}
	return errors.New("front matter is not valid YAML" + in + ": " + guest.Truncate(strings.TrimPrefix(text, "yaml: "), 512))
}

// parseFile reads the fields of a whole file in a format other than Markdown.
func (b *yamlBudget) parseFile(format conventions.Format, text []byte) (h head, err error) {
	var v jsonlite.Value
	switch format {
	case conventions.YAML:
		return b.parseYAML(text, true)
	case conventions.TOML:
		v, err = toml.Parse(text)
	default:
		v, err = jsonlite.Parse(text, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: places.JSONDepth})
	}
	if err != nil {
		return h, err
	}
	if v.Kind() != jsonlite.Object {
		return h, errors.New("it is " + string(v.Kind()) + ", where an object belongs")
	}
	h.fields = fromJSON(v, 3)
	return h, nil
}

// fromJSON makes a field's value of a JSON value, up to the given depth.
func fromJSON(v jsonlite.Value, levels int) frontmatter.Value {
	f := frontmatter.Value{Kind: frontmatter.Other, Line: 1}
	switch v.Kind() {
	case jsonlite.Null:
		f.Kind = frontmatter.Null
	case jsonlite.Bool:
		f.Kind, f.Text = frontmatter.Bool, string(v.Raw())
	case jsonlite.String:
		f.Kind = frontmatter.String
		f.Text, _ = v.Text()
	case jsonlite.Number:
		f.Text = string(v.Raw())
	case jsonlite.Array:
		f.Kind = frontmatter.List
		if levels > 0 {
			for e := range v.Elements() {
				f.List = append(f.List, fromJSON(e, levels-1))
			}
		}
	case jsonlite.Object:
		f.Kind = frontmatter.Map
		if levels > 0 {
			for key, e := range v.Members() {
				f.Map = append(f.Map, frontmatter.Member{Key: key, Value: fromJSON(e, levels-1)})
			}
		}
	}
	return f
}
