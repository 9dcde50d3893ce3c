package snapshot

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Candidate is one find before it enters a snapshot, with what decides its precedence.
type Candidate struct {
	Resource
	// Path is the absolute path under which it was found, before links were followed. It is
	// used in notes and, last of all, for precedence: a find under its own path beats one
	// through a link. Empty means Source.
	Path string
	// Rank is the resolver's: 0 for built-in ones, then plugins in the order of the
	// configuration. Lower wins.
	Rank int
	// Root is the position of the root in the order of roots. Lower wins.
	Root int
	// DropIn says that the resolver's module isn't built in, so that the caps per module
	// apply. The module is the part of Resolver before its first "/".
	DropIn bool
	// Directory is the project that contains the find, as a directory relative to the root;
	// empty for a find of the root itself, which comes first. See Resource.PutBelow.
	Directory string
	// Provided says that a provider made it, and no resolver; see Caps.ProvidedBytes.
	Provided bool
}

func (c *Candidate) path() string {
	if c.Path == "" {
		return c.Source
	}
	return c.Path
}

// module returns the name of the candidate's module.
func (c *Candidate) module() string {
	name, _, _ := strings.Cut(c.Resolver, "/")
	return name
}

// precedence orders candidates, the strongest first: by resolver rank, then root order, then
// finds of the root itself before those of projects in it, then kind, source and key. The
// rest only breaks ties between finds of the same thing, so that the result doesn't depend on
// the order in which resolvers finish.
func precedence(a, b *Candidate) int {
	order := cmp.Or(
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Root, b.Root),
		compareTrue(a.Directory == "", b.Directory == ""),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Key, b.Key),
		compareTrue(a.path() == a.Source, b.path() == b.Source),
		cmp.Compare(a.path(), b.path()),
		cmp.Compare(a.Resolver, b.Resolver),
	)
	if order == 0 { // rare and expensive
		order = cmp.Or(compareContent(&a.Resource, &b.Resource), compareTrue(a.DropIn, b.DropIn))
	}
	return order
}

// compareContent orders two finds of one resolver for one id by their content, because no
// other rule distinguishes them.
func compareContent(a, b *Resource) int {
	texts, others := a.Texts(), b.Texts()
	return cmp.Or(
		cmp.Compare(a.Status, b.Status),
		slices.CompareFunc(texts[:], others[:], func(x, y *string) int { return cmp.Compare(*x, *y) }),
		compareTrue(b.Stale, a.Stale),
		bytes.Compare(a.ContentHash, b.ContentHash),
		cmp.Compare(a.SizeBytes, b.SizeBytes),
		compareTrue(a.Payload != nil, b.Payload != nil),
		bytes.Compare(a.Payload, b.Payload),
		bytes.Compare(appendAttributes(nil, a.Attributes), appendAttributes(nil, b.Attributes)),
		cmp.Compare(a.Convention, b.Convention),
		cmp.Compare(a.Scope, b.Scope),
		slices.Compare(a.Readers, b.Readers),
		slices.CompareFunc(a.Findings, b.Findings, func(x, y Finding) int {
			return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Severity, y.Severity), cmp.Compare(x.Message, y.Message))
		}),
	)
}

// compareTrue sorts true first.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
