package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"waymark/agent/server"
	"waymark/agentapi/status"
	"waymark/host"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/errtext"
	"waymark/snapshot"
)

// The methods in this file implement server.Backend.

// Status returns the agent's status.
func (d *Agent) Status() status.Status {
	h := d.host.Status()
	current := d.host.Current()
	s := status.Status{
		PID: os.Getpid(), AgentVersion: d.opts.Version,
		StartedAt: d.started, UptimeSeconds: time.Since(d.started).Seconds(),
		Roots: h.Roots, Version: current.Version, Resources: len(current.Resources), Discovery: current.Discovery, SnapshotError: current.SnapshotError,
		Push: h.Push, Plugins: h.Plugins, Held: h.Held, ConfigError: d.configErrorNow(),
		Watch: status.Watch{Mode: h.Watch.Mode, Directories: h.Watch.Dirs, Silent: h.Watch.Silent, Error: h.Watch.Error},
	}
	for _, r := range h.Refused {
		s.Refused = append(s.Refused, status.RefusedRoot{Path: r.Path, Error: errtext.Of(r.Err)})
	}
	for _, c := range h.Children {
		s.Children = append(s.Children, status.Children{Root: c.Root, Names: append([]string{}, c.Names...), More: c.More, Unasked: c.Unasked})
	}
	s.Workspace = d.workspace.places.ID
	s.Services, s.MCP = d.services.status(), d.services.servers.status()
	if d.hub != nil {
		s.Hub, s.HubHolder = d.hub.URL(), d.hub.Holds()
	}
	return s
}

// Current returns the newest snapshot.
func (d *Agent) Current() *snapshot.Snapshot { return d.host.Current() }

// Wait blocks until there is a snapshot newer than after, and returns it.
func (d *Agent) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	s, err := d.host.Wait(ctx, after)
	return s, d.ending(err)
}

// Resync returns a snapshot that contains every change made before the call.
func (d *Agent) Resync(ctx context.Context) (*snapshot.Snapshot, error) {
	report, err := d.host.Refresh(ctx)
	if err != nil {
		return nil, d.ending(err)
	}
	return report.Snapshot, nil
}

// SkillFiles lists the files of a skill.
func (d *Agent) SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error) {
	files, omitted, err := d.host.SkillFiles(ctx, id)
	if err != nil {
		return nil, d.ending(noSkill(err))
	}
	list := &status.SkillFiles{ID: id, Files: make([]status.SkillFile, len(files)), Omitted: omitted}
	for i := range files {
		list.Files[i] = status.SkillFile{Path: files[i].Path, SizeBytes: files[i].Size, Digest: "sha256:" + files[i].Hash.String()}
	}
	return list, nil
}

// SkillFile reads a file of a skill.
func (d *Agent) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	body, err := d.host.SkillFile(ctx, id, file)
	return body, d.ending(noSkill(err))
}

// noSkill turns host.ErrNoSkill into a 404.
func noSkill(err error) error {
	if errors.Is(err, host.ErrNoSkill) {
		return &server.Error{Code: http.StatusNotFound, Message: "no such file of a skill", Detail: errtext.Of(err), See: "GET /api/v0/context/snapshot"}
	}
	return err
}

// Body returns the text of a resource.
func (d *Agent) Body(ctx context.Context, id string) ([]byte, error) {
	body, err := d.host.Body(ctx, id)
	return body, d.ending(err)
}

// Why explains how a file was treated.
func (d *Agent) Why(ctx context.Context, path string) (why.Answer, error) {
	answer, err := d.host.Why(ctx, path)
	return answer, d.ending(err)
}

// For returns the context that applies to a file.
func (d *Agent) For(ctx context.Context, path string) (*applicability.Answer, error) {
	answer, err := d.host.For(ctx, path)
	return answer, d.ending(err)
}

// ClientContext returns what a client sees when it is started in dir.
func (d *Agent) ClientContext(ctx context.Context, client *codingagents.Client, dir string) (*codingagents.View, error) {
	view, err := d.host.ClientContext(ctx, client, dir)
	return view, d.ending(err)
}

// CompareClients returns what clients see when they are started in dir, side by side.
func (d *Agent) CompareClients(ctx context.Context, clients []*codingagents.Client, dir string) (*codingagents.Comparison, error) {
	c, err := d.host.CompareClients(ctx, clients, dir)
	return c, d.ending(err)
}

// ForClient returns what a client reads for a file.
func (d *Agent) ForClient(ctx context.Context, client *codingagents.Client, path string) (*applicability.Answer, error) {
	answer, err := d.host.ForClient(ctx, client, path)
	return answer, d.ending(err)
}

// WhyClient explains how a coding agent treats files.
func (d *Agent) WhyClient(ctx context.Context, client *codingagents.Client, paths ...string) ([]codingagents.Verdict, error) {
	verdicts, err := d.host.WhyClient(ctx, client, paths...)
	return verdicts, d.ending(err)
}

// Coverage lists files that lie where coding agents look for them, but that no resource was
// made of.
func (d *Agent) Coverage(ctx context.Context) (*why.Coverage, error) {
	report, err := d.host.Coverage(ctx)
	return report, d.ending(err)
}

// Sources lists the user's sources.
func (d *Agent) Sources() []sources.Source { return d.workspace.sources.All() }

// AddSource adds a source, and scans it before it returns.
func (d *Agent) AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error) {
	s, added, err := d.workspace.sources.Add(path, sources.AddOptions{Persist: persist})
	if err != nil {
		return s, added, err
	}
	return s, added, d.applyRoots(ctx)
}

// RemoveSource removes a source and what was found there.
func (d *Agent) RemoveSource(ctx context.Context, path string) error {
	if err := d.workspace.sources.Remove(path); err != nil {
		return err
	}
	return d.applyRoots(ctx)
}

// SetRoot makes a directory the working directory.
func (d *Agent) SetRoot(ctx context.Context, path string) error {
	if !filepath.IsAbs(path) {
		return &server.Error{Code: http.StatusBadRequest, Message: "the path is relative", Detail: "write an absolute path: the agent has another working directory"}
	}
	path = filepath.Clean(path)
	before, err := d.workspace.setRoot(path)
	if err != nil {
		return &server.Error{Code: http.StatusBadRequest, Message: "the root can't be used", Detail: err.Error()}
	}
	if err := d.host.SetRoots(ctx, d.workspace.specs()); err != nil {
		_, _ = d.workspace.setRoot(before) // it was accepted before
		if errors.Is(err, host.ErrRoot) {
			return &server.Error{Code: http.StatusBadRequest, Message: "the root can't be used", Detail: err.Error()}
		}
		return d.ending(err)
	}
	if err := d.claim.setRoot(path); err != nil {
		d.log.Warn("commands don't find this agent by its new root", slog.Any("error", err))
	}
	return d.fresh(ctx)
}

// Ready releases the first snapshot.
func (d *Agent) Ready(context.Context) error {
	d.host.Ready()
	return nil
}

// RetryPlugins ends all quarantines. If the first snapshot is still held back, it will
// include the result.
func (d *Agent) RetryPlugins(ctx context.Context) error {
	_, err := d.host.RetryPlugins(ctx)
	if errors.Is(err, host.ErrHeld) {
		return nil
	}
	return d.ending(err)
}

// WaitingPlugins lists the modules that wait for approval.
func (d *Agent) WaitingPlugins() []approvals.Pending { return d.host.WaitingPlugins() }

// ApprovePlugin lets a waiting module run.
func (d *Agent) ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	approved, err := d.host.Approve(ctx, name, digest)
	if errors.Is(err, plugin.ErrNotWaiting) {
		return nil, &server.Error{Code: http.StatusNotFound, Message: "the plugin was not approved", Detail: err.Error()}
	}
	return approved, d.ending(err)
}

// applyRoots applies the current list of roots.
func (d *Agent) applyRoots(ctx context.Context) error {
	if err := d.host.SetRoots(ctx, d.workspace.specs()); err != nil {
		return d.ending(err)
	}
	return d.fresh(ctx)
}

// fresh refreshes the snapshot. If the first one is still held back, it does nothing,
// because that one will include everything.
func (d *Agent) fresh(ctx context.Context) error {
	_, err := d.host.Refresh(ctx)
	if errors.Is(err, host.ErrHeld) {
		return nil
	}
	return d.ending(err)
}

// ending translates the engine's errors for stopping and for a held snapshot into the
// server's.
func (d *Agent) ending(err error) error {
	switch {
	case errors.Is(err, host.ErrClosed):
		return server.ErrStopping
	case errors.Is(err, host.ErrHeld):
		return server.ErrHeld
	}
	return err
}

// configErrorNow returns why the configuration on disk isn't in force.
func (d *Agent) configErrorNow() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.configError
}

func (d *Agent) setConfigError(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.configError = ""
	if err != nil {
		d.configError = errtext.Of(err)
	}
}
