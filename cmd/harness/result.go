package main

import (
	"time"

	"golang.org/x/sys/unix"

	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// result is what a run gave, as `harness run --json` prints it.
type result struct {
	Module    snapshot.Plugin    `json:"module"`
	Root      string             `json:"root"`
	Hash      snapshot.Hash      `json:"aggregate_hash"`
	Resources snapshot.Resources `json:"resources"`
	Resolvers []resolverResult   `json:"resolvers"`
	// LeftOut tells of finds that aren't in Resources, or not whole.
	LeftOut []leftOut `json:"left_out"`

	base string // the directory that paths are shown relative to
}

// resolverResult is what one resolver did.
type resolverResult struct {
	Resolver string `json:"resolver"` // "module/resolver"
	Error    string `json:"error"`
	Finds    int    `json:"finds"`

	Fuel       int64         `json:"fuel"`
	Duration   time.Duration `json:"duration_ns"`
	PeakMemory int64         `json:"peak_memory"` // bytes
	Opens      int           `json:"opens"`
	ReadBytes  int64         `json:"read_bytes"`
	Entries    int           `json:"entries"`

	Warnings    []string   `json:"warnings"`
	Denied      []denial   `json:"denied"`
	Logs        []logLine  `json:"logs"`
	LogsDropped int        `json:"logs_dropped"`
	Looked      []observed `json:"looked"`
	// Withheld counts what isn't among Looked because it could hold tokens.
	Withheld int     `json:"withheld"`
	Sees     visible `json:"sees"`
}

// visible is what a resolver may see of a root.
type visible struct {
	Reads        []string `json:"reads"`
	Narrow       []string `json:"narrow,omitempty"`
	GrantSecrets []string `json:"grant_secrets,omitempty"`
}

type denial struct {
	Path   string     `json:"path"`
	Target string     `json:"target,omitempty"` // where it leads, when that is why
	Reason vfs.Reason `json:"reason"`
}

type logLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// observed is one thing that a result depends on.
type observed struct {
	What   vfs.DepKind `json:"what"`
	Path   string      `json:"path"`
	Size   int64       `json:"size,omitempty"`
	Target string      `json:"target,omitempty"`
	Errno  string      `json:"errno,omitempty"`
}

type leftOut struct {
	ID     string          `json:"id"`
	Path   string          `json:"path"`
	Reason snapshot.Reason `json:"reason"`
	Detail string          `json:"detail"`
}

// result gathers what a refresh tells.
func (e *engine) result(report *host.Report) *result {
	r := &result{
		Module: e.module, Hash: report.Snapshot.AggregateHash, Resources: report.Snapshot.Resources,
		Resolvers: make([]resolverResult, 0, len(report.Outcomes)), LeftOut: []leftOut{},
	}
	for _, p := range e.Status().Plugins { // its state may have changed since
		r.Module = p
	}
	for _, root := range e.Status().Roots {
		r.Root = root
	}
	for i := range report.Outcomes {
		r.base = report.Outcomes[i].Root
		r.Resolvers = append(r.Resolvers, resolverOf(&report.Outcomes[i]))
	}
	for _, n := range report.Notes {
		r.LeftOut = append(r.LeftOut, leftOut{ID: n.ID, Path: n.Path, Reason: n.Reason, Detail: n.Detail})
	}
	return r
}

func resolverOf(o *resolve.Outcome) resolverResult {
	r := resolverResult{
		Resolver: o.Resolver, Finds: len(o.Candidates), Fuel: o.Fuel, Duration: o.Duration, PeakMemory: o.Memory,
		Opens: o.Used.Opens, ReadBytes: o.Used.ReadBytes, Entries: o.Used.Entries,
		Warnings: append([]string{}, o.Warnings...), Denied: []denial{}, Logs: []logLine{}, LogsDropped: o.LogsDropped,
		Looked: []observed{},
		Sees:   visible{Reads: append([]string{}, o.View.Reads...), Narrow: o.View.Narrow, GrantSecrets: o.View.GrantSecrets},
	}
	if o.Err != nil {
		r.Error = o.Err.Error()
	}
	for _, d := range o.Denied {
		r.Denied = append(r.Denied, denial(d))
	}
	for _, l := range o.Logs {
		r.Logs = append(r.Logs, logLine(l))
	}
	var deps []vfs.Dep
	deps, r.Withheld = o.Observed()
	for i := range deps {
		r.Looked = append(r.Looked, observedOf(&deps[i]))
	}
	return r
}

func observedOf(d *vfs.Dep) observed {
	o := observed{What: d.Kind, Path: d.Path, Target: d.Target}
	if d.Kind == vfs.DepRead && d.Errno == 0 {
		o.Size = max(d.Size, 0)
	}
	if d.Errno != 0 {
		o.Errno = unix.ErrnoName(d.Errno)
	}
	return o
}

// failed is the error of a run in which a resolver failed. The reasons have
// been printed.
func (r *result) failed() error {
	for i := range r.Resolvers {
		if r.Resolvers[i].Error != "" {
			return said(cli.CodeFailed)
		}
	}
	return nil
}
