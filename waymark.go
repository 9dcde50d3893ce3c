// Package waymark holds what programs carry with them from the repository: the
// default configuration, so that the annotated file at its root is the one that
// the agent prints, and the kits for resolvers, which the harness puts into
// what it makes.
//
// It is read-only data; the package has nothing else, and parses nothing:
// host/config does.
package waymark

import _ "embed"

// DefaultConfig is plugin.toml: every key of the configuration with its
// default and its range. Don't change it.
//
//go:embed plugin.toml
var DefaultConfig string
