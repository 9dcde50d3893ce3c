// Package conventions is the table of the places where coding agents look for files: which
// agents read files of which names and where, what such a file is, and how its name, its
// description and when it applies are derived.
//
// It is static data without logic, in which a row says how it differs from those before. The
// built-in resolvers, `agent why`, the page of the documentation and the trees that the harness
// generates all derive from it. Facts change every month: to follow one, change its row with
// source and date, and nothing else.
//
// # Guarantees
//
// Ids are unique and stable. Every reader of a row is in Agents. Places have neither braces
// nor classes, so that matching only compares names.
//
// The package imports only package abi: guests link it, and every byte of code costs each of
// their runs. Its values must not be changed.
package conventions

//go:generate go run waymark/internal/tools/generate docs ../..
