package host

import (
	"cmp"
	"errors"
	"fmt"

	"waymark/host/plugin/approvals"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// use makes the row of a version, or says why it isn't used.
func (a *arranger) use(f *pluginFile, v *version) (*plugin, *refusal) {
	switch {
	case v.err != nil:
		return nil, unusable(v.err)
	case a.opts.Running.Quarantined(v.digest) != "":
		return nil, unusable(quarantinedError(a.opts.Running.Quarantined(v.digest)))
	case v.desc == nil:
		return nil, v.inWork()
	case a.names[v.desc.Name] != "":
		return nil, &refusal{state: snapshot.PluginRejected, text: isTaken(v.desc.Name, a.names[v.desc.Name])}
	}
	entry, position := a.opts.entry(v.desc.Name)
	m := moduleOf(f, v, &entry)
	if !f.named || m.Pin != "" {
		if verdict := a.host.approvals.Judge(m); !verdict.OK {
			return nil, waiting(m, v, verdict)
		}
	}
	if !v.ok && !a.hopeful {
		return nil, v.inWork()
	}
	p := &plugin{state: stateOf(f.path, v), file: f, version: v, module: a.host.handleFor(a.opts, f, v)}
	rank := cmp.Or(max(entry.Rank, 0), DefaultRank)
	rank = rank*maxPlugins + min(position, maxPlugins-1) // equal ranks in order of the configuration
	for _, info := range v.desc.Resolvers {
		p.resolvers = append(p.resolvers, resolve.Resolver{
			Module: p.module.name(), Info: info, Config: entry.Config[info.Name],
			Narrow: entry.Reads, GrantSecrets: entry.GrantSecrets, Rank: rank, DropIn: true,
			Limits: entry.FileLimits,
		})
	}
	return p, nil
}

// unusable is what is said of a version that can't be used.
func unusable(err error) *refusal {
	no := &refusal{state: snapshot.PluginRejected, text: err.Error()}
	var quarantined quarantinedError
	if errors.As(err, &quarantined) {
		no.state = snapshot.PluginQuarantined
	}
	return no
}

// inWork is what is said of a version while it is tried.
func (v *version) inWork() *refusal {
	if v.was != nil { // again, which is no news
		return &refusal{state: snapshot.PluginRejected, text: v.was.Error()}
	}
	return &refusal{state: snapshot.PluginCompiling}
}

// moduleOf is a version as approvals are given for it.
func moduleOf(f *pluginFile, v *version, entry *PluginOptions) *approvals.Module {
	return &approvals.Module{
		Name: v.desc.Name, Path: f.path, Digest: v.digest, Reads: approvals.ReadsOf(v.desc),
		Grants: entry.GrantSecrets, Pin: entry.SHA256,
	}
}

func waiting(m *approvals.Module, v *version, verdict approvals.Verdict) *refusal {
	return &refusal{
		state: snapshot.PluginNeedsApproval,
		text:  fmt.Sprintf("%s: check it, then run 'agent plugins approve %s'", verdict.Reason, m.Name),
		waits: &approvals.Pending{
			Name: m.Name, Version: v.desc.Version, Path: m.Path, Digest: m.Digest, Reason: verdict.Reason,
			NewReads: approvals.Texts(verdict.NewReads), Reads: approvals.Texts(m.Reads),
			GrantSecrets: append([]string{}, m.Grants...),
		},
	}
}
