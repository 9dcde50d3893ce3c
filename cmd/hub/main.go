// Command hub is Waymark's control plane: it takes the context snapshots that
// agents push, keeps the newest of each, and shows them through an HTTP API.
//
// hub serve runs it, hub token makes the tokens that agents and readers need;
// hub help says more. Logs go to stderr, stdout carries only what was asked
// for. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no (not found).
//
// All work is in package hub; here is only the command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2) // the second may come before the first is seen
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for _, end := range []func(os.Signal){func(os.Signal) { cancel() }, die} {
			select {
			case s := <-signals:
				end(s)
			case <-done:
				return
			}
		}
	}()
	return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// die ends the process as the signal would have without us, at once: whoever
// sends a second one doesn't want to wait for what is under way.
func die(s os.Signal) {
	signal.Reset(s)
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), number)
	}
}
