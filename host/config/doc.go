// Package config reads plugin.toml, the operator's configuration, and knows the paths at
// which Waymark keeps its files.
//
// # The configuration
//
// Load starts from Default and merges the files into it, later ones over earlier ones, key by
// key: a key in a file replaces the previous value, and other keys keep theirs. Lists are
// replaced as a whole. Tables are merged key by key, including the free ones below
// builtin.config and plugin.config; a [[plugin]] entry is merged into an earlier one of the
// same name.
//
// A later file doesn't replace values of MachineFile but is joined with them, as the tag of
// the key says (join.go): a user can restrict them, and nothing that a user writes widens
// them. Ignored lists the values without effect, Settings the files that have set each of the
// others. Keys that the machine's file doesn't have are the user's.
//
// # Guarantees
//
// Parsing is strict: an unknown key, a value of the wrong type and a value outside its range
// are errors that say file, line and column, what is wrong and how to fix it. Everything
// about a key is defined once, in the tags of its field: plugin.toml at the root of the
// repository and docs/config.md are generated from them, as are the results of Annotated and
// JSONSchema.
//
// Secrets are read elsewhere: the configuration holds the path of a token file, never a
// token.
//
// # Concurrency and limits
//
// There is no state; a Config is plain data. A file may have 1 MiB. The host checks whether
// plugins, resolvers and secret-list entries of the given names exist, because it knows them.
package config

//go:generate go run waymark/internal/tools/generate docs ../..
