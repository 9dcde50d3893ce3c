package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
)

// objects is a key of tables, one per resolver, each of which is laid over the JSON object
// that is there.
func objects(dst *map[string]json.RawMessage, without reflect.Value, tag reflect.StructTag) key {
	return typedKey(dst, without, tag, func(value any) (map[string]json.RawMessage, error) {
		tables, ok := value.(map[string]any)
		if !ok {
			return nil, wrongType("a table of tables, one per resolver,", value)
		}
		merged := maps.Clone(*dst)
		if merged == nil && len(tables) > 0 {
			merged = make(map[string]json.RawMessage)
		}
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			object, ok := tables[name].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: %w", name, wrongType("the table of a resolver", tables[name]))
			}
			text, err := overlay(merged[name], object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			merged[name] = text
		}
		return merged, nil
	})
}

// overlay lays a table over a JSON object and returns canonical JSON: keys
// sorted, no blanks, so that equal tables have equal text. It goes into memo
// keys.
func overlay(below json.RawMessage, above map[string]any) (json.RawMessage, error) {
	object := make(map[string]any)
	if len(below) > 0 {
		// Numbers stay as they are written: a float64 has 53 bits.
		dec := json.NewDecoder(bytes.NewReader(below))
		dec.UseNumber()
		if err := dec.Decode(&object); err != nil {
			return nil, fmt.Errorf("the values so far: %w", err)
		}
	}
	if err := checkJSON(above); err != nil {
		return nil, err
	}
	mergeInto(object, above)

	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// mergeInto lays above over below, key by key, tables as deep as they go.
func mergeInto(below, above map[string]any) {
	for key, value := range above {
		deeper, isTable := value.(map[string]any)
		under, wasTable := below[key].(map[string]any)
		if isTable && wasTable {
			mergeInto(under, deeper)
			continue
		}
		below[key] = value
	}
}

// checkJSON refuses TOML values that JSON can't express.
func checkJSON(value any) error {
	switch v := value.(type) {
	case string, bool, int64:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("resolvers get JSON, which has no %v", v)
		}
	case []any:
		for _, item := range v {
			if err := checkJSON(item); err != nil {
				return err
			}
		}
	case []map[string]any:
		for _, item := range v {
			if err := checkJSON(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := checkJSON(v[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	default:
		return errors.New("resolvers get JSON, which has no dates: write it as a string")
	}
	return nil
}

// Object is the JSON object that a resolver gets for a TOML table, as it would
// for one in plugin.toml: canonical, and an error for what JSON can't say.
func Object(table map[string]any) (json.RawMessage, error) { return overlay(nil, table) }
