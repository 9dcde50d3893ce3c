package servers

import (
	"errors"
	"strconv"
	"strings"

	"waymark/plugins/internal/toml"
	"waymark/plugins/internal/yaml"
	"waymark/sdk-guest/jsonlite"
)

// document reads the text of a file, whatever it is written in, as JSON.
func document(f format, text []byte) (doc jsonlite.Value, problem string) {
	var err error
	switch f {
	case tomlText:
		doc, err = toml.Parse(text)
	case yamlText:
		doc, err = fromYAML(text)
	default:
		doc, err = jsonlite.Parse(text, jsonlite.Options{AllowDuplicates: true, AllowInvalidUTF8: true, AllowComments: f == commentedJSON, MaxDepth: jsonDepth})
		if at, ok := errors.AsType[*jsonlite.SyntaxError](err); ok {
			err = errors.New("invalid JSON in line " + strconv.Itoa(at.Line(text)) + ": " + at.Reason)
			if f == plainJSON && strings.HasPrefix(string(text), "\ufeff") {
				err = errors.New("invalid JSON in line 1: it begins with a byte order mark")
			}
		}
	}
	if err != nil {
		return doc, err.Error()
	}
	return doc, ""
}

const (
	// jsonDepth is how deep values may lie in each other in JSON. Settings have a dozen
	// levels; a guest that reads two files of 512 is out of stack.
	jsonDepth = 128
	// yamlDepth is how deep values may lie in each other in YAML; a file of Goose has
	// five levels.
	yamlDepth = 64
	// yamlNodes bounds the values that aliases are written out to.
	yamlNodes = 100_000
)

var errYAML = errors.New("invalid YAML")

// fromYAML reads YAML as JSON. The library's messages may quote the document, and
// aren't handed on.
func fromYAML(text []byte) (v jsonlite.Value, err error) {
	defer func() {
		if recover() != nil {
			v, err = jsonlite.Value{}, errYAML
		}
	}()
	if strings.TrimLeft(string(text), " \t\r\n") == "" {
		return jsonlite.Parse([]byte("{}"), jsonlite.Options{})
	}
	doc, err := yaml.Load(text, yamlDepth)
	if err != nil {
		if line := yaml.Line(err); line > 0 {
			return v, errors.New("invalid YAML in line " + strconv.Itoa(line))
		}
		return v, errYAML
	}
	var w yamlWriter
	if w.value(doc, 0); w.failed {
		return v, errors.New("invalid YAML: it is too large when its aliases are written out, or has a key that is no text")
	}
	return jsonlite.Parse(w.out.Bytes(), jsonlite.Options{AllowDuplicates: true, MaxDepth: 2 * yamlDepth})
}

// yamlWriter writes nodes as JSON.
type yamlWriter struct {
	out    jsonlite.Writer
	nodes  int
	failed bool
}

func (w *yamlWriter) value(n *yaml.Node, depth int) {
	if w.nodes++; w.nodes > yamlNodes || depth > 2*yamlDepth {
		w.failed = true
		return
	}
	switch n.Kind {
	case yaml.Alias:
		w.value(n.Target, depth+1)
	case yaml.Sequence:
		w.out.BeginArray()
		for _, e := range n.Content {
			w.value(e, depth+1)
		}
		w.out.EndArray()
	case yaml.Mapping:
		w.out.BeginObject()
		for i := 0; i+1 < len(n.Content) && !w.failed; i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.Alias {
				key = key.Target
			}
			w.failed = w.failed || key.Kind != yaml.Scalar
			w.out.Key(key.Value)
			w.value(n.Content[i+1], depth+1)
		}
		w.out.EndObject()
	default:
		w.scalar(n)
	}
}

// scalar writes what is no text as what it is where JSON has that, and else as a text.
func (w *yamlWriter) scalar(n *yaml.Node) {
	switch n.Tag {
	case yaml.TagNull:
		w.out.Null()
		return
	case yaml.TagOther:
		switch n.Value {
		case "true", "True", "TRUE":
			w.out.Bool(true)
			return
		case "false", "False", "FALSE":
			w.out.Bool(false)
			return
		}
		if v, err := jsonlite.Parse([]byte(n.Value), jsonlite.Options{}); err == nil && v.Kind() == jsonlite.Number {
			w.out.RawString(n.Value)
			return
		}
	}
	w.out.String(n.Value)
}
