package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/mcpserving"
	"waymark/snapshot"
	"waymark/workspace/mcpserver/tools"
)

// view is what a snapshot offers. It is immutable.
type view struct {
	skills       []skill
	instructions []instruction
	servers      []serving
	// without are the servers that the client starts itself.
	without []string
	// listed says that servers' tools are listed by their own names.
	listed bool
	// published says that the agent has looked at the workspace; until then, what is missing
	// here may be there.
	published bool

	resources map[string]*mcp.Resource // by URI
	prompts   map[string]*mcp.Prompt   // by name
	tools     map[string]string        // servers' tools, with what was published of each
}

// instruction is an instruction file that applies always or to some files.
type instruction struct {
	id, uri, source string
	name            string
	nested          bool // for the files of a directory
}

// serving is an MCP server of the workspace with callable tools.
type serving struct {
	name  string
	tools []string // names without the server's
}

// sync updates the view for a snapshot.
func (s *Server) sync(ctx context.Context, c client.Client, snap *snapshot.Snapshot) {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	old, _ := s.look()
	v := view{published: snap.Version > 0, resources: map[string]*mcp.Resource{}, prompts: map[string]*mcp.Prompt{}, tools: map[string]string{}}
	if !s.opts.NoSkills {
		v.skills = s.skillsOf(snap)
		for i := range v.skills {
			k := &v.skills[i]
			if k.base != "" {
				v.resources[k.uri()] = &mcp.Resource{URI: k.uri(), Name: k.name, Description: k.description, MIMEType: markdown}
			}
			if v.prompts[k.name] == nil {
				v.prompts[k.name] = promptOf(k)
			}
		}
	}
	if !s.opts.NoInstructions {
		v.instructions = s.instructionsOf(snap)
		for i := range v.instructions {
			f := &v.instructions[i]
			v.resources[f.uri] = &mcp.Resource{URI: f.uri, Name: f.name, Description: "Instructions of the workspace", MIMEType: markdown}
		}
	}
	var listed []agentapi.MCPTool
	if s.opts.Offer.Has(tools.CallTool) && !s.opts.NoServers {
		all, err := c.ListMCPTools(ctx, client.MCPToolOptions{})
		if err != nil { // the next snapshot will have them
			s.log.Debug("the tools of MCP servers aren't known", slog.Any("error", err))
			v.without, v.servers, v.listed, v.tools = old.without, old.servers, old.listed, old.tools
		} else {
			v.without = s.startedByClient(snap)
			all.Tools = slices.DeleteFunc(all.Tools, func(t agentapi.MCPTool) bool { return slices.Contains(v.without, t.ServerName) })
			v.servers = servingOf(all.Tools)
			if v.listed = s.opts.ListAll || tokensOf(all.Tools) <= ListedTools; v.listed {
				listed = all.Tools
			}
			for i := range listed {
				said, _ := json.Marshal(&listed[i]) // it was JSON before
				v.tools[listed[i].Name] = string(said)
			}
		}
	}
	s.apply(&old, &v, listed)
	s.mu.Lock()
	s.view = v
	s.mu.Unlock()
}

// startedByClient lists the MCP servers in files that the client reads itself.
func (s *Server) startedByClient(snap *snapshot.Snapshot) (names []string) {
	var files []string
	for i := range snap.Resources {
		if r := &snap.Resources[i]; r.Kind == abi.KindMCPConfig && s.reads(r.Readers) {
			files = append(files, r.Source)
		}
	}
	for i := range snap.Resources {
		if r := &snap.Resources[i]; r.Kind == abi.KindMCPServer && slices.Contains(files, r.Source) {
			names = append(names, r.Key)
		}
	}
	return names
}

// apply passes changes to the SDK, which notifies clients.
func (s *Server) apply(old, v *view, listed []agentapi.MCPTool) {
	gone, changed := difference(old.resources, v.resources)
	s.mcp.RemoveResources(gone...)
	for _, uri := range changed {
		s.mcp.AddResource(v.resources[uri], s.readResource)
	}
	gone, changed = difference(old.prompts, v.prompts)
	s.mcp.RemovePrompts(gone...)
	for _, name := range changed {
		s.mcp.AddPrompt(v.prompts[name], s.getPrompt)
	}
	gone, changed = difference(old.tools, v.tools)
	for _, name := range gone {
		s.mcp.RemoveTools(mcpserving.Name(name))
	}
	for i := range listed {
		if slices.Contains(changed, listed[i].Name) && !s.serverTool(&listed[i]) {
			delete(v.tools, listed[i].Name)
		}
	}
	s.finders(v)
}

// finders offers those tools about tools that are useful now.
func (s *Server) finders(v *view) {
	if s.opts.NoServers {
		return
	}
	var of tools.Offer
	of.Scopes, of.Plan, of.Only = s.opts.Offer.Scopes, s.opts.Offer.Plan, []string{}
	var without []string
	for _, t := range s.opts.Offer.Tools() {
		switch {
		case !tools.AboutServers(t.Name):
		case len(v.servers) == 0, v.listed && t.Name != tools.ToolResult:
			without = append(without, t.Name)
		default:
			of.Only = append(of.Only, t.Name)
		}
	}
	if !slices.Equal(of.Only, s.finding) {
		s.mcp.RemoveTools(without...)
		s.addTools(of.Tools())
		s.finding = of.Only
	}
}

// difference returns the keys that only before has, and those with another value in after.
func difference[V any](before, after map[string]V) (gone, changed []string) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			gone = append(gone, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[key]; !ok || !reflect.DeepEqual(was, after[key]) {
			changed = append(changed, key)
		}
	}
	return gone, changed
}

// bytesPerToken is the estimate that all of Waymark uses.
const bytesPerToken = 4

// tokensOf returns the approximate number of tokens of tools in a list.
func tokensOf(list []agentapi.MCPTool) (n int) {
	for i := range list {
		t := &list[i]
		n += len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema)
	}
	return n / bytesPerToken
}

func servingOf(list []agentapi.MCPTool) (servers []serving) {
	for i := range list {
		name := list[i].ServerName
		if len(servers) == 0 || servers[len(servers)-1].name != name {
			servers = append(servers, serving{name: name})
		}
		last := &servers[len(servers)-1]
		last.tools = append(last.tools, list[i].Name[min(len(name)+2, len(list[i].Name)):])
	}
	return servers
}

// instructionsOf lists the readable instruction files.
func (s *Server) instructionsOf(snap *snapshot.Snapshot) (list []instruction) {
	for i := range snap.Resources {
		r := &snap.Resources[i]
		if r.Kind != abi.KindInstructionFile || !readable(r) || s.reads(r.Readers) {
			continue
		}
		uri := url.URL{Scheme: "file", Path: r.Source, Fragment: r.Key}
		list = append(list, instruction{id: r.ID(), uri: uri.String(), source: r.Source, name: line(cmp.Or(r.Name, path.Base(r.Source)), maxTitle), nested: r.Attributes["directory"].Text != ""})
	}
	slices.SortStableFunc(list, func(a, b instruction) int { // of those for all files all can be named
		switch {
		case a.nested == b.nested:
			return 0
		case a.nested:
			return 1
		}
		return -1
	})
	return list
}

// readable reports whether the text of a resource is available.
func readable(r *snapshot.Resource) bool {
	return r.Status == snapshot.StatusOK || r.Status == snapshot.StatusExcluded || r.Status == snapshot.StatusOversize
}

// readInstruction reads an instruction file.
func (s *Server) readInstruction(ctx context.Context, f *instruction) (*mcp.ReadResourceResult, error) {
	var body []byte
	err := s.do(ctx, func(c client.Client) (err error) {
		body, err = c.Resource(ctx, f.id)
		return err
	})
	if err != nil {
		return nil, s.readError(err, f.uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contentsOf(f.uri, markdown, body)}}, nil
}
