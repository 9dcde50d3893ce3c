package servers

import (
	"strconv"
	"strings"

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

func list(v jsonlite.Value) (args []string, problem string) {
	switch v.Kind() {
	case jsonlite.Null:
		return nil, ""
	case jsonlite.Array:
	default:
		return nil, "args is " + string(v.Kind()) + ", not a list"
	}
	for e := range v.Elements() {
		key := "args[" + strconv.Itoa(len(args)) + "]"
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

func headers(v jsonlite.Value) (m map[string]string, problem string) {
	m, problem = table("headers", v, badHeader)
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
			return nil, "headers " + quote(name) + " holds a line break"
		}
		lower := strings.ToLower(name)
		if other, twice := seen[lower]; twice && other != name {
			return nil, "headers has " + quote(other) + " and " + quote(name) + ", which are one"
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
