package arch

const module = "waymark"

// Waymark returns the architecture of this repository.
func Waymark() *Architecture {
	return &Architecture{Layers: layers(), Rules: rules()}
}

func layers() []Layer {
	return []Layer{
		{"abi", []string{"waymark", "waymark/abi/...", "waymark/internal/await"}},
		{"snapshot", []string{"waymark/snapshot/..."}},
		{"guests", []string{"waymark/sdk-guest/...", "waymark/plugins/...", "waymark/examples/..."}},
		{"shared code", []string{"waymark/internal/..."}},
		{"wire", []string{"waymark/wire/..."}},
		{"vfs, places and types of the API", []string{"waymark/host/vfs/...", "waymark/host/places", "waymark/agentapi"}},
		{"parts of the engine", []string{
			"waymark/host/sandbox/...", "waymark/host/resolve/...", "waymark/host/watch/...", "waymark/host/push/...",
			"waymark/agent/server/...", "waymark/agentapi/status", "waymark/host/config/...", "waymark/host/builtin/...", "waymark/host/plugin/...",
			"waymark/host/why/...", "waymark/host/sources/...", "waymark/host/metrics/...",
			"waymark/host/applicability/...", "waymark/host/codingagents/...",
		}},
		{"what the services share", []string{"waymark/workspace/access", "waymark/workspace/launch/...", "waymark/workspace/output"}},
		{"supervisor", []string{"waymark/workspace/supervisor/..."}},
		{"engine, services and hub", []string{"waymark/host/...", "waymark/hub/...",
			"waymark/workspace/process/...", "waymark/workspace/files/...", "waymark/workspace/git/...", "waymark/workspace/desktop", "waymark/agentapi/client/...",
			"waymark/workspace/mcp/...", "waymark/workspace/mcpserver/...", "waymark/agent/hubcalls", "waymark/agent/connect"}},
		{"agent", []string{"waymark/agent"}},
		{"mains, tools and tests", []string{"waymark/cmd/...", "waymark/agent/agenttest", "waymark/internal/tools/...", "waymark/test/..."}},
	}
}

func rules() []Rule {
	sandboxes := []string{"github.com/tetratelabs/wazero/...", "github.com/extism/..."}
	databases := []string{
		"database/sql/...", "modernc.org/sqlite/...", "github.com/jackc/pgx/...", "github.com/lib/pq/...",
		"github.com/pressly/goose/...",
	}
	all := []string{"waymark/..."}
	return []Rule{
		{
			From: []string{"waymark/abi/..."}, Only: []string{}, Deep: true,
			Reason: "whoever writes a resolver or a host takes abi without anything else",
		},
		{
			From: []string{"waymark/snapshot/..."}, Only: []string{"waymark/abi", "waymark/internal/await"}, Deep: true,
			Reason: "agent, wire and hub share the model, so it must bring nothing along",
		},
		{
			From: []string{"waymark/internal/..."}, Except: []string{"waymark/internal/tools/..."},
			To:     []string{"waymark/..."},
			Allow:  []string{"waymark/abi", "waymark/snapshot", "waymark/internal/..."},
			Reason: "what several rooms share stands below all of them",
		},
		{
			From: []string{"waymark/wire/...", "waymark/hub/..."}, To: []string{"waymark/host/..."}, Deep: true,
			// Tests of the hub may: they drive it with the agent's own push.
			Reason: "wire and hub share the model with the agent, not its engine",
		},
		{
			From: []string{"waymark/sdk-guest/..."}, Only: []string{"waymark/abi/...", "waymark/sdk-guest/..."}, Deep: true,
			Reason: "every dependency of the SDK is loaded into every sandbox",
		},
		{
			From: []string{"waymark/plugins/...", "waymark/examples/..."},
			To:   []string{"waymark/host/...", "waymark/hub/...", "waymark/wire/...", "waymark/internal/...", "waymark/snapshot/..."}, Deep: true,
			Reason: "a guest speaks to the host through the ABI alone",
		},
		{
			From: all, Except: []string{"waymark/host/sandbox/...", "waymark/plugins/...", "waymark/sdk-guest/...", "waymark/cmd/harness/internal/extism"},
			To: sandboxes, Tests: true,
			Reason: "the limits of a run are kept in one place, host/sandbox; what the harness compares it with runs in a process of its own",
		},
		{
			From: []string{"waymark/plugins/...", "waymark/sdk-guest/..."}, To: sandboxes, Deep: true,
			Reason: "a guest runs inside a sandbox; only its tests run one",
		},
		{
			From: []string{"waymark/cmd/hub/...", "waymark/hub/..."},
			To:   append([]string{"waymark/host/sandbox/...", "waymark/host/resolve/..."}, sandboxes...), Deep: true,
			Reason: "a control plane runs nobody's code",
		},
		{
			From: []string{"waymark/host/...", "waymark/agent/server/..."},
			To:   append([]string{"waymark/hub/..."}, databases...), Deep: true,
			Allow:  []string{"database/sql/driver"}, // an interface, which github.com/google/uuid implements
			Reason: "the engine keeps no database: agents without an embedded hub stay small",
		},
		{
			From: []string{"waymark/agent/server/...", "waymark/agentapi/client/...", "waymark/host/why/...", "waymark/host/applicability/...", "waymark/host/codingagents/...", "waymark/host/sources/..."},
			To:   append([]string{"waymark/host/resolve/...", "waymark/host/watch/..."}, sandboxes...), Deep: true,
			Reason: "a client of the local API needs neither a sandbox nor a watcher",
		},
		{
			From:   []string{"waymark/host/plugin/..."},
			To:     []string{"waymark/host/watch/...", "waymark/host/push/...", "waymark/agent/server/...", "waymark/host/why/..."},
			Reason: "the catalog hands out modules; watching their files, and what becomes of finds, is the host's",
		},
		{
			From: []string{"waymark/workspace/..."}, Except: []string{"waymark/workspace/mcpserver/..."},
			To:     []string{"waymark/host/...", "waymark/hub/..."},
			Allow:  []string{"waymark/host/vfs"},
			Reason: "host reads, workspace acts: what they share is how files are guarded",
		},
		{
			From: []string{"waymark/workspace/mcpserver/..."}, To: []string{"waymark/host/...", "waymark/hub/...", "waymark/workspace/..."},
			Allow:  []string{"waymark/agentapi/status", "waymark/agentapi", "waymark/agentapi/client", "waymark/workspace/mcpserver/..."},
			Reason: "our own MCP server is a client of the agent, and no second one",
		},
		{
			From: []string{"waymark/host/...", "waymark/agent/server/..."}, To: []string{"waymark/workspace/..."}, Deep: true,
			Reason: "nothing in host starts a process or writes a file of the workspace",
		},
		{
			From: all, Except: []string{"waymark/hub/store/...", "waymark/test/pgtest", "waymark/cmd/..."}, To: databases,
			Reason: "SQL is the business of hub/store, behind its interface",
		},
		{
			From: all, Except: []string{"waymark/host/watch/..."}, To: []string{"github.com/fsnotify/fsnotify/..."}, Tests: true,
			Reason: "events are hints, and host/watch is where they are taken for no more",
		},
		{
			From: all, Except: []string{"waymark/workspace/launch"}, To: []string{"github.com/landlock-lsm/..."}, Tests: true,
			Reason: "what programs are held to is applied in one place, the shim",
		},
		{
			From: all, Except: []string{"waymark/workspace/mcp/session", "waymark/workspace/mcpserver", "waymark/hub/mcpserver", "waymark/internal/mcpserving", "waymark/test/..."}, To: []string{"github.com/modelcontextprotocol/..."}, Tests: true,
			Reason: "what a server of MCP sends is bounded in one place, the session, and what we offer ourselves is decided in two, the agent's server and the hub's, which share the messages of an extension",
		},
		{
			From: []string{"waymark/host/why/..."}, To: []string{"waymark/host/..."},
			Allow:  []string{"waymark/host/vfs", "waymark/host/codingagents", "waymark/host/applicability"}, // whose verdict an answer carries
			Reason: "why tells of what was observed and finds nothing by itself",
		},
		{
			From: all, Except: []string{"waymark/host/metrics/...", "waymark/hub/metrics/...", "waymark/internal/metricset"}, To: []string{"waymark/internal/metricset", "github.com/VictoriaMetrics/..."},
			Reason: "what may become a label is decided in one place for each program, host/metrics and hub/metrics",
		},
		{
			From: all, Except: []string{"waymark/host", "waymark/host/config/...", "waymark/agent", "waymark/agent/agenttest", "waymark/agent/connect", "waymark/cmd/...", "waymark/internal/tools/generate"},
			To:     []string{"github.com/BurntSushi/toml/...", "waymark/host/config/..."},
			Reason: "packages take Options; only the host, the agent, the mains and what documents it know the configuration file",
		},
		{
			From: all, Except: []string{"waymark/hub/webhook"}, To: []string{"github.com/standard-webhooks/..."},
			Reason: "what a hub sends to strangers, and where to, is decided in one place",
		},
		{
			From: all, Except: []string{"waymark/agent/connect"}, To: []string{"github.com/tailscale/hujson/...", "github.com/creachadair/tomledit/..."},
			Reason: "files of others are edited in one place, which compares what it writes with what it has read",
		},
		{
			From: all, Except: []string{"waymark/cmd/...", "waymark/test/goisms"}, To: []string{"github.com/spf13/cobra/...", "github.com/spf13/pflag/..."},
			Reason: "flags are the business of the mains, and of what walks all of them in tests",
		},
		{
			From: []string{"waymark/hub/transport"}, To: []string{"waymark/hub/..."},
			Reason: "the transport brings calls to services and doesn't know what they mean",
		},
		{
			From: []string{"waymark/hub/fleet", "waymark/hub/ingest"}, To: []string{"waymark/hub/calls", "waymark/hub/mcpserver", "waymark/hub/server", "waymark/hub/page"}, Deep: true,
			Reason: "a push is stored without those who read it",
		},
		{
			From: []string{"waymark/hub/client/...", "waymark/hub/page/..."},
			To:   append([]string{"waymark/wire/...", "storj.io/drpc/...", "github.com/hashicorp/yamux/..."}, databases...), Deep: true,
			Reason: "a consumer of the hub needs HTTP and nothing else",
		},
		{
			From: []string{"waymark/hub/client/...", "waymark/internal/httpapi/apiclient", "waymark/internal/httpapi/problem"},
			To:   []string{"waymark/internal/httpapi", "github.com/coder/websocket/..."}, Deep: true,
			Reason: "a client brings no server along",
		},
		{
			// It dials a WebSocket, for the git watch.
			From: []string{"waymark/agentapi/client/..."}, Except: []string{"*test"},
			To: append([]string{
				"waymark/internal/httpapi", "waymark/agent/server", "waymark/workspace/process/...", "waymark/workspace/git/...", "waymark/workspace/launch/...",
			}, databases...), Deep: true,
			Allow:  []string{"database/sql/driver"}, // an interface, which github.com/google/uuid implements
			Reason: "a client of the agent brings no server along",
		},
		{
			From: []string{"waymark/agentapi"}, To: []string{"waymark/..."},
			Allow:  []string{"waymark/snapshot"},
			Reason: "both ends of the services' API share its types, so they bring neither end along",
		},
		{
			From: []string{"waymark/hub/api"}, To: []string{"waymark/..."},
			Allow:  []string{"waymark/snapshot", "waymark/internal/text"},
			Reason: "both ends of the hub's API share its types, so they bring neither end along",
		},
		{
			From: all, Except: []string{"waymark/cmd/...", "waymark/test/..."}, To: []string{"waymark/cmd/..."},
			Reason: "nothing is built on a command",
		},
		{
			From: all, Except: []string{"waymark/test/...", "*test", "waymark/agentapi/client/fake"},
			To:     []string{"waymark/test/...", "waymark/internal/tools/...", "testing", "*test", "waymark/agentapi/client/fake"},
			Allow:  []string{"github.com/jezek/xgb/xtest"}, // X's name for pressing keys
			Reason: "tools and test helpers are no part of the product",
		},
	}
}
