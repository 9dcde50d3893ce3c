package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/text"
)

// maxAgents limits a page of agents, to about 600 KiB.
const maxAgents = 1000

// attentionAfter is how long an agent may be away, or not have connected yet, before it
// needs attention. It is longer than a restart of a machine takes.
const attentionAfter = 15 * time.Minute

func (a *API) getAgent(c *call) error {
	agent, err := c.store.Agent(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toAgent(&agent, a.opts.Connected(), a.opts.Now()))
}

func toAgent(a *store.AgentInfo, all map[string]Connection, now time.Time) api.Agent {
	connection, connected := all[a.ID]
	row := api.Agent{
		ID: a.ID, Name: a.Name, Connected: connected, NotHeard: connection.NotHeard, Version: a.Version, AggregateHash: a.AggregateHash,
		Resources: a.Resources, Revision: a.Revision, UpdatedAt: orNull(a.UpdatedAt), Discovery: a.Discovery,
		Hostname: a.Hostname, Root: a.Root, AgentVersion: a.AgentVersion, Labels: a.Labels,
		LastPushAt: orNull(a.UpdatedAt), FailingPlugins: a.FailingPlugins, DriftedPins: a.DriftedPins,
		State: api.StateConnected, Attention: []string{},
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	since := a.CreatedAt
	switch {
	case connected:
	case a.SeenAt.IsZero():
		row.State = api.StateNeverConnected
	default:
		row.State, row.AwaySince, since = api.StateAway, orNull(a.SeenAt), a.SeenAt
	}
	for _, reason := range []struct {
		code string
		is   bool
	}{
		{string(row.State), !connected && now.Sub(since) >= attentionAfter},
		{api.AttentionNotHeard, row.NotHeard > 0},
		{api.AttentionSnapshot, a.SnapshotError != ""},
		{api.AttentionPlugins, row.FailingPlugins > 0},
		{api.AttentionPins, row.DriftedPins > 0},
	} {
		if reason.is {
			row.Attention = append(row.Attention, reason.code)
		}
	}
	return row
}

// listAgents returns the requested agents, all or a page. This package selects and sorts
// them instead of the database, because only hubs know who is connected; for some thousand
// agents that takes a millisecond.
func (a *API) listAgents(c *call) error {
	question, err := c.agentQuestion()
	if err != nil {
		return err
	}
	agents, err := c.store.Agents(c.Context())
	if err != nil {
		return err
	}
	connected, now := a.opts.Connected(), a.opts.Now()
	list := make([]api.Agent, 0, len(agents))
	for i := range agents {
		if row := toAgent(&agents[i], connected, now); question.wants(&row) {
			list = append(list, row)
		}
	}
	total := len(list)
	list, next := question.page(list)
	header := c.Writer().Header()
	header.Set("X-Total-Count", strconv.Itoa(total))
	if next != "" {
		query, _ := c.Query() // it was parsed before
		query.Set("after", next)
		header.Set("Link", "<"+api.Root+"/agents?"+query.Encode()+`>; rel="next"`)
	}
	return c.JSON(http.StatusOK, list)
}

// sortings are the orders of lists, by their names in requests. Agents with equal keys are
// ordered by name, then by id; "name" adds nothing to that.
var sortings = map[string]func(*api.Agent) sortKey{
	"id":              func(*api.Agent) sortKey { return sortKey{} },
	"name":            func(*api.Agent) sortKey { return sortKey{} },
	"hostname":        func(a *api.Agent) sortKey { return sortKey{Text: strings.ToLower(a.Hostname)} },
	"root":            func(a *api.Agent) sortKey { return sortKey{Text: a.Root} },
	"agent_version":   func(a *api.Agent) sortKey { return sortKey{Text: a.AgentVersion} },
	"labels":          func(a *api.Agent) sortKey { return sortKey{Text: store.Labels(a.Labels).String()} },
	"state":           func(a *api.Agent) sortKey { return sortKey{Text: string(a.State)} },
	"away_since":      func(a *api.Agent) sortKey { return sortKey{Number: micros(a.AwaySince)} },
	"last_push_at":    func(a *api.Agent) sortKey { return sortKey{Number: micros(a.LastPushAt)} },
	"failing_plugins": func(a *api.Agent) sortKey { return sortKey{Number: int64(a.FailingPlugins)} },
	"drifted_pins":    func(a *api.Agent) sortKey { return sortKey{Number: int64(a.DriftedPins)} },
	"attention":       func(a *api.Agent) sortKey { return sortKey{Number: int64(len(a.Attention))} },
	"resources":       func(a *api.Agent) sortKey { return sortKey{Number: int64(a.Resources)} },
}

// micros returns a time as a number; 0 for nil.
func micros(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// sortKey is the sort key of an agent. With Sort and ID it is the position where a page
// ends.
type sortKey struct {
	Text   string `json:"t,omitempty"`
	Number int64  `json:"n,omitempty"`
	Name   string `json:"name,omitempty"` // the displayed name in lower case; empty if sorted by id
	ID     string `json:"id"`
	Sort   string `json:"s,omitempty"` // only in a cursor
}

func (k *sortKey) compare(o *sortKey) int {
	return cmp.Or(cmp.Compare(k.Number, o.Number), text.Natural(k.Text, o.Text), text.Natural(k.Name, o.Name), cmp.Compare(k.ID, o.ID))
}

// agentQuestion is a parsed query for agents.
type agentQuestion struct {
	limit int // 0 means all
	after *sortKey
	sort  string
	down  bool // reversed

	words     []string // in lower case
	state     string
	labels    store.Labels
	attention bool
}

func (c *call) agentQuestion() (q agentQuestion, err error) {
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
	q.limit = int(min(limit, maxAgents))
	if q.sort, err = c.Word("sort", slices.Sorted(maps.Keys(sortings))...); err != nil {
		return q, err
	}
	q.sort = cmp.Or(q.sort, "id")
	order, err := c.Word("order", "asc", "desc")
	if err != nil {
		return q, err
	}
	q.down = order == "desc"
	if q.state, err = c.Word("state", string(api.StateConnected), string(api.StateAway), string(api.StateNeverConnected)); err != nil {
		return q, err
	}
	attention, err := c.Word("attention", "1")
	if err != nil {
		return q, err
	}
	q.attention = attention != ""
	if q.labels, err = store.ParseLabels(query["label"]); err != nil {
		return q, err
	}
	words, err := c.Text("q")
	if err != nil {
		return q, err
	}
	q.words = strings.Fields(strings.ToLower(words))
	if q.after, err = c.cursor(q.sort); err != nil {
		return q, err
	}
	return q, nil
}

// cursor parses the position where the previous page ended.
func (c *call) cursor(sort string) (*sortKey, error) {
	after, err := c.Text("after")
	if err != nil || after == "" {
		return nil, err
	}
	data, err := base64.RawURLEncoding.DecodeString(after)
	var key sortKey
	if err != nil || json.Unmarshal(data, &key) != nil || key.Sort != sort {
		return nil, httpapi.BadQuery("after is not what the Link to this page said; begin without it")
	}
	return &key, nil
}

// wants reports whether an agent matches.
func (q *agentQuestion) wants(a *api.Agent) bool {
	if q.state != "" && string(a.State) != q.state || q.attention && len(a.Attention) == 0 || !store.Labels(a.Labels).Has(q.labels) {
		return false
	}
	if len(q.words) == 0 {
		return true
	}
	about := strings.ToLower(strings.Join([]string{a.ID, a.Name, a.Hostname, a.Root, a.AgentVersion, store.Labels(a.Labels).String()}, "\n"))
	return !slices.ContainsFunc(q.words, func(word string) bool { return !strings.Contains(about, word) })
}

// page sorts agents and returns the requested page. next is its end, unless it is the last
// page.
func (q *agentQuestion) page(list []api.Agent) (page []api.Agent, next string) {
	type place struct {
		key sortKey
		row *api.Agent
	}
	places := make([]place, len(list))
	for i := range list {
		places[i] = place{sortings[q.sort](&list[i]), &list[i]}
		places[i].key.ID = list[i].ID
		if q.sort != "id" {
			places[i].key.Name = strings.ToLower(cmp.Or(strings.TrimSpace(list[i].Name), list[i].ID))
		}
	}
	compare := func(a, b *sortKey) int {
		if q.down {
			a, b = b, a
		}
		return a.compare(b)
	}
	slices.SortFunc(places, func(a, b place) int { return compare(&a.key, &b.key) })
	if q.after != nil {
		begin, found := slices.BinarySearchFunc(places, q.after, func(p place, after *sortKey) int { return compare(&p.key, after) })
		if found {
			begin++
		}
		places = places[begin:]
	}
	if q.limit > 0 && len(places) > q.limit {
		places = places[:q.limit]
		last := places[q.limit-1].key
		last.Sort = q.sort
		data, _ := json.Marshal(last) // strings and a number always marshal
		next = base64.RawURLEncoding.EncodeToString(data)
	}
	page = make([]api.Agent, len(places))
	for i := range places {
		page[i] = *places[i].row
	}
	return page, next
}
