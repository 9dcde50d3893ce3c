package server

import (
	"encoding/json"
	"net/http"

	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin/approvals"
	"waymark/host/push"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// Parameters and headers of the routes, for the OpenAPI document.
type (
	// snapshotParams belong to GET /api/v0/context/snapshot.
	snapshotParams struct {
		// How long to wait for a newer snapshot, as a Go duration (`30s`, `1m30s`); at most
		// 5 minutes. Without it the answer is immediate.
		Wait string `query:"wait" example:"30s"`
		// The version that the client has; `wait` waits for newer ones. If the agent hasn't
		// reached this version, the number belongs to an earlier life of the agent, and any
		// snapshot is newer. `If-None-Match` takes precedence.
		After int64 `query:"after" minimum:"0" default:"0" example:"3"`
		// With `wait`, `complete` keeps waiting while discovery is pending. When the time
		// is up, the answer is the current snapshot, so check its `discovery`.
		Discovery string `query:"discovery" enum:"complete" example:"complete"`
		// The ETag that the client has.
		IfNoneMatch string `header:"If-None-Match"`
	}
	// resyncParams belong to POST /api/v0/context/resync.
	resyncParams struct {
		// How long to wait, as a Go duration; at most 5 minutes. After that the answer is
		// 504, and the resync continues.
		Timeout string `query:"timeout" default:"30s" example:"10s"`
	}
	// resourceParams belong to GET /api/v0/context/resources/{id}.
	resourceParams struct {
		// The resource's id, URL-encoded including slashes. Unencoded slashes are accepted,
		// too.
		ID string `path:"id" example:"skill:/home/me/project/.agents/skills/foo"`
		// The ETag that the client has.
		IfNoneMatch string `header:"If-None-Match"`
	}
	// whyParams belong to GET /api/v0/context/why.
	whyParams struct {
		// An absolute path. May be repeated up to 64 times.
		Path []string `query:"path" minItems:"1" maxItems:"64" example:"[\"/home/me/project/agents.md\"]" required:"true"`
		// Adds in `client` how this coding agent treats the file when it is started in the
		// working directory.
		Client string `query:"client" enum:"claude,cline,codex,continue,copilot-cli,copilot-vscode,gemini,kilo,opencode,pi,qwen-code" example:"codex"`
	}
	// forParams belong to GET /api/v0/context/for.
	forParams struct {
		// An absolute path, once. If it ends with a slash or names a directory, the answer
		// is for what the directory holds.
		Path string `query:"path" example:"/home/me/project/src/api/main.go" required:"true"`
		// Restricts the answer to what this coding agent reads when it is started in the
		// root, nearest first and in its own order within a directory, followed by what it
		// leaves out, and why.
		Client string `query:"client" enum:"claude,cline,codex,continue,copilot-cli,copilot-vscode,gemini,kilo,opencode,pi,qwen-code" example:"codex"`
	}
	// skillFilesParams belong to GET /api/v0/context/skill-files.
	skillFilesParams struct {
		// The id of a resource of kind `skill`, once.
		ID string `query:"id" example:"skill:/home/me/project/.agents/skills/foo" required:"true"`
	}
	// skillFileParams belong to GET /api/v0/context/skill-file.
	skillFileParams struct {
		// The id of a resource of kind `skill`, once.
		ID string `query:"id" example:"skill:/home/me/project/.agents/skills/foo" required:"true"`
		// The file's path as listed, once.
		Path string `query:"path" example:"references/forms.md" required:"true"`
		// The expected content's digest as listed. If the file has another one, the answer
		// is 409.
		Digest string `query:"digest" pattern:"^sha256:[0-9a-f]{64}$"`
		// The ETag that the client has.
		IfNoneMatch string `header:"If-None-Match"`
	}
	// clientContextParams belong to GET /api/v0/context/client.
	clientContextParams struct {
		// The coding agent, once.
		Client string `query:"client" enum:"claude,cline,codex,continue,copilot-cli,copilot-vscode,gemini,kilo,opencode,pi,qwen-code" example:"codex" required:"true"`
		// The absolute path of the directory that the coding agent is started in. It must
		// be in a directory that the agent scans. Default: the working directory.
		Dir string `query:"dir" example:"/home/me/project/web"`
	}
	// showSourceParams belong to GET /api/v0/context/sources/{path}.
	showSourceParams struct {
		// The absolute path, URL-encoded including slashes. Unencoded slashes are accepted,
		// too.
		Path string `path:"path" example:"/home/me/notes"`
	}
	// removeSourceParams belong to DELETE /api/v0/context/sources/{path}.
	removeSourceParams struct {
		// The absolute path, URL-encoded including slashes. Unencoded slashes are accepted,
		// too.
		Path string `path:"path" example:"/home/me/notes"`
	}
	// tagged is the header of answers that have a version.
	tagged struct {
		// Identifies the content of the answer, for If-None-Match.
		Tag string `header:"ETag" example:"\"8f14e45fceea167a-3\""`
	}
	// located is the header of answers to a creation.
	located struct {
		// The address of the source.
		Location string `header:"Location"`
	}
)

// health answers GET /healthz.
type health struct {
	// Status is always "ok".
	Status string `json:"status" enum:"ok"`
}

// about is the part of the OpenAPI document that isn't about single routes.
func about() httpapi.About {
	about := httpapi.AgentAbout("context", "What was found, and where it is looked for.")
	about.Groups = append(about.Groups, httpapi.Group{Name: "agent", Text: "How the agent is doing."})
	about.Title = "Waymark agent: local API"
	about.Summary = "What a workspace tells AI coding agents, and how the agent that keeps watch over it is doing."
	about.Text = "The agent serves this API on a Unix socket (`$XDG_RUNTIME_DIR/waymark/w/ID.sock`, else `w/ID.sock` in `$XDG_STATE_HOME/waymark`, where ID is that of its workspace; `agent list` shows it, and see `agent run --listen`):\n\n    curl --unix-socket $XDG_RUNTIME_DIR/waymark/w/ID.sock http://agent/api/v0/status\n\nWho can open the socket is the user, and may read; what acts in the workspace needs a token there, too (see `docs/services.md`). A token that isn't valid is refused. Over TCP every request but `GET /healthz` needs the token of `--listen-token-file`, or one of those, and a `Host` header that names the address it came to. Requests of web pages of other origins are refused.\n\nErrors are always `{\"message\",\"detail\"}`. Codes that an operation doesn't name mean what they mean everywhere: 405 with `Allow`, 413 for a body over 64 KiB, 415 for a body that isn't `application/json`, 421 for an unknown `Host`, 503 while the agent is stopping. New members may be added to answers; unknown members in requests are refused."
	about.Servers = []httpapi.Address{
		{URL: "http://agent", Text: "Over the Unix socket any host will do."},
		{URL: "http://127.0.0.1:7879", Text: "With `agent run --listen tcp:127.0.0.1:7879 --listen-token-file FILE`."},
	}
	about.Errors = map[int]string{
		http.StatusBadRequest:         "The request can't be understood, or what it asks for isn't allowed; `detail` says why.",
		http.StatusUnauthorized:       "Over TCP, without the right token; over the socket, with a wrong one, or without one that is needed.",
		http.StatusNotFound:           "There is no such thing.",
		http.StatusTooManyRequests:    "64 requests wait already.",
		http.StatusServiceUnavailable: "The agent is stopping.",
		http.StatusGatewayTimeout:     "It took longer than the caller waits.",
		http.StatusConflict:           "It needs the first snapshot, which is held back: see `held` in the status, and `POST /api/v0/context/ready`.",
	}
	about.Names = map[string]any{
		"PushStatus": push.Status{}, "WhyAnswer": why.Answer{}, "WhyReason": why.Reason(""), "ClientReason": snapshot.ClientReason(""), "CoverageReason": why.CoverageReason(""), "ResourceStatus": snapshot.Status(""), "Applies": applicability.Answer{}, "AppliesItem": applicability.Item{}, "WaitingPlugin": approvals.Pending{},
		"ClientContext": codingagents.View{}, "ClientContextItem": codingagents.Item{}, "ClientVerdict": codingagents.Verdict{}, "MCPStatus": status.MCP{}, "PluginApproval": status.Approval{}, "Coverage": why.Coverage{}, "CoverageGroup": why.CoverageGroup{}, "CoverageFile": why.CoverageFile{},
	}
	return about
}

// operations returns the documentation of each route.
func operations() map[string]*httpapi.Operation {
	return map[string]*httpapi.Operation{
		"GET /healthz": {
			ID: "health", Group: "agent", Summary: "Does the agent serve?",
			Security: []string{},
			Answers:  []httpapi.Answer{{Code: http.StatusOK, Text: "It does.", Body: health{}, Example: json.RawMessage(`{"status": "ok"}`)}},
		},
		"GET /metrics": {
			ID: "metrics", Group: "agent", Summary: "Metrics for Prometheus",
			Text:    "Names of files, contents and tokens are never part of a metric.",
			Answers: []httpapi.Answer{httpapi.OK("All metrics, in the text format unless `Accept` asks for another.", httpapi.Content("text/plain"))},
			Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		},
		"GET /api/v0/openapi.json": {
			ID: "document", Group: "agent", Summary: "This document",
			Answers: []httpapi.Answer{httpapi.OK("This document.", map[string]any{})},
			Errors:  []int{http.StatusUnauthorized},
		},
		"GET /api/v0/status": {
			ID: "status", Group: "agent", Summary: "How is the agent doing?",
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "How it is doing at this moment.", Body: status.Status{}, Example: json.RawMessage(`{"pid": 4711, "agent_version": "v0.3.0", "started_at": "2026-09-01T08:00:00Z", "uptime_seconds": 61.5, "roots": ["/home/me/project"], "version": 3, "resources": 7, "push": {"peer": "unix:/run/waymark/hub.sock", "state": "connected", "protocol": "waymark.v1", "last_accepted": {"version": 3, "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "at": "2026-09-01T08:01:00Z"}, "last_error": "", "held_back": {"count": 0, "reasons": {}}, "mended": 0, "reverse": {"state": "open", "last_error": ""}}, "discovery": {"phase": "complete", "sources": []}, "snapshot_error": "", "workspace": "5fa0e1c0f3a4", "hub": "", "hub_holder": false, "watch": {"mode": "notify", "directories": 14, "silent": false, "error": ""}, "plugins": [], "held": false, "config_error": ""}`)}},
			Errors:  []int{http.StatusUnauthorized},
		},
		"GET /api/v0/plugins": {
			ID: "plugins", Group: "agent", Summary: "The resolver modules and their states",
			Answers: []httpapi.Answer{httpapi.OK("All modules, the built-in one and those in the plugin directories, as they are now: with the last try of a resolver that fails, which is no news for a snapshot.", []snapshot.Plugin{})},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/plugins/retry": {
			ID: "retryPlugins", Group: "agent", Summary: "Run failing resolvers again",
			Text:    "A resolver that fails again and again is left alone for longer and longer. This ends that. The body is empty, or an empty object.",
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "They will be run again."}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/plugins/waiting": {
			ID: "waitingPlugins", Group: "agent", Summary: "The modules that wait for an approval",
			Text:    "A module that reads more than the one before it, that would take over secrets which were granted to another file, or that isn't the file that the configuration pins, isn't used until it is approved.",
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "All of them; usually none.", Body: []approvals.Pending{}, Example: json.RawMessage(`[{"name": "acme-rules", "version": "1.3.0", "path": "/etc/waymark/plugins/acme.wasm", "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "reason": "it reads more than before: docs/**", "new_reads": ["docs/**"], "reads": [".acme", "docs/**"], "grant_secrets": [], "serving_version": "1.2.0", "serving_digest": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"}]`)}},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/plugins/approve": {
			ID: "approvePlugin", Group: "agent", Summary: "Let a module run that waits for it",
			Text:    "Needs a token with the scope `approve`, on the socket too: `control.token` of the workspace's state directory, say. The approval is for this file, by its digest, and is remembered. The answer comes when the module is in use, or can't be: see its state.",
			Body:    status.Approval{},
			Answers: []httpapi.Answer{httpapi.OK("What waited.", approvals.Pending{})},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/snapshot": {
			ID: "snapshot", Group: "context", Summary: "The newest snapshot",
			Text:   "The set of all resources, without their payloads. Versions begin with 1 each time the agent starts; version 0 means that there is no snapshot yet. The ETag names the version *and* the life of the agent.\n\nTo follow all changes: ask with `wait`, sending the last ETag as `If-None-Match`. The answer comes as soon as there is a snapshot that the ETag doesn't name (at once, when the agent was restarted in the meantime), or it is 304 when the time is up. Without an ETag, `after` says which version is known; the answer is 200 in any case then, so compare versions. Snapshots that are replaced while nobody waits are skipped.\n\nWho asks early gets a snapshot whose `discovery` is pending: more is still to come, from MCP servers that are being connected, say, or modules that are loaded. Ask with `wait` and `discovery=complete` to get what there is once that is over. No answer may be stored (`Cache-Control: no-store`), and an ETag names a version, which moves with each change of the discovery.",
			Params: snapshotParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The snapshot.", Body: snapshot.Snapshot{}, Headers: tagged{}, Example: json.RawMessage(`{"version": 3, "aggregate_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "payload_bytes": 512, "snapshot_error": "", "discovery": {"phase": "complete", "sources": [{"id": "mcp_server:/home/me/project/.mcp.json#docs", "name": "docs", "outcome": "needs_approval", "error": "approve it: agent mcp approve docs"}]}, "resources": [{"id": "skill:/home/me/project/.agents/skills/foo", "kind": "skill", "source": "/home/me/project/.agents/skills/foo", "source_path": "", "name": "foo", "description": "Does foo", "status": "ok", "error": "", "stale": false, "content_hash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "size_bytes": 512, "resolver": "waymark/context@1.0.0", "attributes": {"globs": ["**/*.ts"]}, "convention": "agents-skills", "readers": ["codex", "cursor"], "scope": "project", "findings": [{"code": "description-missing", "severity": "warning", "message": "it has no description"}]}], "plugins": [{"name": "waymark", "version": "1.0.0", "digest": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9", "path": "builtin", "state": "ready", "error": "", "resolvers": ["instructions", "skills", "mcp-config"]}]}`)},
				{Code: http.StatusNotModified, Text: "There is no other than the one that `If-None-Match` names.", Headers: tagged{}},
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable},
		},
		"POST /api/v0/context/resync": {
			ID: "resync", Group: "context", Summary: "Look at everything again, now",
			Text:    "A barrier: the snapshot in the answer contains every change that was made to files before the request. Requests that come at the same time share the work. The body is empty, or an empty object. While the first snapshot is held back the answer is 409, at once.",
			Params:  resyncParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The snapshot.", Body: snapshot.Snapshot{}, Headers: tagged{}}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/resources/{id}": {
			ID: "resource", Group: "context", Summary: "The payload of a resource",
			Text:   "The whole file: of a resource of status `ok` as it was when the newest snapshot was made, which is what is pushed; of one that is `excluded`, or `oversize` with up to 1 MiB, as it is now, read with all checks that it was found with. Others have no payload, nor has one of kind `mcp_config`, or what holds secrets.",
			Params: resourceParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The payload: `text/plain` where it is UTF-8 without NUL, else `application/octet-stream`; never anything else, whatever the file is.", Body: httpapi.Contents{httpapi.Content("text/plain"), httpapi.Content("application/octet-stream")}, Headers: tagged{}},
				{Code: http.StatusNotModified, Text: "It is the one that `If-None-Match` names."},
				httpapi.Refuse(http.StatusNotFound, "There is no such thing, or it has no payload.", "the resource has no payload: oversize: 81920 bytes, at most 65536 are pushed"),
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized},
		},
		"GET /api/v0/context/why": {
			ID: "why", Group: "context", Summary: "Is this file in the context, and if not, why?",
			Params:  whyParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "One answer for each path, in the same order.", Body: []why.Answer{}, Example: json.RawMessage(`[{"path": "/home/me/project/agents.md", "found": false, "resource_id": "", "resolver": "waymark/context", "root": "/home/me/project", "reason": "wrong_case", "detail": "the name is matched exactly: rename it to AGENTS.md"}]`)}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/for": {
			ID: "for", Group: "context", Summary: "What applies to this file?",
			Text:   "Which instructions, rules, skills, subagents and commands apply to a file, nearest first, with the reason; then those that don't, and why. What lies at the top of what the agent looks at is as in the newest snapshot. In each directory between that and the file the places that are read there, too, are looked up now; nothing else is looked at. The file need not be there. Of directories more than 64 names below the root, or with a path of more than 960 bytes, a warning says that they weren't looked into.",
			Params: forParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "What applies, and what doesn't.", Body: applicability.Answer{}, Example: json.RawMessage(`{"path": "/home/me/project/src/api/main.go", "root": "/home/me/project", "items": [{"id": "instruction_file:/home/me/project/src/AGENTS.md", "kind": "instruction_file", "path": "src/AGENTS.md", "name": "", "mode": "always", "applies": true, "reason": "always, for files below src", "bytes": 812, "tokens": 203}, {"id": "instruction_file:/home/me/project/.cursor/rules/web.mdc", "kind": "instruction_file", "path": ".cursor/rules/web.mdc", "name": "web", "mode": "glob", "applies": false, "reason": "its glob doesn't match: web/**/*.ts", "bytes": 90, "tokens": 23}]}`)},
				httpapi.Refuse(http.StatusForbidden, "The path is on the secret list, or a page of another origin asks.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/skill-files": {
			ID: "skillFiles", Group: "context", Summary: "The files of a skill",
			Text:    "What lies in the skill's directory, as it is now, in byte order: read with the guards that all else is found by. At most 512 files of up to 4 MiB, 16 MiB in all, 8 directories deep. What is on the secret list and what holds the settings of a client isn't shown, nor is what a link leads to out of the directory.",
			Params:  skillFilesParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The files.", Body: status.SkillFiles{}, Example: json.RawMessage(`{"id": "skill:/home/me/project/.agents/skills/foo", "omitted": 0, "files": [{"path": "SKILL.md", "size_bytes": 5, "digest": "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}]}`)}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/skill-file": {
			ID: "skillFile", Group: "context", Summary: "A file of a skill",
			Text:   "The content of one of the files that `skill-files` lists, as it is now.",
			Params: skillFileParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "The file: `text/plain` where it is UTF-8 without NUL, else `application/octet-stream`; never anything else, whatever the file is.", Body: httpapi.Contents{httpapi.Content("text/plain"), httpapi.Content("application/octet-stream")}, Headers: tagged{}},
				{Code: http.StatusNotModified, Text: "It is the one that `If-None-Match` names."},
				httpapi.Refuse(http.StatusConflict, "It has another content than `digest` names.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/client": {
			ID: "clientContext", Group: "context", Summary: "What does this coding agent see when it starts?",
			Text:   "Which files a coding agent would begin with, in its order, and what it would cut or leave out, and why. It is looked where that one looks, in the directories above as well and nowhere else, at the files as they are now; the coding agent needn't be installed, and isn't started. One such question is answered at a time.",
			Params: clientContextParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "What it sees, and what it doesn't.", Body: codingagents.View{}, Example: json.RawMessage(`{"client": "codex", "name": "Codex", "version": "0.169.0", "judged": "program 0.169.0, 2026-11-24", "root": "/home/me/project", "project": "/home/me/project", "items": [{"id": "instruction_file:/home/me/project/AGENTS.md", "kind": "instruction_file", "convention": "agents-md", "path": "/home/me/project/AGENTS.md", "name": "", "bytes": 40000, "tokens": 8192, "included": true, "cut_bytes": 7232, "reason": "cut", "detail": "there was room for 32768 bytes of it"}], "budget": {"instruction_bytes": 32768, "used_bytes": 32768, "skill_tokens": 5440, "window_tokens": 272000, "used_tokens": 432, "builtin_skills": 4, "shortened_skills": 0, "dropped_skills": 0}, "not_looked_at": []}`)},
				httpapi.Refuse(http.StatusForbidden, "The directory is on the secret list, or a page of another origin asks.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/coverage": {
			ID: "coverage", Group: "context", Summary: "Which files of agents aren't used?",
			Text:    "The files that lie where agents look, and that nothing is made of: since all agents that read them are switched off, since no resolver lists such files, or since they are nothing for a chat to read. It goes by names alone.",
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The files, by reasons.", Body: why.Coverage{}, Example: json.RawMessage(`{"groups": [{"reason": "no_kind", "text": "1 file that no kind fits (ignore lists)", "files": [{"path": "/home/me/project/.cursorignore", "convention": "cursor-ignore", "as": "ignore lists", "readers": ["cursor"]}]}], "partial": false}`)}},
			Errors:  []int{http.StatusUnauthorized, http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"PUT /api/v0/context/root": {
			ID: "setRoot", Group: "context", Summary: "Tell the working directory",
			Text:    "For an agent that was started before its working directory was known. Relative paths of its environment bind to it then.",
			Body:    status.Root{},
			Example: json.RawMessage(`{"path": "/home/me/project"}`),
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is looked into from now on."}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"POST /api/v0/context/ready": {
			ID: "ready", Group: "context", Summary: "Let the first snapshot be published",
			Text:    "Where it is held back with `--wait-for`. Later calls do nothing. The body is empty, or an empty object.",
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It isn't held back any more."}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/sources": {
			ID: "listSources", Group: "context", Summary: "The user's sources",
			Answers: []httpapi.Answer{httpapi.OK("All sources, in order of precedence.", []sources.Source{})},
			Errors:  []int{http.StatusUnauthorized},
		},
		"POST /api/v0/context/sources": {
			ID: "addSource", Group: "context", Summary: "Add a source",
			Text:    "A directory, or one file, to look into. It need not exist yet. With its links resolved it must lie in the home or in the working directory.",
			Body:    status.NewSource{},
			Example: json.RawMessage(`{"path": "/home/me/notes", "persist": true}`),
			Answers: []httpapi.Answer{{Code: http.StatusCreated, Text: "It is on the list; `added` tells whether it is new there.", Body: status.AddedSource{}, Headers: located{}, Example: json.RawMessage(`{"path": "/home/me/notes", "exists": true, "persisted": false, "origin": "api", "error": "", "added": true}`)}},
			Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
		"GET /api/v0/context/sources/{path}": {
			ID: "showSource", Group: "context", Summary: "One source",
			Params:  showSourceParams{},
			Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The source.", Body: sources.Source{}, Example: json.RawMessage(`{"path": "/home/me/notes", "exists": true, "persisted": false, "origin": "api", "error": ""}`)}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound},
		},
		"DELETE /api/v0/context/sources/{path}": {
			ID: "removeSource", Group: "context", Summary: "Remove a source for good",
			Params:  removeSourceParams{},
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It is not on the list any more."}},
			Errors:  []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		},
	}
}
