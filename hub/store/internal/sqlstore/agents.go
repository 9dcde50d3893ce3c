package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/internal/text"
	"waymark/snapshot"
)

// scanAgent reads agentColumns, and then the given values. live are the hubs with a lease.
func (c *Core) scanAgent(rows Rows, live []string, more ...any) (a store.AgentInfo, err error) {
	var created, version, pushed int64
	var seen *int64
	var labels, summary, hub string
	var hash []byte
	err = rows.Scan(append([]any{&a.ID, &a.Name, &created, &version, &hash, &a.Resources, &a.Revision, &pushed, &summary,
		&a.Hostname, &a.Root, &a.AgentVersion, &labels, &seen, &a.FailingPlugins, &a.SnapshotError, &a.DriftedPins, &a.InvalidResources, &hub}, more...)...)
	if err != nil {
		return a, err // no value of the row is set
	}
	a.CreatedAt, a.SeenAt, a.Connected = toTime(created), nullTime(seen), slices.Contains(live, hub)
	if pushed > 0 {
		a.UpdatedAt = toTime(pushed)
	}
	if a.SeenAt.Before(a.UpdatedAt) {
		a.SeenAt = a.UpdatedAt
	}
	if labels != "{}" {
		err = json.Unmarshal([]byte(labels), &a.Labels)
	}
	a.Version, a.AggregateHash = uint64(version), toHash(hash) //nolint:gosec // >= 0 by CHECK
	a.Discovery.Phase = snapshot.PhasePending                  // until there is a snapshot
	if summary != "" {
		err = errors.Join(err, json.Unmarshal([]byte(summary), &a.Discovery))
	}
	return a, err
}

// Agents implements store.Store.
func (c *Core) Agents(ctx context.Context) ([]store.AgentInfo, error) {
	page, err := c.FindAgents(ctx, store.AgentQuery{})
	return page.Agents, err
}

// readAgents reads agents that a condition selects, in any order.
func (c *Core) readAgents(ctx context.Context, where string, args ...any) (agents []store.AgentInfo, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		agents = nil
		live, _, err := c.readHubs(ctx, tx)
		if err != nil {
			return err
		}
		err = each(ctx, tx, "SELECT "+agentColumns+" FROM agents a JOIN heads h ON h.agent_id = a.id WHERE "+where, args, func(rows Rows) error {
			a, err := c.scanAgent(rows, live)
			agents = append(agents, a)
			return err
		})
		if err != nil || len(agents) == 0 {
			return err
		}
		return c.readNotHeard(ctx, tx, agents, live)
	})
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return agents, nil
}

// MovedAgents implements store.Store.
func (c *Core) MovedAgents(ctx context.Context, within time.Duration) ([]store.AgentInfo, error) {
	return c.readAgents(ctx, "a.hub IN (SELECT id FROM hubs UNION ALL SELECT '"+away+"') AND a.seen_at >= $1", c.Stamp()-within.Microseconds())
}

// CountAgents implements store.Store.
func (c *Core) CountAgents(ctx context.Context) (n store.AgentCounts, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		live, dead, err := c.readHubs(ctx, tx)
		if err != nil {
			return err
		}
		n.Attention = make(map[store.Attention]int)
		has := attention(live, dead)
		query, all := "SELECT (SELECT count(*) FROM agents), (SELECT count(*) FROM agents WHERE hub IN "+list(live...)+"), (SELECT count(*) FROM agents WHERE hub = '')", store.Attentions()
		counts := make([]int, len(all))
		into := []any{&n.Agents, &n.Connected, &n.NeverSeen}
		for i, reason := range all {
			table := "agents a"
			if strings.HasPrefix(has[reason], "h.") {
				table = "heads h"
			}
			query += ", (SELECT count(*) FROM " + table + " WHERE " + strings.ReplaceAll(has[reason], late, "$1") + ")"
			into = append(into, &counts[i])
		}
		err = one(ctx, tx, query, []any{c.Stamp() - store.AttentionAfter.Microseconds()}, into...)
		for i, reason := range all {
			if counts[i] > 0 {
				n.Attention[reason] = counts[i]
			}
		}
		return err
	})
	if err != nil {
		return store.AgentCounts{}, fmt.Errorf("count agents: %w", err)
	}
	return n, nil
}

// Agent implements store.Store.
func (c *Core) Agent(ctx context.Context, id string) (store.AgentInfo, error) {
	var found []store.AgentInfo
	var err error
	if store.Findable(id) {
		found, err = c.readAgents(ctx, "a.id = $1", id)
	}
	switch {
	case err != nil:
		return store.AgentInfo{}, err
	case len(found) == 0:
		return store.AgentInfo{}, &store.NotFoundError{What: "agent", ID: id}
	}
	return found[0], nil
}

// describeSome bounds how many agents' locks a transaction takes.
const describeSome = 64

// described is a row of Core.SaidList.
type described struct {
	ID           string `json:"id"`
	Hostname     string `json:"hostname"`
	HostnameKey  string `json:"hostname_key"`
	Root         string `json:"root"`
	RootKey      string `json:"root_key"`
	AgentVersion string `json:"agent_version"`
	VersionKey   string `json:"version_key"`
	About        string `json:"about"`
}

// describe returns the row of an agent that has this name and these labels.
func describe(id, name string, d store.AgentDescription, labels store.Labels) described {
	return described{
		id, d.Hostname, text.NaturalKey(strings.ToLower(d.Hostname)), d.Root, text.NaturalKey(d.Root), d.AgentVersion, text.NaturalKey(d.AgentVersion),
		strings.ToLower(strings.Join([]string{id, name, d.Hostname, d.Root, d.AgentVersion, labels.String()}, "\n")),
	}
}

// DescribeAgents implements store.Store. It is a few statements for all, because nobody can push
// for these agents meanwhile.
func (c *Core) DescribeAgents(ctx context.Context, said map[string]store.AgentDescription) error {
	for _, d := range said {
		if err := d.Check(); err != nil {
			return err
		}
	}
	for ids := range slices.Chunk(slices.Collect(maps.Keys(said)), describeSome) {
		asked, err := c.textList(ids)
		if err != nil {
			return err
		}
		err = c.Database.Update(ctx, func(tx Tx) error {
			if err := c.LockAgents(ctx, tx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !store.Findable(id) })...); err != nil {
				return err
			}
			var rows []described
			err := each(ctx, tx, "SELECT id, name, labels FROM agents WHERE id IN ("+c.TextList+")", []any{asked}, func(found Rows) error {
				var id, name, labels string
				var has store.Labels
				err := found.Scan(&id, &name, &labels)
				if err == nil {
					err = json.Unmarshal([]byte(labels), &has)
				}
				rows = append(rows, describe(id, name, said[id], has))
				return err
			})
			if err != nil {
				return err
			}
			list, err := json.Marshal(rows)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE agents SET hostname = s.hostname, hostname_key = s.hostname_key, root = s.root, root_key = s.root_key,
				agent_version = s.agent_version, version_key = s.version_key, about = s.about FROM (`+c.SaidList+`) AS s WHERE agents.id = s.id`, string(list))
			return err
		})
		if err != nil {
			return fmt.Errorf("describe agents: %w", err)
		}
	}
	return nil
}

// RenameAgent implements store.Store.
func (c *Core) RenameAgent(ctx context.Context, id, name string) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	return c.changeAgent(ctx, id, func(tx Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE agents SET name = $2 WHERE id = $1", id, name); err != nil {
			return err
		}
		return indexAgent(ctx, tx, id)
	})
}

// LabelAgent implements store.Store.
func (c *Core) LabelAgent(ctx context.Context, id string, set store.Labels, remove []string) (labels store.Labels, err error) {
	err = c.changeAgent(ctx, id, func(tx Tx) error {
		var before string
		if err := one(ctx, tx, "SELECT labels FROM agents WHERE id = $1", []any{id}, &before); err != nil {
			return err
		}
		labels = make(store.Labels)
		if err := json.Unmarshal([]byte(before), &labels); err != nil {
			return err
		}
		maps.Copy(labels, set)
		for _, key := range remove {
			delete(labels, key)
		}
		if err := labels.Check(); err != nil {
			return err
		}
		after, err := json.Marshal(labels)
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, "UPDATE agents SET labels = $2 WHERE id = $1", id, string(after)); err != nil {
			return err
		}
		return indexAgent(ctx, tx, id)
	})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

// indexAgent sets what an agent is ordered and found by, after a change of what it is called,
// where it is, or its labels.
func indexAgent(ctx context.Context, tx Tx, id string) error {
	var name, labels string
	var d store.AgentDescription
	err := one(ctx, tx, "SELECT name, hostname, root, agent_version, labels FROM agents WHERE id = $1", []any{id}, &name, &d.Hostname, &d.Root, &d.AgentVersion, &labels)
	if err != nil {
		return err
	}
	var has store.Labels
	if err := json.Unmarshal([]byte(labels), &has); err != nil {
		return err
	}
	key := text.NaturalKey(strings.ToLower(cmp.Or(strings.TrimSpace(name), id)))
	keys := describe(id, name, d, has)
	for _, s := range []Statement{
		{`UPDATE agents SET name_key = $2, hostname_key = $3, root_key = $4, version_key = $5, labels_key = $6, about = $7 WHERE id = $1`,
			[]any{id, key, keys.HostnameKey, keys.RootKey, keys.VersionKey, text.NaturalKey(has.String()), keys.About}},
		{"INSERT INTO heads (agent_id, name_key) VALUES ($1, $2) ON CONFLICT (agent_id) DO UPDATE SET name_key = excluded.name_key", []any{id, key}},
		{countDrifted, []any{id}}, // an agent of the same id may have been removed
		{"DELETE FROM agent_labels WHERE agent_id = $1", []any{id}},
	} {
		if _, err := tx.Exec(ctx, s.SQL, s.Args...); err != nil {
			return err
		}
	}
	for name, value := range has {
		if _, err := tx.Exec(ctx, "INSERT INTO agent_labels (name, value, agent_id) VALUES ($1, $2, $3)", name, value, id); err != nil {
			return err
		}
	}
	return nil
}

// Labeled implements store.Store.
func (c *Core) Labeled(ctx context.Context, labels store.Labels) (ids []string, err error) {
	page, err := c.FindAgents(ctx, store.AgentQuery{Labels: labels})
	for i := range page.Agents {
		ids = append(ids, page.Agents[i].ID)
	}
	return ids, err
}

// changeAgent runs f in a transaction that holds the agent's lock.
func (c *Core) changeAgent(ctx context.Context, id string, f func(Tx) error) error {
	if !store.Findable(id) {
		return &store.NotFoundError{What: "agent", ID: id}
	}
	err := c.Database.Update(ctx, func(tx Tx) error {
		exists, err := c.lockAgent(ctx, tx, id)
		if err == nil && !exists {
			err = &store.NotFoundError{What: "agent", ID: id}
		}
		if err != nil {
			return err
		}
		return f(tx)
	})
	if err != nil {
		return fmt.Errorf("change agent: %w", err)
	}
	return nil
}

// checkAgent returns a *store.NotFoundError if the agent doesn't exist.
func checkAgent(ctx context.Context, tx Tx, id string) error {
	var found string
	err := one(ctx, tx, "SELECT id FROM agents WHERE id = $1", []any{id}, &found)
	if errors.Is(err, errNoRow) {
		return &store.NotFoundError{What: "agent", ID: id}
	}
	return err
}

// toHash returns nil for an empty hash.
func toHash(b []byte) snapshot.Hash {
	if len(b) == 0 {
		return nil
	}
	return b
}
