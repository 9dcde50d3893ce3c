// Package toolschema mends the input schemas of tools that are passed on from MCP servers to
// clients. Clients validate a list of tools as a whole: because of one invalid schema they
// lose all tools of all servers.
//
// # Guarantees
//
// The official SDKs accept every result of Mend. A schema that they accept already is
// returned byte for byte. A result never describes arguments that the server doesn't take,
// but may allow fewer; if that can't be ensured, there is no schema.
//
// # Concurrency
//
// Functions may be called from any goroutine.
package toolschema

import (
	"encoding/json"
	"slices"
	"strings"
)

// Mend returns an input schema that clients accept, and what is wrong with the server's, for
// people. It returns nil for a tool that has to be held back, because the intended arguments
// are unknown. The protocol requires every tool to take an object.
func Mend(raw json.RawMessage) (mended json.RawMessage, wrong []string) {
	if len(raw) == 0 {
		return json.RawMessage(`{"type":"object"}`), []string{"it has none"}
	}
	var (
		is   map[string]any
		made map[string]json.RawMessage
	)
	if json.Unmarshal(raw, &is) != nil || is == nil || json.Unmarshal(raw, &made) != nil {
		return nil, []string{"it isn't an object, or holds a number that can't be read"}
	}
	set := func(name, value, what string) {
		if wrong, made[name] = append(wrong, what), json.RawMessage(value); value == "" {
			delete(made, name)
		}
	}
	switch kind := is["type"].(type) {
	case nil:
		set("type", `"object"`, "it has no type")
	case []any:
		if !slices.Contains(kind, any("object")) {
			return nil, []string{"its type isn't \"object\""}
		}
		set("type", `"object"`, "its type is a list")
	default:
		if kind != "object" {
			return nil, []string{"its type isn't \"object\""}
		}
	}
	if properties, there := is["properties"]; nothing(properties) && there {
		set("properties", "", "its properties aren't an object")
	} else if there {
		mended, ok := mendProperties(made["properties"])
		if !ok {
			return nil, []string{"its properties, or one of them, aren't an object"}
		}
		if mended != nil {
			set("properties", string(mended), "one of its properties isn't an object")
		}
	}
	if names, there := is["required"]; there && !areNames(names) {
		set("required", "", "required isn't a list of names")
	}
	if version, there := is["$schema"]; there {
		if _, ok := version.(string); !ok {
			set("$schema", "", "$schema isn't a text")
		}
	}
	if len(wrong) == 0 {
		return raw, nil
	}
	mended, _ = json.Marshal(made) // it was JSON before
	return mended, wrong
}

// nothing reports whether a value is what some languages encode for an empty object.
func nothing(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// mendProperties rewrites schemas that allow everything into a form that all clients accept.
// It returns nil if there is nothing to mend; ok says whether mending is possible.
func mendProperties(raw json.RawMessage) (mended json.RawMessage, ok bool) {
	var properties map[string]json.RawMessage
	if json.Unmarshal(raw, &properties) != nil {
		return nil, false
	}
	changed := false
	for name, value := range properties {
		var is any
		switch _ = json.Unmarshal(value, &is); {
		case is == true || nothing(is):
			properties[name], changed = json.RawMessage(`{}`), true
		case value[0] != '{':
			return nil, false
		}
	}
	if changed {
		mended, _ = json.Marshal(properties)
	}
	return mended, true
}

func areNames(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { _, ok := one.(string); return !ok })
}

// Annotations reports whether clients accept the annotations of a tool.
func Annotations(raw json.RawMessage) bool {
	var is map[string]any
	if json.Unmarshal(raw, &is) != nil {
		return false
	}
	for name, v := range is {
		ok := true
		switch strings.ToLower(name) { // some readers ignore case
		case "title":
			_, ok = v.(string)
		case "readonlyhint", "destructivehint", "idempotenthint", "openworldhint":
			_, ok = v.(bool)
		}
		if !ok {
			return false
		}
	}
	return true
}
