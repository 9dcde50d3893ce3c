// Package servers reads the MCP servers that a configuration file declares. Guests
// and the agent share it, so it only parses: it opens nothing, expands nothing, and
// what it returns is what stands there.
//
// # Guarantees
//
// It never panics and takes time and memory in proportion to the text. An entry that
// can't be used costs that entry: it is returned with its Problem, which holds no
// value of the file. Only what isn't such a file at all is an error, and a server
// that isn't an object makes it one, as resolver mcp-config has it.
//
// Where a key stands twice, the last one counts, as in every reader that the clients
// of these files have; what stood before is neither merged nor checked. Keys are
// compared as they are spelled.
//
// # Concurrency
//
// Functions may be called from any goroutine.
package servers

import (
	"errors"
	"strconv"

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
	// Problem says why the entry can't be used; the other fields, but for Name, are
	// empty then.
	Problem string
}

// The transports.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// Check says what is wrong with the text of a configuration file as a whole, or
// nothing. It takes what encoding/json takes: duplicate keys and bad UTF-8 are no
// error, and null stands for missing servers.
func Check(text []byte) string {
	_, problem := find(text)
	return problem
}

// find returns the servers of a file. The zero Value has none.
func find(text []byte) (servers jsonlite.Value, problem string) {
	doc, err := jsonlite.Parse(text, jsonlite.Options{AllowDuplicates: true, AllowInvalidUTF8: true})
	if err != nil {
		return servers, err.Error()
	}
	if doc.Kind() != jsonlite.Object {
		return servers, "it is " + string(doc.Kind()) + ", not an object"
	}
	for key, value := range doc.Members() {
		if key != "mcpServers" {
			continue
		}
		if servers = value; value.Kind() == jsonlite.Null {
			continue
		}
		if value.Kind() != jsonlite.Object {
			return servers, "mcpServers is " + string(value.Kind()) + ", not an object"
		}
		for name, server := range value.Members() {
			if server.Kind() != jsonlite.Object {
				return servers, "server " + strconv.Quote(name) + " is " + string(server.Kind()) + ", not an object"
			}
		}
	}
	return servers, ""
}

// Parse reads a configuration file: {"mcpServers": {name: {…}}}. Servers are in the
// order in which the entries that count stand there; no two have one name.
//
// # Errors
//
// What Check says.
func Parse(data []byte) ([]Server, error) {
	found, problem := find(data)
	if problem != "" {
		return nil, errors.New(problem)
	}
	last := map[string]int{}
	n := 0
	for name := range found.Members() {
		last[name] = n
		n++
	}
	var list []Server
	n = 0
	for name, value := range found.Members() {
		if last[name] == n {
			list = append(list, read(name, value))
		}
		n++
	}
	return list, nil
}

// read reads an entry.
func read(name string, v jsonlite.Value) Server {
	if problem := badName(name); problem != "" {
		return Server{Name: name, Problem: problem}
	}
	r := reader{server: Server{Name: name}}
	for key, value := range v.Members() {
		r.member(key, value)
	}
	for _, problem := range []string{r.kind, r.command, r.args, r.env, r.cwd, r.url, r.headers, r.server.complete(r.typ)} {
		if problem != "" {
			return Server{Name: name, Problem: problem}
		}
	}
	return r.server
}

// reader reads the members of an entry. Each has its problem, so that the one of a
// key that is given again goes with what it was about.
type reader struct {
	server Server
	typ    string

	kind, command, args, env, cwd, url, headers string
}

func (r *reader) member(key string, v jsonlite.Value) {
	s := &r.server
	switch key {
	case "type":
		r.typ, r.kind = text("type", v)
	case "command":
		s.Command, r.command = text("command", v)
	case "cwd":
		s.Cwd, r.cwd = text("cwd", v)
	case "url":
		s.URL, r.url = text("url", v)
	case "args":
		s.Args, r.args = list(v)
	case "env":
		s.Env, r.env = table("env", v, badVariable)
	case "headers":
		s.Headers, r.headers = headers(v)
	}
}

// complete settles the transport, and says what is missing.
func (s *Server) complete(typ string) (problem string) {
	switch typ {
	case "":
		s.Transport = HTTP
		if s.Command != "" {
			s.Transport = Stdio
		} else if s.URL == "" {
			return "it has neither a command nor a url"
		}
	case Stdio, HTTP, SSE:
		s.Transport = typ
	case "streamable-http":
		s.Transport = HTTP
	default:
		return "its type is none of stdio, http, streamable-http and sse"
	}
	switch {
	case s.Transport == Stdio && s.Command == "":
		return "its type is stdio, and it has no command"
	case s.Transport != Stdio && s.URL == "":
		return "its type is " + s.Transport + ", and it has no url"
	}
	return ""
}

// maxName is longer than any name that a model's tools may have.
const maxName = 128

// badName says why a server can't have a name: the names of its tools are made of it
// with "__" in between, and it is a part of a URL's path.
func badName(name string) string {
	switch {
	case name == "":
		return "its name is empty"
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
