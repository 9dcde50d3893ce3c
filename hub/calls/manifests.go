package calls

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
	// manifestsTimeout limits how long the agent may take to list the files of skills,
	// because creating a pin waits for it.
	manifestsTimeout = 5 * time.Second
	// maxManifests limits the skills of a pin with a manifest.
	maxManifests = 1000
)

// KeepManifests asks the agent, if it is connected, for the files of the skills that have
// just been pinned, and stores the answer with the pin. If the agent is away, too old or
// has it switched off, the pin has no manifests.
func (c *Calls) KeepManifests(ctx context.Context, pin *store.Pin) {
	if agent, err := c.opts.Store.Agent(ctx, pin.AgentID); err != nil || !agent.Connected || pin.Revision == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, manifestsTimeout)
	defer cancel()
	kept, err := c.manifests(asking, pin)
	if len(kept) > 0 { // each is complete, even if the time was too short for all
		var body []byte
		if body, err = json.Marshal(kept); err == nil {
			err = c.opts.Store.SetPinManifests(ctx, pin.ID, pin.Revision, body)
		}
	}
	if err != nil {
		c.opts.Log.Debug("which files the skills of a pin have isn't known", slog.String("pin", pin.ID), slog.String("error", text.Line(errtext.Of(err), MaxErrorLogged)))
	}
}

// manifests asks for the manifests. One counts only if its skill is the pinned one.
func (c *Calls) manifests(ctx context.Context, pin *store.Pin) (mcpserver.Manifests, error) {
	_, stored, err := c.opts.Store.PinSnapshot(ctx, pin.ID, true)
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
		if body, err = c.ask(ctx, pin.AgentID, reverse.KindSkillFiles, body, 0); err != nil {
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
