package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/internal/defaults"
	"waymark/internal/lazyregexp"
	"waymark/wire/approval"
)

// MCP says which MCP servers of a workspace run, and how.
type MCP struct {
	// Enabled is whether servers are started at all; they are listed without.
	Enabled bool
	// Trust is TrustAsk or TrustWorkspace.
	Trust string
	// From holds FromClient, FromSource and FromUser, for what is connected in addition.
	From []string
	// Confine is ConfineServer or ConfineNone.
	Confine string
	// RequireConfined starts nothing without a profile that the kernel holds it to.
	RequireConfined bool
	// Allow and Deny are patterns of servers and of SERVER__TOOL.
	Allow, Deny []string
	// NewTools is NewToolsTake or NewToolsHold.
	NewTools string
	// Approved are digests of definitions: "sha256:" and 64 hexadecimal digits.
	Approved []string
	// Keys are the public keys of those who sign approvals, as base64.
	Keys []string

	// ConnectTimeout is from a server's start to its catalogue.
	ConnectTimeout, CallTimeout, Idle time.Duration
	// ServerTools and ServerBytes bound one server's tools, Tools and Bytes those
	// of all servers.
	ServerTools, Tools int
	ServerBytes, Bytes Bytes
	// ResultBytes is answered of a result at once, ResultSpool kept of all.
	ResultBytes, ResultSpool Bytes
	// Disk is what the cache and the temporary files of one server may hold.
	Disk Bytes
	// Servers are the tables of single servers, by name.
	Servers map[string]*MCPServer
}

// MCPServer is what the operator says of one server.
type MCPServer struct {
	// Off keeps it from being started.
	Off bool
	// Read and Write are absolute, begin with "~/", or are relative to the workspace.
	Read, Write []string
	// Ports narrows TCP; nil doesn't, and an empty list closes it.
	Ports []uint16
	// Unix allows Unix sockets by path.
	Unix bool
	// Env are names of the agent's variables.
	Env []string
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

func defaultMCP() MCP {
	return MCP{
		Enabled: true, Trust: TrustAsk, Confine: ConfineServer, NewTools: NewToolsTake,
		ConnectTimeout: defaults.MCPConnectTimeout, CallTimeout: defaults.MCPCallTimeout, Idle: defaults.MCPIdle,
		ServerTools: defaults.MCPServerTools, Tools: defaults.MCPTools, ServerBytes: defaults.MCPServerBytes, Bytes: defaults.MCPBytes,
		ResultBytes: defaults.MCPResultBytes, ResultSpool: defaults.MCPResultSpool, Disk: defaults.MCPDisk,
	}
}

// schema returns the [mcp] table. The longest times are those that clients of the
// agent wait; the caps keep a chat's list of tools one that fits into an answer.
func (m *MCP) schema() table {
	return table{
		{"enabled", setBool(&m.Enabled, least)},
		{"trust", setWord(&m.Trust, least, TrustAsk, TrustWorkspace)},
		{"from", setList(&m.From, intersection, oneOf(FromClient, FromSource, FromUser))},
		{"confine", setWord(&m.Confine, least, ConfineServer, ConfineNone)},
		{"require_confined", setBool(&m.RequireConfined, most)},
		{"allow", choice(setList(&m.Allow, intersection, checkTools), coversTools)},
		{"deny", setList(&m.Deny, union, checkTools)},
		{"new_tools", setWord(&m.NewTools, least, NewToolsHold, NewToolsTake)},
		{"approved", setList(&m.Approved, later, checkDefinition)}, // as a user can with 'agent mcp approve'
		{"keys", setList(&m.Keys, machine, checkKey)},
		{"connect_timeout", setDuration(&m.ConnectTimeout, least, time.Second, 10*time.Minute)},
		{"call_timeout", setDuration(&m.CallTimeout, least, time.Second, time.Hour)},
		{"idle", setDuration(&m.Idle, least, time.Second, 24*time.Hour)},
		{"server_tools", setCount(&m.ServerTools, least, 1, 10_000)},
		{"tools", setCount(&m.Tools, least, 1, 10_000)},
		{"server_bytes", setBytes(&m.ServerBytes, least, KiB, 16*MiB)},
		{"bytes", setBytes(&m.Bytes, least, KiB, 32*MiB)},
		{"result_bytes", setBytes(&m.ResultBytes, least, KiB, 16*MiB)},
		{"result_spool", setBytes(&m.ResultSpool, least, MiB, 16*GiB)},
		{"disk", setBytes(&m.Disk, least, MiB, 1024*GiB)},
		{"servers", entries{
			names: slices.Sorted(maps.Keys(m.Servers)), open: m.server,
			of: func(name string) (have, fresh table) { return m.Servers[name].schema(), new(MCPServer).schema() },
		}},
	}
}

// server returns the table of one server, which is there from then on.
func (m *MCP) server(name string) (table, error) {
	if err := checkServer(name); err != nil {
		return nil, err
	}
	m.Servers = maps.Clone(m.Servers)
	if m.Servers == nil {
		m.Servers = map[string]*MCPServer{}
	}
	s := &MCPServer{}
	if before := m.Servers[name]; before != nil {
		*s = *before
	}
	m.Servers[name] = s
	return s.schema(), nil
}

// schema returns the table of one server. Paths are compared as they are written: one
// below another may be a link that leads out of it.
func (s *MCPServer) schema() table {
	return table{
		{"off", setBool(&s.Off, most)},
		{"read", setList(&s.Read, intersection, checkReach)},
		{"write", setList(&s.Write, intersection, checkReach)},
		{"ports", setPorts(&s.Ports)},
		{"unix", setBool(&s.Unix, least)},
		{"env", setList(&s.Env, intersection, checkVariable)},
	}
}

// checkTools accepts a pattern of a server or of SERVER__TOOL.
func checkTools(s string) error {
	switch {
	case s == "":
		return errEmpty
	case !doublestar.ValidatePattern(s):
		return fmt.Errorf("%.80q is not a pattern: check its brackets and braces", s)
	case len(s) > nameMax:
		return fmt.Errorf("a pattern has at most %d bytes", nameMax)
	}
	return checkPrintable(s)
}

// checkServer accepts the name of a server as configuration files may have it.
func checkServer(s string) error {
	if err := checkName(s); err != nil {
		return err
	}
	if strings.Contains(s, "__") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") {
		return errors.New("the name of a server has no \"__\" and no \"_\" at an end: its tools are called SERVER__TOOL")
	}
	return nil
}

var definition = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

func checkDefinition(s string) error {
	if !definition().MatchString(s) {
		return fmt.Errorf("%.80q is not \"sha256:\" and 64 lower-case hexadecimal digits: 'agent mcp show NAME' prints the definition", s)
	}
	return nil
}

func checkKey(s string) error {
	// PEM is understood, too, and would be another way to write the same.
	if raw, err := base64.StdEncoding.Strict().DecodeString(s); err != nil || len(raw) != 32 {
		return errors.New("it is not the 32 bytes of an Ed25519 public key as base64: 'hub approvals keygen' prints one")
	}
	_, err := approval.ParsePublicKey(s)
	return err
}

// checkReach accepts a path that a server may be let to.
func checkReach(s string) error {
	switch {
	case s == "":
		return errEmpty
	case strings.HasPrefix(s, "~/"), s == "~":
	case filepath.IsAbs(s):
	case path.Clean(s) == ".." || strings.HasPrefix(path.Clean(s), "../"):
		return fmt.Errorf("%.80q leads out of the workspace: write an absolute path", s)
	}
	return checkPrintable(s)
}

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkVariable(s string) error {
	if !variable().MatchString(s) {
		// Not echoed: it may be NAME=VALUE.
		return errors.New("it is not the name of a variable: values have no place here")
	}
	return nil
}

func setPorts(dst *[]uint16) key {
	k := list(dst, intersection, func(value any) ([]uint16, error) {
		items, ok := value.([]any)
		if !ok {
			return nil, wrongType("a list of ports", value)
		}
		list := make([]uint16, 0, len(items)) // [] isn't nil: it closes what nil leaves open
		for _, item := range items {
			n, ok := item.(int64)
			if !ok {
				return nil, wrongType("a list of ports", item)
			}
			if n < 1 || n > 65535 {
				return nil, outside(n, 1, 65535)
			}
			list = append(list, uint16(n))
		}
		return list, nil
	}, func(a, b uint16) bool { return a == b })
	both := k.narrow
	k.narrow = func(m, own []uint16) ([]uint16, bool) {
		joined, whole := both(m, own)
		return append([]uint16{}, joined...), whole
	}
	return k
}
