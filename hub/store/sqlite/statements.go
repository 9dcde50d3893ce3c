package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync"
)

// maxStatements bounds what is prepared. Texts of statements are constants, of which
// there are fewer.
const maxStatements = 200

// statements has the statements of a pool prepared, since parsing one takes longer
// than running it. A pool that has one connection can't prepare one while that is
// in a transaction: what a transaction runs is learned for the next one.
type statements struct {
	pool *sql.DB

	mu     sync.Mutex // guards the rest
	byText map[string]*sql.Stmt
	asked  []string // texts that aren't prepared yet
}

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, byText: make(map[string]*sql.Stmt)}
}

// get returns the statement; nil when it isn't prepared yet.
func (s *statements) get(text string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	stmt := s.byText[text]
	if stmt == nil && len(s.byText)+len(s.asked) < maxStatements && !slices.Contains(s.asked, text) {
		s.asked = append(s.asked, text)
	}
	return stmt
}

// learn prepares what has been asked for. It is called while its caller has no
// transaction open, and waits for a connection; what can't be prepared is run as it
// is, and asked for again.
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
		if stmt != nil { // somebody was faster
			_ = stmt.Close()
		}
	}
}

// transaction runs statements in one, those that are prepared as such. What it makes
// of these ends with it.
type transaction struct {
	tx    *sql.Tx
	known *statements
	own   map[string]*sql.Stmt // of this transaction
}

// in returns the statement as one of the transaction; nil when it isn't prepared.
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

// reader runs statements outside of a transaction, those that are prepared as such.
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
