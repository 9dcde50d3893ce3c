package process

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/launch"
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

// profile is what confines a process that a grant starts; nil: nothing does.
func (s *Service) profile(c *httpapi.Call, grant *access.Grant, asked string) (*launch.Profile, error) {
	kind := kindOf(grant)
	if asked != "" {
		narrower := slices.Index(kinds, Kind(asked))
		switch {
		case narrower < 0:
			return nil, refused(c, `profile is "none", "secrets" or "plan"`)
		case narrower < slices.Index(kinds, kind):
			return nil, &problem.Error{Code: http.StatusForbidden, Message: c.Failed(),
				Detail: "a profile can narrow what the token allows, not widen it: this token's is " + string(kind)}
		}
		kind = Kind(asked)
	}
	if kind == KindNone {
		return nil, nil
	}
	if s.opts.Confine == nil {
		return nil, &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "processes can't be confined here, as this token asks for"}
	}
	return s.opts.Confine(kind, grant)
}

// fenceOf identifies what a process that a grant starts is kept from: who is kept
// from something else doesn't get at it.
func fenceOf(profile *launch.Profile, grant *access.Grant) string {
	if profile == nil {
		return string(KindNone)
	}
	fence := []string{profile.Name}
	if grant != nil {
		fence = append(fence, grant.Plan)
		fence = append(fence, slices.Sorted(slices.Values(grant.Secrets))...)
	}
	return strings.Join(fence, "\x00")
}

// maxHeld bounds how many processes are remembered with their fences. One that is
// forgotten can't be reached by who is fenced in.
const maxHeld = 4096

// held remembers the fences of processes that this agent has started.
type held struct {
	mu    sync.Mutex // guards the rest
	fence map[string]string
	order []string // oldest first
}

func (h *held) add(id, fence string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fence == nil {
		h.fence = make(map[string]string)
	}
	if len(h.order) >= maxHeld {
		delete(h.fence, h.order[0])
		h.order = h.order[1:]
	}
	h.fence[id] = fence
	h.order = append(h.order, id)
}

func (h *held) has(id, fence string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	have, ok := h.fence[id]
	return ok && have == fence
}

// reach refuses a caller who is confined, and would act through a process that
// isn't confined alike: what it is told to do, it does with its own rights.
func (s *Service) reach(c *httpapi.Call, id string) error {
	grant := access.From(c.Context())
	kind := kindOf(grant)
	if kind == KindNone || s.held.has(id, fenceOf(&launch.Profile{Name: string(kind)}, grant)) {
		return nil
	}
	return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the process was not started with what this token allows: it may do more"}
}
