package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync"
)

// maxStatements limits the prepared statements. Their texts are constants, of which there
// are fewer.
const maxStatements = 200

// statements prepares a pool's statements, because parsing one takes longer than running
// it. A pool with one connection can't prepare a statement during a transaction, so those
// that a transaction runs are prepared for the next one.
type statements struct {
	pool *sql.DB

	mu     sync.Mutex // guards the rest
	byText map[string]*sql.Stmt
	asked  []string // texts that aren't prepared yet
}

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, byText: make(map[string]*sql.Stmt)}
}

// get returns the statement, or nil if it isn't prepared yet.
func (s *statements) get(text string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	stmt := s.byText[text]
	if stmt == nil && len(s.byText)+len(s.asked) < maxStatements && !slices.Contains(s.asked, text) {
		s.asked = append(s.asked, text)
	}
	return stmt
}

// learn prepares the requested statements. The caller has no transaction open, and it waits
// for a connection. A statement that can't be prepared runs unprepared, and is requested
// again.
func (s *statements) learn(ctx context.Context) {
	s.mu.Lock()
	texts := s.asked
	s.asked = nil
	s.mu.Unlock()
	for _, text := range texts {
		stmt, err := s.pool.PrepareContext(ctx, text) //nolint:sqlclosecheck // the pool's end is its
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.byText[text] == nil {
			s.byText[text], stmt = stmt, nil
		}
		s.mu.Unlock()
		if stmt != nil { // another goroutine was faster
			_ = stmt.Close()
		}
	}
}

// transaction runs statements in a transaction, prepared where possible. Its own statements
// end with it.
type transaction struct {
	tx    *sql.Tx
	known *statements
	own   map[string]*sql.Stmt // of this transaction
}

// in returns the transaction's version of the statement, or nil if it isn't prepared.
func (t *transaction) in(ctx context.Context, query string) *sql.Stmt {
	if stmt := t.own[query]; stmt != nil {
		return stmt
	}
	stmt := t.known.get(query)
	if stmt == nil {
		return nil
	}
	if t.own == nil {
		t.own = make(map[string]*sql.Stmt)
	}
	stmt = t.tx.StmtContext(ctx, stmt)
	t.own[query] = stmt
	return stmt
}

func (t *transaction) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := t.in(ctx, query); stmt != nil { //nolint:sqlclosecheck // it ends with the transaction
		return stmt.QueryContext(ctx, args...)
	}
	return t.tx.QueryContext(ctx, query, args...)
}

func (t *transaction) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := t.in(ctx, query); stmt != nil { //nolint:sqlclosecheck // it ends with the transaction
		return stmt.QueryRowContext(ctx, args...)
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := t.in(ctx, query); stmt != nil { //nolint:sqlclosecheck // it ends with the transaction
		return stmt.ExecContext(ctx, args...)
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// reader runs statements outside a transaction, prepared where possible.
type reader struct{ known *statements }

func (r reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := r.known.get(query); stmt != nil { //nolint:sqlclosecheck // it is the pool's
		return stmt.QueryContext(ctx, args...)
	}
	return r.known.pool.QueryContext(ctx, query, args...)
}

func (r reader) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return r.known.pool.ExecContext(ctx, query, args...)
}
