package store

import (
	"time"

	"waymark/snapshot"
)

// Attention is a reason why somebody should look at an agent.
type Attention string

// Values of Attention.
const (
	AttentionAway           Attention = "away"              // for AttentionAfter
	AttentionNeverConnected Attention = "never_connected"   // for AttentionAfter
	AttentionNotHeard       Attention = "not_heard"         // other agents are connected with its token
	AttentionSnapshot       Attention = "snapshot_error"    // the snapshot as a whole has a problem
	AttentionResources      Attention = "invalid_resources" // nothing, or something old, was pushed of them
	AttentionFailingServers Attention = "failing_servers"   // MCP servers
	AttentionWaitingServers Attention = "waiting_servers"   // for an approval or an authorization
	AttentionPlugins        Attention = "failing_plugins"
	AttentionPins           Attention = "drifted_pins"
)

// AttentionAny selects agents for any reason.
const AttentionAny = "any"

// AttentionAfter is how long an agent may be away, or not have connected yet, before it needs
// attention. It is longer than a restart of a machine takes.
const AttentionAfter = 15 * time.Minute

// Attentions returns all reasons, the most urgent first.
func Attentions() []Attention {
	return []Attention{
		AttentionAway, AttentionNeverConnected, AttentionNotHeard, AttentionSnapshot, AttentionResources,
		AttentionFailingServers, AttentionWaitingServers, AttentionPlugins, AttentionPins,
	}
}

// State returns the state of the agent's connection.
func (a *AgentInfo) State() AgentState {
	switch {
	case a.Connected:
		return AgentConnected
	case a.SeenAt.IsZero():
		return AgentNeverConnected
	}
	return AgentAway
}

// FailingServers and WaitingServers are numbers of MCP servers in the newest snapshot: of those
// that have failed, and of those that wait for an approval or an authorization.
func (a *AgentInfo) FailingServers() int { return a.Discovery.Outcomes[snapshot.OutcomeFailed] }

// WaitingServers is described at FailingServers.
func (a *AgentInfo) WaitingServers() int {
	return a.Discovery.Outcomes[snapshot.OutcomeNeedsApproval] + a.Discovery.Outcomes[snapshot.OutcomeNeedsAuthorization]
}

// Attention returns the reasons that the agent has now, in the order of Attentions.
func (a *AgentInfo) Attention(now time.Time) (list []Attention) {
	late := now.Add(-AttentionAfter)
	is := map[Attention]bool{
		AttentionAway:           a.State() == AgentAway && !a.SeenAt.After(late),
		AttentionNeverConnected: a.State() == AgentNeverConnected && !a.CreatedAt.After(late),
		AttentionNotHeard:       a.NotHeard > 0,
		AttentionSnapshot:       a.SnapshotError != "",
		AttentionResources:      a.InvalidResources > 0,
		AttentionFailingServers: a.FailingServers() > 0,
		AttentionWaitingServers: a.WaitingServers() > 0,
		AttentionPlugins:        a.FailingPlugins > 0,
		AttentionPins:           a.DriftedPins > 0,
	}
	for _, reason := range Attentions() {
		if is[reason] {
			list = append(list, reason)
		}
	}
	return list
}
