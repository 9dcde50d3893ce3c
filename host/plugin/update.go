package plugin

import (
	"context"
	"time"

	"waymark/internal/errtext"
)

// Check makes Run look at the module files, at once or after its current work.
func (c *Catalog) Check() {
	c.check.Set()
}

// Run keeps the list in step with the module files, until ctx or life ends. It does nothing
// before the first Load.
func (c *Catalog) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.check:
		case <-timer.C:
		}
		var next time.Time // when to look again even without an event
		err := c.turn.Do(ctx, func(ctx context.Context) (err error) {
			next, err = c.update(ctx, false)
			return err
		})
		if err != nil {
			return err
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// update applies the settled changes of the module files, from the first stat to loading the
// last module. It returns when to look again even without an event. The caller holds c.turn.
func (c *Catalog) update(ctx context.Context, atOnce bool) (next time.Time, err error) {
	if !c.loaded {
		return next, nil // Load is going to look at them
	}
	defer c.releaseHeld()
	if err := c.retryBuiltin(ctx); err != nil {
		return next, err
	}
	v := c.survey(&c.config, atOnce)
	for _, f := range v.due {
		f.take(v.now, atOnce)
		c.recognize(f.newest)
		v.schedule(f.verify)
		v.schedule(f.retry)
		if !f.took {
			v.schedule(v.now.Add(c.opts.Settle))
		}
	}
	c.publishChanged(c.arrange(&c.config, false)) // show the modules that are about to compile
	if err := c.describeAll(ctx, &c.config); err != nil {
		return v.next, err
	}
	rows, err := c.arrangeReady(ctx, &c.config, func(*row) bool { return true }, true)
	if err != nil {
		return v.next, err
	}
	c.publishChanged(rows)
	for _, f := range v.due {
		v.schedule(f.retry)
	}
	c.saveApprovals()
	return v.next, nil
}

// saveApprovals saves the approvals of what is in use. It logs a failure once.
func (c *Catalog) saveApprovals() {
	text := ""
	if err := c.approvals.Save(); err != nil {
		text = errtext.Of(err)
	}
	if text != "" && text != c.unsaved {
		c.log.Warn(text)
	}
	c.unsaved = text
}

// Retry ends all quarantines, including those of earlier processes, and tries modules again
// that couldn't be used for a temporary reason.
func (c *Catalog) Retry(ctx context.Context) error {
	if err := c.opts.Running.Release(); err != nil {
		return err
	}
	defer c.Check() // the times of later looks may have changed
	return c.updateNow(ctx, true)
}

// updateNow is an update in addition to those of Run.
func (c *Catalog) updateNow(ctx context.Context, atOnce bool) error {
	return c.turn.Do(ctx, func(ctx context.Context) error {
		_, err := c.update(ctx, atOnce)
		return err
	})
}
