package process

import (
	"net/http"
	"slices"
	"strings"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// Kind is a kind of confinement, from the widest to the narrowest. A start can ask
// for one that is narrower than its token's, and never for a wider one.
type Kind string

// The kinds.
const (
	// KindNone confines nothing: for tokens that may see all secrets.
	KindNone Kind = "none"
	// KindSecrets hides the places of the secret list.
	KindSecrets Kind = "secrets"
	// KindPlan writes nothing but the plan's file and a private temporary
	// directory.
	KindPlan Kind = "plan"
)

var kinds = []Kind{KindNone, KindSecrets, KindPlan}

// kindOf is what a grant asks for.
func kindOf(grant *access.Grant) Kind {
	switch {
	case grant == nil || grant.Plan != "": // nobody without a grant comes this far
		return KindPlan
	case slices.Contains(grant.Secrets, "*"):
		return KindNone
	}
	return KindSecrets
}

// confined returns what a process that a grant starts is kept from: the profile,
// nil for none, and the words for it.
func (s *Service) confined(c *httpapi.Call, asked string) (*launch.Profile, string, error) {
	grant := access.From(c.Context())
	kind := kindOf(grant)
	if asked != "" {
		narrower := slices.Index(kinds, Kind(asked))
		switch {
		case narrower < 0:
			return nil, "", refused(c, `profile is "none", "secrets" or "plan"`)
		case narrower < slices.Index(kinds, kind):
			return nil, "", &problem.Error{Code: http.StatusForbidden, Message: c.Failed(),
				Detail: "a profile can narrow what the token allows, not widen it: this token's is " + string(kind)}
		}
		kind = Kind(asked)
	}
	if kind == KindNone {
		return nil, fenceOf(kind, grant), nil
	}
	if s.opts.Confine == nil {
		return nil, "", &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "processes can't be confined here, as this token asks for"}
	}
	profile, err := s.opts.Confine(kind, grant)
	return profile, fenceOf(kind, grant), err
}

// fenceOf says what a process of that kind is kept from that a grant has started.
// Two that say the same are kept from the same.
func fenceOf(kind Kind, grant *access.Grant) string {
	if kind == KindNone || grant == nil {
		return string(kind)
	}
	fence := append([]string{string(kind), grant.Plan}, slices.Sorted(slices.Values(grant.Secrets))...)
	return strings.Join(fence, "\x00")
}

// reach refuses a caller who is confined, and would act through a process that
// isn't confined alike: what it is told to do, it does with its own rights.
func reach(c *httpapi.Call, info *supervisor.Info) error {
	grant := access.From(c.Context())
	if kind := kindOf(grant); kind == KindNone || info.Fence == fenceOf(kind, grant) {
		return nil
	}
	return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the process was not started with what this token allows: it may do more"}
}
