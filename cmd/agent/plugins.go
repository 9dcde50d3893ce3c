package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"waymark/agent/server"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

// retryPlugins lets failed plugins run again, and prints the result.
func (a *app) retryPlugins(ctx context.Context, c client.Client, asJSON bool) error {
	if err := c.RetryPlugins(ctx); err != nil {
		return err
	}
	s, err := c.Resync(ctx)
	if problem.CodeOf(err) == http.StatusConflict { // they run with the first snapshot, which is held back
		plugins, failed := c.Plugins(ctx)
		if failed != nil {
			return failed
		}
		return errors.Join(a.printPlugins(plugins, asJSON), fmt.Errorf("nothing was run: %w", server.ErrHeld))
	}
	if err != nil {
		return err
	}
	if err := a.printPlugins(s.Plugins, asJSON); err != nil {
		return err
	}
	return unusable(s.Plugins)
}

func (a *app) printPlugins(all []snapshot.Plugin, asJSON bool) error {
	if asJSON {
		return cli.JSON(a.stdout, snapshot.Plugins(all))
	}
	return printPluginTable(a.stdout, all)
}
