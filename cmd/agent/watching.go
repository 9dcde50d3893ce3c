package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"waymark/host/api/client"
	"waymark/snapshot"
)

// watch prints the newest snapshot and then what changes, until ctx ends.
func (a *app) watch(ctx context.Context, c client.Client, asJSON bool) error {
	w := watching{app: a, out: changePrinter{w: a.stdout, asJSON: asJSON, base: here()}}
	for s, err := range c.Watch(ctx, 0) {
		w.failed = err
		if err != nil {
			s = nil
		}
		if err := w.step(s); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted, which is how this ends
	}
	return w.failed
}

// watching is what has been seen so far.
type watching struct {
	app    *app
	out    changePrinter
	last   *snapshot.Snapshot // nil before the first
	failed error              // why the agent doesn't answer, if so
	lost   bool
}

// step prints what a new snapshot changes; nil says that the agent is lost.
func (w *watching) step(s *snapshot.Snapshot) error {
	now := time.Now()
	switch {
	case s == nil && w.last == nil:
		return nil // perhaps it was never there: the end of the watch says why
	case s == nil:
		w.lost = true
		return w.out.put(change{Time: now, Event: eventLost, Version: w.last.Version, Detail: w.failed.Error()})
	case w.last == nil:
		w.last = s
		return w.first(s, now)
	}
	var list []change
	if w.lost {
		list = append(list, change{Time: now, Event: eventBack, Version: s.Version})
	}
	list = append(list, changes(w.last, s, now)...)
	w.last, w.lost = s, false
	return w.out.put(list...)
}

func (w *watching) first(s *snapshot.Snapshot, now time.Time) error {
	if w.out.asJSON {
		return w.out.put(change{Time: now, Event: eventSnapshot, Version: s.Version, Snapshot: s})
	}
	if err := w.app.printNewest(s, w.out.base); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w.out.w, "watching for changes, until interrupted")
	return err
}

// here is the working directory, to shorten paths by.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
