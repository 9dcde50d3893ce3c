package agentfiles

import (
	"errors"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/internal/places"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
)

// describePolicy reads agents/openai.yaml of a skill, as Codex does: a file with anything of
// an unexpected type has no effect at all.
func (f *finder) describePolicy(r *guest.Resource, n *needs) error {
	limit := places.ReadLimit(f.req)
	text, err := guest.ReadHead(f.root, r.Path, limit+1)
	if err != nil || len(text) > limit {
		return nil //nolint:nilerr // the host says what is wrong
	}
	n.yaml = len(text)
	if int(f.yaml) < n.yaml {
		return errYAMLBudget
	}
	doc, err := loadNode(strings.TrimPrefix(string(text), "\ufeff"))
	if err != nil {
		return nil //nolint:nilerr // it says nothing
	}
	if why := withdrawnBy(doc); why != "" {
		attribute(r, "mode", abi.String(modeManual))
		r.Description = why
	}
	return nil
}

// codexProducts are the words for the products that a skill can be for.
var codexProducts = []string{"chatgpt", "CHATGPT", "codex", "CODEX", "atlas", "ATLAS"}

// withdrawnBy says what removes a skill from the list of Codex; empty if nothing does.
func withdrawnBy(doc *yaml.Node) string {
	top, err := serdeStruct(doc, "interface", "dependencies", "policy")
	if err != nil || interfaceInvalid(top["interface"]) || dependenciesInvalid(top["dependencies"]) {
		return ""
	}
	policy, err := serdeStruct(top["policy"], "allow_implicit_invocation", "products")
	if err != nil {
		return ""
	}
	products, err := serdeProducts(policy["products"])
	if err != nil {
		return ""
	}
	switch allow := policy["allow_implicit_invocation"]; {
	case isNull(allow):
	case allow.Kind != yaml.Scalar || allow.Tag != "!!bool" && !allow.Plain:
		return ""
	case slices.Contains([]string{"false", "False", "FALSE"}, allow.Value):
		return "allow_implicit_invocation is false"
	case !slices.Contains([]string{"true", "True", "TRUE"}, allow.Value):
		return ""
	}
	if len(products) > 0 && !slices.Contains(products, "codex") {
		return "its products are " + strings.Join(products, ", ")
	}
	return ""
}

func interfaceInvalid(n *yaml.Node) bool {
	return !serdeTexts(n, "display_name", "short_description", "icon_small", "icon_large", "brand_color", "default_prompt")
}

func dependenciesInvalid(n *yaml.Node) bool {
	fields, err := serdeStruct(n, "tools")
	tools := fields["tools"]
	if err != nil || tools == nil {
		return err != nil
	}
	return tools.Kind != yaml.Sequence || slices.ContainsFunc(tools.Content, func(tool *yaml.Node) bool {
		tool = resolved(tool)
		return tool.Kind != yaml.Mapping || !serdeTexts(tool, "type", "value", "description", "transport", "command", "url")
	})
}

// serdeProducts reads a list of products, in lower case.
func serdeProducts(n *yaml.Node) (products []string, err error) {
	if n == nil {
		return nil, nil
	}
	if n.Kind != yaml.Sequence {
		return nil, errNoText
	}
	for _, e := range n.Content {
		e = resolved(e)
		if e.Kind != yaml.Scalar || strings.HasPrefix(e.Tag, "!") && !strings.HasPrefix(e.Tag, "!!") || !slices.Contains(codexProducts, e.Value) {
			return nil, errNoText
		}
		products = append(products, strings.ToLower(e.Value))
	}
	return products, nil
}

// serdeTexts reports whether the given fields of a map, if present, are texts.
func serdeTexts(n *yaml.Node, keys ...string) bool {
	fields, err := serdeStruct(n, keys...)
	for _, field := range fields {
		if _, wrong := serdeText(field); wrong != nil {
			return false
		}
	}
	return err == nil
}

// serdeStruct returns the given fields of a map, each of which may occur once. It omits null
// and missing ones.
func serdeStruct(n *yaml.Node, keys ...string) (fields map[string]*yaml.Node, err error) {
	switch {
	case isNull(n):
		return nil, nil
	case n.Kind != yaml.Mapping:
		return nil, errors.New("not a map")
	}
	fields = map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolved(n.Content[i])
		switch {
		case key.Kind != yaml.Scalar:
			return nil, errors.New("a key is no text")
		case !slices.Contains(keys, key.Value):
		case fields[key.Value] != nil:
			return nil, errors.New("key " + quote(key.Value) + " stands twice")
		default:
			fields[key.Value] = resolved(n.Content[i+1])
		}
	}
	return fields, nil
}

func isNull(n *yaml.Node) bool { return n == nil || n.Kind == yaml.Scalar && n.Tag == yaml.TagNull }
