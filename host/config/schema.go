package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/internal/defaults"
)

// The tags of a key, which are constants of the type and so can't fail in operation:
//
//	toml     its name
//	help     what it means, for plugin.toml, the schema and docs/config.md
//	join     how a user's value and the machine's become one; none is the user's
//	least    the range of a number; most is "default" where no more is taken than
//	most     Default has
//	words    the only texts that are taken, of which the first is the least
//	check    what a text must be, or each of a list: a name in checks
//	holds    a key of the same table that this one may not be less than, and why
//	example  what plugin.toml shows, in a comment, where the default says nothing

// table says what a TOML table may hold, in the order of plugin.toml.
type table []row

// row is a name in a table with what it stands for: a key, another table, or
// entries.
type row struct {
	name string
	is   any
	tag  reflect.StructTag
}

// tableOf returns the table of a struct: of has the values, and without those that it
// has when nobody says anything. Both are pointers to the same type.
func tableOf(of, without any) (t table) {
	v, def := reflect.ValueOf(of).Elem(), reflect.ValueOf(without).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if name := tag.Get("toml"); name != "" {
			t = append(t, row{name, meaning(v.Field(i).Addr(), def.Field(i).Addr(), tag), tag})
		}
	}
	return t
}

// schema returns the tables of the configuration with keys of c.
func (c *Config) schema() table { return tableOf(c, Default()) }

// of returns what a name stands for; nil when the table hasn't got it.
func (t table) of(name string) any {
	if i := slices.IndexFunc(t, func(r row) bool { return r.name == name }); i >= 0 {
		return t[i].is
	}
	return nil
}

func (t table) names() []string {
	list := make([]string, len(t))
	for i := range t {
		list[i] = t[i].name
	}
	return list
}

// entries stands for tables that have names: those below mcp.servers, and the [[plugin]]
// and [[convention]] entries, whose first key is the name.
type entries struct {
	// names are of those that there are, and of returns the keys of one.
	names []string
	of    func(name string) table
	// open returns what the table of a name is read into, or what is wrong with the name.
	open func(name string) (table, error)
	// named are the tables of a table; a list of tables otherwise.
	named bool
	// wrong says what is wrong with the name of one in a list, "" for nothing, and
	// complete, which may be nil, what is with one of whose keys each is right.
	wrong    func(name string) string
	complete func(d *document, name string, entry int)
}

// listOf is a list of entries. One that says nothing but its name is like fresh.
func listOf[T any](dst *[]T, fresh T) entries {
	nameOf := func(e *T) *string { return reflect.ValueOf(e).Elem().Field(0).Addr().Interface().(*string) }
	index := func(name string) int {
		return slices.IndexFunc(*dst, func(e T) bool { return *nameOf(&e) == name })
	}
	var (
		l      entries
		cloned bool
	)
	for i := range *dst {
		l.names = append(l.names, *nameOf(&(*dst)[i]))
	}
	l.of = func(name string) table {
		e, without := fresh, fresh
		*nameOf(&without) = name
		if i := index(name); i >= 0 {
			e = (*dst)[i]
		}
		return tableOf(&e, &without)
	}
	l.open = func(name string) (table, error) {
		without, i := fresh, index(name)
		if name == "" {
			return tableOf(&without, &fresh), nil // for what else is wrong with it
		}
		if !cloned { // another Config may have it
			*dst, cloned = slices.Clone(*dst), true
		}
		if i < 0 {
			i, *dst = len(*dst), append(*dst, fresh)
		}
		return tableOf(&(*dst)[i], &fresh), nil
	}
	return l
}

// What lists are of.
const (
	texts = "a list of strings"
	ports = "a list of ports"
)

// meaning returns what a field stands for. Both are pointers to its type, the second to
// what it is when nobody says anything.
func meaning(field, without reflect.Value, tag reflect.StructTag) any {
	if field.Elem().Kind() == reflect.String { // of any type
		field, without = field.Convert(reflect.TypeFor[*string]()), without.Convert(reflect.TypeFor[*string]())
	}
	switch dst := field.Interface().(type) {
	case *bool:
		return ordered(dst, without, tag, decodeBool, func(a, b bool) int {
			switch {
			case a == b:
				return 0
			case b: // false is the least
				return -1
			}
			return 1
		})
	case *int:
		return number(dst, without, tag, decodeCount)
	case *Bytes:
		return number(dst, without, tag, decodeBytes)
	case *time.Duration:
		return number(dst, without, tag, decodeDuration)
	case *string:
		known := words(tag)
		return ordered(dst, without, tag, decodeText("a string", checkOf(tag).each), func(a, b string) int {
			return cmp.Compare(slices.Index(known, a), slices.Index(known, b))
		})
	case *[]string:
		check := checkOf(tag)
		// nil and empty mean the same; only one of them exists.
		k := list(dst, without, tag, nil, texts, decodeText(texts, check.each), check.covers)
		k.check = check.all
		return k
	case *[]uint16:
		// [] isn't nil: it closes what nil leaves open.
		return list(dst, without, tag, []uint16{}, ports, decodePort, nil)
	case *map[string]json.RawMessage:
		return objects(dst, without, tag)
	case *map[string]*MCPServer:
		return serversOf(dst)
	case *[]Plugin:
		l := listOf(dst, Plugin{Rank: defaults.Rank})
		l.wrong = nameProblem
		return l
	case *[]Convention:
		l := listOf(dst, Convention{})
		l.wrong, l.complete = idProblem, (*document).checkConvention
		return l
	}
	return tableOf(field.Interface(), without.Interface())
}

// words are the texts that a key takes; nil for any.
func words(tag reflect.StructTag) []string { return strings.Fields(tag.Get("words")) }

// checkOf returns what is held against the texts of a key.
func checkOf(tag reflect.StructTag) check {
	if known := words(tag); len(known) > 0 {
		return check{each: oneOf(known)}
	}
	return checks[tag.Get("check")]
}

// number is a key of numbers within the range of its tags.
func number[T cmp.Ordered](dst *T, without reflect.Value, tag reflect.StructTag, decode func(any) (T, error)) typed[T] {
	end := func(name string) (T, any) {
		text := tag.Get(name)
		if text == "default" {
			def := without.Elem().Interface().(T)
			return def, shown(def)
		}
		var value any = text
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = n
		}
		t, _ := decode(value) // a test looks at every tag
		return t, text
	}
	low, least := end("least")
	high, most := end("most")
	return ordered(dst, without, tag, func(value any) (T, error) {
		n, err := decode(value)
		if err == nil && (n < low || n > high) {
			return n, outside(shown(n), least, most)
		}
		return n, err
	}, cmp.Compare[T])
}

func outside(value, low, high any) error {
	return fmt.Errorf("%v is outside the range from %v to %v", value, low, high)
}

func decodeBytes(value any) (Bytes, error) {
	switch v := value.(type) {
	case int64:
		return Bytes(v), nil
	case string:
		return ParseBytes(v)
	}
	return 0, wrongType("a size like \"64KiB\" or a number of bytes", value)
}

func decodeDuration(value any) (time.Duration, error) {
	const example = `a duration with its unit, like "150ms", "2s" or "1m"`
	s, ok := value.(string)
	if !ok {
		return 0, wrongType(example, value)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not %s", s, example)
	}
	return d, nil
}

func decodeCount(value any) (int, error) {
	n, ok := value.(int64)
	if !ok {
		return 0, wrongType("a whole number", value)
	}
	return int(n), nil
}

func decodePort(value any) (uint16, error) {
	n, ok := value.(int64)
	if !ok {
		return 0, wrongType(ports, value)
	}
	if n < 1 || n > math.MaxUint16 {
		return 0, outside(n, 1, math.MaxUint16)
	}
	return uint16(n), nil
}

func decodeBool(value any) (bool, error) {
	b, ok := value.(bool)
	if !ok {
		return false, wrongType("true or false", value)
	}
	return b, nil
}

func decodeText(want string, check func(string) error) func(any) (string, error) {
	return func(value any) (string, error) {
		s, ok := value.(string)
		if !ok {
			return "", wrongType(want, value)
		}
		return s, check(s)
	}
}

// short writes a duration as a person would: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func wrongType(want string, got any) error {
	return fmt.Errorf("%s is expected, not %s", want, typeName(got))
}

// typeName names a TOML type for a person.
func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "that"
}
