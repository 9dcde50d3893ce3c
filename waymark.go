// Package waymark holds what programs carry with them from the repository: the kits
// and the examples for resolvers, which the harness puts into what it makes.
//
// It is read-only data; the package has nothing else.
package waymark
