package bundles

import (
	"strconv"
	"strings"

	"waymark/sdk-guest/jsonlite"
)

// AgentPlugin is the manifest of Agent Plugins, a name that other programs have, too.
const AgentPlugin = "plugin.json"

const (
	schemas = "https://agent-plugins.org/"
	schema  = schemas + "schemas/1.0.0/plugin.schema.json"
)

// IsAgentPlugin reports whether a manifest says at its top that it is one.
func IsAgentPlugin(v jsonlite.Value) bool { return strings.HasPrefix(text(v, "$schema"), schemas) }

// MentionsAgentPlugin reports whether a text that can't be read was to be one.
func MentionsAgentPlugin(data []byte) bool { return strings.Contains(string(data), schemas) }

// Check holds a manifest to version 1.0.0 of Agent Plugins, section 5.2. A problem is what
// the plugin is rejected for; what is ignored is told in notes. Neither holds a value.
func Check(v jsonlite.Value) (problem string, ignored []string) {
	if text(v, "$schema") != schema {
		return "its $schema is none of version 1.0.0 of Agent Plugins", nil
	}
	name := ""
	for key, e := range v.Members() {
		switch key {
		case "$schema":
		case "name":
			name, _ = e.Text()
			if problem = badName(name); problem != "" {
				return problem, nil
			}
		case "version", "description", "homepage", "repository", "license":
			if e.Kind() != jsonlite.String {
				return key + " is " + string(e.Kind()) + ", not a string", nil
			}
		case "author":
			if problem = badAuthor(e); problem != "" {
				return problem, nil
			}
		case "keywords":
			if e.Kind() != jsonlite.Array {
				return "keywords is " + string(e.Kind()) + ", not a list", nil
			}
			for one := range e.Elements() {
				if one.Kind() != jsonlite.String {
					return "keywords holds " + string(one.Kind()) + ", not only strings", nil
				}
			}
		case "extensions":
			if e.Kind() != jsonlite.Object {
				ignored = append(ignored, "extensions is "+string(e.Kind())+", not an object, and ignored")
			}
		default:
			if len(key) > 64 {
				key = key[:64]
			}
			ignored = append(ignored, "field "+strconv.QuoteToASCII(key)+" is not known and ignored")
		}
	}
	if name == "" {
		return "it has no name", nil
	}
	return "", ignored
}

func badAuthor(v jsonlite.Value) (problem string) {
	if v.Kind() != jsonlite.Object {
		return "author is " + string(v.Kind()) + ", not an object"
	}
	for key, e := range v.Members() {
		if key != "name" && key != "email" && key != "url" || e.Kind() != jsonlite.String {
			return "author has more than name, email and url, or one that isn't a string"
		}
	}
	return ""
}

// badName: 1 to 64 of a-z, 0-9, "-" and ".", the first and the last a letter or a digit,
// without "--" and "..".
func badName(s string) (problem string) {
	const wrong = "its name is not 1 to 64 of a-z, 0-9, single hyphens and dots between letters and digits"
	if s == "" || len(s) > 64 || strings.Contains(s, "--") || strings.Contains(s, "..") {
		return wrong
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		case (c == '-' || c == '.') && i > 0 && i < len(s)-1:
		default:
			return wrong
		}
	}
	return ""
}
