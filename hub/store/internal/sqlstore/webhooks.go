package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/hub/store"
	"waymark/snapshot"
)

const selectWebhooks = `SELECT w.id, w.name, w.url, w.secret, w.types, w.insecure, w.private, w.created_at, w.next_at, w.failures, w.last_error,
	  w.sent, w.sent_at, w.dropped, (SELECT count(*) FROM webhook_messages m WHERE m.webhook_id = w.id) FROM webhooks w `

func readWebhooks(ctx context.Context, tx Tx, where string, args ...any) (list []store.Webhook, err error) {
	err = each(ctx, tx, selectWebhooks+where, args, func(rows Rows) error {
		var w store.Webhook
		var types string
		var insecure, private int
		var created, next int64
		var sent *int64
		err := rows.Scan(&w.ID, &w.Name, &w.URL, &w.Secret, &types, &insecure, &private, &created, &next, &w.Failures, &w.LastError,
			&w.Sent, &sent, &w.Dropped, &w.Waiting)
		if err == nil {
			err = json.Unmarshal([]byte(types), &w.Types)
		}
		w.Insecure, w.Private = insecure != 0, private != 0
		w.CreatedAt, w.NextAt, w.SentAt = toTime(created), toTime(next), nullTime(sent)
		list = append(list, w)
		return err
	})
	return list, err
}

// CreateWebhook implements store.Webhooks.
func (c *Core) CreateWebhook(ctx context.Context, w store.NewWebhook) (store.Webhook, error) {
	if err := w.Check(); err != nil {
		return store.Webhook{}, fmt.Errorf("create webhook: %w", err)
	}
	if w.Types == nil {
		w.Types = []store.WebhookType{}
	}
	types, err := json.Marshal(w.Types)
	if err != nil {
		return store.Webhook{}, err
	}
	id, now := uuid.NewString(), c.Stamp()
	makes(ctx, id)
	var list []store.Webhook
	err = c.Database.Update(ctx, func(tx Tx) error {
		// Who has the row counts alone.
		if _, err := tx.Exec(ctx, "UPDATE webhook_turn SET at = at"); err != nil {
			return err
		}
		var others int
		if err := one(ctx, tx, "SELECT count(*) FROM webhooks WHERE id <> $1", []any{id}, &others); err != nil {
			return err
		}
		if others >= store.MaxWebhooks {
			return store.ErrTooManyWebhooks
		}
		_, err := tx.Exec(ctx, `INSERT INTO webhooks (id, name, url, secret, types, insecure, private, created_at, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (id) DO NOTHING`, // an earlier try may have been stored after all
			id, w.Name, w.URL, w.Secret, string(types), digit(w.Insecure), digit(w.Private), now)
		if err == nil {
			list, err = readWebhooks(ctx, tx, "WHERE w.id = $1", id)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		return store.Webhook{}, fmt.Errorf("create webhook: %w", err)
	}
	return list[0], nil
}

func digit(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// Webhooks implements store.Webhooks.
func (c *Core) Webhooks(ctx context.Context) (list []store.Webhook, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		list, err = readWebhooks(ctx, tx, "ORDER BY w.created_at, w.id")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return list, nil
}

// DeleteWebhook implements store.Webhooks.
func (c *Core) DeleteWebhook(ctx context.Context, id string) error {
	missing := &store.NotFoundError{What: "webhook", ID: id}
	if !store.Findable(id) {
		return missing
	}
	var found int64
	err := c.Database.Update(ctx, func(tx Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM webhooks WHERE id = $1", id)
		found = max(found, n) // an earlier try may have been stored after all
		if err == nil && found == 0 {
			err = missing
		}
		if err == nil { // the next first one is told what holds then
			_, err = tx.Exec(ctx, "DELETE FROM webhook_conditions WHERE NOT EXISTS (SELECT 1 FROM webhooks)")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// Notice implements store.Webhooks. All is one transaction: who gets the turn has the
// conditions and the rows of messages for itself until it has written them.
func (c *Core) Notice(ctx context.Context, o store.NoticeOptions) (messages int, err error) {
	now := c.Stamp()
	turn := now - store.WebhookTurn.Microseconds()
	due := false
	err = c.Database.Read(ctx, func(tx Tx) error {
		var n int
		err := one(ctx, tx, "SELECT count(*) FROM webhook_turn WHERE at <= $1 AND EXISTS (SELECT 1 FROM webhooks)", []any{turn}, &n)
		due = n > 0
		return err
	})
	if err != nil || !due {
		return 0, wrapNotice(err)
	}
	err = c.Database.Update(ctx, func(tx Tx) error {
		messages = 0
		n, err := tx.Exec(ctx, "UPDATE webhook_turn SET at = $1 WHERE at <= $2", now, turn)
		if err != nil || n == 0 {
			return err
		}
		hooks, err := readWebhooks(ctx, tx, "ORDER BY w.created_at, w.id")
		if err != nil {
			return err
		}
		for _, reason := range store.Attentions() {
			if o.SeenBefore.IsZero() && (reason == store.AttentionAway || reason == store.AttentionNeverConnected) {
				continue // it isn't known
			}
			holds, err := c.readConditions(ctx, tx, reason, o)
			if err != nil {
				return err
			}
			begun, over, err := c.begin(ctx, tx, reason, holds, now)
			if err != nil {
				return err
			}
			t := store.WebhookType(reason)
			for _, m := range []struct {
				t    store.WebhookType
				told []store.Told
			}{{t + store.WebhookResolved, over}, {t, begun}} {
				queued, err := queueMessage(ctx, tx, hooks, m.t, m.told, now)
				messages += queued
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, wrapNotice(err)
	}
	return messages, nil
}

func wrapNotice(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("look for what webhooks are told: %w", err)
}

// condition is what holds now, under a name that tells it from others of its type.
type condition struct {
	subject string
	store.Told
}

// readConditions lists what holds now.
func (c *Core) readConditions(ctx context.Context, tx Tx, reason store.Attention, o store.NoticeOptions) (list []condition, err error) {
	switch reason {
	case store.AttentionPlugins:
		return readFailing(ctx, tx)
	case store.AttentionPins:
		err = each(ctx, tx, `SELECT p.id, p.name, p.agent_id, coalesce(a.name, ''), p.revision, p.drifted_at, p.drift_revision
			FROM pins p LEFT JOIN agents a ON a.id = p.agent_id WHERE p.drifted_at IS NOT NULL ORDER BY p.drifted_at, p.id`, nil, func(rows Rows) error {
			var c condition
			var drifted int64
			err := rows.Scan(&c.PinID, &c.PinName, &c.AgentID, &c.AgentName, &c.Revision, &drifted, &c.DriftRevision)
			// A pin that was moved and has drifted anew is another thing to tell.
			c.subject, c.Since = fmt.Sprintf("%s/%d/%s", c.PinID, c.DriftRevision, c.AgentID), toTime(drifted)
			list = append(list, c)
			return err
		})
		return list, err
	}
	live, dead, err := c.readHubs(ctx, tx)
	if err != nil {
		return nil, err
	}
	since := "h.pushed_at"
	var args []any
	switch reason {
	case store.AttentionAway, store.AttentionNeverConnected:
		since, args = "coalesce(a.seen_at, a.created_at)", []any{o.SeenBefore.UnixMicro()}
	}
	err = each(ctx, tx, "SELECT a.id, a.name, "+since+" FROM agents a JOIN heads h ON h.agent_id = a.id WHERE "+strings.ReplaceAll(attention(live, dead)[reason], late, "$1")+" ORDER BY a.id", args, func(rows Rows) error {
		var c condition
		var since int64
		err := rows.Scan(&c.AgentID, &c.AgentName, &since)
		c.subject, c.Since = c.AgentID, toTime(since)
		list = append(list, c)
		return err
	})
	return list, err
}

func readFailing(ctx context.Context, tx Tx) (list []condition, err error) {
	err = each(ctx, tx, `SELECT a.id, a.name, s.received_at, s.failing, s.plugins FROM heads h
		JOIN agents a ON a.id = h.agent_id JOIN snapshots s ON s.revision = h.revision WHERE h.failing > 0 ORDER BY a.id`, nil, func(rows Rows) error {
		var c condition
		var received int64
		var text string
		if err := rows.Scan(&c.AgentID, &c.AgentName, &received, &c.Failing, &text); err != nil {
			return err
		}
		var plugins []snapshot.Plugin
		if err := json.Unmarshal([]byte(text), &plugins); err != nil {
			return err
		}
		var names []string
		for i := range plugins {
			if plugins[i].Failing() {
				names = append(names, plugins[i].Name)
			}
		}
		c.subject, c.Since, c.Plugins = c.AgentID, toTime(received), store.SomePlugins(names)
		list = append(list, c)
		return nil
	})
	return list, err
}

// begin writes down what holds and what does no more, and returns what wasn't told yet: what has
// begun, and what has been over for long enough.
func (c *Core) begin(ctx context.Context, tx Tx, reason store.Attention, holds []condition, now int64) (begun, resolved []store.Told, err error) {
	quiet, t := now-store.WebhookQuiet.Microseconds(), string(reason)
	cleared := make(map[string]bool) // of those that are written down
	err = each(ctx, tx, "SELECT subject, cleared_at FROM webhook_conditions WHERE type = $1 ORDER BY subject", []any{t}, func(rows Rows) error {
		var subject string
		var at *int64
		err := rows.Scan(&subject, &at)
		if at == nil || *at >= quiet {
			cleared[subject] = at != nil
			return err
		}
		told := store.Told{AgentID: subject, Since: nullTime(at)}
		if reason == store.AttentionPins {
			told.PinID, subject, _ = strings.Cut(subject, "/")
			_, told.AgentID, _ = strings.Cut(subject, "/")
		}
		resolved = append(resolved, told)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM webhook_conditions WHERE type = $1 AND cleared_at < $2", t, quiet); err != nil {
		return nil, nil, err
	}
	var added, again, over []string
	for _, condition := range holds {
		was, there := cleared[condition.subject]
		delete(cleared, condition.subject)
		switch {
		case !there:
			added = append(added, condition.subject)
			begun = append(begun, condition.Told)
		case was:
			again = append(again, condition.subject)
		}
	}
	for subject, was := range cleared {
		if !was {
			over = append(over, subject)
		}
	}
	for _, change := range []struct {
		query    string
		subjects []string
		args     []any
	}{
		{"INSERT INTO webhook_conditions (subject, type) SELECT x.*, CAST($2 AS TEXT) FROM (" + c.TextList + ") AS x", added, []any{t}},
		{"UPDATE webhook_conditions SET cleared_at = NULL WHERE type = $2 AND subject IN (" + c.TextList + ")", again, []any{t}},
		{"UPDATE webhook_conditions SET cleared_at = $3 WHERE type = $2 AND subject IN (" + c.TextList + ")", over, []any{t, now}},
	} {
		if len(change.subjects) == 0 {
			continue
		}
		list, err := c.textList(change.subjects)
		if err != nil {
			return nil, nil, err
		}
		if _, err := tx.Exec(ctx, change.query, append([]any{list}, change.args...)...); err != nil {
			return nil, nil, err
		}
	}
	return begun, resolved, nil
}

// queueMessage puts a message into the rows of the webhooks that want it, if there is something
// to tell.
func queueMessage(ctx context.Context, tx Tx, hooks []store.Webhook, t store.WebhookType, told []store.Told, now int64) (queued int, err error) {
	if len(told) == 0 {
		return 0, nil
	}
	body, err := store.NewMessage(t, toTime(now), told)
	if err != nil {
		return 0, err
	}
	for i := range hooks {
		w := &hooks[i]
		if !w.Wants(t) {
			continue
		}
		if w.Waiting >= store.MaxMessages {
			_, err = tx.Exec(ctx, "UPDATE webhooks SET dropped = dropped + 1 WHERE id = $1", w.ID)
		} else {
			_, err = tx.Exec(ctx, "INSERT INTO webhook_messages (webhook_id, created_at, id, body) VALUES ($1, $2, $3, $4)",
				w.ID, now, "msg_"+uuid.NewString(), string(body))
			w.Waiting++
			queued++
		}
		if err != nil {
			return queued, err
		}
	}
	return queued, nil
}

// ClaimWebhook implements store.Webhooks.
func (c *Core) ClaimWebhook(ctx context.Context, lease time.Duration) (w store.Webhook, m store.Message, err error) {
	none := &store.NotFoundError{What: "webhook"}
	const due = "w.next_at <= $1 AND EXISTS (SELECT 1 FROM webhook_messages m WHERE m.webhook_id = w.id)"
	for range store.MaxWebhooks { // others may be faster
		now := c.Stamp()
		var id string
		err := c.Database.Read(ctx, func(tx Tx) error {
			return one(ctx, tx, "SELECT w.id FROM webhooks w WHERE "+due+" ORDER BY w.next_at, w.id LIMIT 1", []any{now}, &id)
		})
		if errors.Is(err, errNoRow) {
			break
		}
		if err != nil {
			return store.Webhook{}, store.Message{}, fmt.Errorf("claim webhook: %w", err)
		}
		err = c.Database.Update(ctx, func(tx Tx) error {
			n, err := tx.Exec(ctx, "UPDATE webhooks SET next_at = $2 WHERE id = $3 AND next_at <= $1", now, now+lease.Microseconds(), id)
			if err == nil && n == 0 {
				err = none
			}
			if err != nil {
				return err
			}
			var created int64
			var body string
			err = one(ctx, tx, "SELECT id, body, created_at FROM webhook_messages WHERE webhook_id = $1 ORDER BY created_at, id LIMIT 1",
				[]any{id}, &m.ID, &body, &created)
			if errors.Is(err, errNoRow) {
				return none
			}
			if err != nil {
				return err
			}
			m.Body, m.CreatedAt = []byte(body), toTime(created)
			list, err := readWebhooks(ctx, tx, "WHERE w.id = $1", id)
			if err == nil && len(list) == 1 {
				w = list[0]
			}
			return err
		})
		if !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return store.Webhook{}, store.Message{}, fmt.Errorf("claim webhook: %w", err)
			}
			return w, m, nil
		}
	}
	return store.Webhook{}, store.Message{}, none
}

// FinishMessage implements store.Webhooks.
func (c *Core) FinishMessage(ctx context.Context, w *store.Webhook, m *store.Message, r store.MessageResult) (mine bool, err error) {
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		n, err := tx.Exec(ctx, `UPDATE webhooks SET next_at = $3, last_error = $4,
			failures = CASE WHEN $5 = 1 THEN 0 ELSE failures + 1 END, sent = sent + $5, dropped = dropped + $6,
			sent_at = CASE WHEN $5 = 1 THEN $7 ELSE sent_at END WHERE id = $1 AND next_at = $2`,
			w.ID, w.NextAt.UnixMicro(), r.Next.UnixMicro(), r.Error, digit(r.Delivered), digit(r.Drop), now)
		mine = n > 0
		if err != nil || !mine || !r.Delivered && !r.Drop {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM webhook_messages WHERE webhook_id = $1 AND id = $2", w.ID, m.ID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("finish message: %w", err)
	}
	return mine, nil
}
