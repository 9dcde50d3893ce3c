package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/hub/store"
)

const (
	// maxBatch and maxBatchBytes bound what is stored in one transaction: who comes
	// behind it, of this process or another one, waits for all of it.
	maxBatch      = 64
	maxBatchBytes = 8 << 20
)

// job is one change of the database.
type job struct {
	// bytes is about what it writes; 0 for little.
	bytes int64
	// run makes the change, and may be called again after its transaction was
	// rolled back.
	run func(context.Context, *transaction) error
	// committed is called once it is stored, before anything else is run; nil: nothing.
	committed func()

	// ctx is that of who waits for it. answered is closed once err is what became of it.
	ctx      context.Context
	answered chan struct{}
	err      error
	// panicked is what run has panicked with; nil: it hasn't.
	panicked any
}

// try runs the job. A panic is for who has asked for the change, and not for all of
// the process.
func (j *job) try(tx *transaction) (err error) {
	defer func() {
		if j.panicked = recover(); j.panicked != nil {
			j.panicked = fmt.Sprintf("%v\n%s", j.panicked, debug.Stack())
			err = errPanicked
		}
	}()
	return j.run(context.Background(), tx)
}

var errPanicked = errors.New("a panic")

// batches makes changes that are asked for at the same time in one transaction,
// since a commit costs as much as a small change. Each of them is made as a whole or
// not at all, and nobody is answered before the commit. One that fails may have
// written half: then the transaction is rolled back, and each is made in one of its
// own. That is rare, so that no change has to pay for a savepoint.
type batches struct {
	db *DB

	mu      sync.Mutex // guards the rest
	waiting []*job
	running bool // a goroutine makes what is waiting
	closed  bool
	runs    sync.WaitGroup
}

// do makes a change. When ctx ends before it is begun, it isn't made; what is begun
// takes milliseconds, and do waits for how it ends. It panics if run does.
func (b *batches) do(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.ctx, j.answered = ctx, make(chan struct{})
	if err := b.add(j); err != nil {
		return err
	}
	select {
	case <-j.answered:
	case <-ctx.Done():
		if b.leave(j) {
			return ctx.Err()
		}
		<-j.answered
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

func (b *batches) add(j *job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return store.ErrClosed
	}
	b.waiting = append(b.waiting, j)
	if !b.running {
		b.running = true
		b.runs.Go(func() {
			for b.more() {
				b.batch()
			}
		})
	}
	return nil
}

// leave reports whether the job was still waiting, and takes it away.
func (b *batches) leave(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, j)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}

// more reports whether something waits; else the goroutine that asks is at its end.
func (b *batches) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = len(b.waiting) > 0
	return b.running
}

// close waits for what is under way. What comes later is refused.
func (b *batches) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.runs.Wait()
}

// known returns what waits now.
func (b *batches) known() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waiting)
}

// take takes the first jobs that wait.
func (b *batches) take() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, bytes := 0, int64(0)
	for n < min(len(b.waiting), maxBatch) && (n == 0 || bytes+b.waiting[n].bytes <= maxBatchBytes) {
		bytes += b.waiting[n].bytes
		n++
	}
	list := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return list
}

// batch makes some of what waits. Only who has the database's lock knows what that
// is: others may come while it waits for another process, and go.
func (b *batches) batch() {
	known := b.known()
	tx, err := b.db.begin()
	if err != nil {
		for _, j := range known {
			if b.leave(j) {
				j.err = err
				j.answer()
			}
		}
		return
	}
	list := b.take()
	err = b.db.end(tx, b.run(tx, list))
	if len(list) > 1 && (errors.Is(err, errAlone) || isFull(err)) {
		for _, j := range list {
			if j.err = j.ctx.Err(); j.err == nil {
				j.err = b.alone(j)
			}
			j.answer()
		}
		list = nil
	}
	for _, j := range list {
		if err != nil && (j.err == nil || len(list) == 1) { // it was not committed
			j.err = err
		}
		j.answer()
	}
	b.db.written.learn(context.Background())
	b.db.fold.committed()
}

// errAlone says that a job has failed, and that the others have to be made without
// it.
var errAlone = errors.New("a change of several has failed")

// run makes the changes in a transaction. An error asks for its end without a commit.
func (b *batches) run(tx *transaction, list []*job) error {
	for _, j := range list {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		j.err = j.try(tx)
		switch {
		case j.err == nil || unwritten(j.err):
		case len(list) == 1:
			return j.err
		default:
			return errAlone
		}
	}
	return nil
}

// alone makes one change in a transaction of its own.
func (b *batches) alone(j *job) error {
	tx, err := b.db.begin()
	if err != nil {
		return err
	}
	return b.db.end(tx, j.try(tx))
}

func (j *job) answer() {
	if j.err == nil && j.committed != nil {
		j.committed()
	}
	close(j.answered)
}

// refusal is an error of a job that has written nothing.
type refusal struct{ err error }

func (e refusal) Error() string { return e.err.Error() }
func (e refusal) Unwrap() error { return e.err }

func unwritten(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// isFull reports whether a transaction had no room, which is sure not to have been
// committed: a smaller one may have.
func isFull(err error) bool {
	var se *driver.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_FULL
}

// begin begins a write transaction. Its statements get a context that doesn't end: a
// transaction takes milliseconds, and to watch over each of its statements costs as
// much as some of them do.
func (db *DB) begin() (*transaction, error) {
	tx, err := db.write.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, clarify(err)
	}
	return &transaction{tx: tx, known: db.written}, nil
}

// end commits what went well, and rolls back what didn't.
func (db *DB) end(t *transaction, err error) error {
	if err != nil {
		return errors.Join(clarify(err), rollback(t.tx))
	}
	return clarify(t.tx.Commit())
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}
