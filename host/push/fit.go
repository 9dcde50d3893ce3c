package push

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
)

const (
	// maxContent leaves room in a message for version and initial, and for
	// what the framing adds.
	maxContent = wire.MaxMessage - 1024
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
// one resource or in all. The last ones lose, and when even their names are
// too much, they aren't sent.
func fitBodies(rows []row, rep *report) []row {
	total := 0
	kept := rows[:0]
	for _, w := range rows {
		body := convert.BodyJSON(&w.r)
		if body > wire.MaxBodyJSON {
			w.dropPayload(snapshot.StatusOversize, errTooLarge)
			body = convert.BodyJSON(&w.r)
		}
		if total+body > wire.MaxBodies && len(w.r.Payload) > 0 {
			w.dropPayload(snapshot.StatusExcluded, errNoRoom)
			body = convert.BodyJSON(&w.r)
		}
		if total+body > wire.MaxBodies {
			rep.held.add(ReasonTooLarge)
			continue
		}
		total += body
		kept = append(kept, w)
	}
	return kept
}

// dropPayload takes the payload away and says so in the resource itself.
func (w *row) dropPayload(status snapshot.Status, why string) {
	w.r.Payload, w.r.Status, w.r.Error, w.changed = nil, status, why, true
}

// fitMessage takes payloads, and where that isn't enough resources, from the
// end until the whole push fits into one message.
func fitMessage(head *snapshot.Snapshot, rows []row, f form, rep *report) ([]row, error) {
	content, err := f.encode(nil, head)
	if err != nil {
		return nil, err
	}
	total := len(content)
	sizes := make([]int, len(rows))
	for i := range rows {
		if sizes[i], err = encodedSize(&rows[i].r, f); err != nil {
			return nil, err
		}
		total += sizes[i]
	}
	for i := len(rows) - 1; i >= 0 && total > maxContent; i-- {
		if len(rows[i].r.Payload) == 0 {
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
	for len(rows) > 0 && total > maxContent {
		total -= sizes[len(rows)-1]
		rows = dropLast(rows, ReasonTooLarge, rep)
	}
	return rows, nil
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
		changed = mendText(text, maxPluginText) || changed
	}
	p.State = snapshot.PluginState(state)
	changed = mendText(&p.Path, wire.MaxSource) || changed
	changed = mendText(&p.Error, wire.MaxError) || changed
	changed = changed || len(p.Resolvers) > maxResolvers
	p.Resolvers = append([]string{}, p.Resolvers[:min(len(p.Resolvers), maxResolvers)]...)
	for i := range p.Resolvers {
		changed = mendText(&p.Resolvers[i], maxPluginText) || changed
	}
	return p, changed
}
