// Package waymark holds the default configuration, so that the annotated file
// at the root of the repository is the one that the agent prints.
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
