package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waymark/cmd/harness/internal/source"
	"waymark/cmd/harness/internal/toolchain"
	"waymark/host/watch"
)

// buildEvent is one build.
type buildEvent struct {
	file string
	size int64
	took time.Duration
	err  error
}

func (w *watching) build(ctx context.Context) buildEvent {
	start := time.Now()
	file, err := toolchain.Build(ctx, w.dir, toolchain.Options{Offline: w.settings.offline})
	b := buildEvent{file: file, took: time.Since(start), err: err}
	if info, err := os.Stat(file); b.err == nil && err == nil {
		b.size = info.Size()
	}
	return b
}

// module returns the module to watch. Source is checked for what building it
// again and again won't mend.
func (w *watching) module(ctx context.Context, what string) (string, error) {
	info, err := os.Stat(what)
	if err != nil || !info.IsDir() {
		return what, moduleThere(what)
	}
	w.dir = what
	if _, err := toolchain.Detect(what); err != nil {
		return "", err
	}
	if w.src, err = source.Watch(what, watch.Options{}); err != nil {
		return "", err
	}
	if err := w.src.Next(ctx); err != nil { // what is built first
		return "", err
	}
	file, err := toolchain.Output(what)
	if err != nil {
		return "", err
	}
	first := w.build(ctx)
	var missing *toolchain.MissingError
	if errors.As(first.err, &missing) {
		return "", fmt.Errorf("nothing was built: %w", first.err)
	}
	return file, w.printer.build(&first)
}

// rebuild builds whenever the source has changed. The host sees the new module
// by itself.
func (w *watching) rebuild(ctx context.Context) error {
	for {
		if err := w.src.Next(ctx); err != nil {
			return ended(ctx, err)
		}
		b := w.build(ctx)
		select {
		case w.builds <- b:
		case <-ctx.Done():
			return nil
		}
	}
}
