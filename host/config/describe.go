package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Key is what is known of a key of the configuration, or of a table.
type Key struct {
	// Name is its full name, as in limits.time; that of a table among others has an example of
	// a name in it.
	Name string
	// Header is how a table begins, as in [limits]; empty for a key.
	Header string
	// Optional is that it isn't there by default, Inside that its table isn't either.
	Optional, Inside bool
	// Default is in TOML, as is Example, which a commented-out line shows.
	Default, Example string
	// Values says what is taken, where that is a range or some words. Join is how the
	// machine's value and a user's become one; empty is that the user's holds.
	Values, Join string
	// Help says what it means.
	Help string
}

// Keys returns all keys and tables, in the order of plugin.toml.
func Keys() []Key { return keys(Default().schema(), "", false) }

func keys(t table, below string, optional bool) (list []Key) {
	for _, r := range t {
		k := Key{Name: below + r.name, Optional: optional, Inside: optional, Help: r.tag.Get("help"), Example: strings.ReplaceAll(r.tag.Get("example"), "'", `"`)}
		switch is := r.is.(type) {
		case key:
			k.Default, k.Values, k.Join = literal(is.byDefault()), taken(is, r.tag), string(is.how())
			if _, ok := is.get().(map[string]json.RawMessage); ok {
				var name string
				name, k.Example, _ = strings.Cut(k.Example, " ")
				k.Header, k.Optional = "["+k.Name+"."+name+"]", true
			}
			list = append(list, k)
		case table:
			k.Header = "[" + k.Name + "]"
			list = append(list, k)
			if k.Example == "" { // or its keys are another table's
				list = append(list, keys(is, k.Name+".", optional)...)
			}
		case entries:
			if k.Optional, k.Header = true, "[["+k.Name+"]]"; is.named {
				k.Name, k.Example = k.Name+"."+k.Example, ""
				k.Header = "[" + k.Name + "]"
			}
			list = append(append(list, k), keys(is.of(""), k.Name+".", true)...)
		}
	}
	return list
}

// literal writes a value in TOML.
func literal(value any) string {
	switch v := shown(value).(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		for i := range v {
			v[i] = strconv.Quote(v[i])
		}
		return "[" + strings.Join(v, ", ") + "]"
	case []uint16: // nil, which isn't []
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// ends are the ends of the range of a number, as they are written; "" for another key.
func ends(k key, tag reflect.StructTag) (low, high string) {
	low, high = tag.Get("least"), tag.Get("most")
	if high == "default" {
		high = fmt.Sprint(shown(k.byDefault()))
	}
	return low, high
}

// taken says what a key takes, where that isn't anything of its type.
func taken(k key, tag reflect.StructTag) string {
	if low, high := ends(k, tag); low != "" {
		return "from " + low + " to " + high
	}
	known := words(tag)
	for i := range known {
		known[i] = strconv.Quote(known[i])
	}
	if len(known) == 0 {
		return ""
	}
	return "one of " + strings.Join(known, ", ")
}

// head is what plugin.toml begins with.
const head = `# Waymark's configuration: all keys, with their defaults.
#
# To change something, write only the keys that differ into
#
#     /etc/waymark/plugin.toml                 for the machine
#     $XDG_CONFIG_HOME/waymark/plugin.toml     for yourself (~/.config without XDG_CONFIG_HOME)
#
# The second is laid over the first, and that over these defaults: key by key,
# lists as a whole, tables deep. '--config FILE' reads FILE instead of the second.
# An unknown key is an error.
#
# What the machine's file sets, a user can narrow and never widen: of limits the
# smaller one holds, of switches and words what allows less, of 'exclude', 'disable'
# and 'deny' both lists, of other lists what both have, and the machine's pins and keys
# alone. Where a list without items allows all ('agents', 'reads', 'allow'), a user's
# patterns count as far as they match nothing that the machine's don't, and the machine's
# hold when none does. All else is the user's to choose: [watch], where to push, ranks,
# what resolvers get as their configuration, [[convention]], 'approved'. docs/config.md
# has it of every key, and 'agent config check' says who has set what, and which values
# have no effect.
#
# Sizes are "64KiB", "2MiB", "1GiB" or a number of bytes; durations "150ms",
# "2s", "1m". The range that a comment gives is hard: a value outside it is an
# error.

`

// The columns of plugin.toml: where a comment behind a key begins, where it has to end,
// and where a line of text above a key does.
const (
	commentAt  = 32
	commentEnd = 115
	textEnd    = 90
)

// Annotated returns plugin.toml: every key with its default and what it means.
func Annotated() string {
	out := new(strings.Builder)
	write := func(commentedOut bool, lines ...string) {
		for _, line := range lines {
			if commentedOut && line != "" {
				line = "# " + line
			}
			out.WriteString(line + "\n")
		}
	}
	out.WriteString(head)
	for _, k := range Keys() {
		if k.Header != "" {
			write(k.Inside, append([]string{""}, wrap(k.Help)...)...)
			write(k.Optional, k.Header)
			if k.Example != "" {
				write(k.Optional, k.Example)
			}
			continue
		}
		line := fmt.Sprintf("%-*s# ", commentAt-2, k.Name[strings.LastIndexByte(k.Name, '.')+1:]+" = "+cmp.Or(k.Example, k.Default)+"  ")
		if len(line)+len(k.Help)+len(k.Values) < commentEnd {
			line += strings.Trim(k.Help+", "+k.Values, ", ")
		} else {
			write(k.Inside, wrap(k.Help)...)
			line = strings.TrimRight(line+k.Values, "# ")
		}
		write(k.Optional, line)
	}
	return out.String()
}

// wrap breaks a text into lines of a comment.
func wrap(text string) (lines []string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) >= textEnd {
			lines, line = append(lines, line), "#"
		}
		line += " " + word
	}
	return append(lines, line)
}

// JSONSchema returns a JSON Schema of plugin.toml, for editors.
func JSONSchema() map[string]any {
	schema := schemaOf(Default().schema())
	schema["$schema"], schema["title"] = "http://json-schema.org/draft-07/schema#", "Waymark's plugin.toml"
	return schema
}

func schemaOf(t table) map[string]any {
	properties := map[string]any{}
	for _, r := range t {
		var s map[string]any
		switch is := r.is.(type) {
		case key:
			s = schemaOfKey(is, r.tag)
		case table:
			s = schemaOf(is)
		case entries:
			if s = map[string]any{"type": "array", "items": schemaOf(is.of(""))}; is.named {
				s = map[string]any{"type": "object", "additionalProperties": s["items"]}
			}
		}
		s["description"] = r.tag.Get("help")
		properties[r.name] = s
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func schemaOfKey(k key, tag reflect.StructTag) map[string]any {
	s := map[string]any{"type": "string"}
	if known := words(tag); len(known) > 0 {
		s["enum"] = known
	}
	low, high := ends(k, tag)
	switch k.get().(type) {
	case bool:
		s["type"] = "boolean"
	case int:
		s["type"], s["minimum"], s["maximum"] = "integer", json.Number(low), json.Number(high)
	case Bytes:
		s["type"], s["pattern"] = []string{"string", "integer"}, "^[0-9]+([KMG]iB|B)?$"
	case time.Duration:
		s["pattern"] = "^([0-9.]+(ns|us|µs|ms|s|m|h))+$"
	case []string:
		s = map[string]any{"type": "array", "items": s}
	case []uint16:
		return map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}}
	case map[string]json.RawMessage:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "object"}}
	}
	if value := shown(k.byDefault()); value != "" {
		s["default"] = value
	}
	return s
}
