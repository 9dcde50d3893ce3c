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
	// maxBatch and maxBatchBytes limit what one transaction stores: the next writer, of
	// this process or another, waits for all of it.
	maxBatch      = 64
	maxBatchBytes = 8 << 20
)

// job is one change of the database.
type job struct {
	// bytes is roughly how much it writes; 0 for little.
	bytes int64
	// run makes the change, and may be called again after its transaction was rolled back.
	run func(context.Context, *transaction) error
	// committed is called once the change is stored, before anything else runs. It may be
	// nil.
	committed func()

	// ctx is the waiting caller's. answered is closed once err is the result.
	ctx      context.Context
	answered chan struct{}
	err      error
	// panicked is the value that run panicked with, or nil.
	panicked any
}

// try runs the job. A panic is passed to the caller that asked for the change, so that it
// doesn't end the process.
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

// batches puts changes that are requested at the same time into one transaction, because a
// commit costs as much as a small change. Each is made completely or not at all, and no
// caller is answered before the commit. A failed change may be half written, so then the
// transaction is rolled back and each change gets its own. This is rare, and saves a
// savepoint for every change.
type batches struct {
	db *DB

	mu      sync.Mutex // guards the rest
	waiting []*job
	running bool // a goroutine makes the waiting changes
	closed  bool
	runs    sync.WaitGroup
}

// do makes a change. If ctx ends before the change starts, it isn't made. A started one
// takes milliseconds, and do waits for its result. It panics if run does.
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

// leave removes a job that still waits, and reports whether it did.
func (b *batches) leave(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, j)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}

// more reports whether jobs wait. If not, the calling goroutine must end.
func (b *batches) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = len(b.waiting) > 0
	return b.running
}

// close waits for running changes, and refuses later ones.
func (b *batches) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.runs.Wait()
}

// known returns the waiting jobs.
func (b *batches) known() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waiting)
}

// take takes the first waiting jobs.
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

// batch makes some of the waiting changes. It takes them only with the database's lock
// held, because jobs may arrive and leave while it waits for another process.
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

// errAlone says that a job failed, and that the others must be made without it.
var errAlone = errors.New("a change of several has failed")

// run makes the changes in a transaction. An error means that it must not be committed.
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

// alone makes one change in its own transaction.
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

// isFull reports whether a transaction ran out of space. It certainly wasn't committed, and
// a smaller one may succeed.
func isFull(err error) bool {
	var se *driver.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_FULL
}

// begin begins a write transaction. Its statements get a context that never ends: a
// transaction takes milliseconds, and watching a context for each statement costs as much
// as some of them.
func (db *DB) begin() (*transaction, error) {
	tx, err := db.write.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, clarify(err)
	}
	return &transaction{tx: tx, known: db.written}, nil
}

// end commits after success, and otherwise rolls back.
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
