package servers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/sdk-guest/jsonlite"
)

// text reads a string; null is as good as none.
func text(key string, v jsonlite.Value) (s, problem string) {
	if v.Kind() == jsonlite.Null {
		return "", ""
	}
	s, ok := v.Text()
	switch {
	case !ok:
		return "", key + " is " + string(v.Kind()) + ", not a string"
	case strings.IndexByte(s, 0) >= 0:
		return "", key + " holds a NUL character"
	}
	return s, ""
}

func list(name string, v jsonlite.Value) (args []string, problem string) {
	switch v.Kind() {
	case jsonlite.Null:
		return nil, ""
	case jsonlite.Array:
	default:
		return nil, name + " is " + string(v.Kind()) + ", not a list"
	}
	for e := range v.Elements() {
		key := name + "[" + strconv.Itoa(len(args)) + "]"
		if e.Kind() == jsonlite.Null {
			return nil, key + " is null, not a string"
		}
		arg, problem := text(key, e)
		if problem != "" {
			return nil, problem
		}
		args = append(args, arg)
	}
	return args, ""
}

// table reads an object of strings. A value that is null takes the key away, as if it
// weren't there.
func table(key string, v jsonlite.Value, bad func(name string) string) (m map[string]string, problem string) {
	switch v.Kind() {
	case jsonlite.Null:
		return nil, ""
	case jsonlite.Object:
	default:
		return nil, key + " is " + string(v.Kind()) + ", not an object"
	}
	m = map[string]string{}
	problems := map[string]string{}
	for name, e := range v.Members() {
		full := key + " " + quote(name)
		value, problem := text(full, e)
		if why := bad(name); why != "" {
			problem = full + " " + why
		}
		m[name], problems[name] = value, problem
		if e.Kind() == jsonlite.Null {
			delete(m, name)
		}
	}
	for name := range v.Members() { // in their order, so that it is always the same one
		if problems[name] != "" {
			return nil, problems[name]
		}
	}
	return m, ""
}

// flag reads a boolean; null is as good as none.
func flag(key string, v jsonlite.Value) (b bool, problem string) {
	if v.Kind() == jsonlite.Null {
		return false, ""
	}
	b, ok := v.Bool()
	if !ok {
		return false, key + " is " + string(v.Kind()) + ", not a boolean"
	}
	return b, ""
}

// leastTimeout is the shortest time that is taken for one; clients ignore shorter ones,
// too.
const leastTimeout = time.Second

// duration reads a number of units; 0 is what it is without one.
func duration(v jsonlite.Value, unit time.Duration) time.Duration {
	if v.Kind() != jsonlite.Number {
		return 0
	}
	const most = 24 * time.Hour
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	switch {
	case err != nil, n*float64(unit) < float64(leastTimeout):
		return 0
	case n*float64(unit) > float64(most):
		return most
	}
	return time.Duration(n * float64(unit))
}

// variables reads a list of names of variables, each by itself or as the name of an
// object.
func variables(key string, v jsonlite.Value) (names []string, problem string) {
	switch v.Kind() {
	case jsonlite.Null:
		return nil, ""
	case jsonlite.Array:
	default:
		return nil, key + " is " + string(v.Kind()) + ", not a list"
	}
	for e := range v.Elements() {
		if e.Kind() == jsonlite.Object {
			e, _ = e.Get("name")
		}
		one := key + "[" + strconv.Itoa(len(names)) + "] "
		name, ok := e.Text()
		if !ok {
			return nil, one + "is no name"
		}
		if why := badVariable(name); why != "" {
			return nil, one + why
		}
		names = append(names, name)
	}
	return names, ""
}

// sorted returns the keys of a table in order, for what is said to be the same each
// time.
func sorted(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}

func headers(key string, v jsonlite.Value) (m map[string]string, problem string) {
	m, problem = table(key, v, badHeader)
	if problem != "" {
		return nil, problem
	}
	seen := map[string]string{}
	for name := range v.Members() {
		value, there := m[name]
		if !there {
			continue
		}
		if strings.ContainsAny(value, "\r\n") {
			return nil, key + " " + quote(name) + " holds a line break"
		}
		lower := strings.ToLower(name)
		if other, twice := seen[lower]; twice && other != name {
			return nil, key + " has " + quote(other) + " and " + quote(name) + ", which are one"
		}
		seen[lower] = name
	}
	return m, ""
}

func badVariable(name string) string {
	switch {
	case name == "":
		return "is a variable without a name"
	case strings.IndexByte(name, '=') >= 0, strings.IndexByte(name, 0) >= 0:
		return "can't be a variable's name"
	}
	return ""
}

// badHeader allows a token of RFC 9110.
func badHeader(name string) string {
	if name == "" {
		return "is a header without a name"
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return "can't be a header's name"
		}
	}
	return ""
}

// quote shows a name, which may be as long as the file.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}
