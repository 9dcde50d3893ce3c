// Package config reads plugin.toml, the operator's configuration, and knows
// the paths at which Waymark keeps its things.
//
// # The configuration
//
// Load starts from Default and lays the files over it, the later over the
// earlier, key by key: a key that a file has replaces what was there, a key
// that it doesn't have stays. Lists are replaced as a whole. Tables are merged
// key by key, also the free ones below builtin.config and plugin.config; a
// [[plugin]] entry is merged into an earlier one of the same name.
//
// What MachineFile has isn't replaced by a later file but joined with it, as the tag of
// the key says (join.go): a user can narrow it, and nothing that a user
// writes widens it. Ignored names the values that don't hold, Settings the files that
// have set each of the others. What the machine's file doesn't have is the user's.
//
// # Guarantees
//
// Parsing is strict: an unknown key, a value of the wrong type and a value
// outside its range are errors that say file, line and column, what is wrong
// and how to mend it. What is known of a key stands once, in the tags of its field:
// plugin.toml at the root of the repository and docs/config.md are made from them, as
// are what Annotated and JSONSchema return.
//
// What names a secret is read elsewhere: the configuration holds the path of a
// token file, never a token.
//
// # Concurrency and limits
//
// There is no state; a Config is plain data. A file may have 1 MiB. Whether
// plugins, resolvers and secret-list entries of the given names exist is for
// the host to say, which knows them.
package config

//go:generate go run waymark/internal/tools/configdoc ../..
