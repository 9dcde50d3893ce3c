package config

import "encoding/json"

// Object is the JSON object that a resolver gets for a TOML table, as it would
// for one in plugin.toml: canonical, and an error for what JSON can't say.
func Object(table map[string]any) (json.RawMessage, error) { return overlay(nil, table) }
