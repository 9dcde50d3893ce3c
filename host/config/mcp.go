package config

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// MCP says which MCP servers of a workspace run, and how. ConnectTimeout and CallTimeout are
// at most as long as agentapi/client waits. The caps make a chat's list of tools fit into one
// answer. A user may set Approved without limits from the machine's file, because 'agent mcp
// approve' has the same effect.
type MCP struct {
	Enabled         bool     `toml:"enabled" join:"least" help:"false: they are listed, and none is started"`
	Trust           string   `toml:"trust" join:"least" words:"ask workspace" help:"ask: what a workspace names is started once it has been approved, see 'agent mcp approve'. workspace: at once; whoever can write a file of the workspace can then run programs."`
	From            []string `toml:"from" join:"intersection" words:"client source user" help:"Servers of client (files of other clients in the workspace, such as .vscode/mcp.json), of source (sources and other roots) and of user (the user's own files of other clients) are listed; those that are named here are connected, too, once approved."`
	Confine         string   `toml:"confine" join:"least" words:"server none" help:"none: without a profile"`
	RequireConfined bool     `toml:"require_confined" join:"most" help:"true: don't start what the kernel can't confine, or what has no profile"`
	Allow           []string `toml:"allow" join:"choice" check:"tools" help:"Patterns of servers (github) and of their tools (github__*). What is denied is denied; with an empty allow everything else is allowed."`
	Deny            []string `toml:"deny" join:"union" check:"tools" help:"the same, of what is denied"`
	NewTools        string   `toml:"new_tools" join:"least" words:"hold take" help:"hold: a server's new tools wait for an approval, as changed ones do"`
	Approved        []string `toml:"approved" check:"definition" help:"Definitions that are approved on this machine, sha256:… as 'agent mcp show' prints them."`
	Keys            []string `toml:"keys" join:"machine" check:"key" help:"Public keys (Ed25519, base64) of those whose signed approvals count, as a hub hands them out. Only /etc/waymark/plugin.toml and the file of --config may name them."`

	ConnectTimeout time.Duration `toml:"connect_timeout" join:"least" least:"1s" most:"10m" help:"from a server's start to its list of tools"`
	CallTimeout    time.Duration `toml:"call_timeout" join:"least" least:"1s" most:"1h" help:"of one call"`
	Idle           time.Duration `toml:"idle" join:"least" least:"1s" most:"24h" help:"a server that isn't called ends after this"`
	ServerTools    int           `toml:"server_tools" join:"least" least:"1" most:"10000" help:"tools of one server"`
	Tools          int           `toml:"tools" join:"least" least:"1" most:"10000" holds:"server_tools" why:"all servers together need room for at least one" help:"and of all"`
	ServerBytes    Bytes         `toml:"server_bytes" join:"least" least:"1KiB" most:"16MiB" help:"what one server lists, as JSON"`
	Bytes          Bytes         `toml:"bytes" join:"least" least:"1KiB" most:"32MiB" holds:"server_bytes" why:"all servers together need room for at least one" help:"and all of them"`
	ResultBytes    Bytes         `toml:"result_bytes" join:"least" least:"1KiB" most:"16MiB" help:"answered of a call's result"`
	ResultSpool    Bytes         `toml:"result_spool" join:"least" least:"1MiB" most:"16GiB" holds:"result_bytes" why:"what is kept for paging is longer than what is answered at once" help:"kept of longer results, of all together"`
	Disk           Bytes         `toml:"disk" join:"least" least:"1MiB" most:"1024GiB" help:"one server's cache and temporary files: it ends beyond"`

	Servers map[string]*MCPServer `toml:"servers" example:"github" help:"What the server of that name may do in addition, whoever has approved it."`
}

// MCPServer is what the operator says of one server. Paths are compared as they are
// written: one below another may be a link that leads out of it. Of Ports nil narrows
// nothing, and an empty list closes all.
type MCPServer struct {
	Off   bool     `toml:"off" join:"most" help:"true: it isn't started"`
	Read  []string `toml:"read" join:"intersection" check:"reach" help:"paths that it may read: /…, ~/…, or below the workspace"`
	Write []string `toml:"write" join:"intersection" check:"reach" help:"paths that it may write, likewise"`
	Ports []uint16 `toml:"ports" join:"intersection" example:"[443]" help:"narrows TCP to these ports, [] to none; without the key it is open"`
	Unix  bool     `toml:"unix" join:"least" help:"connect to Unix sockets"`
	Env   []string `toml:"env" join:"intersection" check:"variable" help:"names of variables of the agent that it gets"`
}

// The values of MCP's texts.
const (
	TrustAsk       = "ask"
	TrustWorkspace = "workspace"

	FromClient = "client"
	FromSource = "source"
	FromUser   = "user"

	ConfineServer = "server"
	ConfineNone   = "none"

	NewToolsTake = "take"
	NewToolsHold = "hold"
)

// serversOf are the tables of single servers. One is there from when it is opened.
func serversOf(servers *map[string]*MCPServer) entries {
	return entries{
		names: slices.Sorted(maps.Keys(*servers)), named: true,
		of: func(name string) table { return tableOf(cmp.Or((*servers)[name], new(MCPServer)), new(MCPServer)) },
		open: func(name string) (table, error) {
			if err := checkServer(name); err != nil {
				return nil, err
			}
			s := *cmp.Or((*servers)[name], new(MCPServer))
			*servers = maps.Clone(*servers) // which another Config may have
			if *servers == nil {
				*servers = map[string]*MCPServer{}
			}
			(*servers)[name] = &s
			return tableOf(&s, new(MCPServer)), nil
		},
	}
}
