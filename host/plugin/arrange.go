package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"waymark/host/plugin/approvals"
	"waymark/host/resolve"
	"waymark/internal/defaults"
	"waymark/internal/errtext"
	"waymark/snapshot"
)

// maxEntries bounds how many entries are kept apart within one rank.
const maxEntries = 1 << 10

// refusal is why a version isn't used, or not yet.
type refusal struct {
	state snapshot.PluginState
	text  string
	waits *approvals.Pending
}

// arrange builds the list of modules: the built-in one, then the files in order. Of several
// modules with one name it uses the first. Of a file it uses the newest version, or else the
// previous one. A version that isn't known to work counts as compiling, unless untested
// versions are wanted, too.
func (c *Catalog) arrange(config *Config, untested bool) []*row {
	var list []*row
	a := arranger{c, config, untested, map[string]string{}}
	add := func(p *row) {
		if p.handle != nil {
			a.names[p.state.Name] = p.state.Path
		}
		list = append(list, p)
	}
	if c.builtin != nil {
		add(c.builtin)
	}
	for _, dir := range c.store.dirs {
		if dir.err != nil {
			add(rejected(dir.path, dir.err))
		}
		for _, f := range dir.files {
			if f.newest != nil {
				add(a.choose(f))
			}
		}
	}
	for _, f := range c.store.vanished {
		if f.used == nil {
			continue // another file has replaced it
		}
		if p, _ := a.use(f, f.used); p != nil {
			add(p)
		}
	}
	return list
}

// arranger makes rows one after the other.
type arranger struct {
	catalog  *Catalog
	config   *Config
	untested bool              // include versions that weren't tried yet
	names    map[string]string // by module name, the path of the file that has it
}

// choose makes the row of a file.
func (a *arranger) choose(f *file) *row {
	p, no := a.use(f, f.newest)
	if p != nil {
		return p
	}
	var untrusted untrustedError
	if f.used != nil && f.used != f.newest && !errors.As(f.newest.err, &untrusted) {
		if p, _ := a.use(f, f.used); p != nil {
			no.report(p, f)
			return p
		}
	}
	p = &row{state: stateOf(f.path, f.newest), file: f, version: f.newest, waits: no.waits}
	p.state.State, p.state.Error = no.state, no.text
	return p
}

// report records in the row of the used version why the newer one isn't used.
func (no *refusal) report(p *row, f *file) {
	base, serves := filepath.Base(f.path), "version "+p.state.Version+" serves until "
	switch no.state {
	case snapshot.PluginCompiling:
		p.newerState = no.state
		p.newer = fmt.Sprintf("the new version of %s is being compiled; %sthen", base, serves)
	case snapshot.PluginNeedsApproval:
		p.newerState, p.waits = no.state, no.waits
		p.waits.ServingVersion, p.waits.ServingDigest = p.state.Version, p.state.Digest
		p.newer = fmt.Sprintf("the new version of %s waits: %s; %sthen", base, no.text, serves)
	default:
		p.newer = fmt.Sprintf("the new version of %s is not used: %s; %sthe file is mended", base, no.text, serves)
	}
}

// use makes the row of a version, or returns why it isn't used.
func (a *arranger) use(f *file, v *version) (*row, *refusal) {
	switch {
	case v.err != nil:
		return nil, unusable(v.said())
	case a.catalog.opts.Running.Quarantined(v.digest) != "":
		return nil, unusable(quarantinedError(a.catalog.opts.Running.Quarantined(v.digest)))
	case v.desc == nil:
		return nil, v.inWork()
	case a.names[v.desc.Name] != "":
		return nil, &refusal{state: snapshot.PluginRejected, text: taken(v.desc.Name, a.names[v.desc.Name])}
	}
	entry, position := a.config.entry(v.desc.Name)
	m := moduleOf(f, v, &entry)
	if !f.named || m.Pin != "" {
		if verdict := a.catalog.approvals.Judge(m); !verdict.OK {
			return nil, waiting(m, v, verdict)
		}
	}
	if !v.ok && !a.untested {
		return nil, v.inWork()
	}
	p := &row{state: stateOf(f.path, v), file: f, version: v, handle: a.catalog.handleFor(a.config, f, v)}
	rank := cmp.Or(max(entry.Rank, 0), defaults.Rank)
	rank = rank*maxEntries + min(position, maxEntries-1) // equal ranks in order of the configuration
	for _, info := range v.desc.Resolvers {
		p.resolvers = append(p.resolvers, resolve.Resolver{
			Module: p.handle.module(), Info: info, Config: entry.Config[info.Name],
			Narrow: entry.Reads, GrantSecrets: entry.GrantSecrets, Rank: rank, DropIn: true,
			Limits: entry.FileLimits, Conventions: a.config.Conventions.table(),
		})
	}
	return p, nil
}

// unusable returns the refusal of a version that can't be used.
func unusable(err error) *refusal {
	no := &refusal{state: snapshot.PluginRejected, text: errtext.Of(err)}
	var quarantined quarantinedError
	if errors.As(err, &quarantined) {
		no.state = snapshot.PluginQuarantined
	}
	return no
}

// inWork returns the refusal of a version that is still being tried.
func (v *version) inWork() *refusal {
	if v.was != nil { // a retry, which is no news
		return &refusal{state: snapshot.PluginRejected, text: errtext.Of(v.was)}
	}
	return &refusal{state: snapshot.PluginCompiling}
}

// moduleOf returns a version in the form that approvals are given for.
func moduleOf(f *file, v *version, entry *Entry) *approvals.Module {
	return &approvals.Module{
		Name: v.desc.Name, Path: f.path, Digest: v.digest, Reads: approvals.ReadsOf(v.desc),
		Grants: entry.GrantSecrets, Pin: entry.SHA256,
	}
}

// waiting returns the refusal of a version that waits for an approval.
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

// stateOf returns the displayed state of a version in a file.
func stateOf(path string, v *version) snapshot.Plugin {
	p := snapshot.Plugin{Path: path, Digest: v.digest, State: snapshot.PluginReady, Resolvers: []string{}}
	if v.desc == nil {
		p.Digest = ""
		return p
	}
	p.Name, p.Version = v.desc.Name, v.desc.Version
	for _, r := range v.desc.Resolvers {
		p.Resolvers = append(p.Resolvers, r.Name)
	}
	return p
}

// rejected returns the row of a place that can't be used.
func rejected(path string, err error) *row {
	return &row{state: snapshot.Plugin{Path: path, State: snapshot.PluginRejected, Error: errtext.Of(err), Resolvers: []string{}}}
}

// taken returns the reason for a module whose name another file has.
func taken(name, by string) string {
	return fmt.Sprintf("the name %q is taken by %s: rename the module or remove one file", name, by)
}
