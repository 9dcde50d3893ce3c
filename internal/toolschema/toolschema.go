// Package toolschema mends the input schemas of tools that are passed on from servers of
// MCP to their clients. Clients check a list of tools as a whole: of one schema that isn't
// as the protocol has it they lose all tools, of all servers.
//
// # Guarantees
//
// What Mend and Annotations return is taken by the official SDKs, whatever they were
// given; what these take anyway stays as it is, to the byte. The arguments that a tool
// takes are never described as others than the server has, but for less: what is wrong is
// left out.
//
// # Concurrency
//
// Functions may be called from any goroutine.
package toolschema

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/text"
)

// empty is a schema that takes whatever arguments there are.
const empty = `{"type":"object"}`

// lenient takes what encoding/json takes.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Mend returns an input schema that clients take, and what was wrong with the one that a
// server gives, for people. The protocol has every tool take an object. x-mcp-header is
// between the server and who calls it, and is taken out.
func Mend(raw json.RawMessage) (mended json.RawMessage, wrong []string) {
	var m mender
	var object map[string]any
	switch err := json.Unmarshal(raw, &object); {
	case len(raw) == 0:
		return json.RawMessage(empty), []string{"it has none"}
	case err != nil || object == nil:
		return json.RawMessage(empty), []string{"it isn't an object, or holds a number that can't be read"}
	}
	return json.RawMessage(m.schema(jsontext.Value(raw), true)), m.wrong
}

// Annotations returns annotations without the members that aren't of the protocol's types.
func Annotations(raw json.RawMessage) (mended json.RawMessage, wrong []string) {
	var object map[string]any
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return nil, []string{"they aren't an object, or hold a number that can't be read"}
	}
	var m mender
	return json.RawMessage(m.rewrite(jsontext.Value(raw), func(name string, v jsontext.Value) jsontext.Value {
		bad := false
		switch strings.ToLower(name) { // as some readers compare them
		case "title":
			bad = v.Kind() != '"'
		case "readonlyhint", "destructivehint", "idempotenthint", "openworldhint":
			bad = v.Kind() != 't' && v.Kind() != 'f'
		}
		if bad {
			return m.leave("NAME is KIND", name, v)
		}
		return v
	})), m.wrong
}

// mender gathers what is wrong.
type mender struct{ wrong []string }

// maxWrong bounds what is said of one schema.
const maxWrong = 4

func (m *mender) say(format, name string, v jsontext.Value) {
	kind := map[jsontext.Kind]string{'n': "null", '"': "a string", '0': "a number", '{': "an object", '[': "a list", 't': "true", 'f': "false"}[v.Kind()]
	if len(m.wrong) < maxWrong {
		m.wrong = append(m.wrong, strings.NewReplacer("NAME", text.Line(name, 64), "KIND", kind).Replace(format))
	}
}

// leave says what is wrong with a member, and leaves it out.
func (m *mender) leave(format, name string, v jsontext.Value) jsontext.Value {
	m.say(format, name, v)
	return nil
}

// schema mends a schema. The one at the top is the tool's.
func (m *mender) schema(raw jsontext.Value, top bool) jsontext.Value {
	typed := !top
	mended := m.rewrite(raw, func(name string, v jsontext.Value) jsontext.Value {
		switch {
		case strings.EqualFold(name, "x-mcp-header"):
			return nil
		case name == "type" && top:
			typed = true
			var is any
			if _ = json.Unmarshal(v, &is); is != "object" {
				m.say("its NAME is KIND, and not \"object\"", name, v)
				return jsontext.Value(`"object"`)
			}
		case name == "$schema" && v.Kind() != '"':
			return m.leave("NAME is KIND", name, v)
		case name == "properties" && v.Kind() == '{':
			return m.rewrite(v, m.property)
		case name == "properties":
			return m.leave("NAME is KIND", name, v)
		case name == "required":
			return m.required(v)
		}
		return v
	})
	if !typed {
		m.wrong = append(m.wrong, "it has no type")
		rest := bytes.TrimLeft(bytes.TrimLeft(mended, " \t\r\n")[1:], " \t\r\n")
		if mended = jsontext.Value(empty); rest[0] != '}' {
			mended = append([]byte(`{"type":"object",`), rest...)
		}
	}
	return mended
}

// property mends the schema of an argument. true and false are ones for JSON Schema, and
// not for all clients.
func (m *mender) property(name string, v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '{':
		return m.schema(v, false)
	case 'f':
		m.say("its property NAME is KIND", name, v)
		return jsontext.Value(`{"not":{}}`)
	}
	m.say("its property NAME is KIND", name, v)
	return jsontext.Value(`{}`)
}

// required mends a list of names.
func (m *mender) required(v jsontext.Value) jsontext.Value {
	var list []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		return m.leave("NAME is KIND", "required", v)
	}
	var names [][]byte
	for _, one := range list {
		if one = bytes.TrimSpace(one); one.Kind() == '"' {
			names = append(names, one)
		}
	}
	if len(names) == len(list) {
		return v
	}
	m.say("NAME has more than names", "required", v)
	return jsontext.Value("[" + string(bytes.Join(names, []byte(","))) + "]")
}

// rewrite has each member of an object replaced by what change returns, nil for none. Of
// members of one name the last one counts, as it does for clients.
func (*mender) rewrite(raw jsontext.Value, change func(name string, v jsontext.Value) jsontext.Value) jsontext.Value {
	type member struct{ key, was jsontext.Value }
	var list []member
	at := map[string]int{}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient...)
	_, _ = dec.ReadToken() // it is a valid object, as all else here
	same := true
	for dec.PeekKind() == '"' {
		key, _ := dec.ReadValue()
		key = key.Clone()
		var name string
		_ = json.Unmarshal(key, &name)
		v, err := dec.ReadValue()
		if err != nil {
			break
		}
		if i, again := at[name]; again {
			list[i].was, same = v.Clone(), false
			continue
		}
		at[name] = len(list)
		list = append(list, member{key, v.Clone()})
	}
	out := []byte("{")
	for _, one := range list {
		var name string
		_ = json.Unmarshal(one.key, &name)
		v := change(name, one.was)
		if same = same && bytes.Equal(v, one.was); v == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, one.key...), ':'), v...)
	}
	if same {
		return raw
	}
	return append(out, '}')
}
