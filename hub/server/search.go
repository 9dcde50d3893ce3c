package server

import (
	"waymark/hub/api"
	"waymark/hub/store"
)

// defaultHits and maxHits limit an answer to a search.
const (
	defaultHits = 100
	maxHits     = 1000
)

// search finds agents that have something: a resource by its name, source or hash, or a
// failing plugin.
func (a *API) search(c *call) error {
	text, err := c.Text("q")
	if err != nil {
		return err
	}
	limit, given, err := c.Number("limit", 31)
	if err != nil {
		return err
	}
	if !given || limit == 0 {
		limit = defaultHits
	}
	end, err := a.beginRendering(c.Context()) // it looks at everything
	if err != nil {
		return err
	}
	defer end()
	n := int(min(limit, maxHits))
	found, err := c.store.Search(c.Context(), store.SearchQuery{Text: text, Limit: n + 1})
	if err != nil {
		return err
	}
	answer := api.SearchResult{Hits: []api.Hit{}, More: len(found) > n}
	for _, h := range found[:min(len(found), n)] {
		hit := api.Hit{AgentID: h.AgentID, ID: h.ResourceID, Kind: string(h.Kind), Name: h.Name, Source: h.Source, Status: string(h.Status), Hash: h.Hash.String()}
		if p := h.Plugin; p != nil {
			hit = api.Hit{AgentID: h.AgentID, Kind: api.HitPlugin, Name: p.Name, Source: p.Path, Status: string(p.State), Hash: p.Digest}
		}
		answer.Hits = append(answer.Hits, hit)
	}
	return c.sendList(answer)
}
