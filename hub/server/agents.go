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

// maxAgents bounds a page of agents: some 600 KiB.
const maxAgents = 1000

// attentionAfter is how long an agent may be away, or not have come yet, before
// somebody should look: longer than a machine takes to be started anew.
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

// listAgents serves the agents that are asked for, all of them or a page. They are
// chosen and put in order here and not by the database: who is connected only the hubs
// know, and of some thousand agents that takes a millisecond.
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
		query, _ := c.Query() // it was read before
		query.Set("after", next)
		header.Set("Link", "<"+api.Root+"/agents?"+query.Encode()+`>; rel="next"`)
	}
	return c.JSON(http.StatusOK, list)
}

// sortings are the orders in which agents can be listed, by the name that is asked
// for. Agents that are the same in one are in order of their names, and those of one name
// in order of their ids; "name" has nothing to add to that.
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

// micros is a time as a number; 0 for none.
func micros(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// sortKey is what an agent is put in order by, and with Sort and ID the place where a
// page ends.
type sortKey struct {
	Text   string `json:"t,omitempty"`
	Number int64  `json:"n,omitempty"`
	Name   string `json:"name,omitempty"` // as the page shows it, in lower case; empty in the order of ids
	ID     string `json:"id"`
	Sort   string `json:"s,omitempty"` // only in a cursor
}

func (k *sortKey) compare(o *sortKey) int {
	return cmp.Or(cmp.Compare(k.Number, o.Number), text.Natural(k.Text, o.Text), text.Natural(k.Name, o.Name), cmp.Compare(k.ID, o.ID))
}

// agentQuestion says which agents are asked for.
type agentQuestion struct {
	limit int // 0: all
	after *sortKey
	sort  string
	down  bool // the last comes first

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

// cursor reads where the page before has ended.
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

// wants reports whether an agent is asked for.
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

// page puts agents in order and cuts what is asked for out of them; next is where it
// ends, if that isn't the end of all.
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
		data, _ := json.Marshal(last) // texts and a number
		next = base64.RawURLEncoding.EncodeToString(data)
	}
	page = make([]api.Agent, len(places))
	for i := range places {
		page[i] = *places[i].row
	}
	return page, next
}
