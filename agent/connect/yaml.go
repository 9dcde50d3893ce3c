package connect

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlEdit is an entry of the list of servers in the configuration of Continue: the element
// of mcpServers with the entry's name.
//
// No library keeps a document as it is written. So an entry is a block of lines, added to the
// end of a list that is written as one, or with the key to the end of the document; the
// documents before and after are compared as they are decoded.
type yamlEdit struct {
	command command
}

const yamlServers = "mcpServers"

func decodeYAML(data []byte) (map[string]any, error) {
	x := map[string]any{}
	if err := yaml.Unmarshal(data, &x); err != nil {
		return nil, errors.New("it isn't valid YAML") // the library's words may quote the text
	}
	return x, nil
}

// find implements edit.
func (e *yamlEdit) find(data []byte) (any, error) {
	x, err := decodeYAML(data)
	if err != nil {
		return nil, err
	}
	var found any
	list, _ := x[yamlServers].([]any)
	for _, one := range list {
		if m, ok := one.(map[string]any); ok && m["name"] == Name {
			if found != nil {
				return nil, errTwice
			}
			found = m
		}
	}
	return found, nil
}

func (e *yamlEdit) own(found any) bool { return starts(found) }

// text is the element, at the start of its line.
func (e *yamlEdit) text() string {
	var b strings.Builder
	b.WriteString("- name: " + Name + "\n  command: " + quoteYAML(e.command.program) + "\n  args:\n")
	for _, arg := range e.command.args {
		b.WriteString("    - " + quoteYAML(arg) + "\n")
	}
	return b.String()
}

func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

var (
	yamlKey     = regexp.MustCompile(`^mcpServers:[ \t]*(#.*)?$`)
	yamlElement = regexp.MustCompile(`^( *)-( |$)`)
)

// yamlHead is what Continue itself begins a new document with, and refuses one without.
const yamlHead = "name: Local Config\nversion: 1.0.0\nschema: v1\n"

var errYAMLForm = errors.New("its " + yamlServers + " isn't written as a list with a line for each \"- name\"")

// put implements edit.
func (e *yamlEdit) put(data []byte) ([]byte, int, error) {
	before, err := decodeYAML(data)
	if err != nil {
		return nil, 0, err
	}
	if e.blank(data) {
		data = []byte(yamlHead)
		before, _ = decodeYAML(data)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n"
	}
	line := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		line = "\r\n"
	}
	list, isList := before[yamlServers].([]any)
	var at int
	made, indent := 0, "  "
	switch _, there := before[yamlServers]; {
	case !there:
		lines, made = append(lines, yamlServers+":"+line), 1
		at = len(lines)
	case !isList || len(list) == 0:
		return nil, 0, errYAMLForm
	default:
		if at, indent = endOfList(lines); at < 0 {
			return nil, 0, errYAMLForm
		}
	}
	var block []string
	for one := range strings.Lines(e.text()) {
		block = append(block, indent+strings.TrimSuffix(one, "\n")+line)
	}
	out := []byte(strings.Join(slices.Insert(lines, at, block...), ""))
	after, err := decodeYAML(out)
	if err != nil {
		return nil, 0, errUnsafe
	}
	added, _ := after[yamlServers].([]any)
	if len(added) != len(list)+1 || !starts(added[len(list)]) || !reflect.DeepEqual(added[:len(list)], append([]any{}, list...)) {
		return nil, 0, errUnsafe
	}
	delete(before, yamlServers)
	if delete(after, yamlServers); !reflect.DeepEqual(before, after) {
		return nil, 0, errUnsafe
	}
	return out, made, nil
}

// endOfList returns the line after the list of servers, and the indent of its elements; -1 if
// it isn't written as a list of lines.
func endOfList(lines []string) (at int, indent string) {
	key := slices.IndexFunc(lines, func(l string) bool { return yamlKey.MatchString(strings.TrimRight(l, "\r\n")) })
	if key < 0 {
		return -1, ""
	}
	at = -1
	for i := key + 1; i < len(lines); i++ {
		l := strings.TrimRight(lines[i], " \t\r\n")
		if l == "" || strings.HasPrefix(strings.TrimSpace(l), "#") {
			continue
		}
		m := yamlElement.FindStringSubmatch(l)
		switch {
		case at < 0 && m == nil:
			return -1, ""
		case at < 0:
			indent = m[1]
		case m != nil && m[1] == indent:
		case len(l)-len(strings.TrimLeft(l, " ")) <= len(indent):
			return at, indent
		}
		at = i + 1
	}
	return at, indent
}

// cut implements edit.
func (e *yamlEdit) cut(data []byte, made int) ([]byte, error) {
	before, err := decodeYAML(data)
	if err != nil {
		return nil, err
	}
	if found, err := e.find(data); err != nil || found == nil {
		return data, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	begin := slices.IndexFunc(lines, func(l string) bool {
		return strings.TrimRight(strings.TrimLeft(l, " "), "\r\n") == "- name: "+Name
	})
	if begin < 0 {
		return nil, errYAMLForm
	}
	indent := len(lines[begin]) - len(strings.TrimLeft(lines[begin], " "))
	end := begin + 1
	for end < len(lines) && strings.TrimSpace(lines[end]) != "" && len(lines[end])-len(strings.TrimLeft(lines[end], " ")) > indent {
		end++
	}
	list, _ := before[yamlServers].([]any)
	if made > 0 && len(list) == 1 && begin > 0 && yamlKey.MatchString(strings.TrimRight(lines[begin-1], "\r\n")) {
		begin--
	}
	out := []byte(strings.Join(slices.Delete(lines, begin, end), ""))
	after, err := decodeYAML(out)
	if err != nil {
		return nil, errUnsafe
	}
	left, _ := after[yamlServers].([]any)
	if len(left) != len(list)-1 {
		return nil, errUnsafe
	}
	delete(before, yamlServers)
	if delete(after, yamlServers); !reflect.DeepEqual(before, after) {
		return nil, errUnsafe
	}
	return out, nil
}

func (*yamlEdit) blank(data []byte) bool {
	text := strings.TrimSpace(string(data))
	return text == "" || text == strings.TrimSpace(yamlHead)
}
