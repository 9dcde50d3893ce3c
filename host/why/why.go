package why

import (
	"waymark/abi"
	"waymark/host/codingagents"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// Reason is the answer in one word.
type Reason string

// The reasons; the package comment says when each is given.
const (
	ReasonFound            Reason = "found"
	ReasonOutsideRoots     Reason = "outside_roots"
	ReasonNotAKnownPlace   Reason = "not_a_known_place"
	ReasonWrongCase        Reason = "wrong_case"
	ReasonNested           Reason = "nested"
	ReasonLinkEscapes      Reason = "link_escapes"
	ReasonLinkBroken       Reason = "link_broken"
	ReasonNotRegular       Reason = "not_regular"
	ReasonUnreadable       Reason = "unreadable"
	ReasonOversize         Reason = "oversize"
	ReasonExcluded         Reason = "excluded"
	ReasonDeduplicated     Reason = "deduplicated"
	ReasonCollapsedInto    Reason = "collapsed_into"
	ReasonHiddenSecret     Reason = "hidden_secret"
	ReasonNotGranted       Reason = "not_granted"
	ReasonInvalid          Reason = "invalid"
	ReasonExcludedByConfig Reason = "excluded_by_config"
	ReasonResolverFailed   Reason = "resolver_failed"
	ReasonMissing          Reason = "missing"
)

// Answer says whether a path is in the context, and why not.
type Answer struct {
	// Path is the path asked for, as it was given.
	Path string `json:"path"`
	// Found says that what the path holds is in the context: as a resource
	// that is ok, be it under this path or another.
	Found bool `json:"found"`
	// ResourceID is the resource that the path belongs to, or that stands in
	// its place; empty when there is none. It need not be ok.
	ResourceID string `json:"resource_id"`
	// Resolver is who found it, or who would have to: "module/resolver", with
	// "@version" for what was found. Empty when it is nobody's.
	Resolver string `json:"resolver"`
	// Root is the root that the answer is about; empty outside of all.
	Root string `json:"root"`
	// Reason says in a word why it is in the context, or why not.
	Reason Reason `json:"reason"`
	// Detail is one line for a person: what is so, and what to do.
	Detail string `json:"detail"`
	// Convention is a table for the configuration that has the file found, where nobody
	// looks for it.
	Convention string `json:"convention,omitempty"`
	// Client is what one client makes of it, where that was asked, too.
	Client *codingagents.Verdict `json:"client,omitempty"`
}

// Root is an open root.
type Root struct {
	FS   *vfs.Root
	Role abi.Role
	// SourcePath is the user's source that led here; empty for the others.
	SourcePath string
	// Scope is snapshot.ScopeUser for a home directory, in which the places of users alone
	// are looked at: what lies elsewhere in it is answered as if it were no root.
	Scope snapshot.Scope
}

// Run is what one resolver did in one root, or did when its memo was made.
type Run struct {
	Resolver string // "module/resolver"
	Root     int    // index into Input.Roots
	// View is what the resolver may see there, Filter the same compiled.
	View   vfs.View
	Filter *vfs.Filter
	// Trace is what it observed, Denied what it asked for in vain.
	Trace      []vfs.Dep
	Denied     []vfs.Denial
	Candidates []snapshot.Candidate
	// Err is why it failed; the candidates are then its last good ones.
	Err error
}

// Input is everything that is known after a refresh. Explain changes nothing
// of it.
type Input struct {
	Snapshot *snapshot.Snapshot
	Notes    []snapshot.Note
	Runs     []Run
	Roots    []Root
	// Missing lists the configured roots and sources that don't exist,
	// Refused those that aren't looked at although they do.
	Missing []string
	Refused []Refused
	// Home is the user's home directory; empty when there is none. Nobody is told
	// to have all of it looked at.
	Home string
	// Once says that nobody goes on looking: no agent runs that a source could be
	// added to.
	Once bool
}

// Refused is a configured root that isn't looked at.
type Refused struct {
	Path string // absolute, as it was given
	Err  error
}

// Explain answers for one path, which is absolute: what a relative one means
// only the caller knows.
func Explain(in Input, path string) Answer {
	a := explain(in, path)
	a.Path, a.Detail = path, text.Cut(text.Printable(a.Detail), maxDetail)
	return a
}

func explain(in Input, path string) Answer {
	if a, ok := first(notAsked, path); ok {
		return a
	}
	a, _ := first(ofPath, newQuestion(in, path))
	return a
}
