package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"waymark/host/config"
	"waymark/plugins/conventions"
)

// docs writes the documents.
func docs(root string) error {
	places, err := render(conventions.Agents, conventions.All)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"plugin.toml": []byte(config.Annotated()), "docs/config.md": []byte(page()), "docs/conventions.md": places,
	} {
		if err := write(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	return nil
}

const head = `<!-- Made by internal/tools/generate; the text is in host/config. -->
# Configuration

All keys of ` + "`plugin.toml`" + `. [plugin.toml](../plugin.toml), which ` + "`agent config defaults`" + ` prints, has the same as a
file, and says where files are looked for; ` + "`agent config schema`" + ` prints a JSON Schema for editors;
` + "`agent config check`" + ` says what is in force.

What ` + "`/etc/waymark/plugin.toml`" + ` sets, a user can narrow and never widen. How the two become one:

| joined | what holds |
|---|---|
| | the user's |
| ` + "`least`" + ` | the smaller one, or what allows less: the first of the words |
| ` + "`most`" + ` | the larger one, or ` + "`true`" + ` |
| ` + "`union`" + ` | what is in either list |
| ` + "`intersection`" + ` | what is in both |
| ` + "`choice`" + ` | what is in both, where a list without items allows all; the machine's where that is nothing |
| ` + "`machine`" + ` | the machine's, unless it is empty |
`

// page is docs/config.md.
func page() string {
	out := new(strings.Builder)
	out.WriteString(head)
	begun := false
	for _, k := range config.Keys() {
		if k.Header != "" {
			fmt.Fprintf(out, "\n## `%s`\n\n%s\n", k.Header, markdown(k.Help))
			if k.Example != "" {
				fmt.Fprintf(out, "\n```toml\n%s%s\n%s\n```\n", entry(k.Header), k.Header, k.Example)
			}
			begun = false
			continue
		}
		if !begun {
			out.WriteString("\n| key | default | takes | joined | |\n|---|---|---|---|---|\n")
			begun = true
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", k.Name[strings.LastIndexByte(k.Name, '.')+1:], code(strings.Trim(k.Default, `"`)), k.Values, code(k.Join), markdown(k.Help))
	}
	return out.String()
}

// entry is what has to stand above the table of an entry.
func entry(header string) string {
	if strings.HasPrefix(header, "[plugin.") {
		return "[[plugin]]\nname = \"cursor-rules\"\n\n"
	}
	return ""
}

// markdown keeps asterisks from being taken for emphasis.
func markdown(text string) string { return strings.ReplaceAll(text, "*", `\*`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
