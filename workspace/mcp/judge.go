package mcp

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"waymark/snapshot"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

// judgement is an entry with everything that follows from it at one time.
type judgement struct {
	entry    *entry.Entry
	expanded *entry.Expanded // nil if it can't be expanded
	digests  *trust.Digests  // nil if there are none
	verdict  trust.Verdict
	widening launch.Widening
	confined bool
	redacted []string // where its secrets are; see entry.Expanded

	// outcome says why the server may not run; empty if it may. why explains it to people,
	// redacted.
	outcome snapshot.Outcome
	why     string
	// heldUntil is when to judge again, if the only obstacle ends then.
	heldUntil time.Time
	// broken says that the entry is unusable rather than forbidden.
	broken bool
}

// missing says which variables the entry refers to without getting their values.
func (j *judgement) missing() (list []string) {
	if j == nil || j.expanded == nil {
		return nil
	}
	becomes := "are removed, as its client does"
	if j.entry.Syntax.Keeps() {
		becomes = "stay as they are written, as its client does"
	}
	if names := j.expanded.Unset; len(names) > 0 {
		list = append(list, fmt.Sprintf("it refers to variables that aren't set in the agent's environment: %s. The references %s.", strings.Join(names, ", "), becomes))
	}
	if names := j.expanded.Withheld; len(names) > 0 {
		list = append(list, fmt.Sprintf("it refers to variables of the agent that no server gets: %s. The references without a default %s.", strings.Join(names, ", "), becomes))
	}
	return list
}

// same reports whether both would lead to the same connection. Changed values in the
// environment, such as rotated tokens, don't count.
func (j *judgement) same(other *judgement) bool {
	return j == other || j != nil && other != nil &&
		reflect.DeepEqual(j.entry.Server, other.entry.Server) &&
		reflect.DeepEqual(j.widening, other.widening) && j.confined == other.confined &&
		j.sameDigests(other.digests)
}

func (j *judgement) sameDigests(d *trust.Digests) bool {
	if j.digests == nil || d == nil {
		return j.digests == d
	}
	return j.digests.Definition == d.Definition && j.digests.Local == d.Local
}

// judge determines what an entry currently is and whether it may run.
func (s *server) judge(ctx context.Context, e *entry.Entry, set *Settings) *judgement {
	ctx, cancel := context.WithTimeoutCause(ctx, set.ConnectTimeout, fmt.Errorf("its files haven't been read within %s (connect_timeout in [mcp] of the configuration)", set.ConnectTimeout))
	defer cancel()
	j := &judgement{entry: e}
	own := set.Servers[s.name]
	var secrets []string
	secrets, j.redacted = e.Secrets(s.svc.expansion())
	s.hide(secrets...) // hidden from all it says, whether it runs or not
	switch {
	case e.Listed != "":
		return j.not(snapshot.OutcomeListed, joined(e.Problem, e.Listed))
	case set.Off:
		return j.not(snapshot.OutcomeSwitchedOff, "MCP servers are switched off: see enabled in [mcp] of the configuration")
	case own.Off:
		return j.not(snapshot.OutcomeSwitchedOff, "it is switched off: see [mcp.servers."+s.name+"] of the configuration")
	case !set.allowsServer(s.name):
		return j.not(snapshot.OutcomeSwitchedOff, "it isn't among the servers that allow and deny in [mcp] of the configuration leave")
	case e.Problem != "":
		j.broken = true
		return j.not(snapshot.OutcomeFailed, e.Problem)
	}
	var err error
	if j.expanded, err = s.expand(e); err != nil {
		return s.cannot(j, err)
	}
	s.hide(j.expanded.Secrets...)
	j.redacted = j.expanded.Redacted
	env := s.environment(j, launch.Widening{})
	if j.digests, err = s.svc.opts.Trust.Digest(ctx, e, j.expanded, env); err != nil {
		return s.cannot(j, because(ctx, err))
	}
	j.verdict = s.svc.opts.Trust.Judge(e, j.digests)
	j.widening = widened(j.verdict.Widening, own.Widening)
	for _, name := range j.widening.Env {
		if values := s.inherited(name); len(values) > 0 {
			s.hide(values...)
			j.redacted = union(j.redacted, []string{name})
		}
	}
	return s.permit(j, set)
}

// permit determines whether a server that can run may run.
func (s *server) permit(j *judgement, set *Settings) *judgement {
	switch {
	case j.verdict.Denied:
		return j.not(snapshot.OutcomeSwitchedOff, fmt.Sprintf("it was denied: 'agent mcp approve %s' allows it", s.name))
	case !j.verdict.Allowed && len(j.verdict.Changes) > 0:
		return j.not(snapshot.OutcomeNeedsApproval, fmt.Sprintf("it has changed since it was approved (%s): see 'agent mcp show %s', then 'agent mcp approve %s'", changedParts(j.verdict.Changes), s.name, s.name))
	case !j.verdict.Allowed:
		return j.not(snapshot.OutcomeNeedsApproval, fmt.Sprintf("it waits for an approval: see 'agent mcp show %s', then 'agent mcp approve %s'", s.name, s.name))
	case s.writesDeveloped(j, set):
		return j
	case j.verdict.Developing && s.tooMuch(j, set) != "":
		return j.not(snapshot.OutcomeNeedsApproval, fmt.Sprintf("it was approved for development, and %s: see 'agent mcp show %s', then 'agent mcp approve %s'", s.tooMuch(j, set), s.name, s.name))
	case j.entry.Transport != transportStdio:
		return j
	case set.RequireConfined && j.widening.Unconfined:
		return j.not(snapshot.OutcomeFailed, fmt.Sprintf("it was approved to run without a profile, and require_confined in [mcp] of the configuration starts none so: approve it without --unconfined, after 'agent mcp deny %s'", s.name))
	case set.RequireConfined && set.Unconfined:
		return j.not(snapshot.OutcomeFailed, "require_confined in [mcp] of the configuration starts nothing without a profile, and confine = \"none\" there leaves it none: take that out")
	case set.Unconfined || j.widening.Unconfined:
		return j
	}
	if _, err := launch.Supported(); err != nil {
		if set.RequireConfined {
			return j.not(snapshot.OutcomeFailed, "the kernel can't confine it, and require_confined in [mcp] of the configuration doesn't start it without")
		}
		return j
	}
	j.confined = true
	return j
}

// writesDeveloped holds back a server that may write files while another server is being
// developed, and reports whether it did.
func (s *server) writesDeveloped(j *judgement, set *Settings) bool {
	if j.entry.Transport != transportStdio || len(j.widening.Write) == 0 && !j.widening.Unconfined && !set.Unconfined {
		return false
	}
	until, name := s.svc.opts.Trust.Developing(s.name)
	if until.IsZero() {
		return false
	}
	j.heldUntil = until
	j.not(snapshot.OutcomeSwitchedOff, fmt.Sprintf("it may write files, and %s was approved with --develop: it comes back when that is over, at the latest at %s", name, until.UTC().Format(time.RFC3339)))
	return true
}

// tooMuch says why a server can't be developed, with files that change without approval;
// empty if it can.
func (s *server) tooMuch(j *judgement, set *Settings) string {
	_, err := launch.Supported()
	switch {
	case j.entry.Transport != transportStdio:
		return "it isn't started here"
	case err != nil || set.Unconfined || j.widening.Unconfined:
		return "it isn't confined"
	case len(j.redacted) > 0 || len(j.widening.Env) > 0:
		return "it is given secrets (" + strings.Join(union(j.redacted, j.widening.Env), ", ") + ")"
	}
	return ""
}

// transportStdio is the transport of servers that are started; others are dialed.
const transportStdio = "stdio"

func (j *judgement) not(outcome snapshot.Outcome, why string) *judgement {
	j.outcome, j.why = outcome, why
	return j
}

func (s *server) cannot(j *judgement, err error) *judgement {
	j.broken = true
	return j.not(snapshot.OutcomeFailed, s.describe(err))
}

// changedParts names the first four changed parts.
func changedParts(changes []trust.Change) string {
	var names []string
	for i, c := range changes {
		if i == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, c.Part)
	}
	return strings.Join(names, ", ")
}

func (s *server) expand(e *entry.Entry) (*entry.Expanded, error) { return e.Expand(s.svc.expansion()) }

// expansion returns the values for references.
func (s *Service) expansion() entry.ExpandOptions {
	return entry.ExpandOptions{Root: s.opts.Root(), Home: s.opts.Home, Getenv: s.opts.Getenv}
}

// environment returns the complete environment of a server that is started; nil for one
// that is dialed.
func (s *server) environment(j *judgement, w launch.Widening) []string {
	if j.entry.Transport != transportStdio {
		return nil
	}
	return launch.ServerEnv(s.svc.opts.Environ(), j.expanded.Env, s.places(j), w)
}

// inherited returns the secrets in one of the agent's variables.
func (s *server) inherited(name string) (values []string) {
	for _, pair := range s.svc.opts.Environ() {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			values = append(values, entry.Secrets(name, value)...)
		}
	}
	return values
}

// until returns when the approval expires; zero means never.
func (j *judgement) until() time.Time {
	switch {
	case j == nil:
		return time.Time{}
	case j.outcome != "":
		return j.heldUntil
	}
	return j.verdict.Until
}
