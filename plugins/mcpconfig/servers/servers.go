// Package servers reads the MCP servers that a configuration file declares, in the format of
// the file's client. Guests and the agent share it, so it only parses: it opens nothing,
// expands nothing, and returns values as written.
//
// # Guarantees
//
// It never panics, and takes time and memory in proportion to the text. An unusable entry
// affects only itself: it is returned with its Problem. Neither a problem, a finding nor an
// error contains a value of the file; they may contain names of servers, keys and variables,
// cut to a length. It is an error only if the file isn't one of servers at all: text that
// can't be parsed, or a map of servers that isn't a map.
//
// Of duplicate keys in JSON the last one counts, as in every reader that the clients of these
// files have; earlier ones are neither merged nor checked. Keys are compared as spelled.
//
// The result for an entry of a .mcp.json never changes, because people have approved it by
// digests. Knowledge about other clients belongs to their formats.
//
// # Concurrency
//
// Functions may be called from any goroutine.
package servers

import (
	"errors"
	"strconv"
	"time"

	"waymark/sdk-guest/jsonlite"
)

// Server is one entry, with its references unexpanded. What isn't there is empty.
type Server struct {
	Name string
	// Transport is "stdio", "http" or "sse": what type says, else what follows from
	// command and url.
	Transport string
	Command   string
	Args      []string
	Env       map[string]string
	Cwd       string
	URL       string
	Headers   map[string]string
	// Syntax is how references are written in these.
	Syntax Syntax
	// Inherit are the names of variables that the server gets from its client's
	// environment. HeaderVariables are the headers whose values come from there: the
	// name of a variable, after a word and a blank where the value has that before it
	// ("Bearer TOKEN").
	Inherit         []string
	HeaderVariables map[string]string
	// Disabled says that the file itself switches the server off.
	Disabled bool
	// Tools are those that may be used, where Limited holds; NoTools are those
	// that may not, also where they are in Tools.
	Tools   []string
	Limited bool
	NoTools []string
	// ConnectTimeout and CallTimeout are what the file allows for a start and for a
	// call; 0 where it doesn't say.
	ConnectTimeout, CallTimeout time.Duration
	// Project is the directory that the entry is for, where a file has those of
	// several.
	Project string
	// Needs says what only the file's own client has, so that the entry can be listed
	// and not connected.
	Needs string
	// Findings say what of the entry isn't understood, or isn't done.
	Findings []string
	// Problem says why the entry can't be used; the other fields, but for Name and
	// Project, are empty then.
	Problem string
}

// The transports.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// Uses reports whether the entry leaves a tool of its server.
func (s *Server) Uses(tool string) bool {
	return !contains(s.NoTools, tool) && (!s.Limited || contains(s.Tools, tool))
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// Check says what is wrong with the text of a configuration file as a whole, or
// nothing. Of JSON it takes what encoding/json takes: duplicate keys and bad UTF-8 are
// no error, and null stands for missing servers.
func Check(shape Shape, text []byte) string {
	_, problem := find(shape, text)
	return problem
}

// otherRoots are the keys below which other clients have their servers.
var otherRoots = []string{"mcpServers", "servers", "mcp_servers", "context_servers"}

// Misplaced says that a file has its servers below a key of another client, so that its own
// one finds none; it is empty if they are where they belong.
func Misplaced(shape Shape, text []byte) string {
	doc, problem := document(shape.format(), text)
	if problem != "" || doc.Kind() != jsonlite.Object {
		return ""
	}
	if _, ok := doc.Get(shape.root()); ok {
		return ""
	}
	for _, key := range otherRoots {
		if v, ok := doc.Get(key); ok && v.Kind() == jsonlite.Object && (shape != Claude || !isFlat(doc)) {
			return "its servers are below " + key + ", where its client looks for " + shape.root() + ": it finds none"
		}
	}
	return ""
}

// Parse reads a configuration file. Servers are in the order in which the entries that
// count stand there; those of a project come before those of all. No two of one
// project have one name.
//
// # Errors
//
// What Check says.
func Parse(shape Shape, text []byte) ([]Server, error) {
	found, problem := find(shape, text)
	if problem != "" {
		return nil, errors.New(problem)
	}
	list := found.bad
	for _, g := range found.groups {
		last := map[string]int{}
		n := 0
		for name := range g.servers.Members() {
			last[name] = n
			n++
		}
		n = 0
		for name, value := range g.servers.Members() {
			if last[name] == n {
				list = found.read(list, g.project, name, value)
			}
			n++
		}
	}
	return list, nil
}

// read appends the entry of a name, where it is one of a server.
func (f *found) read(list []Server, project, name string, v jsonlite.Value) []Server {
	s, ok := read(f.shape, name, v)
	if !ok {
		return list
	}
	s.Project = project
	switch {
	case s.Problem != "":
	case f.flat:
		s.Needs = "it is written as in a plugin of Claude Code, without mcpServers: only those of plugins are connected"
	case f.off.Kind() == jsonlite.Object:
		s.Disabled = s.Disabled || switchedOff(f.off, name)
	}
	return append(list, s)
}

// switchedOff reports what the table mcp of Gemini CLI's settings says of a server.
func switchedOff(v jsonlite.Value, name string) bool {
	only, listed, excluded := false, false, false
	for key, names := range v.Members() {
		for one := range names.Elements() {
			text, _ := one.Text()
			switch key {
			case "allowed":
				only, listed = true, listed || text == name
			case "excluded":
				excluded = excluded || text == name
			}
		}
	}
	return excluded || only && !listed
}

// found is what a file has.
type found struct {
	shape  Shape
	groups []group
	// flat says that the file is the map of servers itself.
	flat bool
	// bad are maps of servers that aren't any.
	bad []Server
	// off is what Gemini CLI keeps beside the servers.
	off jsonlite.Value
}

// group is a map of servers.
type group struct {
	project string
	servers jsonlite.Value
}

// find returns the servers of a file.
func find(shape Shape, text []byte) (f found, problem string) {
	doc, problem := document(shape.format(), text)
	if problem != "" {
		return f, problem
	}
	if doc.Kind() != jsonlite.Object {
		return f, "it is " + string(doc.Kind()) + ", not an object"
	}
	f.shape = shape
	if shape == AgentPlugin || shape == Client && isAgentPlugin(doc) {
		f.shape = AgentPlugin
		if problem := agentPluginFile(doc); problem != "" {
			return f, problem
		}
	}
	var servers jsonlite.Value
	below := shape.root()
	for key, value := range doc.Members() {
		switch {
		case key == shape.root():
			servers = value
			if shape == OpenCode {
				servers, below = nested(value)
			}
		case key == "projects" && shape == ClaudeUser:
			f.groups, f.bad = nil, nil
			f.projects(value)
		case key == "mcp" && shape == Gemini:
			f.off = value
		}
	}
	if problem := checkServers(below, servers); problem != "" {
		return f, problem
	}
	if shape == Claude && servers.Kind() == "" && isFlat(doc) {
		f.flat, servers = true, doc
	}
	f.groups = append(f.groups, group{servers: servers})
	return f, ""
}

// checkServers says what is wrong with a map of servers.
func checkServers(root string, v jsonlite.Value) (problem string) {
	switch v.Kind() {
	case "", jsonlite.Null, jsonlite.Object:
		return ""
	}
	return root + " is " + string(v.Kind()) + ", not an object"
}

// projects takes the servers of the projects in ~/.claude.json. One that is wrong costs
// its own.
func (f *found) projects(v jsonlite.Value) {
	f.check("projects", "", v)
	for project, of := range v.Members() {
		f.check("projects "+quote(project), project, of)
		servers, _ := of.Get("mcpServers")
		f.check("mcpServers", project, servers)
		f.groups = append(f.groups, group{project, servers})
	}
}

// check adds what is wrong with a map that servers are below, as if it were one of them.
func (f *found) check(name, project string, v jsonlite.Value) {
	if problem := checkServers(name, v); problem != "" {
		f.bad = append(f.bad, Server{Name: name, Project: project, Problem: problem})
	}
}

// isFlat reports whether something that a file has looks like a server.
func isFlat(doc jsonlite.Value) bool {
	for _, v := range doc.Members() {
		for key, value := range v.Members() {
			if (key == "command" || key == "url") && value.Kind() == jsonlite.String {
				return true
			}
		}
	}
	return false
}

// nested returns the servers of opencode, with the key that they are below: in its
// second version they are one level deeper.
func nested(v jsonlite.Value) (servers jsonlite.Value, key string) {
	if inner, ok := v.Get("servers"); ok && inner.Kind() == jsonlite.Object {
		if typ, _ := inner.Get("type"); typ.Kind() != jsonlite.String {
			return inner, "servers"
		}
	}
	return v, "mcp"
}

// maxName is longer than any name that a model's tools may have.
const maxName = 128

// badName says why a server can't have a name: the names of its tools are made of it
// with "__" in between, and it is a part of a URL's path.
func badName(name string) string {
	switch {
	case name == "":
		return "an entry's name is empty"
	case len(name) > maxName:
		return "its name is longer than " + strconv.Itoa(maxName) + " bytes"
	case name == "." || name == "..":
		return "its name is a directory's"
	case name[0] == '_' || name[len(name)-1] == '_':
		return `its name begins or ends with "_": a tool is called by it, "__" and its own name`
	}
	for i, r := range name {
		switch {
		case r == '_' && name[i+1] == '_':
			return `its name holds "__": a tool is called by it, "__" and its own name`
		case r < ' ' || r >= 0x7f && r <= 0x9f || r == '\uFFFD' || r == '\u2028' || r == '\u2029':
			return "its name holds a control character, or what isn't UTF-8"
		}
	}
	return ""
}
