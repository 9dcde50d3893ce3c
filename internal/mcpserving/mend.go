package mcpserving

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mender mends a schema in place.
type mender struct {
	root    map[string]any
	wrong   []string
	unknown string // why the arguments are unknown
	changes int    // how many times something was found
	steps   int    // of joining members
}

const (
	// maxWrong limits what is told of one schema.
	maxWrong = 8
	// maxSteps limits the members that are joined, of which references can make any number.
	maxSteps = 10_000
)

func (m *mender) found(format string, args ...any) {
	m.changes++
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.wrong, text) && len(m.wrong) < maxWrong {
		m.wrong = append(m.wrong, text)
	}
}

// top mends what is different at the top: it is an object without a union.
func (m *mender) top() {
	if m.merge(); m.unknown != "" {
		return
	}
	kind, there := m.root["type"]
	switch names := typesOf(kind); {
	case !there || kind == nil:
		m.found("it has no type")
	case !slices.Contains(names, "object"):
		m.unknown = "its type isn't \"object\""
		return
	case kind != any("object"):
		m.found("its type isn't just \"object\"")
	}
	m.root["type"] = "object"
	for _, key := range []string{"not", "enum", "const"} { // which models' APIs don't take here
		if _, there := m.root[key]; there {
			m.found("it has %s at its top", key)
			delete(m.root, key)
		}
	}
	m.object(m.root)
}

// unions are the keywords that join schemas.
var unions = []string{"allOf", "anyOf", "oneOf"}

// merge replaces a union or a reference at the top by one object with the properties of all
// members. What one member requires of the others isn't said any more; the server checks it.
func (m *mender) merge() {
	if !slices.ContainsFunc(append([]string{"$ref"}, unions...), func(key string) bool { _, there := m.root[key]; return there }) {
		return
	}
	m.found("it is a union or a reference at its top: the properties of all members are joined")
	merged, ok := m.flat(m.root, 0)
	if !ok {
		m.unknown = "its type isn't \"object\""
		return
	}
	for _, key := range append([]string{"$ref", "unevaluatedProperties"}, unions...) {
		delete(m.root, key)
	}
	m.root["type"] = "object"
	if delete(m.root, "properties"); len(merged.properties) > 0 {
		m.root["properties"] = merged.properties
	}
	if delete(m.root, "required"); len(merged.required) > 0 {
		m.root["required"] = merged.required
	}
}

// flattened are the properties of an object that may be a union.
type flattened struct {
	properties map[string]any
	required   []any
}

// flat joins the members of a schema. It returns false for one that isn't an object's.
func (m *mender) flat(schema map[string]any, depth int) (flattened, bool) {
	out := flattened{properties: map[string]any{}}
	m.steps++
	kind, typed := schema["type"]
	if typed && kind != nil && !slices.Contains(typesOf(kind), "object") || depth > 8 || m.steps > maxSteps {
		return out, false
	}
	if own, ok := schema["properties"].(map[string]any); ok {
		maps.Copy(out.properties, own)
	}
	if names, ok := schema["required"].([]any); ok {
		out.required = slices.Clone(names)
	}
	if target, ok := m.resolve(schema["$ref"]); ok {
		if one, ok := m.flat(target, depth+1); ok {
			out.join(one)
			out.required = append(out.required, one.required...)
		}
	}
	for _, key := range unions {
		members, _ := schema[key].([]any)
		var common []any
		taken := 0
		for _, member := range members {
			one, ok := member.(map[string]any)
			if !ok {
				continue
			}
			part, ok := m.flat(one, depth+1)
			switch {
			case !ok:
				continue
			case taken == 0 || key == "allOf":
				common = append(common, part.required...)
			default:
				common = slices.DeleteFunc(common, func(name any) bool { return !contains(part.required, name) })
			}
			taken++
			out.join(part)
		}
		if taken == 0 && len(members) > 0 {
			return out, false
		}
		out.required = append(out.required, common...)
	}
	return out, true
}

// join adds the properties of another object. One that both have may be either.
func (f *flattened) join(other flattened) {
	for name, schema := range other.properties {
		mine, there := f.properties[name]
		switch {
		case !there:
			f.properties[name] = schema
		case reflect.DeepEqual(mine, schema):
		default:
			either, _ := mine.(map[string]any)
			if members, ok := either["anyOf"].([]any); ok && len(either) == 1 {
				if !contains(members, schema) {
					f.properties[name] = map[string]any{"anyOf": append(slices.Clip(members), schema)}
				}
				continue
			}
			f.properties[name] = map[string]any{"anyOf": []any{mine, schema}}
		}
	}
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(one any) bool { return reflect.DeepEqual(one, v) })
}

// resolve returns what a reference within the schema means.
func (m *mender) resolve(ref any) (map[string]any, bool) {
	path, _ := ref.(string)
	rest, ok := strings.CutPrefix(path, "#")
	if !ok {
		return nil, false
	}
	var at any = m.root
	for name := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if name == "" && rest == "" {
			break
		}
		object, _ := at.(map[string]any)
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return nil, false
		}
	}
	target, ok := at.(map[string]any)
	return target, ok
}

// types are those of JSON Schema, and what servers write for them.
var types = map[string]string{
	"object": "object", "array": "array", "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
	"dict": "object", "map": "object", "record": "object", "struct": "object", "list": "array", "tuple": "array", "set": "array",
	"str": "string", "text": "string", "float": "number", "double": "number", "decimal": "number", "int": "integer", "long": "integer", "bool": "boolean", "none": "null", "nil": "null",
}

// typesOf returns the types that a value of "type" means. Those that nobody knows are left out.
func typesOf(v any) (names []string) {
	switch v := v.(type) {
	case string:
		if name := types[strings.ToLower(v)]; name != "" {
			names = []string{name}
		}
	case []any:
		for _, one := range v {
			if one, ok := one.(string); ok {
				names = append(names, typesOf(one)...)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// kinds says what a keyword's value must be for those that validators and models' APIs check.
var kinds = map[string]func(v any) bool{
	"title": isText, "description": isText, "format": isText, "pattern": isText, "$comment": isText, "contentEncoding": isText, "contentMediaType": isText,
	"minimum": isNumber, "maximum": isNumber, "exclusiveMinimum": isNumber, "exclusiveMaximum": isNumber,
	"multipleOf": func(v any) bool { return isNumber(v) && !strings.HasPrefix(string(v.(json.Number)), "-") && !isZero(v) },
	"minLength":  isCount, "maxLength": isCount, "minItems": isCount, "maxItems": isCount, "minProperties": isCount, "maxProperties": isCount, "minContains": isCount, "maxContains": isCount,
	"uniqueItems": isBool, "readOnly": isBool, "writeOnly": isBool, "deprecated": isBool,
	"$id": func(v any) bool {
		text, ok := v.(string)
		return ok && !strings.Contains(strings.TrimSuffix(text, "#"), "#")
	},
	"dependentRequired": isNameLists, "dependencies": never, "$vocabulary": never, "$anchor": never, "$dynamicAnchor": never, "$dynamicRef": never, "$recursiveAnchor": never, "$recursiveRef": never,
	"enum": func(v any) bool { list, ok := v.([]any); return ok && len(list) > 0 }, "examples": isList,
}

// never is for keywords that no server was seen to need, and that readers disagree about.
func never(any) bool { return false }

func isNameLists(v any) bool {
	object, ok := v.(map[string]any)
	for _, list := range object {
		names, isNames := namesOf(list)
		ok = ok && isNames && len(names) == len(list.([]any))
	}
	return ok
}

func isText(v any) bool   { _, ok := v.(string); return ok }
func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }
func isNumber(v any) bool { _, ok := v.(json.Number); return ok }

func isZero(v any) bool {
	f, err := v.(json.Number).Float64()
	return err == nil && f == 0
}

func isCount(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	return err == nil && f >= 0 && f == float64(int64(f))
}

// object mends a schema that is an object.
func (m *mender) object(s map[string]any) {
	m.older(s)
	if kind, there := s["type"]; there {
		m.kind(s, kind)
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if is, checked := kinds[key]; checked && !is(s[key]) {
			m.found("%s isn't what it must be, and is left out", key)
			delete(s, key)
		}
	}
	if names, there := s["required"]; there {
		if mended, ok := namesOf(names); !ok {
			m.found("required isn't a list of names")
			delete(s, "required")
		} else if len(mended) != len(names.([]any)) {
			m.found("required has a name twice")
			s["required"] = mended
		}
	}
	if ref, there := s["$ref"]; there {
		if _, ok := m.resolve(ref); !ok {
			m.found("it refers to what isn't there")
			delete(s, "$ref")
		}
	}
	m.below(s)
}

// kind mends a type.
func (m *mender) kind(s map[string]any, kind any) {
	names := typesOf(kind)
	list, isList := kind.([]any)
	switch {
	case len(names) == 1 && kind == any(names[0]), isList && len(names) == len(list) && len(list) > 0 && allIn(list, names):
	case len(names) == 0:
		m.found("it has a type that doesn't exist, and is left open there")
		delete(s, "type")
	case len(names) == 1:
		m.found("a type is written otherwise than JSON Schema has it")
		s["type"] = names[0]
	default:
		m.found("a type is written otherwise than JSON Schema has it")
		s["type"] = names
	}
}

func allIn(list []any, names []string) bool {
	return !slices.ContainsFunc(list, func(v any) bool { name, ok := v.(string); return !ok || !slices.Contains(names, name) })
}

// namesOf returns a list of names, each once.
func namesOf(v any) (names []any, ok bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, one := range list {
		switch {
		case !isText(one):
			return nil, false
		case !contains(names, one):
			names = append(names, one)
		}
	}
	return names, true
}

// older rewrites what drafts before 2020-12 have otherwise.
func (m *mender) older(s map[string]any) {
	if version, there := s["$schema"]; there {
		name, ok := version.(string)
		switch {
		case !ok:
			m.found("$schema isn't a text")
			delete(s, "$schema")
		case strings.Contains(name, "draft-03"), strings.Contains(name, "draft-04"), strings.Contains(name, "draft-06"):
			m.found("it is of an older draft of JSON Schema")
			delete(s, "$schema")
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if is, ok := s[exclusive].(bool); ok {
			m.found("it is of an older draft of JSON Schema")
			if delete(s, exclusive); is && isNumber(s[bound]) {
				s[exclusive] = s[bound]
				delete(s, bound)
			}
		}
	}
	if tuple, ok := s["items"].([]any); ok && len(tuple) > 0 {
		m.found("it is of an older draft of JSON Schema")
		s["prefixItems"] = tuple
		if delete(s, "items"); s["additionalItems"] != nil {
			s["items"] = s["additionalItems"]
		}
		delete(s, "additionalItems")
	}
}

// Where schemas are within one.
var (
	single = []string{"items", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"}
	lists  = append([]string{"prefixItems"}, unions...)
	named  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// below mends the schemas within one.
func (m *mender) below(s map[string]any) {
	for _, key := range single {
		switch v, there := s[key]; {
		case !there:
		case nothing(v):
			m.found("%s isn't a schema", key)
			delete(s, key)
		case isBool(v) && key != "items": // which every draft allows there
		default:
			s[key] = m.sub(v)
		}
	}
	for _, key := range lists {
		v, there := s[key]
		if !there {
			continue
		}
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			m.found("%s isn't a list of schemas", key)
			delete(s, key)
			continue
		}
		for i := range list {
			list[i] = m.sub(list[i])
		}
	}
	for _, key := range named {
		v, there := s[key]
		if !there {
			continue
		}
		object, ok := v.(map[string]any)
		switch {
		case nothing(v):
			m.found("its %s aren't an object", key)
			delete(s, key)
			continue
		case !ok:
			m.unknown = fmt.Sprintf("its %s aren't an object", key)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			object[name] = m.sub(object[name])
		}
	}
}

// sub mends a schema within another one. Schemas that are true or false aren't taken by all
// clients.
func (m *mender) sub(v any) any {
	switch is := v.(type) {
	case map[string]any:
		m.object(is)
		return is
	case bool:
		m.found("a schema in it is true or false")
		if is {
			return map[string]any{}
		}
		return map[string]any{"not": map[string]any{}}
	case string:
		if names := typesOf(is); len(names) > 0 {
			m.found("a schema in it is only a type")
			return map[string]any{"type": names[0]}
		}
	}
	if nothing(v) {
		m.found("a schema in it isn't an object")
		return map[string]any{}
	}
	m.unknown = "a schema in it isn't an object"
	return v
}
