package config

import (
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// join is how a user's value and the machine's become the one that holds.
type join string

const (
	// later: the user's takes the place of the machine's.
	later join = ""
	// least and most: of numbers, times and sizes the smaller or the larger one. False
	// is less than true, and of words the one that the tag has first is the least.
	least join = "least"
	most  join = "most"
	// union: what is in either list. intersection: what is in both. choice is an
	// intersection of lists that narrow nothing when they are empty: where nothing is in
	// both, the machine's holds.
	union        join = "union"
	intersection join = "intersection"
	choice       join = "choice"
	// machine: the machine's, unless it is empty.
	machine join = "machine"
)

// key is a key of the schema: a value of some type, and how it is joined.
type key interface {
	// set checks a value as the TOML library decoded it, and stores it; a user's is
	// joined with the machine's, which is nil where there is none. whole is false when
	// not all of the user's value holds. An error begins with what is expected or
	// wrong, and fits after "key: "; nothing is stored then.
	set(value, machine any) (whole bool, err error)
	// get returns what is stored, byDefault what is when nobody says anything, and how by
	// which join.
	get() any
	byDefault() any
	how() join
	// compare is that of the stored value with that of another key of the type.
	compare(other key) int
}

// typed is a key of some type.
type typed[T any] struct {
	dst, def *T
	join     join
	decode   func(value any) (T, error)
	// order is nil where there is none. narrow joins; nil where join is later.
	order  func(a, b T) int
	narrow func(machine, own T) (joined T, whole bool)
	check  func(T) error // of what is to be stored; may be nil
}

func (k typed[T]) set(value, machine any) (whole bool, err error) {
	v, err := k.decode(value)
	if err != nil {
		return false, err
	}
	whole = true
	if m, ok := machine.(T); ok && k.join != later {
		v, whole = k.narrow(m, v)
	}
	if k.check != nil {
		if err := k.check(v); err != nil {
			return false, err
		}
	}
	*k.dst = v
	return whole, nil
}

func (k typed[T]) get() any { return *k.dst }

func (k typed[T]) byDefault() any { return *k.def }

func (k typed[T]) how() join { return k.join }

func (k typed[T]) compare(other key) int { return k.order(*k.dst, other.get().(T)) }

// typedKey is a key without a join of its own.
func typedKey[T any](dst *T, without reflect.Value, tag reflect.StructTag, decode func(any) (T, error)) typed[T] {
	return typed[T]{dst: dst, def: without.Interface().(*T), join: join(tag.Get("join")), decode: decode}
}

// ordered is a key of values that have an order.
func ordered[T comparable](dst *T, without reflect.Value, tag reflect.StructTag, decode func(any) (T, error), compare func(a, b T) int) typed[T] {
	k := typedKey(dst, without, tag, decode)
	k.order = compare
	k.narrow = func(m, own T) (T, bool) {
		var none T
		switch order := compare(own, m); {
		case k.join == least && order <= 0, k.join == most && order >= 0, k.join == machine && m == none:
			return own, true
		}
		return m, own == m
	}
	return k
}

// list is a key of lists, of which covers says whether an item of the machine's allows one
// of the user's; nil is that they are equal.
func list[T comparable](dst *[]T, without reflect.Value, tag reflect.StructTag, empty []T, want string, decode func(any) (T, error), covers func(machine, own T) bool) typed[[]T] {
	k := typedKey(dst, without, tag, func(value any) ([]T, error) {
		items, ok := value.([]any)
		if !ok {
			return nil, wrongType(want, value)
		}
		list := empty
		for _, item := range items {
			v, err := decode(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	})
	within := func(list []T, item T) bool {
		return slices.ContainsFunc(list, func(m T) bool { return m == item || covers != nil && covers(m, item) })
	}
	k.narrow = func(m, own []T) ([]T, bool) {
		joined := empty
		switch {
		case k.join == union:
			joined = slices.Clone(m)
			for _, item := range own {
				if !within(joined, item) {
					joined = append(joined, item)
				}
			}
			return joined, len(own) > 0 || len(m) == 0
		case len(m) == 0 && k.join != intersection:
			return own, true
		case k.join == machine:
			return m, slices.Equal(m, own)
		}
		for _, item := range own {
			if within(m, item) {
				joined = append(joined, item)
			}
		}
		if len(joined) == 0 && k.join == choice {
			return m, false
		}
		return joined, len(joined) == len(own)
	}
	return k
}

// meta are the characters that have a meaning in patterns.
const meta = `*?[]{}\`

// coversPaths reports whether every path that the pattern own matches is surely matched
// by m.
func coversPaths(m, own string) bool {
	if m == own || m == "**" {
		return true
	}
	if !strings.ContainsAny(own, meta) {
		ok, err := doublestar.Match(m, own)
		return ok && err == nil
	}
	below, ok := strings.CutSuffix(m, "**")
	return ok && strings.HasSuffix(below, "/") && !strings.ContainsAny(below, meta) && strings.HasPrefix(own, below)
}

// coversTools is coversPaths for patterns of servers and of SERVER__TOOL.
func coversTools(m, own string) bool {
	const separator = "__"
	server, _, ofTool := strings.Cut(own, separator)
	if ofTool && !strings.Contains(m, separator) {
		return !strings.ContainsAny(server, meta) && coversTools(m, server)
	}
	if ofTool != strings.Contains(m, separator) {
		return false
	}
	if m == own {
		return true
	}
	slashes := strings.NewReplacer("/", "\x00") // which path.Match keeps apart
	if !strings.ContainsAny(own, meta) {
		ok, err := path.Match(slashes.Replace(m), slashes.Replace(own))
		return ok && err == nil
	}
	begin, ok := strings.CutSuffix(m, "*")
	return ok && !strings.ContainsAny(begin, meta) && strings.HasPrefix(own, begin)
}

// Setting is a key with its value and where that is from.
type Setting struct {
	// Key is its full name, as in TOML: limits.time, plugin.acme.rank.
	Key string `json:"key"`
	// Value is a string, int, bool, []string, []uint16, or the JSON object of a resolver.
	Value any `json:"value"`
	// Files are those whose values it is made of; empty for a default.
	Files []string `json:"files"`
}

// note takes down who set a key, whose value holds now. own is what a user's file says.
func (c *Config) note(name string, k key, d *document, own any, whole bool) {
	if c.origins == nil {
		c.origins, c.machine = map[string][]string{}, map[string]any{}
	}
	c.Ignored = slices.DeleteFunc(slices.Clone(c.Ignored), func(i Ignored) bool { return i.Key == name })
	if !whole {
		c.Ignored = append(c.Ignored, Ignored{name, d.file, own, shown(k.get())})
	}
	_, objects := k.get().(map[string]json.RawMessage)
	switch {
	case !d.own:
		c.machine[name] = k.get()
		c.origins[name] = []string{d.file}
	case objects && !slices.Contains(c.origins[name], d.file):
		c.origins[name] = append(slices.Clip(c.origins[name]), d.file)
	case d.below == nil || whole && k.how() != union:
		c.origins[name] = []string{d.file}
	case reflect.DeepEqual(k.get(), d.below):
		c.origins[name] = []string{MachineFile}
	default:
		c.origins[name] = []string{MachineFile, d.file}
	}
}

// narrowedBy returns the machine's value by which a user's is narrowed; nil where it says
// nothing. For the limits of a plugin these are, after its own, those of all.
func (c *Config) narrowedBy(name string, path []string) any {
	if value := c.machine[name]; value != nil {
		return value
	}
	if path[0] == entriesKey && path[1] == "limits" {
		return c.machine[keyName(path[1:])]
	}
	return nil
}

// Ignored is a user's value that doesn't hold, or not all of it, since the machine's
// file narrows it.
type Ignored struct {
	// Key is the full name.
	Key string `json:"key"`
	// File is the user's.
	File string `json:"file"`
	// Value is what it says, and InForce what holds, both as in Setting.
	Value   any `json:"value"`
	InForce any `json:"in_force"`
}

// Settings returns the settings that differ from Default, in the order of plugin.toml. For
// an entry that changes nothing, such as an empty table of a server, it returns the first
// key.
func (c *Config) Settings() []Setting { return c.settings(c.schema(), nil) }

func (c *Config) settings(t table, path []string) (list []Setting) {
	for _, r := range t {
		here := append(slices.Clip(path), r.name)
		switch is := r.is.(type) {
		case key:
			if value := is.get(); !reflect.DeepEqual(value, is.byDefault()) {
				list = append(list, c.setting(here, value)...)
			}
		case table:
			list = append(list, c.settings(is, here)...)
		case entries:
			for _, name := range is.names {
				entry, below := is.of(name), append(slices.Clone(here), name)
				changed := c.settings(entry, below)
				if len(changed) == 0 {
					changed = c.setting(append(below, entry[0].name), entry[0].is.(key).get())
				}
				list = append(list, changed...)
			}
		}
	}
	return list
}

// setting is the one of a key, or one for each of its tables.
func (c *Config) setting(path []string, value any) (list []Setting) {
	files := c.origins[keyName(path)]
	objects, ok := value.(map[string]json.RawMessage)
	if !ok {
		return []Setting{{keyName(path), shown(value), files}}
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, Setting{keyName(append(slices.Clip(path), name)), objects[name], files})
	}
	return list
}

// shown is a value as a file would have it.
func shown(value any) any {
	switch v := value.(type) {
	case Bytes:
		return v.String()
	case time.Duration:
		return short(v)
	case []string:
		return append([]string{}, v...) // [] and not null
	}
	return value
}
