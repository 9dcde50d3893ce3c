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
	// Path is the path asked for, as given.
	Path string `json:"path"`
	// Found says that the path's content is in the context: as a resource that is ok, under
	// this path or another.
	Found bool `json:"found"`
	// ResourceID is the resource that the path belongs to, or that replaces it; empty if
	// there is none. It need not be ok.
	ResourceID string `json:"resource_id"`
	// Resolver is the one that found it, or would have to: "module/resolver", with "@version"
	// for what was found. Empty if there is none.
	Resolver string `json:"resolver"`
	// Root is the root that the answer is about; empty outside all roots.
	Root string `json:"root"`
	// Reason says in a word why it is in the context, or why not.
	Reason Reason `json:"reason"`
	// Detail is one line for a person: the finding, and what to do.
	Detail string `json:"detail"`
	// Convention is a table for the configuration by which the file would be found, if nobody
	// looks for it.
	Convention string `json:"convention,omitempty"`
	// Client is what one client makes of it, if that was asked.
	Client *codingagents.Verdict `json:"client,omitempty"`
}

// Root is an open root.
type Root struct {
	FS   *vfs.Root
	Role abi.Role
	// SourcePath is the user's source that led here; empty for other roots.
	SourcePath string
	// Scope is snapshot.ScopeUser for a home directory, of which only the places of users are
	// looked at. Other paths in it are answered as if it were no root.
	Scope snapshot.Scope
}

// Run is what one resolver did in one root, or did when its memo was made.
type Run struct {
	Resolver string // "module/resolver"
	Root     int    // index into Input.Roots
	// View is what the resolver may see there, Filter its compiled form.
	View   vfs.View
	Filter *vfs.Filter
	// Trace is what it observed, Denied what it was refused.
	Trace      []vfs.Dep
	Denied     []vfs.Denial
	Candidates []snapshot.Candidate
	// Err is why it failed; the candidates are then its last good ones.
	Err error
}

// Input is everything that is known after a refresh. Explain doesn't change it.
type Input struct {
	Snapshot *snapshot.Snapshot
	Notes    []snapshot.Note
	Runs     []Run
	Roots    []Root
	// Missing lists the configured roots and sources that don't exist, Refused existing ones
	// that aren't looked at.
	Missing []string
	Refused []Refused
	// Home is the user's home directory; empty if there is none. Advice never suggests adding
	// all of it.
	Home string
	// Once says that no agent is running to which a source could be added.
	Once bool
}

// Refused is a configured root that isn't looked at.
type Refused struct {
	Path string // absolute, as given
	Err  error
}

// Explain answers for one path, which must be absolute: only the caller knows what a relative
// one means.
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
