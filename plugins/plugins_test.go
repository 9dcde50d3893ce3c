package plugins_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"waymark/plugins"
)

func TestDescription(t *testing.T) {
	text, err := plugins.Module().HandleDescribe()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../abi/schema/description.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schemaDoc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("description.json", schemaDoc); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("description.json").Validate(doc); err != nil {
		t.Error(err)
	}
	var names []string
	for _, r := range plugins.Module().Resolvers {
		names = append(names, r.Name)
	}
	if want := []string{"context", "hooks", "mcp-config"}; !slices.Equal(names, want) {
		t.Errorf("resolvers %v, want %v", names, want)
	}
}

// TestDependencies keeps the module that every agent start loads small: the
// YAML library is the one large thing in it.
func TestDependencies(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "waymark/plugins/builtin")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		switch {
		case pkg == "encoding/json", pkg == "fmt", pkg == "os", pkg == "reflect", pkg == "net", pkg == "log", pkg == "log/slog", pkg == "text/template":
			t.Errorf("the built-in module links %s", pkg)
		case strings.HasPrefix(pkg, "waymark/host"), strings.HasPrefix(pkg, "waymark/hub"):
			t.Errorf("a guest imports %s", pkg)
		}
	}
}
