package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// health asks the database whether it can write, on a connection of its own: those of the
// pool are waited for when there is much to do, and a hub isn't ill because it is busy.
type health struct {
	mu     sync.Mutex // guards the rest, and is held while the database is asked
	conn   *pgx.Conn  // nil: none
	closed bool
}

// Writable implements store.Store.
func (db *DB) Writable(ctx context.Context) error {
	h := &db.health
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.ask(ctx, db.bus.config)
	if err != nil {
		h.drop()
		return fmt.Errorf("write: %w", clarify(err))
	}
	return nil
}

// ask tries a known connection, and a new one if that is broken.
func (h *health) ask(ctx context.Context, config *pgx.ConnConfig) error {
	if h.conn != nil {
		_, err := h.conn.Exec(ctx, sqlstore.Touch)
		if err == nil || !h.conn.IsClosed() || ctx.Err() != nil {
			return err
		}
	}
	if h.closed {
		return store.ErrClosed
	}
	conn, err := connect(ctx, config)
	if err != nil {
		return err
	}
	h.conn = conn
	_, err = conn.Exec(ctx, sqlstore.Touch)
	return err
}

func (h *health) drop() {
	if h.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
		defer cancel()
		_ = h.conn.Close(ctx)
		h.conn = nil
	}
}

func (h *health) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.drop()
}
