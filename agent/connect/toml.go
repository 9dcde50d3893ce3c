package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/creachadair/tomledit"
	"github.com/creachadair/tomledit/parser"
	"github.com/creachadair/tomledit/scanner"
)

// tomlEdit is an entry of a TOML document: a table with its own heading, appended at the
// end. It has the given keys and no tables in it.
//
// Even the library that keeps comments would reformat the rest of the document. So it is
// only used to find positions, and the text itself is cut and joined.
type tomlEdit struct {
	path []string
	keys []tomlKey
}

// tomlKey is a key and its value: a string, or a list of strings.
type tomlKey struct {
	name  string
	value any
}

// decodeTOML decodes a document as a client does.
func decodeTOML(data []byte) (map[string]any, error) {
	x := map[string]any{}
	_, err := toml.Decode(string(data), &x)
	if wrong := (toml.ParseError{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("line %d isn't valid TOML", wrong.Position.Line)
	}
	return x, err
}

// parseTOML returns the positions in a document.
func parseTOML(data []byte) (*tomledit.Document, error) {
	doc, err := tomledit.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it isn't understood as TOML")
	}
	return doc, nil
}

func lookup(x map[string]any, path []string) any {
	var v any = x
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// without removes the value at a path, and the tables around it that became empty.
func without(x map[string]any, path []string) {
	if len(path) > 1 {
		if m, ok := x[path[0]].(map[string]any); !ok {
			return
		} else if without(m, path[1:]); len(m) > 0 {
			return
		}
	}
	delete(x, path[0])
}

func (e *tomlEdit) find(data []byte) (any, error) {
	x, err := decodeTOML(data)
	if err != nil {
		return nil, err
	}
	doc, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	// Codex refuses to start with an inline table that is extended, which this decoder
	// accepts.
	for i := range e.path[:len(e.path)-1] {
		for _, kv := range doc.Find(e.path[:i+1]...) {
			if kv.KeyValue != nil {
				return nil, fmt.Errorf("%s is an inline table, which nothing can be added to: write its entries as tables, such as [%s.NAME]", parser.Key(e.path[:i+1]), parser.Key(e.path[:i+1]))
			}
		}
	}
	return lookup(x, e.path), nil
}

func (e *tomlEdit) own(found any) bool { return starts(found) }

func (e *tomlEdit) put(data []byte) ([]byte, int, error) {
	before, err := decodeTOML(data)
	if err != nil {
		return nil, 0, err
	}
	out := bytes.Clone(data)
	line := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		line = "\r\n"
	}
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, line...)
	}
	if len(out) > 0 {
		out = append(out, line...)
	}
	out = append(out, strings.ReplaceAll(e.text(), "\n", line)...)
	after, err := decodeTOML(out)
	if err != nil {
		return nil, 0, errUnsafe
	}
	if _, err := parseTOML(out); err != nil {
		return nil, 0, errUnsafe
	}
	if !reflect.DeepEqual(lookup(after, e.path), e.decoded()) {
		return nil, 0, errUnsafe
	}
	without(before, e.path)
	without(after, e.path)
	if !reflect.DeepEqual(before, after) {
		return nil, 0, errUnsafe
	}
	return out, 0, nil
}

// decoded is the entry as a client decodes it.
func (e *tomlEdit) decoded() map[string]any {
	x := map[string]any{}
	for _, k := range e.keys {
		if list, ok := k.value.([]string); ok {
			all := make([]any, len(list))
			for i, s := range list {
				all[i] = s
			}
			x[k.name] = all
			continue
		}
		x[k.name] = k.value
	}
	return x
}

func (e *tomlEdit) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", parser.Key(e.path))
	quote := func(s string) string { return `"` + string(scanner.Escape(s)) + `"` }
	for _, k := range e.keys {
		value := ""
		switch v := k.value.(type) {
		case []string:
			all := make([]string, len(v))
			for i, s := range v {
				all[i] = quote(s)
			}
			value = "[" + strings.Join(all, ", ") + "]"
		case string:
			value = quote(v)
		}
		fmt.Fprintf(&b, "%s = %s\n", k.name, value)
	}
	return b.String()
}

func (e *tomlEdit) cut(data []byte, _ int) ([]byte, error) {
	before, err := decodeTOML(data)
	if err != nil {
		return nil, err
	}
	if lookup(before, e.path) == nil {
		return data, nil
	}
	doc, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	var cuts [][2]int // lines: of a heading of the entry, and of the next other heading
	for i, s := range doc.Sections {
		if !parser.Key(e.path).IsPrefixOf(s.Name) {
			continue
		}
		end := len(data) + 1
		if i+1 < len(doc.Sections) {
			end = doc.Sections[i+1].Line
		}
		cuts = append(cuts, [2]int{s.Line, end})
	}
	out := bytes.Clone(data)
	for _, c := range slices.Backward(cuts) {
		start, end, err := span(data, c[0], c[1])
		if err != nil {
			return nil, err
		}
		out = slices.Delete(out, start, end)
	}
	after, err := decodeTOML(out)
	if err != nil {
		return nil, errUnsafe
	}
	if lookup(after, e.path) != nil {
		return nil, errors.New("the entry isn't a table with a heading of its own: remove it by hand")
	}
	without(before, e.path)
	without(after, e.path) // and the tables around it that became empty
	if !reflect.DeepEqual(before, after) {
		return nil, errUnsafe
	}
	return out, nil
}

// span returns the bytes of a table: from its heading to the end of the line of its last
// value, and the empty line before it that put added. Comments below belong to what
// follows.
func span(data []byte, from, to int) (start, end int, err error) {
	start = -1
	s := scanner.New(bytes.NewReader(data))
	for {
		if err := s.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, 0, err
		}
		at := s.Location()
		if at.First.Line >= to {
			break
		}
		if at.First.Line < from || s.Token() == scanner.Newline || s.Token() == scanner.Comment {
			continue
		}
		if start < 0 {
			start = at.Pos
		}
		end = at.End
	}
	if start < 0 {
		return 0, 0, errUnsafe
	}
	start = bytes.LastIndexByte(data[:start], '\n') + 1
	if i := bytes.IndexByte(data[end:], '\n'); i >= 0 {
		end += i + 1
	} else {
		end = len(data)
	}
	rest := data[end:]
	if head := bytes.TrimSuffix(bytes.TrimSuffix(data[:start], []byte("\n")), []byte("\r")); len(head) < start {
		blankBefore := len(head) == 0 || head[len(head)-1] == '\n'
		if blankBefore && (len(rest) == 0 || rest[0] == '\n' || bytes.HasPrefix(rest, []byte("\r\n"))) {
			start = len(head)
		}
	}
	return start, end, nil
}

func (e *tomlEdit) blank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }
