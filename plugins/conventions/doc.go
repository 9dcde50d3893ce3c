// Package conventions is the table of the places where coding agents look for files:
// which of them read files of which names and where, what such a file is, and how its
// name, its description and when it applies are derived.
//
// It is static data without code that decides anything. The built-in resolvers, `agent
// why`, the page of the documentation and the trees that the harness generates all come
// from it. Facts move monthly: change a row, with its source and the date, and nothing
// else.
//
// # Guarantees
//
// Ids are unique, and stay what they are. Every reader of a row is in Agents. Places
// have neither braces nor classes, so that whoever walks them compares names and
// nothing else.
//
// The package imports package abi alone: guests link it, and every byte of code costs
// each of their runs. Its values must not be changed.
package conventions

//go:generate go run waymark/internal/tools/conventionsdoc -o ../../docs/conventions.md
