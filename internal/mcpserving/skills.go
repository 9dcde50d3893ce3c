package mcpserving

import (
	"cmp"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/text"
)

const (
	// SkillsExtension is its name among a server's capabilities.
	SkillsExtension = "io.modelcontextprotocol/skills"
	// SkillScheme begins the URI of a skill's file.
	SkillScheme = "skill://"
	// SkillManifest is the file that makes a directory a skill.
	SkillManifest = "SKILL.md"
	// Complete is the type of results. The SDK sets it only for its own methods.
	Complete = "complete"
)

// Uncached marks a result that must not be cached.
var Uncached = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}

const maxSkillName = 64 // bytes; a rule of Agent Skills

var skillName = text.Lazy(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// IsSkillName reports whether the extension accepts the name of a skill.
func IsSkillName(name string) bool { return len(name) <= maxSkillName && skillName().MatchString(name) }

// Requests and results.
type (
	// ListSkillsParams are the parameters of skills/list.
	ListSkillsParams struct {
		mcp.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	// ListSkillsResult is its result.
	ListSkillsResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string  `json:"resultType"`
		Skills     []Skill `json:"skills"`
		NextCursor string  `json:"nextCursor,omitempty"`
	}
	// GetSkillParams are the parameters of skills/get.
	GetSkillParams struct {
		mcp.ParamsBase
		URI string `json:"uri"`
	}
	// GetSkillResult is its result.
	GetSkillResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string `json:"resultType"`
		Skill      Skill  `json:"skill"`
	}
)

// Skill is a skill with its manifest.
type Skill struct {
	URI         string         `json:"uri"`
	FrontMatter map[string]any `json:"frontmatter"`
	Resources   []SkillFile    `json:"resources"`
}

// SkillFile is a file of a skill. Digest is of its content, "sha256:" and hexadecimal digits; Size
// is in bytes.
type SkillFile struct {
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
