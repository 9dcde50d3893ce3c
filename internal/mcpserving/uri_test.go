package mcpserving_test

import (
	"net/url"
	"strings"
	"testing"

	"waymark/internal/mcpserving"
)

// TestURI: a URI of a server is a URI, and leads back.
func TestURI(t *testing.T) {
	for _, server := range []string{"docs", "a.b-1", "Docs", "x-docs", "ein Server", "", "ü", "a+b", "a_b"} {
		for _, uri := range []string{"docs://start", "file:///a%20b?x=1#y", "demo://resource/dynamic/{id}", "urn:a:b+c", "no-scheme"} {
			mapped := mcpserving.URI(server, uri)
			gotServer, gotURI, ok := mcpserving.ServerURI(mapped)
			if !ok || gotServer != server || gotURI != uri {
				t.Errorf("%q of %q is %q, and back %q of %q", uri, server, mapped, gotURI, gotServer)
			}
			parsed, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(mapped))
			if err != nil && uri != "no-scheme" || err == nil && uri != "no-scheme" && parsed.Scheme != mapped[:len(parsed.Scheme)] {
				t.Errorf("%q: %v, %v", mapped, parsed, err)
			}
		}
		if got := mcpserving.URI(server, "ui://app/view"); got != "ui://app/view" {
			t.Errorf("an app's: %q", got)
		}
	}
	for _, uri := range []string{"file:///x", "skill://a/SKILL.md", "mcp.docs", "mcp.+x", "mcp.docs+", "mcp.x-zz+a:b", ""} {
		if server, original, ok := mcpserving.ServerURI(uri); ok {
			t.Errorf("%q is %q of %q", uri, original, server)
		}
	}
}
