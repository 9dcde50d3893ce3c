package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/abi"
	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/internal/mcpserving"
	"waymark/internal/text"
	"waymark/sdk-guest/frontmatter"
	"waymark/snapshot"
)

const (
	markdown = "text/markdown"
	// directoryType is the media type of directories in a listing.
	directoryType = "inode/directory"
	// skillsPage limits a page of skills/list, because each skill requires a look at its
	// files.
	skillsPage = 50
)

// skill is an offered skill.
type skill struct {
	id          string // id of the resource
	name        string
	description string
	source      string // its directory
	// base is the URI of its directory. Its last segment is the skill's name, whatever the
	// directory's name is. It is empty for a name that the extension doesn't allow: such a
	// skill is only a prompt.
	base string
}

func (k *skill) uri() string { return k.base + "/" + mcpserving.SkillManifest }

// skillsOf lists the readable skills in order of precedence. The first one with a name gets
// the shortest URI, and is the prompt.
func (s *Server) skillsOf(snap *snapshot.Snapshot) (list []skill) {
	var found []*snapshot.Resource
	for i := range snap.Resources {
		if r := &snap.Resources[i]; r.Kind == abi.KindSkill && r.Key == "" && readable(r) && !s.reads(r.Readers) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *snapshot.Resource) int { return cmp.Compare(a.Order, b.Order) })
	taken := map[string]int{}
	for _, r := range found {
		name := line(cmp.Or(r.Name, path.Base(r.Source)), maxTitle)
		k := skill{id: r.ID(), name: name, description: line(r.Description, maxDescription), source: r.Source}
		taken[name]++
		switch n := taken[name]; {
		case !mcpserving.IsSkillName(name):
		case n == 1:
			k.base = mcpserving.SkillScheme + name
		default:
			k.base = mcpserving.SkillScheme + "copy-" + strconv.Itoa(n) + "/" + name
		}
		list = append(list, k)
	}
	return list
}

// Requests and results that package mcpserving lacks, because the hub doesn't support them.
type (
	directoryParams struct {
		mcp.ParamsBase
		URI    string `json:"uri"`
		Cursor string `json:"cursor,omitempty"`
	}
	directoryResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string          `json:"resultType"`
		Resources  []*mcp.Resource `json:"resources"`
	}
)

func (s *Server) addSkillMethods() {
	for _, err := range []error{
		mcp.AddReceivingCustomMethod(s.mcp, "skills/list", s.listSkills),
		mcp.AddReceivingCustomMethod(s.mcp, "skills/get", s.getSkill),
		mcp.AddReceivingCustomMethod(s.mcp, "resources/directory/read", s.readDirectory),
	} {
		if err != nil {
			panic(err) // this package chooses the names
		}
	}
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "skill-file", Title: "A file of a skill", URITemplate: mcpserving.SkillScheme + "{+path}",
		Description: "A file of one of the workspace's skills, as skills/get or resources/directory/read names it.",
	}, s.readResource)
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

func (s *Server) listSkills(ctx context.Context, _ *mcp.ServerSession, p *mcpserving.ListSkillsParams) (*mcpserving.ListSkillsResult, error) {
	v, _ := s.look()
	result := &mcpserving.ListSkillsResult{Cacheable: mcpserving.Uncached, ResultType: mcpserving.Complete, Skills: []mcpserving.Skill{}}
	rest := slices.DeleteFunc(slices.Clone(v.skills), func(k skill) bool { return k.base == "" })
	slices.SortFunc(rest, func(a, b skill) int { return cmp.Compare(a.base, b.base) })
	if p != nil && p.Cursor != "" {
		rest = slices.DeleteFunc(rest, func(k skill) bool { return k.base <= p.Cursor })
	}
	if len(rest) > skillsPage {
		rest = rest[:skillsPage]
		result.NextCursor = rest[skillsPage-1].base
	}
	for i := range rest {
		entry, err := s.entry(ctx, &rest[i])
		switch {
		case client.CodeOf(err)/100 == 4: // it was removed or replaced meanwhile
		case err != nil:
			return nil, s.readError(err, rest[i].uri())
		case entry != nil:
			result.Skills = append(result.Skills, *entry)
		}
	}
	return result, nil
}

func (s *Server) getSkill(ctx context.Context, _ *mcp.ServerSession, p *mcpserving.GetSkillParams) (*mcpserving.GetSkillResult, error) {
	v, _ := s.look()
	for i := range v.skills {
		if k := &v.skills[i]; p != nil && k.base != "" && k.uri() == p.URI {
			entry, err := s.entry(ctx, k)
			if err == nil && entry != nil {
				return &mcpserving.GetSkillResult{Cacheable: mcpserving.Uncached, ResultType: mcpserving.Complete, Skill: *entry}, nil
			}
			if err != nil && client.CodeOf(err)/100 != 4 {
				return nil, s.readError(err, p.URI)
			}
		}
	}
	return nil, invalid("there is no skill of this URI: skills/list has those that there are")
}

// entry returns a skill's entry with its files. It is nil if the skill has no SKILL.md any
// more.
func (s *Server) entry(ctx context.Context, k *skill) (*mcpserving.Skill, error) {
	var files *status.SkillFiles
	var head []byte
	err := s.do(ctx, func(c client.Client) (err error) {
		if files, err = c.SkillFiles(ctx, k.id); err == nil {
			head, err = c.SkillFile(ctx, k.id, mcpserving.SkillManifest)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e := &mcpserving.Skill{URI: k.uri(), FrontMatter: s.frontMatter(k, head), Resources: []mcpserving.SkillFile{}}
	if e.FrontMatter["name"] != k.name { // it has just been renamed
		return nil, nil
	}
	for i := range files.Files {
		f := &files.Files[i]
		e.Resources = append(e.Resources, mcpserving.SkillFile{URI: k.fileURI(f.Path), Digest: f.Digest, Size: f.SizeBytes})
	}
	return e, nil
}

// fileURI returns the URI of a file of the skill.
func (k *skill) fileURI(file string) string {
	return k.base + "/" + (&url.URL{Path: file}).EscapedPath()
}

// frontMatter returns the front matter of a SKILL.md. If that can't be parsed, it returns
// name and description as found by the agent.
func (s *Server) frontMatter(k *skill, body []byte) map[string]any {
	if block, _, err := frontmatter.Find(body, true); err == nil {
		if v, err := frontmatter.Parse(block, frontmatter.Options{Lenient: true}); err == nil {
			if m, ok := valueOf(v).(map[string]any); ok {
				return m
			}
		}
	}
	return map[string]any{"name": k.name, "description": k.description}
}

// valueOf converts a YAML value for JSON.
func valueOf(v frontmatter.Value) any {
	switch v.Kind {
	case frontmatter.Null:
		return nil
	case frontmatter.Bool:
		return v.True()
	case frontmatter.List:
		list := make([]any, len(v.List))
		for i := range v.List {
			list[i] = valueOf(v.List[i])
		}
		return list
	case frontmatter.Map:
		m := make(map[string]any, len(v.Map))
		for i := range v.Map {
			m[v.Map[i].Key] = valueOf(v.Map[i].Value)
		}
		return m
	case frontmatter.Other:
		if n := json.Number(v.Text); json.Valid([]byte(v.Text)) {
			return n
		}
	}
	return v.Text
}

// find returns the skill that a URI belongs to, and the file's path in the skill.
func (v *view) find(uri string) (k *skill, file string) {
	for i := range v.skills {
		rest, ok := strings.CutPrefix(uri, v.skills[i].base)
		if v.skills[i].base == "" || !ok || rest != "" && rest[0] != '/' {
			continue
		}
		file, err := url.PathUnescape(strings.TrimPrefix(rest, "/"))
		if err != nil {
			return nil, ""
		}
		return &v.skills[i], file
	}
	return nil, ""
}

// readDirectory lists a directory of a skill.
func (s *Server) readDirectory(ctx context.Context, _ *mcp.ServerSession, p *directoryParams) (*directoryResult, error) {
	notOne := invalid("this is no directory of a skill")
	if p == nil {
		return nil, notOne
	}
	v, _ := s.look()
	k, dir := v.find(strings.TrimSuffix(p.URI, "/"))
	if k == nil {
		return nil, notOne
	}
	var files *status.SkillFiles
	err := s.do(ctx, func(c client.Client) (err error) {
		files, err = c.SkillFiles(ctx, k.id)
		return err
	})
	switch {
	case client.CodeOf(err)/100 == 4:
		return nil, notOne
	case err != nil:
		return nil, s.readError(err, p.URI)
	}
	result := &directoryResult{Cacheable: mcpserving.Uncached, ResultType: mcpserving.Complete, Resources: childrenOf(k, dir, files.Files)}
	if len(result.Resources) == 0 && dir != "" {
		return nil, notOne
	}
	return result, nil
}

// childrenOf lists the direct entries of a directory of a skill.
func childrenOf(k *skill, dir string, files []status.SkillFile) []*mcp.Resource {
	list := []*mcp.Resource{}
	seen := map[string]bool{}
	for i := range files {
		rest := files[i].Path
		if dir != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, dir+"/"); !ok {
				continue
			}
		}
		name, below, _ := strings.Cut(rest, "/")
		r := &mcp.Resource{URI: k.fileURI(path.Join(dir, name)), Name: name, MIMEType: directoryType}
		if below == "" {
			r.MIMEType, r.Size = mcpserving.MediaType(name), files[i].SizeBytes
		}
		if !seen[name] {
			seen[name] = true
			list = append(list, r)
		}
	}
	return list
}

// readResource reads a resource.
func (s *Server) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	v, _ := s.look()
	for i := range v.instructions {
		if v.instructions[i].uri == uri {
			return s.readInstruction(ctx, &v.instructions[i])
		}
	}
	k, file := v.find(uri)
	if k == nil || file == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	body, err := s.readSkill(ctx, k, file)
	if err != nil {
		return nil, s.readError(err, uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contentsOf(uri, mcpserving.MediaType(file), body)}}, nil
}

func (s *Server) readSkill(ctx context.Context, k *skill, file string) (body []byte, err error) {
	err = s.do(ctx, func(c client.Client) (err error) {
		body, err = c.SkillFile(ctx, k.id, file)
		return err
	})
	return body, err
}

// readError converts an error of reading.
func (s *Server) readError(err error, uri string) error {
	switch client.CodeOf(err) {
	case http.StatusNotFound, http.StatusForbidden, http.StatusBadRequest:
		return mcp.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.unavailable(err)}
}

// contentsOf returns a file as text if it is text, otherwise as a blob.
func contentsOf(uri, mime string, body []byte) *mcp.ResourceContents {
	if utf8.Valid(body) && !bytes.ContainsRune(body, 0) {
		return &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: string(body)}
	}
	if strings.HasPrefix(mime, "text/") {
		mime = "application/octet-stream"
	}
	return &mcp.ResourceContents{URI: uri, MIMEType: mime, Blob: body}
}

func promptOf(k *skill) *mcp.Prompt {
	return &mcp.Prompt{
		Name: k.name, Title: k.name, Description: k.description,
		Arguments: []*mcp.PromptArgument{{Name: "request", Description: "What to do with it"}},
	}
}

// getPrompt returns a skill as a prompt, for clients without the extension.
func (s *Server) getPrompt(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	v, _ := s.look()
	i := slices.IndexFunc(v.skills, func(k skill) bool { return k.name == r.Params.Name })
	if i < 0 {
		return nil, invalid("there is no skill of this name")
	}
	k := &v.skills[i]
	var body []byte
	err := s.do(ctx, func(c client.Client) (err error) {
		body, err = c.Resource(ctx, k.id)
		return err
	})
	if err != nil {
		return nil, s.readError(err, k.uri())
	}
	said := text.Framed("the skill "+k.name, path.Join(k.source, mcpserving.SkillManifest), string(body))
	if request := r.Params.Arguments["request"]; request != "" {
		said += "\n\nUse it for this:\n" + text.Truncate(request, 16<<10)
	}
	return &mcp.GetPromptResult{Description: k.description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
}
