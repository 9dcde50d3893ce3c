package connect

import (
	"cmp"
	"os"
)

// State is whether a client is connected.
type State string

// The states.
const (
	StateConnected State = "connected"
	StateStale     State = "stale" // the entry starts a program that doesn't exist
	StateForeign   State = "other" // something else has the entry's name
	StateUnread    State = "unreadable"
	StateNone      State = "none"
)

// Connection says how a client is connected.
type Connection struct {
	Client string `json:"client"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	// Path is the file with the entry, or the one that would get it.
	Path string `json:"path"`
	// Program and Args are what the entry starts.
	Program string   `json:"program,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Hook says that there is a hook of ours.
	Hook bool `json:"hook"`
	// Problem says what is wrong, or is "".
	Problem string `json:"problem,omitempty"`
	// Err is why the file couldn't be read, for StateUnread.
	Err error `json:"-"`
}

// List returns how each client is connected. It writes nothing.
func (c *Connector) List() []Connection {
	list := make([]Connection, 0, len(clients))
	for _, client := range Clients() {
		list = append(list, c.look(client))
	}
	return list
}

func (c *Connector) look(client *Client) Connection {
	x := Connection{Client: client.ID, Name: client.Name, State: StateNone}
	for _, p := range c.everywhere(client) {
		hook := client.Hook && p.path == client.hookPath(&c.env)
		x.Path = cmp.Or(x.Path, p.path)
		f, err := read(p.path)
		var found any
		if err == nil {
			found, err = p.edit.find(f.data)
		}
		switch {
		case err != nil && x.State == StateNone:
			x.State, x.Path, x.Err = StateUnread, p.path, err
		case err != nil || found == nil:
		case hook:
			x.Hook = true
		default:
			x.Path = p.path
			x.judge(found)
		}
	}
	return x
}

// judge sets the state of an entry.
func (x *Connection) judge(found any) {
	var ours bool
	x.Program, x.Args, ours = program(found)
	m, _ := found.(map[string]any)
	off := m["enabled"] == false || m["disabled"] == true
	switch {
	case !ours:
		x.State, x.Problem = StateForeign, "another MCP server has the name "+Name
	case !executable(x.Program):
		x.State, x.Problem = StateStale, "the program isn't there any more: connect it again"
	case off:
		x.State, x.Problem = StateConnected, "the client has it switched off"
	default:
		x.State = StateConnected
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
