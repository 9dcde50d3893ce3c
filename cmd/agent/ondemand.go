package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"waymark/agentapi/client"
	"waymark/host/config"
)

// endIdle is how long an agent that was started on demand outlives its last client.
const endIdle = 10 * time.Minute

// lacksAgent returns the top of the repository for which an agent is to be started: none runs
// for it, or only that of the home directory, whose tools would reach too far.
func (d *mcpDialer) lacksAgent(c *connection, t *target, err error) string {
	if !d.start || !c.unnamed() || os.Getenv("WAYMARK_SOCKET") != "" {
		return ""
	}
	home, _ := os.UserHomeDir()
	if resolved, err := config.Resolved(home); err == nil {
		home = resolved
	}
	if err == nil && (t.instance == nil || t.instance.Root != home) || err != nil && !errors.Is(err, client.ErrNotRunning) {
		return ""
	}
	dir, err := config.Resolved(cmp.Or(c.dir, workingDir()))
	if err != nil {
		return ""
	}
	if project := workspaceOf(dir); project != "." && project != home && project != "/" {
		return project
	}
	return ""
}

// startOnDemand starts an agent for a repository, and waits until it answers. Another one that
// is started at the same time is as good.
func startOnDemand(ctx context.Context, c *connection, project string) (*target, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	place, err := paths.Workspace(project)
	if err != nil {
		return nil, err
	}
	program, err := ownPath()
	if err != nil {
		return nil, err
	}
	if err := config.MakePrivate(place.State.Path()); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(place.State.In("on-demand.log").Path(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(program, "run", "--end-idle", endIdle.String(), project) //nolint:gosec,noctx // this program; it outlives the client
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		t, err := c.find(nobody)
		if err == nil && t.instance != nil && t.instance.Root == project {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		case err := <-ended:
			if t, found := c.find(nobody); found == nil && t.instance != nil && t.instance.Root == project {
				return t, nil
			}
			return nil, fmt.Errorf("%w: the one started for %s ended: %w: see %s", client.ErrNotRunning, project, err, log.Name())
		}
	}
}
