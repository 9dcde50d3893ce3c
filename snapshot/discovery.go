package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Discovery is the state of finding what the agent has to ask for, such as the tools of MCP
// servers. While it is pending, resources may be missing, and their absence means nothing. An
// agent that has nothing to ask is complete.
type Discovery struct { // the zero value counts as complete
	// Phase is pending while resources may be missing, so that their absence means nothing.
	Phase Phase `json:"phase"`
	// Sources are in order of their ids.
	Sources SourceOutcomes `json:"sources"`
}

// Phase says whether a discovery is complete.
type Phase string

// The phases.
const (
	PhasePending  Phase = "pending"
	PhaseComplete Phase = "complete"
)

// MarshalText writes the zero value as complete, because it counts as complete.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.known()), nil }

func (p Phase) known() Phase { return cmp.Or(p, PhaseComplete) }

// SourceOutcomes is a list of outcomes, [] in JSON when it is nil.
type SourceOutcomes []SourceOutcome

// SourceOutcome is the outcome of one source, such as an MCP server.
type SourceOutcome struct {
	// ID is that of the resource which the source has become or would become.
	ID string `json:"id"`
	// Name is the name of the source.
	Name string `json:"name"`
	// Outcome is `pending`, `connected`, `cached` (its last offer is known; it isn't
	// running), `failed`, `needs_approval`, `needs_authorization`, `switched_off`, `listed`
	// (it isn't among those to be connected), or a word of a newer agent. Only `pending`
	// keeps the phase pending.
	Outcome Outcome `json:"outcome"`
	// Error says for a person why it has failed, or what to do; at most 4 KiB.
	Error string `json:"error,omitempty"`
}

// Outcome is the outcome of a source.
type Outcome string

// The outcomes. Only OutcomePending keeps a discovery from being complete.
const (
	OutcomePending            Outcome = "pending"
	OutcomeConnected          Outcome = "connected"
	OutcomeCached             Outcome = "cached" // its last offer is known; it isn't running
	OutcomeFailed             Outcome = "failed"
	OutcomeNeedsApproval      Outcome = "needs_approval"
	OutcomeNeedsAuthorization Outcome = "needs_authorization"
	OutcomeSwitchedOff        Outcome = "switched_off" // by the configuration, or denied
	OutcomeListed             Outcome = "listed"       // it isn't among those to be connected
)

// Outcomes returns all outcomes, in the order of display.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomePending, OutcomeConnected, OutcomeCached, OutcomeFailed, OutcomeNeedsApproval,
		OutcomeNeedsAuthorization, OutcomeSwitchedOff, OutcomeListed,
	}
}

// Pending reports whether resources may be missing. Nobody waits for an unknown phase of a
// newer agent.
func (d Discovery) Pending() bool { return d.Phase == PhasePending }

// Summary is a discovery in short, of a size that doesn't depend on the sources.
type Summary struct {
	// Phase is that of the discovery.
	Phase Phase `json:"phase"`
	// Outcomes counts the sources by their outcomes; unknown words are counted as "other".
	Outcomes OutcomeCounts `json:"outcomes"`
}

// OutcomeCounts are counts by outcome, {} in JSON when it is nil.
type OutcomeCounts map[Outcome]int

// Summary counts the sources.
func (d Discovery) Summary() Summary {
	s := Summary{Phase: d.Phase.known(), Outcomes: make(OutcomeCounts)}
	for i := range d.Sources {
		outcome := d.Sources[i].Outcome
		if !slices.Contains(Outcomes(), outcome) {
			outcome = "other"
		}
		s.Outcomes[outcome]++
	}
	return s
}

// Pending reports whether resources may be missing.
func (s Summary) Pending() bool { return s.Phase == PhasePending }

// Equal reports whether both are the same.
func (s Summary) Equal(other Summary) bool {
	return s.Phase.known() == other.Phase.known() && maps.Equal(s.Outcomes, other.Outcomes)
}

// String formats the summary as a line for a person: "complete: 2 connected, 1 needs
// approval".
func (s Summary) String() string {
	var counts []string
	for _, outcome := range append(Outcomes(), "other") {
		if n := s.Outcomes[outcome]; n > 0 {
			counts = append(counts, strconv.Itoa(n)+" "+strings.ReplaceAll(string(outcome), "_", " "))
		}
	}
	text := string(s.Phase.known())
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	return text
}

// Equal reports whether both are the same.
func (d Discovery) Equal(other Discovery) bool {
	return d.Phase.known() == other.Phase.known() && slices.Equal(d.Sources, other.Sources)
}
