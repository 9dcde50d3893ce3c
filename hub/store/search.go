package store

import (
	"fmt"
	"strings"

	"waymark/abi"
	"waymark/snapshot"
)

// SearchQuery says what is looked for in what agents have now.
type SearchQuery struct {
	// Text is a part of the name or the source of a resource, or of the name of a
	// plugin that fails, in whatever case of ASCII; or the SHA-256 of a resource's
	// content or of a plugin, in hexadecimal.
	Text string
	// Scope lists the only agents that are looked at; nil: all.
	Scope []string
	// Limit bounds the answer.
	Limit int
}

// minSearch and maxSearch bound SearchQuery.Text, in bytes.
const (
	minSearch = 2
	maxSearch = 1024
)

// Check reports whether it can be looked for.
func (q *SearchQuery) Check() error {
	if len(q.Text) < minSearch || len(q.Text) > maxSearch || notText(q.Text) {
		return fmt.Errorf("%w: look for %d to %d bytes of text", ErrInvalid, minSearch, maxSearch)
	}
	return nil
}

// Hit is something that was found: a resource, or a plugin that fails.
type Hit struct {
	AgentID string
	// ResourceID to Hash are those of a resource.
	ResourceID string
	Kind       abi.Kind
	Name       string
	Source     string
	Status     snapshot.Status
	Hash       snapshot.Hash
	// Plugin is set in the place of those.
	Plugin *snapshot.Plugin
}

// Finds reports whether a plugin is looked for: it fails, and has the text.
func (q *SearchQuery) Finds(p *snapshot.Plugin) bool {
	return p.Failing() && (strings.Contains(strings.ToLower(p.Name), strings.ToLower(q.Text)) || strings.EqualFold(p.Digest, q.Text))
}
