package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"waymark/agentapi/status"
	"waymark/cmd/internal/cli"
	"waymark/host/push"
)

// The checks in this file are about the running agent and its hub.

// agent checks that an agent runs and works.
func (p *patient) agent(context.Context) finding {
	switch mine := cli.CurrentVersion().Version; {
	case p.paths == nil:
		return finding{} // another check reports why its place is unknown
	case p.nobody():
		if several, _, ok := strings.Cut(p.statusErr.Error(), "\n"); ok {
			return worry("", "%s", several)
		}
		return worry("start one with 'agent run'", "none is running")
	case !p.running():
		return failure("look at its log; restart it", "it doesn't answer: %v", p.statusErr)
	case p.status.Held:
		return worry("'agent ready' ends that", "process %d holds its first snapshot back until it is told to be ready", p.status.PID)
	case p.status.AgentVersion != mine:
		return worry("restart it", "process %d is of version %s, this program of %s", p.status.PID, p.status.AgentVersion, mine)
	}
	return fine("process %d has run for %s, and found %s", p.status.PID,
		(time.Duration(p.status.UptimeSeconds * float64(time.Second))).Round(time.Second), cli.Count(p.status.Resources, "resource"))
}

// processes checks the supervisor.
func (p *patient) processes(context.Context) finding {
	if !p.running() || p.status.Services == nil {
		return finding{}
	}
	s := p.status.Services
	if s.Supervisor == status.SupervisorFailed {
		return failure("look at processes/log in "+s.State+"; 'agent stop' ends it with what it holds", "what holds processes doesn't answer: %s", s.Error)
	}
	return fine("%s", processesLine(s))
}

// servers checks whether the MCP servers need a person.
func (p *patient) servers(context.Context) finding {
	if !p.running() || p.status.MCP == nil {
		return finding{}
	}
	s := p.status.MCP
	line := mcpLine(s)
	if len(s.Unconfined) > 0 {
		line += "; without a profile: " + strings.Join(s.Unconfined, ", ")
	}
	invalid := mcpInvalid(s)
	line = strings.Join(append([]string{line}, invalid...), "; ")
	switch {
	case len(invalid) > 0:
		return worry("mend "+cli.Shorten(s.Invalid[0].Source, here()), "%s", line)
	case len(s.Failed) > 0:
		return worry("'agent mcp logs "+s.Failed[0]+"' shows what it said", "%s", line)
	case len(s.Waiting) > 0:
		return worry("'agent mcp approve "+s.Waiting[0]+"' shows what it is, and asks", "%s", line)
	case len(s.SignIn) > 0:
		return worry("'agent mcp login "+s.SignIn[0]+"'", "%s", line)
	}
	return fine("%s", line)
}

// hub checks that what is found gets stored.
func (p *patient) hub(context.Context) finding {
	if p.running() && p.status.Push != nil {
		return p.pushing()
	}
	const name = "check push.url, and whether the hub runs"
	switch {
	case p.answer.err != nil:
		return failure(name, "%s can't be reached: %v", p.hubURL, p.answer.err)
	case p.answer.code == http.StatusOK:
		return fine("%s is ready", p.hubURL)
	case p.answer.code >= http.StatusInternalServerError:
		return failure("look at its log", "%s answers with %d", p.hubURL, p.answer.code)
	case p.answer.code != 0: // such as a Coder server, which has no such page
		return fine("%s answers", p.hubURL)
	case p.config != nil && p.config.Push.URL != "":
		return fine("%s is for the agent to reach", p.config.Push.URL)
	}
	return fine("none is configured: 'agent run' starts one of its own")
}

// pushing reports the running agent's own view of its hub.
func (p *patient) pushing() finding {
	s := p.status.Push
	where := s.Peer
	if p.status.Hub != "" {
		where = "the agent's own at " + p.status.Hub
	}
	if p.status.Hub != "" && p.answer.err != nil {
		return failure("restart the agent", "%s can't be reached: %v", where, p.answer.err)
	}
	switch s.State {
	case push.StateUnauthorized:
		return failure("make a token with 'hub token create --role agent', and put it into the agent's token file", "%s refuses the token: %s", where, s.LastError)
	case push.StateConflict:
		return failure("give each agent a token of its own", "another agent pushes to %s with the same token", where)
	case push.StateUnimplemented, push.StateVersionRefused:
		return failure("run a hub and an agent of the same release", "%s doesn't speak the agent's protocols: %s", where, s.LastError)
	}
	if s.LastError != "" { // nothing was accepted since the error
		return failure("check the URL, and whether the hub runs; the agent goes on trying", "%s doesn't take what is pushed: %s", where, s.LastError)
	}
	last := s.LastAccepted
	if last == nil {
		return worry("wait a moment; see 'agent status'", "%s has nothing yet, the agent is %s", where, s.State)
	}
	if s.HeldBack.Count > 0 {
		return worry("see 'agent status'", "%s has version %d without %s that it wouldn't take", where, last.Version, cli.Count(s.HeldBack.Count, "resource"))
	}
	return fine("%s has version %d, since %s, over %s", where, last.Version, last.At.Local().Format(time.DateTime), s.Protocol)
}
