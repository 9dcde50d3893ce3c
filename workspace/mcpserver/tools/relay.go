package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/mcpserving"
	"waymark/snapshot"
)

// Requests of MCP that are relayed to the workspace's MCP servers.
const (
	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"
	ReadResource  = "resources/read"
	ListPrompts   = "prompts/list"
	GetPrompt     = "prompts/get"
	Complete      = "completion/complete"
)

const (
	// listWait limits how long a server may take for a list: the others don't wait longer.
	listWait = 5 * time.Second
	// maxRelayed limits the items of a list, and maxRelayedPages the pages of one server.
	maxRelayed      = 2000
	maxRelayedPages = 20
	// separator separates the server's name from its prompt's, as in names of tools.
	separator = "__"
)

// members are the members of results that are lists, and what servers offer for them.
var members = map[string]struct{ list, name, offer string }{
	ListResources: {"resources", "uri", "resources"},
	ListTemplates: {"resourceTemplates", "uriTemplate", "resources"},
	ListPrompts:   {"prompts", "name", "prompts"},
}

// object is a JSON object whose members stay as they are.
type object = map[string]json.RawMessage

// Relays reports whether Relay may do anything.
func (o *Offer) Relays() bool { return !o.Plan && slices.Contains(o.Scopes, scopeMCP) }

// Relay answers a request about resources and prompts of the workspace's MCP servers. URIs
// and names are those of mcpserving.URI and server__prompt, and everything else is as the
// servers have said it. A list has what all servers have; one that doesn't answer in time
// is left out.
//
// # Errors
//
// ErrNotOffered for a request, a URI or a name that isn't a server's.
func (o *Offer) Relay(ctx context.Context, c client.Client, method string, params json.RawMessage) (json.RawMessage, error) {
	if !o.Relays() {
		return nil, fmt.Errorf("%w: %.100q", ErrNotOffered, method)
	}
	r := &relay{Offer: o, client: c, method: method}
	if len(params) == 0 || json.Unmarshal(params, &r.params) != nil {
		r.params = object{}
	}
	switch method {
	case ListResources, ListTemplates, ListPrompts:
		return r.list(ctx)
	case ReadResource:
		return r.read(ctx)
	case GetPrompt:
		return r.get(ctx)
	case Complete:
		return r.complete(ctx)
	}
	return nil, fmt.Errorf("%w: %.100q", ErrNotOffered, method)
}

// relay is a relayed request.
type relay struct {
	*Offer
	client client.Client
	method string
	params object
}

// ask makes the request of a server, with some parameters replaced.
func (r *relay) ask(ctx context.Context, server string, replace object) (json.RawMessage, error) {
	if slices.Contains(r.Without, server) {
		return nil, fmt.Errorf("%w: it is of a server that the client starts itself", ErrNotOffered)
	}
	params := object{}
	for key, value := range r.params {
		if key != "_meta" {
			params[key] = value
		}
	}
	for key, value := range replace {
		params[key] = value
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return r.client.AskMCPServer(ctx, agentapi.MCPRequest{Server: server, Method: r.method, Params: raw})
}

// servers returns the approved servers that offer something, in order.
func (r *relay) servers(ctx context.Context, offer string) (names []string, err error) {
	all, err := r.client.MCPServers(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	for i := range all.Servers {
		s := &all.Servers[i]
		answers := s.Outcome == snapshot.OutcomeConnected || s.Outcome == snapshot.OutcomeCached
		if answers && slices.Contains(s.Offers, offer) && !slices.Contains(r.Without, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// list returns the items of all servers.
func (r *relay) list(ctx context.Context) (json.RawMessage, error) {
	m := members[r.method]
	names, err := r.servers(ctx, m.offer)
	if err != nil {
		return nil, err
	}
	lists := make([][]object, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			within, cancel := context.WithTimeout(ctx, listWait)
			defer cancel()
			lists[i] = r.listOf(within, name)
		})
	}
	if all.Wait(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	items := slices.Concat(lists...)
	if items == nil {
		items = []object{}
	}
	return json.Marshal(map[string]any{m.list: items[:min(len(items), maxRelayed)]})
}

// listOf returns the items of a server, as far as it answers.
func (r *relay) listOf(ctx context.Context, server string) (items []object) {
	m, replace := members[r.method], object{}
	for range maxRelayedPages {
		raw, err := r.ask(ctx, server, replace)
		var page object
		var list []object
		if err != nil || json.Unmarshal(raw, &page) != nil || json.Unmarshal(page[m.list], &list) != nil {
			return items
		}
		for _, item := range list {
			name := textAt(item, m.name)
			if name == "" {
				continue
			}
			if r.method == ListPrompts {
				item[m.name] = encoded(server + separator + name)
			} else {
				item[m.name] = encoded(mcpserving.URI(server, name))
			}
			items = append(items, item)
		}
		next := textAt(page, "nextCursor")
		if next == "" || next == textAt(replace, "cursor") || len(items) >= maxRelayed {
			return items
		}
		replace["cursor"] = encoded(next)
	}
	return items
}

// read reads a resource.
func (r *relay) read(ctx context.Context) (json.RawMessage, error) {
	asked := textAt(r.params, "uri")
	server, uri, ok := mcpserving.ServerURI(asked)
	if !ok {
		return nil, fmt.Errorf("%w: %.100q", ErrNotOffered, asked)
	}
	names := []string{server}
	if server == "" { // any may have it
		var err error
		if names, err = r.servers(ctx, members[ListResources].offer); err != nil {
			return nil, err
		}
	}
	err := fmt.Errorf("%w: %.100q", ErrNotOffered, asked)
	for _, name := range names {
		var raw json.RawMessage
		if raw, err = r.ask(ctx, name, object{"uri": encoded(uri)}); err == nil {
			return mapped(raw, "contents", func(item object) { rename(name, item) })
		}
	}
	return nil, err
}

// get gets a prompt.
func (r *relay) get(ctx context.Context) (json.RawMessage, error) {
	server, name, ok := strings.Cut(textAt(r.params, "name"), separator)
	if !ok || server == "" || name == "" {
		return nil, fmt.Errorf("%w: there is no prompt %.100q", ErrNotOffered, textAt(r.params, "name"))
	}
	raw, err := r.ask(ctx, server, object{"name": encoded(name)})
	if err != nil {
		return nil, err
	}
	return mapped(raw, "messages", func(message object) {
		var content object
		if json.Unmarshal(message["content"], &content) == nil {
			rename(server, content)
			message["content"] = encoded(content)
		}
	})
}

// complete completes an argument of a prompt or of a template.
func (r *relay) complete(ctx context.Context) (json.RawMessage, error) {
	var ref object
	_ = json.Unmarshal(r.params["ref"], &ref) // it is missing then
	server, name, ok := strings.Cut(textAt(ref, "name"), separator)
	if ok {
		ref["name"] = encoded(name)
	} else if server, name, ok = mcpserving.ServerURI(textAt(ref, "uri")); ok {
		ref["uri"] = encoded(name)
	}
	if !ok || server == "" {
		return nil, fmt.Errorf("%w: it names no prompt or template of a server", ErrNotOffered)
	}
	return r.ask(ctx, server, object{"ref": encoded(ref)})
}

// mapped changes the items of a list in a result.
func mapped(raw json.RawMessage, list string, change func(object)) (json.RawMessage, error) {
	var result object
	var items []object
	if json.Unmarshal(raw, &result) != nil || json.Unmarshal(result[list], &items) != nil {
		return nil, wrong("the server's answer is no result of this request")
	}
	for _, item := range items {
		change(item)
	}
	if items == nil {
		items = []object{}
	}
	result[list] = encoded(items)
	return json.Marshal(result)
}

// rename gives a resource, or content with one, the URI by which clients call it.
func rename(server string, item object) {
	if uri := textAt(item, "uri"); uri != "" {
		item["uri"] = encoded(mcpserving.URI(server, uri))
	}
	var resource object
	if json.Unmarshal(item["resource"], &resource) == nil && resource != nil {
		rename(server, resource)
		item["resource"] = encoded(resource)
	}
}

// textAt returns a member that is a string; else "".
func textAt(o object, name string) (s string) {
	_ = json.Unmarshal(o[name], &s)
	return s
}

// encoded encodes what was JSON before, or a string.
func encoded(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}
