package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/convert"
	"waymark/workspace/mcp/catalog"
)

const (
	// resolver is the resolver that the rows name.
	resolver = "host/mcp@1"
	// rowBytes limits the payload of a row, both raw and as encoded for Coder. A longer one
	// would be dropped completely.
	rowBytes = snapshot.CoderMaxResourceBytes
	// rowsBytes limits all payloads together, so that at least half of what a Coder server
	// accepts is left for other context.
	rowsBytes = snapshot.CoderMaxBytes / 2
	// settle is how long to collect changes before publishing. When twenty servers connect
	// at once, this makes a few snapshots instead of twenty.
	settle = 50 * time.Millisecond
	// maxListed limits the findings in a row.
	maxListed = 20
)

// offer is a server with the tools that can be called.
type offer struct {
	facts
	tools []catalog.Tool
	set   *Settings // the settings that it was made with
	// findings are those of the catalogue, and further ones.
	findings []catalog.Finding
}

// find adds a finding.
func (o *offer) find(code, format string, args ...any) {
	o.findings = append(slices.Clip(o.findings), catalog.Finding{Code: code, Text: fmt.Sprintf(format, args...)})
}

// offers returns all servers ordered by name, with the tools that patterns and total limits
// allow, and whether more may follow.
func (s *Service) offers() ([]offer, snapshot.Phase) {
	all, phase := s.all()
	slices.SortFunc(all, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	set := s.settings.Load()
	number, length := set.Tools, set.Bytes
	list := make([]offer, 0, len(all))
	for _, srv := range all {
		o := offer{facts: srv.look(), set: set}
		if o.outcome == snapshot.OutcomePending {
			phase = snapshot.PhasePending
		}
		if o.known != nil && (o.outcome == snapshot.OutcomeConnected || o.outcome == snapshot.OutcomeCached) {
			o.fill(set, &number, &length)
		}
		if n := len(o.free); n > 0 {
			o.find("not_held", "%s it is started from couldn't be held while it was: a change is noticed when it is made, and not before (%s)", text.Count(n, "file that", "files that"), strings.Join(o.free[:min(n, 4)], ", "))
		}
		if o.problem != "" {
			o.find("file_kept", "%s", o.problem)
		}
		if o.entry != nil {
			if o.entry.Command != "" && o.entry.URL != "" {
				o.find("entry", "it has a command and a url: by its type, or its client's rule, it is connected by %s, and the other has no effect", o.entry.Transport)
			}
			for _, text := range o.judged.missing() {
				o.find("variable_unset", "%s", text)
			}
			for _, text := range o.entry.Findings {
				o.find("entry", "%s", text)
			}
		}
		list = append(list, o)
	}
	return list, phase
}

// all returns the servers in no particular order. The phase says whether they have the
// newest inputs.
func (s *Service) all() ([]*server, snapshot.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	phase := snapshot.PhaseComplete
	if !s.given || s.asked != s.applied {
		phase = snapshot.PhasePending
	}
	return slices.Collect(maps.Values(s.servers)), phase
}

// complete reports whether nothing is pending; with a name, whether that server isn't.
func (s *Service) complete(name string) bool {
	all, phase := s.all()
	return phase == snapshot.PhaseComplete && !slices.ContainsFunc(all, func(srv *server) bool {
		return (name == "" || srv.name == name) && srv.look().outcome == snapshot.OutcomePending
	})
}

// fill adds the server's tools within the limits that remain for all servers.
func (o *offer) fill(set *Settings, number *int, length *int64) {
	o.findings = o.known.catalogue.Findings
	allowed := catalog.Catalogue{Tools: slices.DeleteFunc(slices.Clone(o.known.tools.Taken), func(t catalog.Tool) bool {
		return !set.allowsTool(o.name, t.Name) || !o.entry.Uses(t.Name)
	})}
	left := len(allowed.Tools)
	if *number > 0 && *length > 0 {
		o.tools, left = allowed.Fit(*number, *length)
	}
	if left > 0 {
		o.find("tools_trimmed", "%s left out: all servers together have more than [mcp] of the configuration allows", text.Count(left, "tool is", "tools are"))
	}
	*number -= len(o.tools)
	for i := range o.tools {
		encoded, _ := json.Marshal(&o.tools[i]) // Fit has marshaled it before
		*length -= int64(len(encoded)) + 1
	}
	if n := len(o.known.tools.Held); n > 0 {
		o.find("tools_held", "%s held back until approved: see 'agent mcp show %s'", text.Count(n, "tool is", "tools are"), o.name)
	}
	if o.known.tools.InstructionsHeld {
		o.find("instructions_held", "its instructions have changed and are held back until approved: see 'agent mcp show %s'", o.name)
	}
}

// publish updates what Resources and Discovery return until ctx ends.
func (s *Service) publish(ctx context.Context) {
	for {
		touched := s.touched.Changed()
		s.mu.Lock()
		from := s.applied
		s.mu.Unlock()
		rows, sources := s.build()
		s.mu.Lock()
		same := reflect.DeepEqual(rows, s.rows) && slices.Equal(sources, s.sources)
		s.rows, s.sources, s.published = rows, sources, from
		phase := s.phaseLocked()
		changed := !same || phase != s.phase
		s.phase = phase
		s.mu.Unlock()
		if changed {
			s.changed.Notify()
		}
		select {
		case <-touched:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return
		}
	}
}

// phaseLocked returns the phase of what was published. The caller holds mu.
func (s *Service) phaseLocked() snapshot.Phase {
	pending := func(o snapshot.SourceOutcome) bool { return o.Outcome == snapshot.OutcomePending }
	if !s.given || s.asked != s.published || slices.ContainsFunc(s.sources, pending) {
		return snapshot.PhasePending
	}
	return snapshot.PhaseComplete
}

// Resources implements host.Provider. It returns a row for each server, including shadowed
// ones.
func (s *Service) Resources() []snapshot.Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// Discovery implements host.Provider.
func (s *Service) Discovery() snapshot.Discovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return snapshot.Discovery{Phase: s.phaseLocked(), Sources: s.sources}
}

// Changed implements host.Provider.
func (s *Service) Changed() <-chan struct{} { return s.changed.Changed() }

// build makes the rows and the outcomes of the servers.
func (s *Service) build() (rows []snapshot.Candidate, sources snapshot.SourceOutcomes) {
	list, _ := s.offers()
	budget := rowsBytes
	maps.DeleteFunc(s.fitted, func(name string, _ *fitted) bool {
		return !slices.ContainsFunc(list, func(o offer) bool { return o.name == name })
	})
	for i := range list {
		if list[i].entry == nil {
			continue
		}
		r := s.row(&list[i], &budget)
		rows = append(rows, snapshot.Candidate{Resource: r})
		sources = append(sources, snapshot.SourceOutcome{ID: r.ID(), Name: r.Name, Outcome: list[i].outcome, Error: list[i].why})
	}
	s.mu.Lock()
	hidden := s.hidden
	s.mu.Unlock()
	for i := range hidden {
		e := &hidden[i]
		why := "a server of this name stands in " + e.Shadowed + ", which counts"
		r := snapshot.Resource{
			Kind: abi.KindMCPServer, Source: e.Source, Key: e.Name, Name: text.Printable(e.Name), Status: snapshot.StatusExcluded, Error: why, Resolver: resolver,
			Attributes: snapshot.Attributes{"outcome": {Text: string(snapshot.OutcomeListed)}, "transport": {Text: e.Transport}},
		}
		rows = append(rows, snapshot.Candidate{Resource: r})
		sources = append(sources, snapshot.SourceOutcome{ID: r.ID(), Name: r.Name, Outcome: snapshot.OutcomeListed, Error: why})
	}
	slices.SortStableFunc(sources, func(a, b snapshot.SourceOutcome) int { return cmp.Compare(a.ID, b.ID) })
	return rows, sources
}

// statuses are the statuses of rows without a catalogue. Rows with other outcomes are ok.
var statuses = map[snapshot.Outcome]snapshot.Status{
	snapshot.OutcomePending:            snapshot.StatusExcluded, // nobody is to conclude that it has no tools
	snapshot.OutcomeFailed:             snapshot.StatusUnreadable,
	snapshot.OutcomeNeedsApproval:      snapshot.StatusExcluded,
	snapshot.OutcomeNeedsAuthorization: snapshot.StatusExcluded,
	snapshot.OutcomeSwitchedOff:        snapshot.StatusExcluded,
	snapshot.OutcomeListed:             snapshot.StatusExcluded,
}

// row makes the row of a server. It reduces budget by the length of the payload.
func (s *Service) row(o *offer, budget *int) snapshot.Resource {
	r := snapshot.Resource{
		Kind: abi.KindMCPServer, Source: o.entry.Source, Key: o.name, Name: text.Printable(o.name), Description: o.title(),
		Status: snapshot.StatusOK, Resolver: resolver,
		Attributes: snapshot.Attributes{
			"outcome": {Text: string(o.outcome)}, "state": {Text: string(o.state)}, "transport": {Text: o.entry.Transport},
		},
	}
	if j := o.judged; o.outcome == snapshot.OutcomeNeedsApproval && j != nil && j.digests != nil {
		r.Attributes["definition"] = snapshot.Attribute{Text: j.digests.Definition} // for whoever signs an approval elsewhere
	}
	if status, not := statuses[o.outcome]; not {
		r.Status, r.Error = status, o.why
		if o.outcome == snapshot.OutcomePending {
			r.Error = cmp.Or(o.why, "it is starting: its tools aren't known yet")
		}
	} else if o.known != nil {
		r.Attributes["freshness"] = snapshot.Attribute{Text: s.freshness(o)}
		left := s.fit(&r, o, min(rowBytes, *budget))
		*budget -= len(r.Payload)
		if left > 0 {
			r.Attributes["tools_trimmed"] = snapshot.Attribute{Text: strconv.Itoa(left)}
			o.find("tools_trimmed", "%s left out here: GET %s lists all", text.Count(left, "tool is", "tools are"), agentapi.PathMCPTools)
		}
	}
	if o.why != "" && r.Status == snapshot.StatusOK {
		o.find("note", "%s", o.why)
	}
	if list := said(o.findings); len(list) > 0 {
		r.Attributes["findings"] = snapshot.Attribute{List: list}
	}
	return r
}

// rowTools is the payload of a row.
type rowTools struct {
	Tools []catalog.Tool `json:"tools"`
}

// fitted caches a result of trim, because tools rarely change when a row does.
type fitted struct {
	from    *known
	set     *Settings
	tools   int
	limit   int
	payload []byte
	hash    []byte
	left    int
}

// fit sets a payload of at most limit bytes, and returns the number of omitted tools.
func (s *Service) fit(r *snapshot.Resource, o *offer, limit int) (left int) {
	f := s.fitted[o.name]
	if f == nil || f.from != o.known || f.set != o.set || f.tools != len(o.tools) || f.limit != limit {
		f = &fitted{from: o.known, set: o.set, tools: len(o.tools), limit: limit}
		if f.payload, f.left = trim(*r, o.tools, limit); f.payload != nil {
			sum := sha256.Sum256(f.payload)
			f.hash = sum[:]
		}
		s.fitted[o.name] = f
	}
	r.Payload, r.ContentHash, r.SizeBytes = f.payload, f.hash, int64(len(f.payload))
	return f.left
}

// trim returns a payload with as many of the first tools as fit into limit, both raw and as
// encoded for Coder in the row r; nil if even an empty list doesn't fit.
func trim(r snapshot.Resource, tools []catalog.Tool, limit int) (payload []byte, left int) {
	if tools == nil {
		tools = []catalog.Tool{}
	}
	fits := func(n int) []byte {
		var err error
		if r.Payload, err = json.Marshal(rowTools{Tools: tools[:n:n]}); err != nil || len(r.Payload) > limit || convert.BodyJSON(&r) > limit {
			return nil
		}
		return r.Payload
	}
	if payload = fits(len(tools)); payload != nil { // the usual case
		return payload, 0
	}
	// The length grows with n: find the first n that doesn't fit.
	n := sort.Search(len(tools), func(n int) bool { return fits(n) == nil })
	if n == 0 {
		return nil, len(tools)
	}
	return fits(n - 1), len(tools) - n + 1
}

// freshness says how old the catalogue is.
func (s *Service) freshness(o *offer) string {
	now := s.opts.Now()
	at := o.known.catalogue.At.In(now.Location())
	layout := "15:04"
	if now.Sub(at) > 12*time.Hour || now.YearDay() != at.YearDay() {
		layout = "2006-01-02 15:04"
	}
	when := "catalogue of " + at.Format(layout)
	if o.state != agentapi.MCPRunning {
		when += ", not running"
	}
	return when
}

// maxDescription limits a row's description.
const maxDescription = 300

// title returns the server's own title, or the first sentence of its instructions.
func (o *offer) title() string {
	if o.known == nil {
		return ""
	}
	if t := o.known.catalogue.ServerTitle; t != "" {
		return text.Line(t, maxDescription)
	}
	line := text.Line(o.known.tools.Instructions, 4*maxDescription)
	if first, _, ok := strings.Cut(line, ". "); ok {
		line = first + "."
	}
	return text.Cut(line, maxDescription)
}

// said returns the texts of findings for a row.
func said(findings []catalog.Finding) []string {
	var list []string
	for i, f := range findings {
		if i == maxListed {
			return append(list, fmt.Sprintf("and %d more", len(findings)-i))
		}
		about := ""
		if f.Tool != "" {
			about = " " + f.Tool
		}
		list = append(list, text.Line(f.Code+about+": "+f.Text, maxDescription))
	}
	return list
}
