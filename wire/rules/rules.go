// Package rules holds the rules for a push, for both ends of the wire. A hub refuses what
// breaks a rule. An agent mends its resources before it sends them, because one bad resource
// would make a peer refuse the whole push.
//
// # Guarantees
//
// A resource that passes Mend also passes Check. A push of such resources passes Coder and
// Waymark, provided that the sums are within their bounds and no two resources have one
// identity. The sender has to ensure these two, because it has to choose what to leave out.
// Mending doesn't change what passes.
//
// # Concurrency
//
// The package has no state. Mend never changes what its argument shares with others, such as
// the map of a resource's attributes.
package rules

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire"
)

// What waymark.v1 carries beyond Coder's protocol, in bytes unless stated otherwise. The
// constants of packages wire and abi bound the rest.
const (
	// MaxKey bounds Resource.key, which is part of the row's identity.
	MaxKey = 1024
	// MaxResolver bounds "module/resolver@version".
	MaxResolver = 1024
	// MaxPlugins is far above what a person installs.
	MaxPlugins = 1000
	// MaxPluginText bounds each text of a plugin; one of them is a path.
	MaxPluginText = 4096
	// MaxPluginResolvers bounds the resolvers of one module.
	MaxPluginResolvers = 1000
	// MaxSources bounds the sources of a discovery: as many as there are rows.
	MaxSources = wire.MaxResources
	// MaxOutcome bounds an outcome, which is a word.
	MaxOutcome = 64

	// sentSources and sentError are how many sources an agent sends, and how much of an error
	// with each: at most 900 KiB, so that they don't take a message's room from the
	// resources.
	sentSources = 256
	sentError   = 1024
	// sentPlugins, sentResolvers and sentPluginText bound the plugins in the same way. With
	// texts of maximum length a plugin takes 22 KiB of a message, 1.4 MiB in total.
	// sentResolvers is far more than a module holds, and sentPluginText bounds each short
	// text.
	sentPlugins    = 64
	sentResolvers  = 64
	sentPluginText = 256

	// maxID bounds the id of a resource: kind:source#key.
	maxID = 32 + wire.MaxSource + MaxKey
)

// remedy is what Mend does about a field that is too large.
type remedy int

const (
	leave   remedy = iota // nothing: such a resource can't be sent
	cut                   // at the end: half a description is better than none
	remove                // all of it: half a path would be a wrong one
	payload               // nothing: the sender removes payloads, and says so
)

// field is a part of a resource that has a bound, in bytes.
type field struct {
	name string
	max  int
	// text returns a text field; size is the size of any other field.
	text   func(r *snapshot.Resource) *string
	size   func(r *snapshot.Resource) int
	remedy remedy
	clear  func(r *snapshot.Resource) // for fields to be removed that aren't texts
}

// fields are in the order in which they are checked.
var fields = []field{
	{name: "source", max: wire.MaxSource, text: func(r *snapshot.Resource) *string { return &r.Source }, remedy: leave},
	{name: "key", max: MaxKey, text: func(r *snapshot.Resource) *string { return &r.Key }, remedy: leave},
	{name: "source_path", max: wire.MaxSource, text: func(r *snapshot.Resource) *string { return &r.SourcePath }, remedy: remove},
	{name: "name", max: abi.MaxName, text: func(r *snapshot.Resource) *string { return &r.Name }, remedy: cut},
	{name: "description", max: abi.MaxDescription, text: func(r *snapshot.Resource) *string { return &r.Description }, remedy: cut},
	{name: "error", max: wire.MaxError, text: func(r *snapshot.Resource) *string { return &r.Error }, remedy: cut},
	{
		name: "content_hash", max: wire.MaxHash, size: func(r *snapshot.Resource) int { return len(r.ContentHash) },
		remedy: remove, clear: func(r *snapshot.Resource) { r.ContentHash = nil },
	},
	{name: "resolver", max: MaxResolver, text: func(r *snapshot.Resource) *string { return &r.Resolver }, remedy: cut},
	{
		name: "attributes", max: abi.MaxAttributes, size: func(r *snapshot.Resource) int { return attributesSize(r.Attributes) },
		remedy: remove, clear: func(r *snapshot.Resource) { r.Attributes = nil },
	},
	{name: "convention", max: abi.MaxWord, text: func(r *snapshot.Resource) *string { return &r.Convention }, remedy: remove},
	{name: "scope", max: abi.MaxWord, text: func(r *snapshot.Resource) *string { return (*string)(&r.Scope) }, remedy: remove},
	{name: "payload", max: wire.MaxPayload, size: func(r *snapshot.Resource) int { return len(r.Payload) }, remedy: payload},
}

func (f *field) len(r *snapshot.Resource) int {
	if f.text != nil {
		return len(*f.text(r))
	}
	return f.size(r)
}

// Reasons why a resource can't be mended.
var (
	ErrKind   = errors.New("kind is unknown")
	ErrSource = errors.New("source is empty")
	ErrStatus = errors.New("status is unset or unknown")
	// ErrTooLong matches Mend's error for a source or a key.
	ErrTooLong = errors.New("too long")
)

// tooLongError says that something is longer than limit bytes.
type tooLongError struct {
	what       string
	len, limit int
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%s is %d bytes long, at most %d are allowed", e.what, e.len, e.limit)
}

func (e *tooLongError) Is(target error) bool { return target == ErrTooLong }

func checkLen(what string, n, limit int) error {
	if n > limit {
		return &tooLongError{what, n, limit}
	}
	return nil
}

// Check returns the first rule that the resource breaks, of those for a single resource.
func Check(r *snapshot.Resource) error {
	if !KnownKind(r.Kind) {
		return ErrKind
	}
	if r.Source == "" {
		return ErrSource
	}
	for i := range fields {
		f := &fields[i]
		if err := checkLen(f.name, f.len(r), f.max); err != nil {
			return err
		}
	}
	switch {
	case !knownStatus(r.Status):
		return ErrStatus
	case r.SizeBytes < 0:
		return errors.New("size_bytes is out of range")
	}
	if err := checkFacts(r); err != nil {
		return err
	}
	return checkPayload(r)
}

// Mend changes the resource until it passes Check, or says why that isn't possible. It keeps
// a payload that is too large, because only the sender knows how much a peer takes and what
// to do with the rest.
func Mend(r *snapshot.Resource) (changed bool, err error) {
	changed = cleanResource(r)
	if r.SizeBytes < 0 { // the wire has no negative size
		r.SizeBytes, changed = 0, true
	}
	switch {
	case !KnownKind(r.Kind):
		return changed, ErrKind
	case r.Source == "":
		return changed, ErrSource
	}
	for i := range fields {
		f := &fields[i]
		n := f.len(r)
		if n <= f.max || f.remedy == payload {
			continue
		}
		changed = true
		switch {
		case f.remedy == leave:
			return changed, checkLen(f.name, n, f.max)
		case f.remedy == cut:
			*f.text(r) = text.Truncate(*f.text(r), f.max)
		case f.text != nil:
			*f.text(r) = ""
		default:
			f.clear(r)
		}
	}
	changed = mendFacts(r) || changed
	if !knownStatus(r.Status) {
		return changed, ErrStatus
	}
	if !mayHavePayload(r) {
		changed = changed || len(r.Payload) > 0
		r.Payload = nil
	}
	return changed, nil
}

// cleanResource cleans all texts of the resource.
func cleanResource(r *snapshot.Resource) (changed bool) {
	kind := string(r.Kind)
	changed = Clean(&kind)
	r.Kind = abi.Kind(kind)
	for i := range fields {
		if fields[i].text != nil {
			changed = Clean(fields[i].text(r)) || changed
		}
	}
	attributes, cleaned := cleanAttributes(r.Attributes)
	r.Attributes = attributes
	return cleanFacts(r) || changed || cleaned
}

// cleanAttributes returns attributes itself if there is nothing to clean, because the map may
// be shared and must not change. If two keys become one, the first in order is kept, so that
// the result doesn't depend on the map's order.
func cleanAttributes(attributes snapshot.Attributes) (snapshot.Attributes, bool) {
	changed := false
	cleaned := make(snapshot.Attributes, len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[key]
		changed = Clean(&key) || changed
		changed = Clean(&a.Text) || changed
		if a.List != nil {
			a.List = slices.Clone(a.List)
			for i := range a.List {
				changed = Clean(&a.List[i]) || changed
			}
		}
		if _, taken := cleaned[key]; !taken {
			cleaned[key] = a
		}
	}
	if !changed {
		return attributes, false
	}
	return cleaned, true
}

// MendText cleans a text and cuts it to at most limit bytes.
func MendText(s *string, limit int) (changed bool) {
	changed = Clean(s)
	if len(*s) <= limit {
		return changed
	}
	*s = text.Truncate(*s, limit)
	return true
}

// Clean makes a text valid UTF-8, which protobuf requires, and removes U+0000, which
// PostgreSQL can't store and which has no place in any text of a push.
func Clean(s *string) (changed bool) {
	if strings.IndexByte(*s, 0) < 0 && utf8.ValidString(*s) {
		return false
	}
	*s = strings.ReplaceAll(strings.ToValidUTF8(*s, string(utf8.RuneError)), "\x00", "")
	return true
}

// MendHead mends what a snapshot says of itself, and returns how many of its plugins were
// changed or left out.
func MendHead(s *snapshot.Snapshot) (plugins int) {
	if len(s.AggregateHash) > wire.MaxHash {
		s.AggregateHash = nil
	}
	MendText(&s.SnapshotError, wire.MaxError)
	s.Discovery = mendDiscovery(s.Discovery)
	s.Plugins, plugins = mendPlugins(s.Plugins)
	return plugins
}

// mendPlugins bounds the list of plugins, and the texts in it, more tightly than
// checkPlugins. It copies what it changes.
func mendPlugins(plugins []snapshot.Plugin) (kept []snapshot.Plugin, mended int) {
	mended = max(0, len(plugins)-sentPlugins)
	kept = slices.Clone(plugins[:len(plugins)-mended])
	for i := range kept {
		if mendPlugin(&kept[i]) {
			mended++
		}
	}
	return kept, mended
}

func mendPlugin(p *snapshot.Plugin) (changed bool) {
	for _, text := range []*string{&p.Name, &p.Version, &p.Digest, (*string)(&p.State)} {
		changed = MendText(text, sentPluginText) || changed
	}
	changed = MendText(&p.Path, wire.MaxSource) || changed
	changed = MendText(&p.Error, wire.MaxError) || changed
	changed = changed || len(p.Resolvers) > sentResolvers
	p.Resolvers = append([]string{}, p.Resolvers[:min(len(p.Resolvers), sentResolvers)]...)
	for i := range p.Resolvers {
		changed = MendText(&p.Resolvers[i], sentPluginText) || changed
	}
	return changed
}

// mendDiscovery returns a clean copy of a discovery, and bounds it more tightly than
// checkDiscovery. The phase is kept, whatever happens to the sources.
func mendDiscovery(d snapshot.Discovery) snapshot.Discovery {
	sources := make(snapshot.SourceOutcomes, 0, min(len(d.Sources), sentSources))
	for _, s := range d.Sources {
		MendText((*string)(&s.Outcome), MaxOutcome)
		MendText(&s.Name, abi.MaxName)
		MendText(&s.Error, sentError)
		if Clean(&s.ID); s.ID == "" || len(s.ID) > maxID {
			continue // its resource isn't sent either
		}
		if len(sources) == sentSources {
			break
		}
		sources = append(sources, s)
	}
	d.Sources = sources
	return d
}

func checkDiscovery(d snapshot.Discovery) error {
	if n := len(d.Sources); n > MaxSources {
		return fmt.Errorf("%d sources, at most %d are allowed", n, MaxSources)
	}
	for i := range d.Sources {
		s := &d.Sources[i]
		if s.ID == "" {
			return fmt.Errorf("source %d: id is empty", i)
		}
		for _, field := range []struct {
			name, text string
			max        int
		}{{"id", s.ID, maxID}, {"name", s.Name, abi.MaxName}, {"outcome", string(s.Outcome), MaxOutcome}, {"error", s.Error, wire.MaxError}} {
			if err := checkLen(field.name, len(field.text), field.max); err != nil {
				return fmt.Errorf("source %d: %w", i, err)
			}
		}
	}
	return nil
}

// checkHead checks what MendHead mends.
func checkHead(aggregateHash []byte, snapshotError string) error {
	if err := checkLen("aggregate_hash", len(aggregateHash), wire.MaxHash); err != nil {
		return err
	}
	return checkLen("snapshot_error", len(snapshotError), wire.MaxError)
}

func checkVersion(version uint64) error {
	if version > math.MaxInt64 {
		return errors.New("version is out of range")
	}
	return nil
}

func checkCount(resources, limit int) error {
	if resources > limit {
		return fmt.Errorf("%d resources, at most %d are allowed", resources, limit)
	}
	return nil
}

// bodies is the total length of the bodies.
type bodies int

func (b *bodies) add(n int) error {
	if *b += bodies(n); *b > wire.MaxBodies {
		return fmt.Errorf("bodies are longer than %d bytes together", wire.MaxBodies)
	}
	return nil
}

// KnownKind reports whether the kind is one of the ABI's.
func KnownKind(kind abi.Kind) bool {
	switch kind {
	case abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindMCPServer,
		abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand:
		return true
	}
	return false
}

func knownStatus(s snapshot.Status) bool {
	switch s {
	case snapshot.StatusOK, snapshot.StatusOversize, snapshot.StatusUnreadable,
		snapshot.StatusInvalid, snapshot.StatusExcluded:
		return true
	}
	return false
}

// mayHavePayload reports whether the resource may have a payload. The bytes of an MCP
// configuration hold tokens, and must never leave the workspace.
func mayHavePayload(r *snapshot.Resource) bool {
	return r.Kind != abi.KindMCPConfig &&
		(r.Status == snapshot.StatusOK || r.Status == snapshot.StatusInvalid)
}

func checkPayload(r *snapshot.Resource) error {
	if r.Payload == nil || mayHavePayload(r) {
		return nil
	}
	return errNoPayload(r)
}

// errNoPayload returns the error for a resource that must not have a payload.
func errNoPayload(r *snapshot.Resource) error {
	if r.Kind == abi.KindMCPConfig {
		return errors.New("an mcp_config has no payload")
	}
	return fmt.Errorf("a resource that is %s has no payload", r.Status)
}

func attributesSize(attributes snapshot.Attributes) int {
	n := 0
	for key, a := range attributes {
		n += len(key) + abi.Value(a).Size()
	}
	return n
}
