package push

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/claim"
	"waymark/wire/convert"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// report says what became of a snapshot on its way to the wire.
type report struct {
	held   HeldBack
	mended int
}

// row is a resource on its way to the wire; r is a copy.
type row struct {
	r       snapshot.Resource
	changed bool
}

// prepared is a push that the peer won't refuse as a whole, without version
// and initial.
type prepared struct {
	form  form
	takes takes // of the peer; none where head would leave no room for resources
	// head is the snapshot without its resources.
	head   *snapshot.Snapshot
	rows   []row
	report report // what had to be changed or left out
}

// prepare makes of s what can be sent, without what hold, unless nil, has a reason for. The
// result depends on its arguments alone.
func prepare(s *snapshot.Snapshot, protocol wire.Protocol, peer takes, hold func(*snapshot.Resource) Reason) (*prepared, error) {
	p := &prepared{takes: peer}
	p.form = formOf(protocol, takes{})
	p.head = mendHead(s, p.form, &p.report)
	head, err := p.form.encode(nil, p.head)
	if err != nil {
		return nil, err
	}
	if peer.byHash && len(head) > peer.message/2 {
		p.takes.byHash = false
	}
	p.form = formOf(protocol, p.takes)

	projection := p.form.projection()
	if hold != nil {
		form := projection.Hold
		projection.Hold = func(r *snapshot.Resource) string {
			why := string(hold(r))
			if why == "" && form != nil {
				why = form(r)
			}
			return why
		}
	}
	projected := projection.Of(s)
	if projected.Snapshot != s {
		p.head.AggregateHash = projected.AggregateHash
	}
	for reason, n := range projected.Held {
		p.report.held.addMany(Reason(reason), n)
	}
	rows := make([]row, 0, len(projected.Resources))
	for i := range projected.Resources {
		w := row{r: projected.Resources[i]}
		w.changed = len(projected.Changed) > 0 && projected.Changed[w.r.ID()]
		if reason := p.form.adapt(&w); reason != "" {
			p.report.held.add(reason)
			continue
		}
		if reason := mend(&w); reason != "" {
			p.report.held.add(reason)
			continue
		}
		rows = append(rows, w)
	}
	rows = withoutDuplicates(rows, p.form, &p.report)
	content := maxContent
	if p.takes.byHash {
		content = wire.MaxManifest - maxParts*slack
	}
	rows = fitBodies(rows, p.takes, &p.report)
	if p.rows, err = fitMessage(len(head), rows, p.form, content, &p.report); err != nil {
		return nil, err
	}
	for i := range p.rows {
		if p.rows[i].changed {
			p.report.mended++
		}
	}
	return p, nil
}

// full encodes all of the push behind prefix, byte by byte the same each time.
func (p *prepared) full(prefix []byte) ([]byte, error) {
	whole := *p.head
	whole.Resources = make(snapshot.Resources, 0, len(p.rows))
	for i := range p.rows {
		whole.Resources = append(whole.Resources, p.rows[i].r)
	}
	return p.form.encode(prefix, &whole)
}

// marshal is deterministic, so that equal content is equal bytes.
func marshal(prefix []byte, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(prefix, m)
}

// withoutDuplicates keeps one of the rows that are the same to the peer: the
// valid one, then that of the kind that matters most, then the first.
func withoutDuplicates(rows []row, f form, rep *report) []row {
	best := make(map[string]int, len(rows))
	for i := range rows {
		id := f.identity(&rows[i].r)
		if j, taken := best[id]; !taken || outranks(&rows[i].r, &rows[j].r) {
			best[id] = i
		}
	}
	kept := rows[:0]
	for i := range rows {
		if best[f.identity(&rows[i].r)] != i {
			rep.held.add(ReasonDuplicateSource)
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept
}

func outranks(a, b *snapshot.Resource) bool {
	aOK, bOK := a.Status == snapshot.StatusOK, b.Status == snapshot.StatusOK
	if aOK != bOK {
		return aOK
	}
	return kindRank(a.Kind) < kindRank(b.Kind)
}

// kindRank orders the kinds by what a chat would miss most.
func kindRank(kind abi.Kind) int {
	switch kind {
	case abi.KindInstructionFile:
		return 0
	case abi.KindSkill:
		return 1
	case abi.KindMCPConfig:
		return 2
	case abi.KindMCPServer:
		return 3
	default:
		return 4
	}
}

// form is what differs between the two protocols when a push is prepared.
type form interface {
	// projection is what the peer gets of a snapshot.
	projection() *snapshot.Projection
	// adapt removes what the wire doesn't carry anyway, or says why the
	// resource can't be sent at all.
	adapt(w *row) Reason
	// identity is what no two resources of a push may share.
	identity(r *snapshot.Resource) string
	// message translates one resource.
	message(r *snapshot.Resource) (proto.Message, error)
	// encode encodes a whole push behind prefix, without version and initial.
	encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error)
}

func formOf(protocol wire.Protocol, peer takes) form {
	if protocol == wire.ProtocolCoder {
		return coderForm{}
	}
	return waymarkForm{peer}
}

// waymarkForm carries everything that a snapshot has.
type waymarkForm struct {
	// takes says also whether the size of a resource is that in a manifest.
	takes
}

func (f waymarkForm) projection() *snapshot.Projection {
	caps := snapshot.Caps{
		MaxResourceBytes: wire.MaxBodyJSON, MaxBytes: wire.MaxBodies, // fitBodies looks more closely
		MaxResources: wire.MaxResources, MaxListed: wire.MaxResources,
	}
	if f.byHash {
		caps.MaxBytes, caps.MaxResources, caps.MaxListed = int64(f.bytes), f.resources, f.resources
		if f.payload > 0 {
			caps.MaxResourceBytes = int64(f.payload)
		}
	}
	return &snapshot.Projection{Caps: caps}
}

// adapt takes facts from a hub that doesn't keep those: it would have other names for
// what it holds, and take what it doesn't see for news.
func (f waymarkForm) adapt(w *row) Reason {
	if !f.facts {
		w.r.ClearFacts()
	}
	if !rules.KnownKind(w.r.Kind) { // a hub refuses the whole push for a kind that the ABI hasn't
		return ReasonKind
	}
	return ""
}

func (waymarkForm) identity(r *snapshot.Resource) string { return r.ID() }

func (f waymarkForm) message(r *snapshot.Resource) (proto.Message, error) {
	if f.byHash && named(r) {
		return convert.ResourceByHash(r, convert.Body{Size: int64(len(r.Payload))}), nil // any hash is as long
	}
	return convert.ResourceToWaymark(r), nil
}

func (waymarkForm) encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error) {
	return marshal(prefix, convert.ToWaymark(s))
}

// coderForm carries four kinds, and nothing that depends on what a chat is
// about: its server would put it into every chat.
type coderForm struct{}

func (coderForm) projection() *snapshot.Projection {
	return &snapshot.Projection{Caps: snapshot.CoderCaps(), Hold: notForCoder, Invalid: invalidForCoder, UniqueSkills: true}
}

func notForCoder(r *snapshot.Resource) string {
	if !convert.KnownToCoder(r.Kind) {
		return string(ReasonKind)
	}
	if mode := r.Attributes["mode"]; mode.List != nil || mode.Text != "" && mode.Text != "always" {
		return string(ReasonMode)
	}
	return ""
}

// invalidForCoder says what Coder's own package calls invalid about a skill, where
// others load it all the same: its name or its front matter isn't as it should be.
func invalidForCoder(r *snapshot.Resource) string {
	if r.Kind != abi.KindSkill {
		return ""
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; strings.HasPrefix(f.Code, "name-") || strings.HasPrefix(f.Code, "frontmatter-") {
			return cmp.Or(f.Message, f.Code)
		}
	}
	return ""
}

func (coderForm) adapt(w *row) Reason {
	r := &w.r
	trimmed := r.Attributes[snapshot.AttributeTrimmed].Text
	r.Key, r.Resolver, r.Attributes, r.Stale = "", "", nil, false
	r.ClearFacts()
	if r.Kind == abi.KindMCPServer {
		if r.Name != "" {
			r.Source = r.Name // as Coder's agent has it; the file is the configuration's
		}
		if r.Status == snapshot.StatusOK && r.Error == "" {
			r.Error = trimmed // which it shows as a warning
		}
		if _, err := convert.ResourceToCoder(r); err != nil {
			r.Payload, r.Status, r.Error = nil, snapshot.StatusInvalid, err.Error()
			w.changed = true
		}
	}
	return ""
}

func (coderForm) identity(r *snapshot.Resource) string { return r.Source }

func (coderForm) message(r *snapshot.Resource) (proto.Message, error) {
	return convert.ResourceToCoder(r)
}

func (coderForm) encode(prefix []byte, s *snapshot.Snapshot) ([]byte, error) {
	m, err := convert.ToCoder(s)
	if err != nil {
		return nil, err
	}
	return marshal(prefix, m)
}

const (
	// maxContent leaves room in a message for version and initial, and for
	// what the framing adds.
	maxContent = wire.MaxMessage - slack
	// maxParts is more than the messages that a manifest comes in.
	maxParts = 16
	// maxPlugins keeps the list of plugins from crowding out the resources.
	// With texts of their longest, one takes 22 KiB of a message: 1.4 MiB in
	// all.
	maxPlugins = 64
	// maxResolvers is far more than a module holds.
	maxResolvers = 64
	// maxPluginText bounds each short text of a plugin, in bytes.
	maxPluginText = 256
)

// What the resource itself says when its payload had to stay behind.
const (
	errTooLarge = "too large to be sent"
	errNoRoom   = "left out: all resources together are too large to be sent"
)

// fitBodies takes payloads away where they are more than a peer accepts, for
// one resource or in all. Those that come last lose, and when even their names are
// too much, they aren't sent.
func fitBodies(rows []row, peer takes, rep *report) []row {
	total, limit := 0, wire.MaxBodies
	counted := convert.BodyJSON
	if peer.byHash { // which counts payloads
		limit, counted = peer.bytes, func(r *snapshot.Resource) int { return len(r.Payload) }
	}
	for i := range rows {
		w := &rows[i]
		if peer.payload == 0 && convert.BodyJSON(&w.r) > wire.MaxBodyJSON && !trimTools(w) {
			w.dropPayload(snapshot.StatusOversize, errTooLarge)
		}
		total += counted(&w.r)
	}
	if total <= limit {
		return rows
	}
	total = 0
	gone := make([]bool, len(rows))
	for _, i := range byPrecedence(rows) {
		w := &rows[i]
		size := counted(&w.r)
		if total+size > limit && len(w.r.Payload) > 0 {
			w.dropPayload(snapshot.StatusExcluded, errNoRoom)
			size = counted(&w.r)
		}
		if gone[i] = total+size > limit; !gone[i] {
			total += size
		}
	}
	return without(rows, gone, rep)
}

// byPrecedence returns the indices of rows, the one that comes first first.
func byPrecedence(rows []row) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].r.Order, rows[b].r.Order) })
	return order
}

// without takes out those rows that are gone, since the peer doesn't take as much.
func without(rows []row, gone []bool, rep *report) []row {
	kept := rows[:0]
	for i := range rows {
		if gone[i] {
			rep.held.add(ReasonTooLarge)
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept
}

// trimTools takes tools from an mcp_server until its body isn't too long, which no
// length of its payload says. It reports whether that has succeeded.
func trimTools(w *row) bool {
	r := w.r
	for limit := int64(len(r.Payload)) / 2; r.TrimTools(limit); limit /= 2 {
		if convert.BodyJSON(&r) <= wire.MaxBodyJSON {
			w.r, w.changed = r, true
			return true
		}
	}
	return false
}

// dropPayload takes the payload away and says so in the resource itself.
func (w *row) dropPayload(status snapshot.Status, why string) {
	w.r.Payload, w.r.Status, w.r.Error, w.changed = nil, status, why, true
}

// fitMessage takes payloads, and where that isn't enough resources, of what comes last
// until the whole push, of which head is the length without resources, fits
// into its message, or a manifest into its bound.
func fitMessage(head int, rows []row, f form, limit int, rep *report) ([]row, error) {
	if sureToFit(head, rows, f, limit) {
		return rows, nil
	}
	total := head
	sizes := make([]int, len(rows))
	for i := range rows {
		size, err := encodedSize(&rows[i].r, f)
		if err != nil {
			return nil, err
		}
		sizes[i] = size
		total += size
	}
	if total <= limit {
		return rows, nil
	}
	order := byPrecedence(rows)
	for _, i := range slices.Backward(order) {
		if len(rows[i].r.Payload) == 0 || total <= limit {
			continue
		}
		rows[i].dropPayload(snapshot.StatusExcluded, errNoRoom)
		size, err := encodedSize(&rows[i].r, f)
		if err != nil {
			return nil, err
		}
		total += size - sizes[i]
		sizes[i] = size
	}
	gone := make([]bool, len(rows))
	for _, i := range slices.Backward(order) {
		if gone[i] = total > limit; gone[i] {
			total -= sizes[i]
		}
	}
	return without(rows, gone, rep), nil
}

// sureToFit reports whether there is no need to look closely, as there mostly
// isn't.
func sureToFit(head int, rows []row, f form, limit int) bool {
	w, waymark := f.(waymarkForm)
	if !waymark {
		return false
	}
	total := head
	for i := range rows {
		if total += roughSize(&rows[i].r); !w.byHash && named(&rows[i].r) {
			total += len(rows[i].r.Payload)
		}
	}
	return total <= limit
}

// encodedSize is what r takes in a push: tag, length and message.
func encodedSize(r *snapshot.Resource, f form) (int, error) {
	m, err := f.message(r)
	if err != nil {
		return 0, err
	}
	return 1 + protowire.SizeBytes(proto.Size(m)), nil
}

// mendPlugins bounds the list of plugins and the texts in it.
func mendPlugins(plugins []snapshot.Plugin, rep *report) []snapshot.Plugin {
	kept := make([]snapshot.Plugin, 0, min(len(plugins), maxPlugins))
	for i := range plugins {
		if i >= maxPlugins {
			rep.mended += len(plugins) - maxPlugins
			break
		}
		p, changed := mendPlugin(plugins[i])
		if changed {
			rep.mended++
		}
		kept = append(kept, p)
	}
	return kept
}

func mendPlugin(p snapshot.Plugin) (_ snapshot.Plugin, changed bool) {
	state := string(p.State)
	for _, text := range []*string{&p.Name, &p.Version, &p.Digest, &state} {
		changed = rules.MendText(text, maxPluginText) || changed
	}
	p.State = snapshot.PluginState(state)
	changed = rules.MendText(&p.Path, wire.MaxSource) || changed
	changed = rules.MendText(&p.Error, wire.MaxError) || changed
	changed = changed || len(p.Resolvers) > maxResolvers
	p.Resolvers = append([]string{}, p.Resolvers[:min(len(p.Resolvers), maxResolvers)]...)
	for i := range p.Resolvers {
		changed = rules.MendText(&p.Resolvers[i], maxPluginText) || changed
	}
	return p, changed
}

// equal reports whether p and other are the same to the peer.
func (p *prepared) equal(other *prepared) bool {
	return p.sameHead(other) && slices.EqualFunc(p.rows, other.rows, func(a, b row) bool { return a.r.Equal(&b.r) })
}

func (p *prepared) sameHead(other *prepared) bool {
	return bytes.Equal(p.head.AggregateHash, other.head.AggregateHash) &&
		p.head.SnapshotError == other.head.SnapshotError &&
		p.head.Discovery.Equal(other.head.Discovery) &&
		slices.EqualFunc(p.head.Plugins, other.head.Plugins, snapshot.Plugin.Equal)
}

// delta encodes behind prefix what makes p of base, which the peer accepted as
// baseVersion. It returns nil when that is no better than the whole: when no row stays as
// it is, or what is removed takes more room than a message has.
func (p *prepared) delta(prefix []byte, base *prepared, baseVersion uint64) ([]byte, error) {
	before := make(map[string]*snapshot.Resource, len(base.rows))
	for i := range base.rows {
		before[base.rows[i].r.ID()] = &base.rows[i].r
	}
	changed := *p.head
	for i := range p.rows {
		r := &p.rows[i].r
		id := r.ID()
		if old, known := before[id]; !known || !old.Equal(r) {
			changed.Resources = append(changed.Resources, *r)
		}
		delete(before, id)
	}
	if len(p.rows) == 0 || len(changed.Resources) == len(p.rows) {
		return nil, nil
	}
	request := convert.ToWaymark(&changed)
	request.Delta = &waymark.Delta{BaseVersion: baseVersion}
	for i := range base.rows { // in their order, so that equal deltas are equal bytes
		if id := base.rows[i].r.ID(); before[id] != nil {
			request.Delta.Removed = append(request.Delta.Removed, id)
		}
	}
	content, err := marshal(prefix, request)
	limit := maxContent
	if p.takes.byHash {
		limit = p.takes.message - slack
	}
	if len(content) > limit { // it is the whole that is sure to fit
		return nil, nil
	}
	return content, err
}

// claim encodes behind prefix the name of all of the push.
func (p *prepared) claim(prefix []byte) ([]byte, error) {
	// What a hub has of a head is what comes out of it on the other side.
	received, err := convert.FromWaymark(convert.ToWaymark(p.head))
	if err != nil {
		return nil, err
	}
	head, err := claim.HeadOf(received)
	if err != nil {
		return nil, err
	}
	rows := make([][sha256.Size]byte, len(p.rows))
	for i := range p.rows {
		r := &p.rows[i].r
		rows[i] = claim.Row(r, r.Payload != nil, sha256.Sum256(r.Payload))
	}
	name := claim.Of(&head, rows)
	return marshal(prefix, &waymark.PushRequest{Claim: name[:]})
}

// mend changes w until a peer would take it, or says why that can't be done.
func mend(w *row) Reason {
	changed, err := rules.Mend(&w.r)
	w.changed = w.changed || changed
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rules.ErrSource):
		return ReasonNoSource
	case errors.Is(err, rules.ErrTooLong):
		return ReasonSourceTooLong
	case errors.Is(err, rules.ErrStatus):
		return ReasonUnknownStatus
	}
	return ReasonKind
}

// mendHead returns a snapshot without version and resources, whose texts are
// as mend makes them.
func mendHead(s *snapshot.Snapshot, f form, rep *report) *snapshot.Snapshot {
	head := &snapshot.Snapshot{AggregateHash: s.AggregateHash, SnapshotError: s.SnapshotError}
	_, all := f.(waymarkForm)
	if all {
		head.Discovery = s.Discovery
	}
	rules.MendHead(head)
	if all {
		head.Plugins = mendPlugins(s.Plugins, rep)
	}
	return head
}
