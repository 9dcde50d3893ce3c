package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"waymark/abi"
	"waymark/hub/mcpserver"
	"waymark/hub/store"
	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/reverse"
)

const (
	// manifestsTimeout is how long the agent may take to say which files its skills
	// have: who pins waits for it.
	manifestsTimeout = 5 * time.Second
	// maxManifests is how many skills of a pin have one.
	maxManifests = 1000
)

// keepManifests asks the agent, if it is connected, which files the skills have that have
// just been pinned, and keeps that with the pin. What an agent doesn't say, since it is
// away, has it switched off or is older than that, isn't known of the pin.
func (h *Hub) keepManifests(ctx context.Context, pin *store.Pin) {
	if _, connected := h.connected()[pin.AgentID]; !connected || pin.Revision == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, manifestsTimeout)
	defer cancel()
	kept, err := h.manifests(asking, pin)
	if len(kept) > 0 { // each is whole, also where the time was too short for all
		var body []byte
		if body, err = json.Marshal(kept); err == nil {
			err = h.store.SetPinManifests(ctx, pin.ID, pin.Revision, body)
		}
	}
	if err != nil {
		h.log.Debug("which files the skills of a pin have isn't known", slog.String("pin", pin.ID), slog.String("error", text.Line(errtext.Of(err), maxErrorLogged)))
	}
}

// manifests asks for them. One counts only if it is that of the skill as it is pinned.
func (h *Hub) manifests(ctx context.Context, pin *store.Pin) (mcpserver.Manifests, error) {
	_, stored, err := h.store.PinSnapshot(ctx, pin.ID, true)
	if err != nil {
		return nil, err
	}
	var ids []string
	pinned := map[string]string{}
	for i := range stored.Snapshot.Resources {
		r := &stored.Snapshot.Resources[i]
		if r.Kind == abi.KindSkill && r.Key == "" && r.Status == snapshot.StatusOK && len(ids) < maxManifests {
			ids = append(ids, r.ID())
			pinned[r.ID()] = fmt.Sprintf("sha256:%x", []byte(r.ContentHash))
		}
	}
	kept := mcpserver.Manifests{}
	for len(ids) > 0 {
		some := ids[:min(len(ids), reverse.MaxSkillIDs)]
		body, err := json.Marshal(reverse.SkillFilesRequest{IDs: some})
		if err != nil {
			return nil, err
		}
		if body, err = h.ask(ctx, pin.AgentID, reverse.KindSkillFiles, body, 0); err != nil {
			return kept, err
		}
		list, err := reverse.DecodeSkillFiles(body, some)
		if err != nil || len(list) == 0 {
			return kept, errAnswer
		}
		for _, one := range list {
			for _, f := range one.Files {
				if f.Path == mcpserver.SkillManifest && f.Digest == pinned[one.ID] {
					kept[one.ID] = one.Files
				}
			}
		}
		ids = ids[len(list):]
	}
	return kept, nil
}
