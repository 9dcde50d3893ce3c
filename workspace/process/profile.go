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

// kind is a kind of confinement. A start may ask for a narrower one than its token's, never
// for a wider one.
type kind string

// The kinds, from wide to narrow.
const (
	// kindNone confines nothing, for tokens that may see all secrets.
	kindNone kind = "none"
	// kindSecrets hides the places of the secret list and the agent's own.
	kindSecrets kind = "secrets"
	// kindPlan allows writing only to the plan's file and a private temporary directory.
	kindPlan kind = "plan"
)

var kinds = []kind{kindNone, kindSecrets, kindPlan}

// kindOf returns the kind for a grant.
func kindOf(grant *access.Grant) kind {
	switch {
	case grant == nil || grant.Plan != "": // without a grant, no call gets this far
		return kindPlan
	case slices.Contains(grant.Secrets, "*"):
		return kindNone
	}
	return kindSecrets
}

// userFence is the prefix of the fence of processes that the agent's user has started.
const userFence = access.ControlID + "\x00"

// isUser reports whether a call is made by the agent's user: with the control token, and
// without a chat.
func isUser(c *httpapi.Call, grant *access.Grant) bool {
	who, err := agentapi.CallerOf(c.Header)
	return err == nil && who.Chat == uuid.Nil && grant != nil && grant.ID == access.ControlID
}

// fence describes the confinement of a process with this kind and grant, and whether it has
// the desktop's variables. Equal fences mean equal confinement.
func fence(k kind, grant *access.Grant, shows bool) string {
	if k == kindNone || grant == nil {
		return string(k)
	}
	parts := append([]string{string(k), grant.Plan}, slices.Sorted(slices.Values(grant.Secrets))...)
	if shows {
		parts = append(parts, string(access.ScopeDesktop))
	}
	return strings.Join(parts, "\x00")
}

// writesNothing reports whether a fence allows writing nothing in the workspace: it is that
// of a plan, but without one.
func writesNothing(fence string) bool {
	rest, is := strings.CutPrefix(fence, string(kindPlan)+"\x00")
	return is && (rest == "" || rest[0] == 0)
}

// narrowed reports whether processes of a caller may currently write only its plan.
func (s *Service) narrowed(c *httpapi.Call, grant *access.Grant) bool {
	switch {
	case isUser(c, grant):
		return false
	case grant != nil && grant.Plan != "":
		return s.opts.Narrow(grant.Plan)
	}
	return s.opts.Narrow()
}

// kindFor returns the kind for a start that may ask for one.
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

// confine confines a process according to its kind. display, if not empty, is a hidden
// directory that it needs for the desktop.
func (s *Service) confine(c *httpapi.Call, spec *supervisor.Spec, k kind, grant *access.Grant, display string) (err error) {
	spec.Fence = fence(k, grant, display != "")
	if isUser(c, grant) {
		spec.Fence = userFence + spec.Fence
	}
	if k == kindNone || k == kindSecrets && !s.opts.HideSecrets() {
		return nil
	}
	places := s.opts.Places()
	places.Root, places.Granted = s.opts.Root(), grant.Secrets
	if k == kindSecrets {
		if spec.Profile, err = launch.HideSecrets(places); err == nil && display != "" {
			spec.Profile.Read = append(spec.Profile.Read, display)
		}
		return err
	}
	if places.Tmp, err = s.makeTmp(spec.ID); err != nil {
		return err
	}
	spec.Env = set(spec.Env, "TMPDIR", places.Tmp)
	// A caller that was narrowed has no plan, and can write nothing.
	spec.Profile, err = launch.Plan(grant.Plan, places)
	if err != nil {
		s.removeTmp(spec.ID)
		return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: "the token's fence can't be held: " + err.Error()}
	}
	return nil
}

// started starts a process. If the kernel can't confine it, a start with a fence is
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

// reach refuses a confined caller that would act through a process with another
// confinement, because the process acts with its own permissions.
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
	for _, k := range kinds[slices.Index(kinds, own):] { // or a narrower one, as requested
		if of == fence(k, grant, false) || grant.Has(access.ScopeDesktop) && of == fence(k, grant, true) {
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

// sweep removes the temporary directories of processes that ended while no agent was
// running.
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
