package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// kind is a kind of confinement. A start can ask for one that is narrower than its
// token's, and never for a wider one.
type kind string

// The kinds, from the widest to the narrowest.
const (
	// kindNone confines nothing: for tokens that may see all secrets.
	kindNone kind = "none"
	// kindSecrets hides the places of the secret list, and the agent's own.
	kindSecrets kind = "secrets"
	// kindPlan writes nothing but the plan's file and a private temporary
	// directory.
	kindPlan kind = "plan"
)

var kinds = []kind{kindNone, kindSecrets, kindPlan}

// kindOf is what a grant asks for.
func kindOf(grant *access.Grant) kind {
	switch {
	case grant == nil || grant.Plan != "": // nobody without a grant comes this far
		return kindPlan
	case slices.Contains(grant.Secrets, "*"):
		return kindNone
	}
	return kindSecrets
}

// userFence begins the fence of what the agent's user has started. What it is kept from
// follows, as with others.
const userFence = access.ControlID + "\x00"

// isUser reports whether a call is the agent's user's: with the control token, and for no chat.
func isUser(c *httpapi.Call, grant *access.Grant) bool {
	who, err := agentapi.CallerOf(c.Header)
	return err == nil && who.Chat == uuid.Nil && grant != nil && grant.ID == access.ControlID
}

// fence says what a process of that kind is kept from that a grant has started. Two that
// say the same are kept from the same.
func fence(k kind, grant *access.Grant) string {
	if k == kindNone || grant == nil {
		return string(k)
	}
	return strings.Join(append([]string{string(k), grant.Plan}, slices.Sorted(slices.Values(grant.Secrets))...), "\x00")
}

// writesNothing reports whether a fence leaves nothing of the workspace to write: it is that
// of a plan, and there is none.
func writesNothing(fence string) bool {
	rest, is := strings.CutPrefix(fence, string(kindPlan)+"\x00")
	return is && (rest == "" || rest[0] == 0)
}

// narrowed reports whether processes of a caller write nothing but its plan for now.
func (s *Service) narrowed(c *httpapi.Call, grant *access.Grant) bool {
	switch {
	case isUser(c, grant):
		return false
	case grant != nil && grant.Plan != "":
		return s.opts.Narrow(grant.Plan)
	}
	return s.opts.Narrow()
}

// kindFor is the kind of a start that asks for one, or for none.
func (s *Service) kindFor(c *httpapi.Call, grant *access.Grant, asked string) (kind, error) {
	own := kindOf(grant)
	if s.narrowed(c, grant) {
		own = kindPlan
	}
	if asked == "" {
		return own, nil
	}
	switch narrower := slices.Index(kinds, kind(asked)); {
	case narrower < 0:
		return "", refused(c, `profile is "none", "secrets" or "plan"`)
	case narrower < slices.Index(kinds, own):
		return "", &problem.Error{Code: http.StatusForbidden, Message: c.Failed(),
			Detail: "a profile can narrow what the token allows, not widen it: this token's is " + string(own)}
	}
	return kind(asked), nil
}

// confine has a process kept from what its kind says.
func (s *Service) confine(c *httpapi.Call, spec *supervisor.Spec, k kind, grant *access.Grant) (err error) {
	spec.Fence = fence(k, grant)
	if isUser(c, grant) {
		spec.Fence = userFence + spec.Fence
	}
	if k == kindNone || k == kindSecrets && !s.opts.HideSecrets() {
		return nil
	}
	places := s.opts.Places()
	places.Root, places.Granted = s.opts.Root(), grant.Secrets
	if k == kindSecrets {
		spec.Profile, err = launch.HideSecrets(places)
		return err
	}
	if places.Tmp, err = s.makeTmp(spec.ID); err != nil {
		return err
	}
	spec.Env = set(spec.Env, "TMPDIR", places.Tmp)
	// Who was narrowed by the caller has no plan, and nothing to write.
	spec.Profile, err = launch.Plan(grant.Plan, places)
	if err != nil {
		s.removeTmp(spec.ID)
		return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the token's fence can't be held: " + err.Error()}
	}
	return nil
}

// started starts a process. Where the kernel confines nothing, who has a fence is
// refused; the secret list is advisory then.
func (s *Service) started(c *httpapi.Call, spec *supervisor.Spec) (supervisor.Info, bool, error) {
	info, attached, err := s.opts.Supervisor.Start(c.Context(), spec)
	if !errors.Is(err, launch.ErrUnsupported) || spec.Profile == nil {
		return info, attached, err
	}
	if spec.Profile.Name != string(kindSecrets) {
		return info, false, &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: err.Error()}
	}
	s.unconfined.Do(func() {
		s.opts.Logger.Warn("processes are not kept from secrets here", slog.Any("error", err))
	})
	spec.Profile = nil
	return s.opts.Supervisor.Start(c.Context(), spec)
}

// reach refuses a caller who is confined, and would act through a process that
// isn't confined alike: what it is told to do, it does with its own rights.
func (s *Service) reach(c *httpapi.Call, info *supervisor.Info) error {
	grant := access.From(c.Context())
	of, users := strings.CutPrefix(info.Fence, userFence)
	if users && s.narrowed(c, grant) {
		return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the process is of the agent's user, who works on an MCP server: it may write what this token may not for now"}
	}
	own := kindOf(grant)
	if own == kindNone {
		return nil
	}
	for _, k := range kinds[slices.Index(kinds, own):] { // or narrower, as it has asked for
		if of == fence(k, grant) {
			return nil
		}
	}
	return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the process was not started with what this token allows: it may do more"}
}

// Private temporary directories are named after their processes.

func (s *Service) tmp(id string) string { return filepath.Join(s.opts.Tmp, id) }

func (s *Service) makeTmp(id string) (string, error) {
	if s.opts.Tmp == "" {
		return "", errors.New("there is no directory for temporary files")
	}
	s.swept.Do(func() { s.sweep(context.Background()) })
	if err := os.MkdirAll(s.tmp(id), 0o700); err != nil {
		return "", fmt.Errorf("make a temporary directory: %w", err)
	}
	return s.tmp(id), nil
}

func (s *Service) removeTmp(id string) {
	if s.opts.Tmp == "" {
		return
	}
	if err := os.RemoveAll(s.tmp(id)); err != nil {
		s.opts.Logger.Warn("a temporary directory can't be removed", slog.Any("error", err))
	}
}

// sweep removes the temporary directories of processes that have ended while
// nobody watched.
func (s *Service) sweep(ctx context.Context) {
	left, err := os.ReadDir(s.opts.Tmp)
	if err != nil || len(left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	all, err := s.opts.Supervisor.List(ctx)
	if err != nil {
		return
	}
	for _, entry := range left {
		runs := func(info supervisor.Info) bool { return info.Running && info.ID == entry.Name() }
		if !slices.ContainsFunc(all, runs) {
			s.removeTmp(entry.Name())
		}
	}
}
