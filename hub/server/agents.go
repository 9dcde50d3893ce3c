package server

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi"
)

// maxAgents limits a page of agents, to about 600 KiB.
const maxAgents = 1000

func (a *API) getAgent(c *call) error {
	agent, err := c.store.Agent(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toAgent(&agent, a.opts.Now()))
}

func toAgent(a *store.AgentInfo, now time.Time) api.Agent {
	row := api.Agent{
		ID: a.ID, Name: a.Name, Connected: a.Connected, NotHeard: a.NotHeard, Version: a.Version, AggregateHash: a.AggregateHash,
		Resources: a.Resources, Revision: a.Revision, UpdatedAt: orNull(a.UpdatedAt), Discovery: a.Discovery,
		Hostname: a.Hostname, Root: a.Root, AgentVersion: a.AgentVersion, Labels: a.Labels,
		LastPushAt: orNull(a.UpdatedAt), FailingPlugins: a.FailingPlugins, DriftedPins: a.DriftedPins,
		InvalidResources: a.InvalidResources, FailingServers: a.FailingServers(), WaitingServers: a.WaitingServers(),
		State: api.AgentState(a.State()), Attention: []string{},
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	if row.State == api.StateAway {
		row.AwaySince = orNull(a.SeenAt)
	}
	for _, reason := range a.Attention(now) {
		row.Attention = append(row.Attention, string(reason))
	}
	return row
}

// listAgents returns the requested agents, all or a page.
func (a *API) listAgents(c *call) error {
	query, err := c.agentQuery()
	if err != nil {
		return err
	}
	now := a.opts.Now()
	query.LateBefore = now.Add(-store.AttentionAfter)
	begin, err := c.store.Newest(c.Context()) // before the list, so that nothing is missed
	if err != nil {
		return err
	}
	page, err := c.store.FindAgents(c.Context(), query)
	if err != nil {
		return err
	}
	list := make([]api.Agent, len(page.Agents))
	for i := range page.Agents {
		list[i] = toAgent(&page.Agents[i], now)
	}
	header := c.Writer().Header()
	header.Set("X-Total-Count", strconv.Itoa(page.Total))
	header.Set("X-Events-After", begin.String())
	if page.Next != nil {
		if err := c.linkNext("/agents", cursor{*page.Next, query.Order}); err != nil {
			return err
		}
	}
	return c.sendList(list)
}

// linkNext sets the header with the address of the next page of a list, which begins after a
// place.
func (c *call) linkNext(path string, place any) error {
	next, err := json.Marshal(place)
	if err != nil {
		return err
	}
	values, _ := c.Query() // it was parsed before
	values.Set("after", base64.RawURLEncoding.EncodeToString(next))
	c.Writer().Header().Set("Link", "<"+api.Root+path+"?"+values.Encode()+`>; rel="next"`)
	return nil
}

// cursor is where the next page begins, in the order of that name.
type cursor struct {
	store.AgentPlace

	Sort string `json:"s"`
}

// attentions are the words that select agents that need attention.
func attentions() []string {
	words := []string{store.AttentionAny}
	for _, reason := range store.Attentions() {
		words = append(words, string(reason))
	}
	return words
}

func (c *call) agentQuery() (q store.AgentQuery, err error) {
	query, err := c.Query()
	if err != nil {
		return q, err
	}
	limit, limited, err := c.Number("limit", 31)
	if err != nil {
		return q, err
	}
	if limited && limit == 0 {
		return q, httpapi.BadQuery("limit is 0; leave it out for all agents")
	}
	q.Limit = int(min(limit, maxAgents))
	if q.Order, err = c.Word("sort", store.AgentOrders...); err != nil {
		return q, err
	}
	order, err := c.Word("order", "asc", "desc")
	if err != nil {
		return q, err
	}
	q.Down = order == "desc"
	state, err := c.Word("state", string(api.StateConnected), string(api.StateAway), string(api.StateNeverConnected))
	if err != nil {
		return q, err
	}
	q.State = store.AgentState(state)
	attention, err := c.Word("attention", attentions()...)
	if err != nil {
		return q, err
	}
	q.Attention = store.Attention(attention)
	if q.Labels, err = store.ParseLabels(query["label"]); err != nil {
		return q, err
	}
	words, err := c.Text("q")
	if err != nil {
		return q, err
	}
	q.Words = strings.Fields(words)
	at, err := placeIn(c, func(at *cursor) bool { return at.ID != "" && at.Sort == q.Order })
	if at != nil {
		q.After = &at.AgentPlace
	}
	return q, err
}

// placeIn parses the place after which a page begins; nil is the beginning of the list.
func placeIn[P any](c *call, valid func(*P) bool) (*P, error) {
	after, err := c.Text("after")
	if err != nil || after == "" {
		return nil, err
	}
	data, err := base64.RawURLEncoding.DecodeString(after)
	at := new(P)
	if err != nil || json.Unmarshal(data, at) != nil || !valid(at) {
		return nil, httpapi.BadQuery("after is not what the Link to this page said; begin without it")
	}
	return at, nil
}
