package servers

import (
	"strings"
	"time"

	"waymark/sdk-guest/jsonlite"
)

// field is what a key of an entry means.
type field int

// The fields, in the order in which their problems are told.
const (
	unknown field = iota
	ignored       // understood, and nothing that a server is started or dialed by
	kind
	command
	commandArgs
	args
	env
	cwd
	address
	httpAddress
	header
	disabled
	enabled
	onlyTools
	withoutTools
	timeout
	startTimeout
	callTimeout
	inherit
	headerVariables
	bearer
	literalBearer
	environmentFile
	helper
	signIn
	source
	inner
	fields
)

// fieldOf says what a key means in a shape. Functions, since the tables of a package are
// made at the start of every guest, whether it reads entries or not.
func (s Shape) fieldOf(key string) field {
	f := unknown
	switch s {
	case Claude, ClaudeUser:
		if key == "timeout" {
			f = timeout
		}
	case ClaudeDesktop:
	case VSCode:
		switch key {
		case "version", "gallery", "dev":
			f = ignored
		}
	case OpenCode:
		f = openCodeField(key)
	case Codex:
		f = codexField(key)
	case Zed:
		f = zedField(key)
	case Goose:
		f = gooseField(key)
	default:
		f = wideField(key)
	}
	if f == unknown {
		f = commonField(key)
	}
	return f
}

// commonField knows the keys that mean the same in all shapes, where these don't say
// otherwise.
func commonField(key string) field {
	switch key {
	case "type":
		return kind
	case "command":
		return command
	case "args":
		return args
	case "env":
		return env
	case "cwd":
		return cwd
	case "url":
		return address
	case "headers":
		return header
	case "envFile":
		return environmentFile
	case "headersHelper":
		return helper
	case "oauth":
		return signIn
	case "description", "name", "$schema", "alwaysLoad":
		return ignored
	}
	return unknown
}

// wideField knows those that clients have who share a shape. They agree on what each
// means.
func wideField(key string) field {
	switch key {
	case "transport", "transportType":
		return kind
	case "serverUrl":
		return address
	case "httpUrl":
		return httpAddress
	case "disabled":
		return disabled
	case "enabled":
		return enabled
	case "includeTools", "enabledTools", "allowedTools", "tools":
		return onlyTools
	case "excludeTools", "disabledTools":
		return withoutTools
	case "timeout":
		return timeout
	case "env_file":
		return environmentFile
	case "auth", "authProviderType", "authorization":
		return signIn
	case "autoApprove", "alwaysAllow", "trust", "watchPaths", "title", "displayName", "icon", "version", "gallery", "dev", "extension":
		return ignored
	}
	return unknown
}

func openCodeField(key string) field {
	switch key {
	case "command":
		return commandArgs
	case "environment":
		return env
	case "enabled":
		return enabled
	case "disabled":
		return disabled
	case "timeout":
		return timeout
	}
	return unknown
}

func codexField(key string) field {
	switch key {
	case "enabled":
		return enabled
	case "env_vars":
		return inherit
	case "http_headers":
		return header
	case "env_http_headers":
		return headerVariables
	case "bearer_token_env_var":
		return bearer
	case "bearer_token":
		return literalBearer
	case "enabled_tools":
		return onlyTools
	case "disabled_tools":
		return withoutTools
	case "startup_timeout_sec", "startup_timeout_ms":
		return startTimeout
	case "tool_timeout_sec":
		return callTimeout
	case "scopes", "oauth_resource":
		return signIn
	case "required", "tools", "default_tools_approval_mode", "supports_parallel_tool_calls":
		return ignored
	}
	return unknown
}

func zedField(key string) field {
	switch key {
	case "enabled":
		return enabled
	case "source":
		return source
	case "path":
		return command
	case "timeout":
		return timeout
	case "settings":
		return ignored
	}
	return unknown
}

func gooseField(key string) field {
	switch key {
	case "cmd":
		return command
	case "envs":
		return env
	case "env_keys":
		return inherit
	case "uri":
		return address
	case "enabled":
		return enabled
	case "timeout":
		return timeout
	case "available_tools":
		return onlyTools
	case "config":
		return inner
	case "bundled", "display_name":
		return ignored
	}
	return unknown
}

// note says what isn't done about a field that is understood.
func (f field) note() string {
	switch f {
	case environmentFile:
		return "its envFile isn't read: what the server needs belongs into its variables"
	case helper:
		return "its headersHelper isn't run"
	}
	return "its settings for signing in aren't taken over: 'agent mcp login' signs in"
}

// maxFindings bounds those of one entry.
const maxFindings = 16

// read reads an entry; ok is false where it is none of a server.
func read(shape Shape, name string, v jsonlite.Value) (s Server, ok bool) {
	if problem := badName(name); problem != "" {
		return Server{Name: strings.ToValidUTF8(name[:min(len(name), maxName)], ""), Problem: problem}, true
	}
	if v.Kind() != jsonlite.Object {
		return Server{Name: name, Problem: "it is " + string(v.Kind()) + ", not an object"}, true
	}
	if shape == AgentPlugin {
		return agentPluginEntry(name, v), true
	}
	r := reader{shape: shape, server: Server{Name: name, Syntax: shape.syntax()}}
	r.members(v)
	if r.none() {
		return Server{}, false
	}
	for _, problem := range r.problems {
		if problem != "" {
			return Server{Name: name, Problem: problem}, true
		}
	}
	if problem := r.complete(); problem != "" {
		return Server{Name: name, Problem: problem}, true
	}
	r.server.Needs = r.needs()
	return r.server, true
}

// reader reads the members of an entry. Each field has its problem, so that the one of
// a key that is given again goes with what it was about.
type reader struct {
	shape    Shape
	server   Server
	problems [fields]string

	typ     string
	words   []string // a command with its arguments
	httpURL string
	bearer  string
	source  string
	on      bool // enabled stands there
}

func (r *reader) members(v jsonlite.Value) {
	for key, value := range v.Members() {
		f := r.shape.fieldOf(key)
		switch {
		case f == inner && value.Kind() == jsonlite.Object:
			r.members(value)
		case f == unknown:
			r.find(quote(key) + " isn't understood")
		default:
			r.problems[f] = r.member(f, key, value)
		}
	}
}

// find adds a finding.
func (r *reader) find(text string) {
	if len(r.server.Findings) < maxFindings && !contains(r.server.Findings, text) {
		r.server.Findings = append(r.server.Findings, text)
	}
}

func (r *reader) member(f field, key string, v jsonlite.Value) (problem string) {
	s := &r.server
	switch f {
	case kind:
		r.typ, problem = text(key, v)
	case command:
		if r.shape == Zed && v.Kind() == jsonlite.Object {
			r.members(v)
			return ""
		}
		s.Command, problem = text(key, v)
	case commandArgs:
		r.words, problem = list(key, v)
	case args:
		s.Args, problem = list(key, v)
	case env:
		s.Env, problem = table(key, v, badVariable)
	case cwd:
		s.Cwd, problem = text(key, v)
	case address:
		s.URL, problem = text(key, v)
	case httpAddress:
		r.httpURL, problem = text(key, v)
	case header:
		s.Headers, problem = headers(key, v)
	case inherit:
		s.Inherit, problem = variables(key, v)
	case headerVariables:
		s.HeaderVariables, problem = table(key, v, badHeader)
	case bearer:
		r.bearer, problem = text(key, v)
	case literalBearer:
		problem = key + " is refused by its client, too: bearer_token_env_var names a variable"
	case source:
		r.source, problem = text(key, v)
	case environmentFile, helper, signIn:
		if v.Kind() != jsonlite.Null {
			r.find(f.note())
		}
	default:
		problem = r.limit(f, key, v)
	}
	return problem
}

// limit reads what narrows a server.
func (r *reader) limit(f field, key string, v jsonlite.Value) (problem string) {
	s := &r.server
	switch f {
	case disabled:
		s.Disabled, problem = flag(key, v)
	case enabled:
		var on bool
		if on, problem = flag(key, v); v.Kind() != jsonlite.Null {
			r.on, s.Disabled = true, !on
		}
	case onlyTools:
		s.Tools, problem = list(key, v)
		s.Limited = v.Kind() == jsonlite.Array && !contains(s.Tools, "*") && (len(s.Tools) > 0 || r.shape != Goose)
		if !s.Limited {
			s.Tools = nil
		}
	case withoutTools:
		s.NoTools, problem = list(key, v)
	case timeout:
		r.timeout(v)
	case startTimeout:
		s.ConnectTimeout = duration(v, unitOf(key))
	case callTimeout:
		s.CallTimeout = duration(v, unitOf(key))
	}
	return problem
}

func unitOf(key string) time.Duration {
	if strings.HasSuffix(key, "_ms") {
		return time.Millisecond
	}
	return time.Second
}

// timeout reads the one that is for calls. In the second version of opencode it has
// two parts.
func (r *reader) timeout(v jsonlite.Value) {
	s := &r.server
	switch r.shape {
	case Editor, Cline, Goose:
		s.CallTimeout = duration(v, time.Second)
	case Zed, OpenCode:
		if start, ok := v.Get("startup"); ok {
			s.ConnectTimeout = duration(start, time.Millisecond)
		}
		if request, ok := v.Get("request"); ok {
			v = request
		}
		s.CallTimeout = duration(v, time.Millisecond)
	default:
		s.CallTimeout = duration(v, time.Millisecond)
	}
}

// none reports whether an entry is none of a server: what Goose has built in, and what
// only switches a server that opencode knows from elsewhere.
func (r *reader) none() bool {
	switch r.shape {
	case Goose:
		switch r.typ {
		case "builtin", "platform", "frontend", "inline_python":
			return true
		}
	case OpenCode:
		return r.on && r.typ == "" && len(r.words) == 0 && r.server.URL == ""
	}
	return false
}

// complete settles the transport and what follows from several keys, and says what is
// missing.
func (r *reader) complete() (problem string) {
	s := &r.server
	if len(r.words) > 0 {
		s.Command, s.Args = r.words[0], r.words[1:]
	}
	if r.bearer != "" {
		if s.HeaderVariables == nil {
			s.HeaderVariables = map[string]string{}
		}
		s.HeaderVariables["Authorization"] = "Bearer " + r.bearer
	}
	if problem := r.headerVariables(); problem != "" {
		return problem
	}
	if r.httpURL != "" {
		s.URL = r.httpURL
	}
	if r.shape == Zed && r.source == "extension" && s.Command == "" && s.URL == "" {
		s.Needs, s.Transport = "an extension of Zed brings it", Stdio
		return ""
	}
	if s.Transport, problem = r.transport(); problem != "" {
		return problem
	}
	switch {
	case s.Transport == "":
		return "it has neither a command nor a url"
	case s.Transport == Stdio && s.Command == "":
		return "its type is stdio, and it has no command"
	case s.Transport != Stdio && s.URL == "":
		return "its type is " + s.Transport + ", and it has no url"
	}
	return ""
}

// headerVariables checks them, and takes out the headers that they replace.
func (r *reader) headerVariables() (problem string) {
	for _, header := range sorted(r.server.HeaderVariables) {
		value := r.server.HeaderVariables[header]
		if name := value[strings.LastIndexByte(value, ' ')+1:]; nameLength(name) != len(name) || name == "" {
			return "the header " + quote(header) + " has no variable's name"
		}
		for other := range r.server.Headers {
			if strings.EqualFold(header, other) {
				delete(r.server.Headers, other)
			}
		}
	}
	return ""
}

// transport says what type says, else what follows from command and url; empty where
// nothing does.
func (r *reader) transport() (transport, problem string) {
	s := &r.server
	if r.shape == Claude || r.shape == ClaudeUser || r.shape == ClaudeDesktop {
		switch r.typ {
		case "":
		case Stdio, HTTP, SSE:
			return r.typ, ""
		case "streamable-http":
			return HTTP, ""
		default:
			return "", "its type is none of stdio, http, streamable-http and sse"
		}
	}
	switch r.typ {
	case "":
	case "stdio", "local":
		return Stdio, ""
	case "http", "streamable-http", "streamableHttp", "streamable_http", "remote":
		return HTTP, ""
	case "sse":
		return SSE, ""
	default:
		return "", "its type is none of those that can be connected: stdio, http and sse, under the names that its client has for them"
	}
	switch {
	case r.shape == Gemini && r.httpURL == "" && s.URL != "": // before the command
		return SSE, ""
	case s.Command != "" && (r.shape != Gemini || s.URL == ""):
		return Stdio, ""
	case s.URL != "":
		return HTTP, ""
	}
	return "", ""
}

// needs says what only the client of the file has.
func (r *reader) needs() string {
	s := &r.server
	if s.Needs != "" {
		return s.Needs
	}
	missing := ""
	look := func(text string) {
		for _, ref := range s.Syntax.References(text) {
			if ref.Kind == Foreign && missing == "" {
				missing = ref.Name
			}
		}
		if r.shape == Gemini && missing == "" && strings.Contains(text, "${extensionPath}") {
			missing = "extensionPath"
		}
	}
	for _, text := range append([]string{s.Command, s.Cwd, s.URL}, s.Args...) {
		look(text)
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for _, name := range sorted(texts) {
			look(texts[name])
		}
	}
	if missing == "" {
		return ""
	}
	return "it refers to " + quote(missing) + ", which only the client has that its file is for"
}
