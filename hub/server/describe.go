package server

import (
	"crypto/sha256"
	"net/http"
	"time"

	"waymark/hub/api"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// Parameters and headers of the routes, for the OpenAPI document.
type (
	agentParams struct {
		// The id of an agent.
		ID string `path:"id" example:"dev-1"`
	}
	pinParams struct {
		// The id of a pin.
		ID string `path:"id"`
	}
	approvalParams struct {
		// The id of an approval.
		ID string `path:"id" minLength:"1"`
	}
	tokenParams struct {
		// The id of a token; not the token.
		ID string `path:"id" minLength:"1"`
	}
	enrollmentParams struct {
		// The id of a code or key.
		ID string `path:"id" minLength:"1"`
	}
	revokeEnrollmentParams struct {
		enrollmentParams
		// `1` also revokes the tokens of the agents that enrolled with it.
		Tokens string `query:"tokens" enum:"1"`
	}
	webhookParams struct {
		// The id of a webhook.
		ID string `path:"id" minLength:"1"`
	}
	resourceParams struct {
		// The id of a resource: the rest of the path, URL-encoded. Slashes needn't be
		// encoded.
		ResourceID string `path:"rid" example:"instruction_file:/w/AGENTS.md"`
	}
	revisionParams struct {
		// Returns what the agent had at this hub-wide revision, instead of the newest.
		Revision int64 `query:"revision" minimum:"0"`
	}
	formatParams struct {
		// `markdown` renders the snapshot for a prompt: instructions in order, a catalog of
		// skills, MCP servers, and issues with their reasons. `pieces` returns the same in
		// parts, each with its source and the digest of its content.
		Format string `query:"format" enum:"json,markdown,pieces" default:"json"`
		// With `markdown` and `pieces`: the id of a client in the table of conventions,
		// such as `codex`. What that client reads itself is left out, and counted.
		Client string `query:"client"`
		// With `markdown` and `pieces`: the approximate maximum length of the text, in
		// tokens of four bytes. Instructions come first and leave a quarter to the
		// catalogs; what doesn't fit is named.
		Budget int64 `query:"budget" minimum:"256" maximum:"16777216"`
		// The ETags that the client has.
		IfNoneMatch string `header:"If-None-Match" example:"\"17\""`
	}
	listAgentsParams struct {
		// The maximum number of agents; at most 1000. Without it, all are returned.
		Limit int64 `query:"limit" minimum:"1" example:"50"`
		// Where the previous page ended: from its `Link`, with the same `sort`.
		After string `query:"after"`
		// The order. Without it, agents are ordered by id, in byte order. Numbers in texts
		// are compared by value, names and host names without regard to case; an agent
		// without a name is sorted by its id. Agents with equal keys are ordered by name,
		// then by id. `attention` is the number of reasons.
		Sort string `query:"sort" enum:"agent_version,attention,away_since,drifted_pins,failing_plugins,hostname,id,labels,last_push_at,name,resources,root,state" example:"last_push_at"`
		// `desc` reverses the order.
		Order string `query:"order" enum:"asc,desc"`
		// Words that must all occur in id, name, host name, root, version or labels,
		// without regard to case.
		Query string `query:"q" example:"build prod"`
		// Only agents in this state.
		State api.AgentState `query:"state"`
		// Only agents with this label, as NAME=VALUE; if repeated, with all of the labels.
		Label []string `query:"label" example:"[\"env=prod\"]"`
		// Only agents that need attention for this reason, or for any.
		Attention string `query:"attention" enum:"any,away,drifted_pins,failing_plugins,failing_servers,invalid_resources,never_connected,not_heard,snapshot_error,waiting_servers"`
	}
	listActsParams struct {
		// The maximum number of entries; at most 1000.
		Limit int64 `query:"limit" minimum:"1" default:"100"`
		// Where the previous page ended: from its `Link`.
		After string `query:"after"`
		// Only entries about what has this id, such as an agent.
		Subject string `query:"subject" example:"dev-1"`
	}
	showContextParams struct {
		agentParams
		revisionParams
		formatParams
		// How long to wait for a newer snapshot, as a Go duration (`30s`, `1m`); at most
		// one minute. Without it the answer is immediate.
		Wait string `query:"wait" example:"30s"`
		// With `wait`: the revision that the client has. It defaults to the one in
		// `If-None-Match`.
		After int64 `query:"after" minimum:"0" example:"17"`
		// With `wait`, `complete` keeps waiting while discovery is pending. When the time
		// is up, the answer is the newest snapshot if it is newer, so check its
		// `discovery`. If the agent has been away for some seconds, its snapshot is
		// returned whether it is newer or not, with `away`.
		Discovery string `query:"discovery" enum:"complete" example:"complete"`
	}
	showResourceParams struct {
		agentParams
		resourceParams
		revisionParams
	}
	showClientContextParams struct {
		agentParams
		// The coding agent; `known` in an answer lists those that the agent knows.
		Client string `path:"client" minLength:"1" maxLength:"64" example:"codex"`
	}
	showHistoryParams struct {
		agentParams
		// The maximum number of revisions.
		Limit int64 `query:"limit" minimum:"0" example:"20"`
	}
	showDiffParams struct {
		agentParams
		// The first revision; it may be later than `to`.
		From int64 `query:"from" minimum:"1" example:"12" required:"true"`
		// The revision to compare with; the newest by default.
		To int64 `query:"to" minimum:"0" example:"17"`
	}
	listPinsParams struct {
		// Only pins of this agent, which may have been removed.
		AgentID string `query:"agent_id"`
	}
	showPinnedParams struct {
		pinParams
		formatParams
	}
	showPinnedResourceParams struct {
		pinParams
		resourceParams
	}
	followParams struct {
		// The position that the client has; later events are sent first. `0` is the
		// beginning of what is kept. `Last-Event-ID` takes precedence.
		After string `query:"after"`
		// The last id that the client has received.
		LastEventID string `header:"Last-Event-ID"`
		// With `0` the stream ends when there is no more, with an `end` event.
		Follow string `query:"follow"`
		// Only events of this agent and its pins.
		AgentID string `query:"agent_id"`
		// Only events of this pin.
		PinID string `query:"pin_id"`
	}
	searchParams struct {
		// At least two characters; case is ignored for ASCII letters.
		Query string `query:"q" minLength:"2" maxLength:"1024" example:"deploy" required:"true"`
		// The maximum number of hits; 100 by default, at most 1000.
		Limit int64 `query:"limit" minimum:"0" example:"20"`
	}
	// tagged is the header of answers that have a version.
	tagged struct {
		// The revision, or what else names the content, in quotes.
		Tag string `header:"ETag"`
	}
	// located is the header of answers to a creation.
	located struct {
		// The address of what was made.
		Location string `header:"Location"`
	}
	// paged are the headers of a page of agents.
	paged struct {
		// The number of agents on all pages, at most 10000.
		Total int `header:"X-Total-Count"`
		// The page's content, in quotes.
		Tag string `header:"ETag"`
		// The position in the events, for `after`, at which the list is a moment old.
		Begin string `header:"X-Events-After"`

		linked
	}
	linked struct {
		// The next page, if there is one.
		Link string `header:"Link"`
	}
)

// About is the base of the documentation of other services of the API: a group of
// operations, with the errors that all operations share.
func About(group string) httpapi.About {
	own := about()
	return httpapi.About{Groups: []httpapi.Group{{Name: group}}, Security: own.Security, Errors: own.Errors}
}

// about is the part of the OpenAPI document that isn't about single routes.
func about() httpapi.About {
	return httpapi.About{
		Title:   "Waymark hub: API for readers",
		Summary: "What workspaces tell AI coding agents: snapshots, pins, differences, and events.",
		Text:    "A hub serves this API to readers: chats that build on what workspaces hold, dashboards, people. Every request shows a reader's token (`hub token create --role reader`) as `Authorization: Bearer TOKEN`, or an operator's, which opens what operators do, too: tokens, enrollment, labels, webhooks, backups and approvals; a browser that was let in by `POST /api/v0/login` has a session in a cookie, which belongs to the token that made the link, shows what that shows, and ends with it or after twelve hours. A token, or a session, is never taken in the place of the other.\n\nA token may be limited to some agents (`--agent`): everything about others is answered as if it didn't exist, 404 where one is named, and left out of lists and events. Revisions are hub-wide all the same, so their numbers and positions in the events tell that something happens elsewhere, but not what or where. A token may expire (`--expires`): it is 401 from then on, and streams and waiting requests end at that moment. The `Host` header must name the hub (421 otherwise; `hub serve --allow-host`).\n\nEach agent stands for a workspace and pushes **snapshots**: sets of resources. Each push that changes something makes a **revision**: an integer that is unique in the hub, and rises for each agent, also over restarts and over several hubs of one database. Not every integer is one, and revisions of different agents aren't in the order of time.\n\nA **pin** is a copy of an agent's snapshot that a chat builds on. Pushes never rewrite it, with one exception: resources of the kinds `mcp_config` and `mcp_server` follow the agent live. The first push whose aggregate hash differs from the pinned one marks the pin as drifted, once; a push back to the old hash doesn't take that away, only a refresh does. A pin of an agent without a snapshot is empty and takes the first one that comes.\n\nErrors are always `{\"message\",\"detail\"}`. Codes that an operation doesn't name mean what they mean everywhere: 405 with `Allow`, 421 for an unknown `Host`, 503 while the hub is stopping. Unknown keys of a query are ignored; values that can't be right are 400. New members may be added to answers, and new types of events; unknown members in requests are refused.",
		Servers: []httpapi.Address{{URL: "http://127.0.0.1:7878"}},
		Groups:  []httpapi.Group{{Name: "agents", Text: "Workspaces and what they have."}, {Name: "pins", Text: "What chats build on."}, {Name: "events", Text: "What happens."}, {Name: "approvals", Text: "Signed approvals of MCP servers, for operators."}, {Name: "operators", Text: "What operators do: tokens, enrollment, labels, webhooks, backups. All of it needs an operator's token; what changes something isn't open to the session of a browser."}, {Name: "page", Text: "The page for people."}},
		Schemes: []httpapi.Scheme{
			{Name: "token", Kind: "bearer", Text: "A reader's token."},
			{Name: "enrollment", Kind: "bearer", Text: "A code or key of `hub enroll`."},
			{Name: "cookie", Cookie: "waymark_reader", Text: "The session of a browser, with TLS as `__Host-waymark_reader`. Requests that change something must come from the hub's own page."},
		},
		Security: []string{"token", "cookie"},
		Errors: map[int]string{
			http.StatusUnauthorized:          "No token or session, or none that is valid.",
			http.StatusForbidden:             "The token is an agent's, or the request comes from a page of another origin, or a browser's session asks for a link.",
			http.StatusNotFound:              "There is no such thing, it isn't kept any more, or it has no content.",
			http.StatusRequestEntityTooLarge: "The body is over 4 KiB, that of an approval over 32 KiB, or of a token over 256 KiB.",
			http.StatusTooManyRequests:       "The token, or the hub, has as many streams and waiting requests as it may.",
		},
		Names:    map[string]any{"ClientContext": api.ClientContext{}, "ClientContextItem": snapshot.ClientItem{}, "ClientContextBudget": snapshot.ClientBudget{}, "Known": api.KnownClient{}, "ResourceStatus": snapshot.Status(""), "DiscoverySummary": snapshot.Summary{}, "Reset": api.ResetEvent{}},
		Messages: []any{api.ContextEvent{}, api.Pin{}, api.Agent{}, api.ResetEvent{}},
	}
}

// operations returns the documentation of each route, by method and path.
func operations() map[string]*httpapi.Operation {
	hash, at := sha256.Sum256([]byte("test")), time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	agent := api.Agent{
		ID: "dev-1", Connected: true, Version: 4, AggregateHash: hash[:], Resources: 7, Revision: 18, UpdatedAt: &at,
		Discovery: snapshot.Summary{Phase: snapshot.PhaseComplete, Outcomes: snapshot.OutcomeCounts{snapshot.OutcomeConnected: 2, snapshot.OutcomeNeedsApproval: 1}},
		Hostname:  "build-1", Root: "/home/ada/shop", AgentVersion: "0.1.0", Labels: map[string]string{"env": "prod"}, State: api.StateConnected,
		LastPushAt: &at, DriftedPins: 1, WaitingServers: 1, Attention: []string{"waiting_servers", "drifted_pins"},
	}
	pin := api.Pin{ID: "3f6f1c1e-8e0b-4c0e-9d7e-3e5b7f5f9a10", AgentID: agent.ID, Name: "chat 42", Revision: 17, AggregateHash: hash[:], CreatedAt: at, PinnedAt: &at}
	notOperator := httpapi.Refuse(http.StatusForbidden, "The token isn't an operator's.", "")
	asked := func(body any) []httpapi.Answer { // answers of an agent
		return []httpapi.Answer{
			httpapi.OK("What the agent says.", body),
			httpapi.Refuse(http.StatusConflict, "The agent is too old, is connected to another hub, or its configuration doesn't allow it.", ""),
			httpapi.Refuse(http.StatusTooManyRequests, "The agent has enough such questions to answer.", ""),
			httpapi.Refuse(http.StatusServiceUnavailable, "The agent isn't connected, or can't answer now.", ""),
		}
	}
	return map[string]*httpapi.Operation{
		"GET /api/v0/openapi.json": {
			ID: "document", Group: "events", Summary: "This document",
			Answers: []httpapi.Answer{httpapi.OK("This document.", map[string]any{})},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden},
		},
		"GET /api/v0/agents": {
			ID: "listAgents", Group: "agents", Summary: "The agents that the token shows",
			Text:   "All of them, or with `limit` a page: the `Link` of an answer, with `rel=\"next\"`, is the next one, and there is none after the last. Agents that come and go meanwhile are missed or not, and no other one is shown twice or left out, unless its place has changed.",
			Params: listAgentsParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "In byte order of their ids, or in the order that was asked for.", Body: []api.Agent{}, Headers: paged{}},
				{Code: http.StatusNotModified, Text: "It is the one that `If-None-Match` names.", Headers: paged{}}},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
		},
		"GET /api/v0/agents/{id}": {
			ID: "showAgent", Group: "agents", Summary: "One agent",
			Params:  agentParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The agent.", Body: api.Agent{}, Example: agent}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/agents/{id}/context": {
			ID: "showContext", Group: "agents", Summary: "The snapshot of an agent",
			Text:   "The ETag is the revision in quotes, with `-away` behind it where the snapshot says that. An agent that never pushed has no snapshot: 404.",
			Params: showContextParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The snapshot, without payloads.", Body: httpapi.Contents{api.Snapshot{}, api.Pieces{}, httpapi.Content("text/markdown")}, Headers: tagged{}},
				{Code: http.StatusNotModified, Text: "It is the one that `If-None-Match` names; or, with `wait`, none came in time.", Headers: tagged{}},
				httpapi.Refuse(http.StatusNotFound, "There is no such agent, it has not pushed yet, or the revision isn't kept any more.", "not found: agent dev-1 has not pushed yet"),
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
		},
		"GET /api/v0/agents/{id}/context/resources/{rid}": {
			ID: "showResource", Group: "agents", Summary: "The payload of a resource",
			Text:    "Only resources of status `ok` have a payload, and of kind `mcp_config` none has.",
			Params:  showResourceParams{},
			Answers: []httpapi.Answer{httpapi.OK("The payload: the whole content as it was pushed. Text where it is UTF-8 without NUL.", httpapi.Contents{httpapi.Content("text/plain"), httpapi.Content("application/octet-stream")})},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/agents/{id}/clients/{client}": {
			ID: "showClientContext", Group: "agents", Summary: "What a coding agent would see at its start",
			Text:    "The agent is asked, and looks at its files as they are now: it has to be connected to this hub. A hub on another machine than the agent's is told only of what is pushed to it; of the rest, how much that is.",
			Params:  showClientContextParams{},
			Answers: asked(api.ClientContext{}),
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/agents/{id}/coverage": {
			ID: "showCoverage", Group: "agents", Summary: "The files that lie where agents look and aren't used",
			Text:    "The agent is asked, and looks at the names of its files as they are now: it has to be connected. A hub on another machine than the agent's is told how many files there are for each reason, and nothing of what they are.",
			Params:  agentParams{},
			Answers: asked(api.Coverage{}),
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/agents/{id}/history": {
			ID: "showHistory", Group: "agents", Summary: "The revisions of an agent that are kept",
			Params:  showHistoryParams{},
			Answers: []httpapi.Answer{httpapi.OK("The newest first.", []api.Change{})},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/agents/{id}/diff": {
			ID: "showDiff", Group: "agents", Summary: "What is different in one revision from another",
			Params:  showDiffParams{},
			Answers: []httpapi.Answer{httpapi.OK("The differences.", api.Diff{})},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/pins": {
			ID: "listPins", Group: "pins", Summary: "All pins of agents that the token shows",
			Params:  listPinsParams{},
			Answers: []httpapi.Answer{httpapi.OK("The oldest first.", []api.Pin{})},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden},
		},
		"POST /api/v0/pins": {
			ID: "createPin", Group: "pins", Summary: "Pin what an agent has now",
			Body: api.NewPin{}, Example: api.NewPin{AgentID: pin.AgentID, Name: pin.Name},
			Answers: []httpapi.Answer{
				{Code: http.StatusCreated, Text: "The pin.", Body: api.Pin{}, Headers: located{}, Example: pin},
				httpapi.Refuse(http.StatusConflict, "The agent has 1000 pins.", ""),
			},
			Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/pins/{id}": {
			ID: "showPin", Group: "pins", Summary: "One pin",
			Params:  pinParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The pin.", Body: api.Pin{}, Example: pin}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"DELETE /api/v0/pins/{id}": {
			ID: "deletePin", Group: "pins", Summary: "Delete a pin",
			Params:  pinParams{},
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is gone."}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/pins/{id}/context": {
			ID: "showPinned", Group: "pins", Summary: "What is pinned",
			Text:   "An empty pin has no snapshot: 404. Its MCP resources and its `discovery` are the agent's as they are now.",
			Params: showPinnedParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The snapshot as it was pinned, with the MCP resources that the agent has now.", Body: httpapi.Contents{api.Snapshot{}, api.Pieces{}, httpapi.Content("text/markdown")}, Headers: tagged{}},
				{Code: http.StatusNotModified, Text: "It is the one that `If-None-Match` names.", Headers: tagged{}},
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/pins/{id}/context/resources/{rid}": {
			ID: "showPinnedResource", Group: "pins", Summary: "The payload of a pinned resource",
			Params:  showPinnedResourceParams{},
			Answers: []httpapi.Answer{httpapi.OK("The payload: the whole content as it was pushed. Text where it is UTF-8 without NUL.", httpapi.Contents{httpapi.Content("text/plain"), httpapi.Content("application/octet-stream")})},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/pins/{id}/diff": {
			ID: "showPinDiff", Group: "pins", Summary: "What became different since the pin was made",
			Params:  pinParams{},
			Answers: []httpapi.Answer{httpapi.OK("From what is pinned to what the agent has now. `to` is 0 when the agent has nothing, or is gone.", api.Diff{})},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"POST /api/v0/pins/{id}/refresh": {
			ID: "refreshPin", Group: "pins", Summary: "Pin anew what the agent has now",
			Params:  pinParams{},
			Answers: []httpapi.Answer{httpapi.OK("The pin: no longer drifted; empty when the agent has no snapshot, or is gone.", api.Pin{})},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		},
		"GET /api/v0/events": {
			ID: "follow", Group: "events", Summary: "Follow what happens",
			Text:    "Server-sent events, as browsers' EventSource takes them. `data` is JSON:\n\n- `context` (ContextEvent): an agent's snapshot changed, or its `discovery`: then `changed` may be empty.\n- `pin` (Pin): a pin was made, hydrated, has drifted (once), its MCP resources, or what is known of more to come, followed the agent, it was refreshed, its agent was removed, or it was deleted (`\"deleted\": true`).\n- `agent` (Agent): an agent connected, to whichever hub of the database, or disconnected, or another one with its token is told that it isn't heard (`not_heard`), or goes; a stream that begins without a position begins with one for each agent, another one with those of the last minute, which may come again. Or an agent was removed (`{\"id\",\"removed\":true}` count then).\n- `reset` (Reset): what came after the position asked for isn't kept any more (events are kept for a day), or the database was restored. Read everything again, then go on from the id of this event.\n- `end`: with `follow=0`, there is no more.\n\nAn `id` is a position: the stream is complete up to it. It is text that only the hub understands. `agent` events of connections have none, nor have events while a transaction is under way that may come before them. Those of one agent are in the order of its revisions. Go on after a lost connection, with any hub of the same database, by sending the last id as `Last-Event-ID` or `after`: nothing is missed, and events that had no id may come again. An id may also come without an event, to move the position on.\n\nA reader that is more than 256 events behind gets the newest `context` of each agent and the newest `pin` of each pin only. Every 15 seconds of silence a comment says that the stream is alive. The stream ends when the token, or the browser's session, is revoked or expires.",
			Params:  followParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "A stream that doesn't end by itself.", Body: httpapi.Content("text/event-stream"), Example: "retry: 1000\n\nevent: context\nid: 5f0c2a91b3d4.0.18\ndata: {\"agent_id\":\"dev-1\",\"revision\":18,\"version\":4,\"aggregate_hash\":\"9f86\",\"changed\":[\"skill:/w/.agents/skills/foo\"]}\n\n"}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
		},
		"GET /api/v0/approvals": {
			ID: "listApprovals", Group: "approvals", Summary: "All approvals",
			Answers: []httpapi.Answer{
				httpapi.OK("In order of their ids; revoked and expired ones too, until 30 days after their end.", []api.Approval{}),
				httpapi.Refuse(http.StatusForbidden, "The token isn't an operator's.", ""),
			},
			Errors: []int{http.StatusUnauthorized},
		},
		"POST /api/v0/approvals": {
			ID: "addApproval", Group: "approvals", Summary: "Bring a signed approval to the agents that it is for",
			Text: "The hub looks at its form and its end. Who may sign is decided by each agent. The same document again changes nothing; one that was revoked, or another one with its id, is 409.",
			Body: api.NewApproval{},
			Answers: []httpapi.Answer{
				{Code: http.StatusCreated, Text: "It is kept.", Body: api.Approval{}},
				httpapi.Refuse(http.StatusForbidden, "The token isn't an operator's.", ""),
				httpapi.Refuse(http.StatusConflict, "There is another approval with this id, it was revoked, or there are too many.", ""),
			},
			Errors: []int{http.StatusUnauthorized},
		},
		"DELETE /api/v0/approvals/{id}": {
			ID: "revokeApproval", Group: "approvals", Summary: "Take an approval back, for ever",
			Params: approvalParams{},
			Answers: []httpapi.Answer{
				httpapi.OK("It is revoked, now or since before.", api.Approval{}),
				httpapi.Refuse(http.StatusForbidden, "The token isn't an operator's.", ""),
			},
			Errors: []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"GET /api/v0/tokens": {
			ID: "listTokens", Group: "operators", Summary: "All tokens, revoked and expired ones too",
			Answers: []httpapi.Answer{httpapi.OK("The oldest first, without their texts.", []api.Token{}), notOperator},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/tokens": {
			ID: "createToken", Group: "operators", Summary: "Create a token",
			Text: "The client makes the token: the prefix of its role (`wma_`, `wmr_` or `wmo_`) and 32 random bytes in base64url; it sends the SHA-256 alone.",
			Body: api.NewToken{},
			Answers: []httpapi.Answer{
				{Code: http.StatusCreated, Text: "It is valid.", Body: api.Token{}}, notOperator,
				httpapi.Refuse(http.StatusConflict, "There is a token with this hash.", ""),
			},
			Errors: []int{http.StatusUnauthorized},
		},
		"DELETE /api/v0/tokens/{id}": {
			ID: "revokeToken", Group: "operators", Summary: "Revoke a token, for ever",
			Text:    "The next call with it is refused; connections, streams and browsers' sessions that belong to it end within a second.",
			Params:  tokenParams{},
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is revoked, now or since before."}, notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"GET /api/v0/enrollments": {
			ID: "listEnrollments", Group: "operators", Summary: "All codes and keys with which agents enroll",
			Answers: []httpapi.Answer{httpapi.OK("The oldest first, also those that are no longer valid.", []api.EnrollmentKey{}), notOperator},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/enrollments": {
			ID: "createEnrollment", Group: "operators", Summary: "Create a code or key with which agents enroll",
			Text:    "The client makes the code or key and sends its SHA-256 alone.",
			Body:    api.NewEnrollmentKey{},
			Answers: []httpapi.Answer{{Code: http.StatusCreated, Text: "It is valid.", Body: api.EnrollmentKey{}}, notOperator},
			Errors:  []int{http.StatusUnauthorized},
		},
		"DELETE /api/v0/enrollments/{id}": {
			ID: "revokeEnrollment", Group: "operators", Summary: "Revoke a code or key",
			Params:  revokeEnrollmentParams{},
			Answers: []httpapi.Answer{httpapi.OK("It is revoked, now or since before.", api.RevokedEnrollment{}), notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"GET /api/v0/audit": {
			ID: "listActs", Group: "operators", Summary: "What operators did",
			Text:   "The newest first, for 400 days. An entry is written with the change itself, whether it came over the API, from the page, or was made in the database by a command.",
			Params: listActsParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "A page of the log.", Body: []api.Act{}, Headers: linked{}}, notOperator,
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized},
		},
		"PATCH /api/v0/agents/{id}": {
			ID: "renameAgent", Group: "operators", Summary: "Give an agent another name",
			Params:  agentParams{},
			Body:    api.AgentChange{},
			Answers: []httpapi.Answer{httpapi.OK("The agent.", api.Agent{}), notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"PATCH /api/v0/agents/{id}/labels": {
			ID: "labelAgent", Group: "operators", Summary: "Set and remove labels of an agent",
			Params:  agentParams{},
			Body:    api.LabelChange{},
			Answers: []httpapi.Answer{httpapi.OK("All labels that it has now, in `set`.", api.LabelChange{}), notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"DELETE /api/v0/agents/{id}": {
			ID: "removeAgent", Group: "operators", Summary: "Remove an agent, its tokens and its history",
			Text:    "Its sessions end. Its pins remain, and show that it is gone.",
			Params:  agentParams{},
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is removed."}, notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"GET /api/v0/webhooks": {
			ID: "listWebhooks", Group: "operators", Summary: "All webhooks, without their secrets",
			Answers: []httpapi.Answer{httpapi.OK("The oldest first.", []api.Webhook{}), notOperator},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/webhooks": {
			ID: "createWebhook", Group: "operators", Summary: "Add a webhook",
			Body: api.NewWebhook{},
			Answers: []httpapi.Answer{
				{Code: http.StatusCreated, Text: "It is added.", Body: api.Webhook{}}, notOperator,
				httpapi.Refuse(http.StatusConflict, "There are too many webhooks.", ""),
			},
			Errors: []int{http.StatusUnauthorized},
		},
		"DELETE /api/v0/webhooks/{id}": {
			ID: "deleteWebhook", Group: "operators", Summary: "Remove a webhook and its waiting messages",
			Params:  webhookParams{},
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is removed."}, notOperator},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"POST /api/v0/webhooks/{id}/test": {
			ID: "testWebhook", Group: "operators", Summary: "Send a message of the type webhook.test, at once",
			Params: webhookParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusNoContent, Text: "The receiver has taken it."}, notOperator,
				httpapi.Refuse(http.StatusBadGateway, "The receiver doesn't take it.", ""),
			},
			Errors: []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"POST /api/v0/backup": {
			ID: "backup", Group: "operators", Summary: "A copy of the database, as it is at one moment",
			Text: "What `hub restore` reads. It is made completely before anything is sent; an answer that is shorter than its `Content-Length` is no backup.",
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The copy.", Body: httpapi.Content("application/octet-stream")}, notOperator,
				httpapi.Refuse(http.StatusTooManyRequests, "A backup is being made already.", ""),
				httpapi.Refuse(http.StatusNotImplemented, "This hub makes no backups.", ""),
			},
			Errors: []int{http.StatusUnauthorized},
		},
		"GET /api/v0/search": {
			ID: "search", Group: "agents", Summary: "Which agents have something",
			Text:   "Looks for a text in what agents have now: in the names and sources of resources, and in the names of plugins that fail; a SHA-256 in hexadecimal finds what has that hash.",
			Params: searchParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "What was found, in byte order of the agents' ids.", Body: api.SearchResult{}, Headers: tagged{}},
				{Code: http.StatusNotModified, Text: "It is what `If-None-Match` names.", Headers: tagged{}}},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
		},
	}
}
