package plugin

import (
	"bytes"
	"encoding/json"
	"slices"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/plugins/conventions"
)

// Conventions is the operator's configuration of where the built-in resolvers look. The zero
// value changes nothing.
type Conventions struct {
	// Own are the operator's own conventions.
	Own []conventions.Convention
	// Disabled are the ids of conventions that aren't used.
	Disabled []string
	// Strict makes what agents load with a warning invalid.
	Strict bool
	// Grants say what may be shown of files that hold more than text.
	Grants []string
	// Heads is how front matter is read. Dependencies makes the "**" of Own match inside
	// node_modules.
	Heads        conventions.Heads
	Dependencies bool
}

// convention is the form in which a resolver gets one: the fields of a [[convention]] table.
type convention struct {
	ID          string                 `json:"id"`
	Readers     []string               `json:"readers"`
	Places      []string               `json:"places"`
	Scope       conventions.Scope      `json:"scope"`
	Kind        abi.Kind               `json:"kind"`
	Format      conventions.Format     `json:"format"`
	Name        conventions.Derivation `json:"name"`
	Description conventions.Derivation `json:"description"`
	Mode        string                 `json:"mode"`
	GlobsKey    string                 `json:"globs_key"`
	GlobsOfAll  bool                   `json:"globs_of_all,omitempty"`
	ManualKey   string                 `json:"manual_key,omitempty"`
	ModeKey     string                 `json:"mode_key,omitempty"`
	Words       map[string]string      `json:"words,omitempty"`
	Imports     bool                   `json:"imports,omitempty"`
}

// used lists the operator's enabled conventions of one of the given kinds.
func (c *Conventions) used(kinds []abi.Kind) (list []conventions.Convention) {
	for i := range c.Own {
		if o := &c.Own[i]; slices.Contains(kinds, o.Kind) && !slices.Contains(c.Disabled, o.ID) {
			list = append(list, *o)
		}
	}
	return list
}

// places returns the additional patterns that a built-in resolver sees of a project.
func (c *Conventions) places(kinds []abi.Kind) (patterns []string) {
	for _, o := range c.used(kinds) {
		if o.Scope == conventions.ScopeProject {
			patterns = append(patterns, o.Places...)
		}
	}
	return patterns
}

// configure adds what a built-in resolver of these kinds needs to its configuration, a JSON
// object or nil. Settings with default values are omitted, because memos depend on the text.
func (c *Conventions) configure(config []byte, kinds []abi.Kind) ([]byte, error) {
	add := map[string]any{}
	if own := c.used(kinds); len(own) > 0 {
		list := make([]convention, len(own))
		for i := range own {
			o := &own[i]
			list[i] = convention{
				o.ID, o.Readers, o.Places, o.Scope, o.Kind, o.Format, o.Name, o.Description, o.Applies.Mode, o.Applies.GlobsKey, o.Applies.GlobsOfAll,
				o.Applies.ManualKey, o.Applies.ModeKey, words(o.Applies.Words), o.Imports,
			}
		}
		add["conventions"] = list
	}
	if len(c.Disabled) > 0 {
		add["disabled"] = c.Disabled
	}
	if c.Strict {
		add["strict"] = true
	}
	if c.Dependencies {
		add["dependencies"] = true
	}
	if c.Heads != conventions.HeadsOwn {
		add["heads"] = c.Heads
	}
	if len(c.Grants) > 0 {
		add["grants"] = c.Grants
	}
	if len(add) == 0 {
		return config, nil
	}
	object := map[string]any{}
	if len(config) > 0 {
		dec := json.NewDecoder(bytes.NewReader(config))
		dec.UseNumber() // a float64 has 53 bits
		if err := dec.Decode(&object); err != nil {
			return nil, err
		}
	}
	for key, value := range add {
		object[key] = value
	}
	return json.Marshal(object)
}

// words are the modes by their words; nil if there are none.
func words(list []conventions.Word) map[string]string {
	var modes map[string]string
	for _, w := range list {
		if modes == nil {
			modes = map[string]string{}
		}
		modes[w.Is] = w.Mode
	}
	return modes
}

// table returns the table by which all resolvers tell who reads a find.
func (c *Conventions) table() *resolve.Table {
	if len(c.Own) == 0 {
		return nil
	}
	return resolve.NewTable(c.Own)
}
