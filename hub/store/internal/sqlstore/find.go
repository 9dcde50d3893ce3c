package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/hub/store"
)

// never and away are in agents.hub in the place of a hub's id.
const (
	never = ""
	away  = "away"
)

// orders are those of one part with a column, by name. Each has an index.
var orders = map[string]part{
	"hostname": {column: "a.hostname_key"}, "root": {column: "a.root_key"}, "agent_version": {column: "a.version_key"}, "labels": {column: "a.labels_key"},
	"last_push_at":    {column: "h.pushed_at", number: true, head: true},
	"failing_plugins": {column: "h.failing", number: true, head: true},
	"drifted_pins":    {column: "h.drifted", number: true, head: true},
	"attention":       {column: "h.attention", number: true, head: true},
	"resources":       {column: "h.resources", number: true, head: true},
}

// agentRead builds the statements for a page.
type agentRead struct {
	c *Core
	q *store.AgentQuery
	// live are the hubs with a lease, dead other values of agents.hub of agents that are away.
	live, dead []string
	// args are those of the conditions, which all statements have.
	args  []any
	where string
}

// readHubs returns the hubs with a lease, and those whose lease has ended.
func (c *Core) readHubs(ctx context.Context, tx Tx) (live, dead []string, err error) {
	now := c.Stamp()
	err = each(ctx, tx, "SELECT id, until FROM hubs ORDER BY id", nil, func(rows Rows) error {
		var id string
		var until int64
		err := rows.Scan(&id, &until)
		if until > now {
			live = append(live, id)
		} else {
			dead = append(dead, id)
		}
		return err
	})
	return live, append(dead, away), err
}

func (r *agentRead) arg(value any) string {
	r.args = append(r.args, value)
	return fmt.Sprintf("$%d", len(r.args))
}

// list returns values for IN. Ids of hubs have no quotes.
func list(values ...string) string {
	if len(values) == 0 {
		return "(NULL)"
	}
	return "('" + strings.Join(values, "', '") + "')"
}

// conditions sets where.
func (r *agentRead) conditions() error {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	q := r.q
	if q.Scope != nil {
		ids, err := r.c.textList(q.Scope)
		if err != nil {
			return err
		}
		add("a.id IN (%s)", strings.ReplaceAll(r.c.TextList, "$1", r.arg(ids)))
	}
	switch q.State {
	case store.AgentConnected:
		add("a.hub IN %s", list(r.live...))
	case store.AgentAway:
		add("a.hub IN %s", list(r.dead...))
	case store.AgentNeverConnected:
		add("a.hub = ''")
	}
	for _, name := range slices.Sorted(keys(q.Labels)) {
		add("EXISTS (SELECT 1 FROM agent_labels l WHERE l.name = %s AND l.value = %s AND l.agent_id = a.id)", r.arg(name), r.arg(q.Labels[name]))
	}
	for _, word := range q.Words {
		add("a.about LIKE %s ESCAPE '!'", r.arg(contains(word)))
	}
	if q.Attention != "" {
		has := attention(r.live, r.dead)
		condition := has[q.Attention]
		if q.Attention == store.AttentionAny {
			condition = strings.Join([]string{"h.attention > 0", has[store.AttentionAway], has[store.AttentionNeverConnected], has[store.AttentionNotHeard]}, " OR ")
		}
		if strings.Contains(condition, late) { // a database takes no argument that isn't used
			condition = strings.ReplaceAll(condition, late, r.arg(q.LateBefore.UnixMicro()))
		}
		add("(%s)", condition)
	}
	if len(all) > 0 {
		r.where = " AND " + strings.Join(all, " AND ")
	}
	return nil
}

// late stands for the argument since when agents that aren't connected need attention.
const late = "$late"

// attention returns the conditions of an agent a with the head h, as store.AgentInfo.Attention
// has them.
func attention(live, dead []string) map[store.Attention]string {
	return map[store.Attention]string{
		store.AttentionAway:           "a.hub IN " + list(dead...) + " AND a.seen_at <= " + late,
		store.AttentionNeverConnected: "a.hub = '' AND a.created_at <= " + late,
		store.AttentionNotHeard:       "EXISTS (SELECT 1 FROM contested c WHERE c.agent_id = a.id AND c.not_heard > 0 AND c.hub IN " + list(live...) + ")",
		store.AttentionSnapshot:       "h.snapshot_error <> ''",
		store.AttentionResources:      "h.invalid > 0",
		store.AttentionFailingServers: "h.failing_servers > 0",
		store.AttentionWaitingServers: "h.waiting_servers > 0",
		store.AttentionPlugins:        "h.failing > 0",
		store.AttentionPins:           "h.drifted > 0",
	}
}

// contains is a pattern of LIKE.
func contains(part string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(part)) + "%"
}

func keys(labels store.Labels) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range labels {
			if !yield(name) {
				return
			}
		}
	}
}

// part is one part of an order: agents of certain hubs, or all, in an order of their own.
type part struct {
	hubs   []string // nil: all
	column string   // before name and id; "": none
	number bool
	plain  bool // by id alone
	head   bool // the columns are those of heads
}

// parts returns the parts of the order, first to last.
func (r *agentRead) parts() (list []part) {
	switch order := r.q.Order; order {
	case "", "id":
		return []part{{plain: true}}
	case "name":
		return []part{{}}
	case "state":
		list = []part{{hubs: r.dead}, {hubs: append([]string{}, r.live...)}, {hubs: []string{never}}}
	case "away_since":
		list = []part{{hubs: append([]string{never}, r.live...)}, {hubs: r.dead, column: "a.seen_at", number: true}}
	default:
		return []part{orders[order]}
	}
	if r.q.Down {
		slices.Reverse(list)
	}
	return list
}

const agentColumns = `a.id, a.name, a.created_at, h.version, h.aggregate_hash, h.resources, h.revision, h.pushed_at, h.summary,
	a.hostname, a.root, a.agent_version, a.labels, a.seen_at, h.failing, h.snapshot_error, h.drifted, h.invalid, a.hub`

// statement reads a part, from a place in it. An order by one of several hubs' agents merges
// what each hub's index has, so that no more rows are read than asked for of each.
func (r *agentRead) statement(p *part, after *store.AgentPlace, limit int) Statement {
	args := slices.Clone(r.args)
	arg := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	order, table, joined, on := []string{"a.name_key", "a.id"}, "agents a", "heads h", "h.agent_id = a.id"
	switch {
	case p.plain:
		order = order[1:]
	case p.head:
		order, table, joined = []string{"h.name_key", "h.agent_id"}, "heads h", "agents a"
	}
	number, name := "0", "''"
	if p.column != "" {
		order = append([]string{p.column}, order...)
		if p.number {
			number = p.column
		} else {
			name = p.column
		}
	}
	from := "true"
	if after != nil {
		var place []string
		switch {
		case p.number:
			place = append(place, arg(after.Number))
		case p.column != "":
			place = append(place, arg(after.Text))
		}
		if !p.plain {
			place = append(place, arg(after.Name))
		}
		place = append(place, arg(after.ID))
		from = fmt.Sprintf("(%s) %s (%s)", strings.Join(order, ", "), map[bool]string{false: ">", true: "<"}[r.q.Down], strings.Join(place, ", "))
	}
	direction, most := "", ""
	if r.q.Down {
		direction = " DESC"
	}
	if limit > 0 { // the number is part of the text, so that a plan is made for it
		most = fmt.Sprintf(" LIMIT %d", limit)
	}
	tail := " ORDER BY " + strings.Join(order, direction+", ") + direction + most
	columns := "SELECT " + agentColumns + ", " + number + " AS k, " + name + " AS t, a.name_key AS nk FROM "
	bare, alias := len(p.hubs) < 2 && (r.where != "" || most == ""), table[len(table)-1:]
	var pages []string
	for _, hub := range p.hubs {
		where := from + " AND a.hub = " + arg(hub)
		if bare {
			from = where
		}
		pages = append(pages, "SELECT * FROM (SELECT * FROM agents a WHERE "+where+map[bool]string{true: tail}[r.where == ""]+") AS one")
	}
	switch {
	case bare:
		return Statement{columns + table + " JOIN " + joined + " ON " + on + " WHERE " + from + r.where + tail, args}
	case len(pages) == 0:
		pages = append(pages, "SELECT * FROM "+table+" WHERE "+from+tail)
	case len(pages) > 1 && r.where == "":
		pages = append(pages, strings.ReplaceAll(strings.ReplaceAll(tail, "a.", ""), "h.", ""))
		pages = []string{strings.Join(pages[:len(pages)-1], " UNION ALL ") + pages[len(pages)-1]}
	}
	// Each joined row is looked up: a database might read all of them otherwise.
	return Statement{columns + "(" + strings.Join(pages, " UNION ALL ") + ") AS " + alias + " " + r.c.JoinOne(joined, on) + " WHERE true" + r.where + tail, args}
}

// FindAgents implements store.Store.
func (c *Core) FindAgents(ctx context.Context, q store.AgentQuery) (page store.AgentPage, err error) {
	if q.Order != "" && !slices.Contains(store.AgentOrders, q.Order) {
		return page, fmt.Errorf("%w: no order of agents is %q", store.ErrInvalid, q.Order)
	}
	if q.Attention != "" && q.Attention != store.AttentionAny && !slices.Contains(store.Attentions(), q.Attention) {
		return page, fmt.Errorf("%w: nothing that needs attention is %q", store.ErrInvalid, q.Attention)
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		page = store.AgentPage{}
		return c.findAgents(ctx, tx, &q, &page)
	})
	if err != nil {
		return store.AgentPage{}, fmt.Errorf("list agents: %w", err)
	}
	return page, nil
}

func (c *Core) findAgents(ctx context.Context, tx Tx, q *store.AgentQuery, page *store.AgentPage) error {
	r := &agentRead{c: c, q: q}
	var err error
	if r.live, r.dead, err = c.readHubs(ctx, tx); err != nil {
		return err
	}
	if err := r.conditions(); err != nil {
		return err
	}
	after, last := q.After, store.AgentPlace{}
	for i, p := range r.parts() {
		if after != nil && after.Part > i || p.hubs != nil && len(p.hubs) == 0 {
			continue
		}
		if after != nil && after.Part < i {
			after = nil
		}
		rest := 0
		if q.Limit > 0 {
			rest = q.Limit + 1 - len(page.Agents) // one more shows whether there is another page
		}
		s := r.statement(&p, after, rest)
		err := each(ctx, tx, s.SQL, s.Args, func(rows Rows) error {
			place := store.AgentPlace{Part: i}
			a, err := c.scanAgent(rows, r.live, &place.Number, &place.Text, &place.Name)
			place.ID = a.ID
			if q.Limit > 0 && len(page.Agents) == q.Limit {
				page.Next = &last
				return err
			}
			last = place
			page.Agents = append(page.Agents, a)
			return err
		})
		if err != nil {
			return err
		}
		if page.Next != nil {
			break
		}
	}
	if page.Total = len(page.Agents); page.Next != nil || q.After != nil {
		counted := "SELECT count(*) FROM (SELECT 1 FROM agents a JOIN heads h ON h.agent_id = a.id WHERE true" + r.where + fmt.Sprintf(" LIMIT %d) AS counted", store.MaxCount)
		if q.Attention == "" {
			counted = strings.Replace(counted, " JOIN heads h ON h.agent_id = a.id", "", 1)
		}
		if err := one(ctx, tx, counted, r.args, &page.Total); err != nil {
			return err
		}
	}
	return c.readNotHeard(ctx, tx, page.Agents, r.live)
}

// readNotHeard completes agents.
func (c *Core) readNotHeard(ctx context.Context, tx Tx, agents []store.AgentInfo, live []string) error {
	counts := make(map[string]int)
	err := each(ctx, tx, "SELECT agent_id, sum(not_heard) FROM contested WHERE not_heard > 0 AND hub IN "+list(live...)+" GROUP BY agent_id", nil, func(rows Rows) error {
		var id string
		var n int
		err := rows.Scan(&id, &n)
		counts[id] = n
		return err
	})
	for i := range agents {
		agents[i].NotHeard = counts[agents[i].ID]
	}
	return err
}

// Plans returns the statements that FindAgents runs for a page's agents.
func (c *Core) Plans(ctx context.Context, q store.AgentQuery) (list []Statement, err error) {
	err = c.Database.Read(ctx, func(tx Tx) (err error) {
		r := &agentRead{c: c, q: &q}
		if r.live, r.dead, err = c.readHubs(ctx, tx); err != nil {
			return err
		}
		list = nil
		if err = r.conditions(); err == nil {
			for i, p := range r.parts() {
				if p.hubs != nil && len(p.hubs) == 0 || q.After != nil && q.After.Part > i {
					continue
				}
				after := q.After
				if after != nil && after.Part < i {
					after = nil
				}
				list = append(list, r.statement(&p, after, q.Limit+1))
			}
		}
		return err
	})
	return list, err
}
