// Package mcpskills has the messages of MCP's skills extension (SEP-2640), which the SDK
// lacks, for the agent's and the hub's servers.
//
// # Concurrency
//
// The package has no state.
package mcpskills

import (
	"cmp"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/text"
)

const (
	// Extension is its name among a server's capabilities.
	Extension = "io.modelcontextprotocol/skills"
	// Scheme begins the URI of a skill's file.
	Scheme = "skill://"
	// Manifest is the file that makes a directory a skill.
	Manifest = "SKILL.md"
	// Complete is the type of results. The SDK sets it only for its own methods.
	Complete = "complete"
)

// Uncached marks a result that must not be cached.
var Uncached = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}

const maxName = 64 // bytes; a rule of Agent Skills

var nameForm = text.Lazy(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// IsName reports whether the extension accepts the name of a skill.
func IsName(name string) bool { return len(name) <= maxName && nameForm().MatchString(name) }

// Requests and results.
type (
	// ListParams are the parameters of skills/list.
	ListParams struct {
		mcp.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	// ListResult is its result.
	ListResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string  `json:"resultType"`
		Skills     []Entry `json:"skills"`
		NextCursor string  `json:"nextCursor,omitempty"`
	}
	// GetParams are the parameters of skills/get.
	GetParams struct {
		mcp.ParamsBase
		URI string `json:"uri"`
	}
	// GetResult is its result.
	GetResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string `json:"resultType"`
		Skill      Entry  `json:"skill"`
	}
)

// Entry is a skill with its manifest.
type Entry struct {
	URI         string         `json:"uri"`
	FrontMatter map[string]any `json:"frontmatter"`
	Resources   []File         `json:"resources"`
}

// File is a file of a skill. Digest is of its content, "sha256:" and hexadecimal digits; Size
// is in bytes.
type File struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// mediaTypes are those of files that are common in skills.
var mediaTypes = map[string]string{
	".md": "text/markdown", ".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".py": "text/x-python", ".sh": "text/x-shellscript", ".js": "text/javascript", ".ts": "text/typescript", ".html": "text/html", ".css": "text/css",
	".csv": "text/csv", ".xml": "application/xml", ".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml",
}

// MediaType returns the media type of a file by its name.
func MediaType(name string) string {
	return cmp.Or(mediaTypes[strings.ToLower(path.Ext(name))], "text/plain")
}
