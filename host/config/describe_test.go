package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"waymark/host/config"
)

func TestPluginTOMLIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../plugin.toml")
	if err != nil || string(text) != config.Annotated() {
		t.Errorf("plugin.toml at the root isn't what Annotated returns: run make generate (%v)", err)
	}
}

// TestJSONSchema: an editor and the agent agree.
func TestJSONSchema(t *testing.T) {
	text, err := json.Marshal(config.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("plugin.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		config.Annotated(): true, "": true, "limits = {time = \"0m30s\", memory = \"2MiB\", logs = 2048}": true,
		"[mcp.servers.x]\nports = [443]\n[[plugin]]\nname = \"p\"\nlimits.opens = 1\nconfig.r.deep = [1]": true,
		"exclud = []": false, "limits.opens = 0": false, "limits.opens = \"1\"": false, "limits.time = 2": false, "limits.memory = \"1MB\"": false,
		"mcp.trust = \"all\"": false, "mcp.from = [\"all\"]": false, "services.git = \"no\"": false, "[mcp.servers.x]\nports = [0]": false, "plugin = {}": false, "[[plugin]]\nrnk = 1": false,
	} {
		var value map[string]any
		if _, err := toml.Decode(text, &value); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); ok != (err == nil) {
			t.Errorf("%.80q: %v", text, err)
		}
		if err := config.Default().Parse("f", text); ok != (err == nil) {
			t.Errorf("%.80q: the agent says %v", text, err)
		}
	}
}
