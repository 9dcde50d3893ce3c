package conform

import (
	"encoding/json"
	"path"
	"strings"
)

// sampleText is a content that most resolvers can make something of, by what
// the file is called.
func sampleText(p, title string) string {
	name := nameOf(p)
	switch path.Ext(p) {
	case ".json", ".jsonc":
		text, _ := json.MarshalIndent(map[string]any{ // of strings and maps: can't fail
			"name": name, "description": title + " of " + name, "mcpServers": map[string]any{name: map[string]any{"command": "true", "args": []string{title}}},
		}, "", "  ")
		return string(text) + "\n"
	case ".toml":
		return "name = \"" + name + "\"\ndescription = \"" + title + "\"\n"
	case ".yaml", ".yml":
		return "name: " + name + "\ndescription: " + title + "\n"
	}
	return "---\nname: " + name + "\ndescription: " + title + " of " + name + "\nglobs: \"**/*.ts\"\napplyTo: \"**/*.ts\"\nalwaysApply: false\n---\n\n# " +
		title + "\n\nText of " + path.Base(p) + ".\n"
}

// nameOf is what a file would call itself: skills and the like are called as
// their directory.
func nameOf(p string) string {
	base := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if base == strings.ToUpper(base) && path.Dir(p) != "." {
		base = path.Base(path.Dir(p))
	}
	return strings.ToLower(strings.Trim(base, ". "))
}
