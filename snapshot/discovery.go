package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Discovery says how far the agent is with finding what has to be asked for, such
// as the tools of MCP servers. While it is pending, what isn't in the snapshot may
// still come: nobody takes its absence for an answer. An agent that has nothing to ask is
// complete.
type Discovery struct { // the zero value counts as complete
	// Phase is pending while what isn't among the resources may still be there: nobody takes
	// its absence for an answer.
	Phase Phase `json:"phase"`
	// Sources are in order of their ids.
	Sources SourceOutcomes `json:"sources"`
}

// Phase says whether a discovery is over.
type Phase string

// The phases.
const (
	PhasePending  Phase = "pending"
	PhaseComplete Phase = "complete"
)

// MarshalText writes the zero value as complete, which is what it counts as.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.known()), nil }

func (p Phase) known() Phase { return cmp.Or(p, PhaseComplete) }

// SourceOutcomes is a list of outcomes, [] in JSON when it is nil.
type SourceOutcomes []SourceOutcome

// SourceOutcome is what became of one source: an MCP server, say.
type SourceOutcome struct {
	// ID is that of the resource which the source has become or would become.
	ID string `json:"id"`
	// Name is what the source is called.
	Name string `json:"name"`
	// Outcome is `pending`, `connected`, `cached` (what it last offered is known; it doesn't
	// run), `failed`, `needs_approval`, `needs_authorization`, `switched_off`, `listed` (it
	// isn't among those that are connected), or a word of a newer agent. Only `pending` keeps
	// the phase pending.
	Outcome Outcome `json:"outcome"`
	// Error says for a person why it has failed, or what to do; at most 4 KiB.
	Error string `json:"error,omitempty"`
}

// Outcome is what became of a source.
type Outcome string

// The outcomes. Only OutcomePending keeps a discovery from being complete.
const (
	OutcomePending            Outcome = "pending"
	OutcomeConnected          Outcome = "connected"
	OutcomeCached             Outcome = "cached" // what it last offered is known; it doesn't run
	OutcomeFailed             Outcome = "failed"
	OutcomeNeedsApproval      Outcome = "needs_approval"
	OutcomeNeedsAuthorization Outcome = "needs_authorization"
	OutcomeSwitchedOff        Outcome = "switched_off" // by the configuration, or denied
	OutcomeListed             Outcome = "listed"       // it isn't among those that are connected
)

// Outcomes are all outcomes, in the order in which they are told.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomePending, OutcomeConnected, OutcomeCached, OutcomeFailed, OutcomeNeedsApproval,
		OutcomeNeedsAuthorization, OutcomeSwitchedOff, OutcomeListed,
	}
}

// Pending reports whether more is still to come. A phase that isn't known, of a
// newer agent, isn't waited for.
func (d Discovery) Pending() bool { return d.Phase == PhasePending }

// Summary is a discovery in short, of a size that doesn't depend on the sources.
type Summary struct {
	// Phase is that of the discovery.
	Phase Phase `json:"phase"`
	// Outcomes counts the sources by their outcomes; words that aren't known are
	// counted as "other".
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

// Pending reports whether more is still to come.
func (s Summary) Pending() bool { return s.Phase == PhasePending }

// Equal reports whether both say the same.
func (s Summary) Equal(other Summary) bool {
	return s.Phase.known() == other.Phase.known() && maps.Equal(s.Outcomes, other.Outcomes)
}

// String says it in a line for a person: "complete: 2 connected, 1 needs approval".
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

// Equal reports whether both say the same.
func (d Discovery) Equal(other Discovery) bool {
	return d.Phase.known() == other.Phase.known() && slices.Equal(d.Sources, other.Sources)
}
