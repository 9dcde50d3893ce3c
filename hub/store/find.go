package store

import "time"

// AgentQuery selects agents. The zero value selects all, in byte order of their ids.
type AgentQuery struct {
	// Words must all be in what is known of the agent itself, in whatever case of ASCII.
	Words []string
	// State is that of its connection; empty: any.
	State AgentState
	// Labels are those that it must have.
	Labels Labels
	// Attention selects agents that have it, or AttentionAny; empty: all. Those that aren't
	// connected have it since LateBefore or earlier.
	Attention  Attention
	LateBefore time.Time
	// Scope lists the only agents that may be found; nil: all.
	Scope []string
	// Order is one of AgentOrders; empty: by id. Down reverses it.
	Order string
	Down  bool
	// After is the Next of the page before.
	After *AgentPlace
	// Limit bounds the page; 0: all.
	Limit int
}

// AgentState is a state of an agent's connection.
type AgentState string

// Values of AgentState.
const (
	AgentConnected      AgentState = "connected"
	AgentAway           AgentState = "away"
	AgentNeverConnected AgentState = "never_connected"
)

// AgentOrders are the orders of agents. Agents that are equal in one are ordered by name, and
// then by id.
var AgentOrders = []string{
	"id", "name", "hostname", "root", "agent_version", "labels", "state", "away_since", "last_push_at", "failing_plugins", "drifted_pins", "attention", "resources",
}

// AgentPlace is a place in an order.
type AgentPlace struct {
	// Part numbers the parts of an order by state.
	Part   int    `json:"p,omitempty"`
	Text   string `json:"t,omitempty"`
	Number int64  `json:"n,omitempty"`
	Name   string `json:"name,omitempty"`
	ID     string `json:"id"`
}

// MaxCount is up to where AgentPage counts.
const MaxCount = 10_000

// AgentPage is a page of agents.
type AgentPage struct {
	Agents []AgentInfo
	// Total is the number of agents on all pages, at most MaxCount.
	Total int
	// Next is where the next page begins; nil says that this is the last.
	Next *AgentPlace
}
