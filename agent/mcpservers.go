package agent

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/agentapi/status"
	"waymark/host"
	"waymark/host/config"
	"waymark/plugins/conventions"
	shapes "waymark/plugins/mcpconfig/servers"
	"waymark/snapshot"
	"waymark/wire/approval"
	"waymark/workspace/launch"
	"waymark/workspace/mcp"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

// servers are the agent's MCP servers, and the store that decides which may run.
type servers struct {
	*mcp.Service
	trust     *trust.Store
	log       *slog.Logger
	workspace *workspace
	memory    *configMemory
	any       atomic.Bool // a configuration file was found
	clients   atomic.Bool // servers in other clients' files are connected, too
}

// Discovery implements host.Provider. It is complete from the start if no file could have
// servers to connect, so that such a workspace needs only one snapshot.
func (s *servers) Discovery() snapshot.Discovery {
	if !s.any.Load() && !s.workspace.mayHaveServers(s.clients.Load()) {
		return snapshot.Discovery{Phase: snapshot.PhaseComplete}
	}
	return s.Service.Discovery()
}

// mayHaveServers reports whether there is a file whose servers would be connected.
func (w *workspace) mayHaveServers(clients bool) bool {
	list := w.mcpPlaces()
	if clients {
		list = append(list, w.clientPlaces()...)
	}
	return slices.ContainsFunc(list, func(p mcpPlace) bool {
		_, err := os.Stat(p.path)
		return err == nil
	})
}

// clientPlaces are the paths of other clients' files in the workspace's root.
func (w *workspace) clientPlaces() (list []mcpPlace) {
	root := w.resolvedRoot()
	if root == "" {
		return nil
	}
	for place := range projectMCPFiles {
		if !strings.Contains(place, "*") {
			list = append(list, mcpPlace{path: filepath.Join(root, place), origin: entry.OriginClient})
		}
	}
	return list
}

// projectMCPFiles yields the places where clients keep a project's servers.
func projectMCPFiles(yield func(place string) bool) {
	for i := range conventions.All {
		c := &conventions.All[i]
		if c.Kind != abi.KindMCPConfig || c.Scope != conventions.ScopeProject {
			continue
		}
		for _, place := range c.Places {
			if !yield(place) {
				return
			}
		}
	}
}

// mcpPlace is the path of a file whose servers are connected.
type mcpPlace struct {
	path   string
	origin entry.Origin
	leads  string // the path without links; set by mcpPlacesNow
}

// mcpPlacesNow returns those of mcpPlaces that exist.
func (w *workspace) mcpPlacesNow() (list []mcpPlace) {
	for _, p := range w.mcpPlaces() {
		var err error
		if p.leads, err = filepath.EvalSymlinks(p.path); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// mcpPlaces returns the paths in order of precedence: those of the environment, in its
// order, and the workspace's own.
func (w *workspace) mcpPlaces() (list []mcpPlace) {
	w.mu.Lock()
	root := w.root
	w.mu.Unlock()
	for _, path := range w.bound(root, w.env.mcpFiles) {
		list = append(list, mcpPlace{path: path, origin: entry.OriginEnvironment}, mcpPlace{path: filepath.Join(path, mcpFileName), origin: entry.OriginEnvironment})
	}
	if root != "" {
		list = append(list, mcpPlace{path: filepath.Join(root, mcpFileName), origin: entry.OriginWorkspace})
	}
	return list
}

// makeServers makes the MCP servers. If approvals can't be stored, it returns nil: the
// agent runs without MCP servers.
func (s *services) makeServers(c *config.MCP) *servers {
	made, err := s.openServers(c)
	if err != nil {
		s.d.log.Warn("no MCP server is started", slog.Any("error", err))
		return nil
	}
	return made
}

func (s *services) openServers(c *config.MCP) (*servers, error) {
	w := s.d.workspace
	own := w.places.State.In("mcp")
	dir := own.Path()
	if err := config.MakePrivate(dir); err != nil {
		return nil, err
	}
	key, err := ensureSecret(own.In("key"), "the key of approvals", s.d.log)
	if err != nil {
		return nil, err
	}
	store, err := trust.Open(trust.Options{Dir: dir, Key: []byte(key), Root: w.resolvedRoot, Agents: s.d.ids.list, Logger: s.d.log})
	if err != nil {
		return nil, err
	}
	service, err := mcp.New(mcp.Options{
		Settings: mcpSettings(c, w.paths), Root: w.resolvedRoot, Home: w.paths.Home,
		Places:   s.places,
		StateDir: filepath.Join(dir, "servers"), CacheDir: filepath.Join(dir, "caches"), KeyDir: w.paths.State.In("key").Path(),
		Supervisor: s.held, Trust: store, Alone: s.processes.Alone, Logger: s.d.log,
	})
	if err != nil {
		return nil, err
	}
	made := &servers{Service: service, log: s.d.log, trust: store, workspace: w, memory: newConfigMemory(dir, w, s.d.opts.Version+"\n"+s.d.stamp)}
	made.clients.Store(slices.Contains(c.From, config.FromClient))
	return made, nil
}

// Run runs the servers. While it runs, it is notified of changes of their files if the
// system allows that.
func (s *servers) Run(ctx context.Context) error {
	stop, err := s.trust.Listen()
	if err != nil {
		s.log.Info("changes of MCP servers' files are found every few seconds alone", slog.Any("error", err))
	} else {
		defer stop()
	}
	return s.Service.Run(ctx)
}

// configure applies the [mcp] table.
func (s *servers) configure(c *config.MCP) {
	if s != nil {
		s.memory.forget()
		s.clients.Store(slices.Contains(c.From, config.FromClient))
		s.SetSettings(mcpSettings(c, s.workspace.paths))
	}
}

func publicKeys(c *config.MCP) (list []ed25519.PublicKey) {
	for _, text := range c.Keys {
		if key, err := approval.ParsePublicKey(text); err == nil { // the configuration was checked before
			list = append(list, key)
		}
	}
	return list
}

// mcpSettings converts the [mcp] table for the service.
func mcpSettings(c *config.MCP, paths *config.Paths) mcp.Settings {
	s := mcp.Settings{
		Off: !c.Enabled, Trust: mcp.Trust(c.Trust), Unconfined: c.Confine == config.ConfineNone, RequireConfined: c.RequireConfined,
		Allow: c.Allow, Deny: c.Deny, HoldNewTools: c.NewTools == config.NewToolsHold, Approved: c.Approved, Keys: publicKeys(c),
		ConnectTimeout: c.ConnectTimeout, CallTimeout: c.CallTimeout, Idle: c.Idle,
		ServerTools: c.ServerTools, Tools: c.Tools, ServerBytes: int64(c.ServerBytes), Bytes: int64(c.Bytes),
		ResultBytes: int64(c.ResultBytes), ResultSpool: int64(c.ResultSpool), Disk: int64(c.Disk),
		Servers: map[string]mcp.ServerSettings{},
	}
	for _, origin := range c.From {
		s.From = append(s.From, entry.Origin(origin))
	}
	for name, server := range c.Servers {
		s.Servers[name] = mcp.ServerSettings{Off: server.Off, Widening: launch.Widening{
			Read: expanded(paths, server.Read), Write: expanded(paths, server.Write), Ports: server.Ports, Unix: server.Unix, Env: server.Env,
		}}
	}
	return s
}

// expanded replaces "~" in paths. Without a home directory, paths that need one are left
// out.
func expanded(paths *config.Paths, list []string) (full []string) {
	for _, path := range list {
		if path, err := paths.Expand(path); err == nil {
			full = append(full, path)
		}
	}
	return full
}

// followConfigs passes on the configuration files that are found, until ctx ends. It begins
// with the files of the last agent if they are unchanged, because a scan takes longer than
// listing the tools of the servers.
func (s *servers) followConfigs(ctx context.Context, d *Agent) error {
	var last []entry.File
	handed := false
	if d.opts.WaitFor == "" {
		if last = s.memory.recall(); len(last) > 0 && s.Preset(last) {
			s.any.Store(true)
			handed = true
		}
	}
	for version := uint64(0); ; {
		found, err := d.host.Wait(ctx, version)
		switch {
		case ctx.Err() != nil, errors.Is(err, host.ErrClosed):
			return nil //nolint:nilerr // that the agent ends is no failure
		case err != nil:
			return err
		}
		version = found.Version
		places := d.workspace.mcpPlacesNow()
		files := d.workspace.mcpFiles(found, places)
		if !handed || !slices.Equal(files, last) {
			if len(files) > 0 {
				s.any.Store(true)
			}
			s.SetFiles(files)
			last, handed = files, true
		}
		if err := s.memory.keep(files, places); err != nil {
			d.log.Warn("the next agent lists MCP servers later", slog.Any("error", err))
		}
	}
}

// mcpFiles returns the MCP configuration files of a snapshot in order of precedence: those
// of the environment, in its order; the workspace's .mcp.json; other clients' files in the
// workspace, by path; all others.
func (w *workspace) mcpFiles(s *snapshot.Snapshot, places []mcpPlace) []entry.File {
	known := map[string]entry.Origin{}
	rank := map[string]int{}
	for _, p := range places {
		if _, ok := known[p.leads]; !ok {
			known[p.leads], rank[p.leads] = p.origin, len(rank)
		}
	}
	var files []entry.File
	for i := range s.Resources {
		r := &s.Resources[i]
		if r.Kind != abi.KindMCPConfig || onlyListed(r) || ofPlugin(r.Convention) {
			continue
		}
		f := entry.File{Path: r.Source, Origin: w.mcpOrigin(r, known), Shape: mcpShape(r)}
		switch f.Hash = r.ContentHash.String(); r.Status {
		case snapshot.StatusOK:
		case snapshot.StatusInvalid:
			f.Problem = r.Error
		default:
			f.Problem = strings.TrimSpace(string(r.Status) + ": " + r.Error)
		}
		files = append(files, f)
	}
	at := func(f entry.File) int {
		n, ok := rank[f.Path]
		switch {
		case ok:
			return n
		case f.Origin == entry.OriginClient:
			return len(rank)
		}
		return len(rank) + 1
	}
	slices.SortStableFunc(files, func(a, b entry.File) int {
		if a.Origin == entry.OriginClient && b.Origin == entry.OriginClient {
			return cmp.Compare(a.Path, b.Path)
		}
		return at(a) - at(b)
	})
	return files
}

// onlyListed reports whether a file's servers are listed and never connected: servers of
// the user's own clients, which connect them themselves, and servers of projects within the
// workspace that nobody has opened.
func onlyListed(r *snapshot.Resource) bool {
	_, child := r.Attributes["directory"]
	return r.Scope == snapshot.ScopeUser || child
}

// ofPlugin reports whether a convention is for files of plugins. Their servers are listed
// and not started, because a plugin in the workspace needn't be enabled.
func ofPlugin(convention string) bool {
	return slices.ContainsFunc(conventions.All, func(c conventions.Convention) bool {
		return c.ID == convention && c.Scope == conventions.ScopePlugin
	})
}

// mcpShape returns the format of a file: that of the convention that found it, which a link
// may hide, or else that of its name.
func mcpShape(r *snapshot.Resource) shapes.Shape {
	own := shapes.ShapeOf(r.Source)
	i := slices.IndexFunc(conventions.All, func(c conventions.Convention) bool { return c.ID == r.Convention })
	if i < 0 {
		return own
	}
	places := conventions.All[i].Places
	if slices.ContainsFunc(places, func(place string) bool { return shapes.ShapeOf(place) == own }) {
		return own
	}
	return shapes.ShapeOf(places[0])
}

// mcpFileName is the name of the workspace's own file in a root.
const mcpFileName = ".mcp.json"

// mcpOrigin returns the origin of a file.
func (w *workspace) mcpOrigin(r *snapshot.Resource, known map[string]entry.Origin) entry.Origin {
	if origin, ok := known[r.Source]; ok {
		return origin
	}
	if root := w.resolvedRoot(); root != "" && r.SourcePath == "" {
		for place := range projectMCPFiles {
			rel, below := strings.CutPrefix(r.Source, strings.TrimSuffix(root, "/")+"/")
			if ok, _ := path.Match(place, rel); ok && below {
				return entry.OriginClient
			}
		}
	}
	if r.SourcePath == "" && w.paths.Home != "" {
		for _, dir := range []string{".waymark", ".coder"} {
			if own, err := filepath.EvalSymlinks(filepath.Join(w.paths.Home, dir)); err == nil && strings.HasPrefix(r.Source, own+"/") {
				return entry.OriginUser
			}
		}
	}
	return entry.OriginSource
}

// status returns the status of the servers.
func (s *servers) status() *status.MCP {
	if s == nil {
		return nil
	}
	all := s.Status()
	answer := &status.MCP{
		Phase: all.Phase, Outcomes: map[snapshot.Outcome]int{}, Waiting: []string{}, SignIn: []string{}, Failed: []string{}, Unconfined: []string{},
		Invalid: append([]agentapi.MCPInvalid{}, all.Invalid...),
	}
	for i := range all.Servers {
		server := &all.Servers[i]
		answer.Outcomes[server.Outcome]++
		answer.Tools += server.Tools
		answer.HeldTools += server.Held
		switch {
		case server.Outcome == snapshot.OutcomeNeedsApproval, server.Held > 0:
			answer.Waiting = append(answer.Waiting, server.Name)
		case server.Outcome == snapshot.OutcomeNeedsAuthorization:
			answer.SignIn = append(answer.SignIn, server.Name)
		case server.Outcome == snapshot.OutcomeFailed && !slices.Contains(all.Invalid, agentapi.MCPInvalid{Source: server.Source, Name: server.Name, Error: server.Error}):
			answer.Failed = append(answer.Failed, server.Name)
		}
		if Unconfined(server) {
			answer.Unconfined = append(answer.Unconfined, server.Name)
		}
	}
	return answer
}

// Unconfined reports whether a server runs without a profile, or would with the next call.
func Unconfined(s *agentapi.MCPServer) bool {
	runs := s.Outcome == snapshot.OutcomeConnected || s.Outcome == snapshot.OutcomeCached || s.Outcome == snapshot.OutcomePending
	return runs && s.Confined == "none"
}
