package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/mcpserving"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/reverse"
)

// SkillManifest is the file that makes a directory a skill.
const SkillManifest = mcpserving.SkillManifest

const markdown = "text/markdown"

// item is a resource of the pinned snapshot that is offered.
type item struct {
	*snapshot.Resource

	uri, name string
	skill     bool
	// listed says that the extension allows the skill's name.
	listed bool
}

// items lists the offered resources of the pinned snapshot in order of precedence: skills
// and instructions with a text. If several skills have the same name, the first wins.
func (r *request) items(ctx context.Context) (list []item, err error) {
	_, stored, err := r.pins.PinSnapshot(ctx, r.pin.ID, true)
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, nil // an empty pin
	case err != nil:
		return nil, r.unread(ctx, err)
	}
	all := stored.Snapshot.Resources
	slices.SortStableFunc(all, func(a, b snapshot.Resource) int { return cmp.Compare(a.Order, b.Order) })
	taken := map[string]bool{}
	for i := range all {
		one := item{Resource: &all[i]}
		switch {
		case one.Status != snapshot.StatusOK:
			continue
		case one.Kind == abi.KindSkill && one.Key == "":
			one.skill, one.name = true, text.Line(cmp.Or(one.Name, path.Base(one.Source)), maxTitle)
			one.listed = mcpserving.IsSkillName(one.name)
			one.uri = mcpserving.SkillScheme + url.PathEscape(one.name) + "/" + mcpserving.SkillManifest
		case one.Kind == abi.KindInstructionFile:
			one.name = text.Line(cmp.Or(one.Name, path.Base(one.Source)), maxTitle)
			one.uri = (&url.URL{Scheme: "file", Path: one.Source, Fragment: one.Key}).String()
		default:
			continue
		}
		if !taken[one.uri] {
			taken[one.uri] = true
			list = append(list, one)
		}
	}
	return list, nil
}

// source returns the file that the text is from.
func (i *item) source() string {
	if i.skill {
		return path.Join(i.Source, mcpserving.SkillManifest)
	}
	return i.Source
}

// what says what kind of resource it is.
func (i *item) what() string {
	if i.skill {
		return "a skill"
	}
	return "a file of instructions"
}

// meta says where a text is from, and its digest.
func (r *request) meta(i *item) mcp.Meta {
	m := r.about()
	m["waymark/source"], m["waymark/digest"] = text.Line(i.source(), maxDescription), digest(i.ContentHash)
	return m
}

func digest(h snapshot.Hash) string { return fmt.Sprintf("sha256:%x", []byte(h)) }

// find returns the item with a URI.
func (r *request) find(ctx context.Context, uri string) (*item, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].uri == uri {
			return &list[i], nil
		}
	}
	return nil, mcp.ResourceNotFoundError(uri)
}

// body returns the pinned text.
func (r *request) body(ctx context.Context, i *item) ([]byte, error) {
	body, err := r.pins.PinBody(ctx, r.pin.ID, i.ID())
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, mcp.ResourceNotFoundError(i.uri)
	case err != nil:
		return nil, r.unread(ctx, err)
	}
	return body, nil
}

// listResources lists skills and instructions. The cursor is the last URI of the previous
// page.
func (r *request) listResources(ctx context.Context, cursor string) (*mcp.ListResourcesResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	if cursor != "" {
		list = list[slices.IndexFunc(list, func(i item) bool { return i.uri == cursor })+1:]
	}
	result := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, Meta: r.about()}
	for i := range list {
		if i == page {
			result.NextCursor = list[i-1].uri
			break
		}
		one := &list[i]
		said := text.Line(one.Description, maxDescription)
		if !one.skill {
			said = "Instructions of the workspace"
		}
		result.Resources = append(result.Resources, &mcp.Resource{
			URI: one.uri, Name: one.name, Description: said, MIMEType: markdown, Size: one.SizeBytes, Meta: r.meta(one),
		})
	}
	return result, nil
}

func (r *request) readResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	one, err := r.find(ctx, uri)
	if err != nil && strings.HasPrefix(uri, mcpserving.SkillScheme) {
		return r.readFile(ctx, uri)
	}
	if err != nil {
		return nil, err
	}
	body, err := r.body(ctx, one)
	if err != nil {
		return nil, err
	}
	return contentsOf(uri, markdown, body, r.meta(one)), nil
}

// listPrompts lists the skills, for clients without the extension.
func (r *request) listPrompts(ctx context.Context) (*mcp.ListPromptsResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	result := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}}
	for i := range list {
		if list[i].skill {
			result.Prompts = append(result.Prompts, &mcp.Prompt{
				Name: list[i].name, Title: list[i].name, Description: text.Line(list[i].Description, maxDescription),
				Arguments: []*mcp.PromptArgument{{Name: "request", Description: "What to do with it"}},
			})
		}
	}
	return result, nil
}

// maxRequest limits the argument of a prompt, in bytes.
const maxRequest = 16 << 10

func (r *request) getPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(i item) bool { return i.skill && i.name == p.Name })
	if i < 0 {
		return nil, invalid("there is no skill of this name")
	}
	body, err := r.body(ctx, &list[i])
	if err != nil {
		return nil, err
	}
	said := text.Framed(list[i].what(), list[i].source(), string(body))
	if request := p.Arguments["request"]; request != "" {
		said += "\n\nUse it for this:\n" + text.Truncate(request, maxRequest)
	}
	result := completed[mcp.GetPromptResult]()
	result.Meta, result.Description = r.meta(&list[i]), text.Line(list[i].Description, maxDescription)
	result.Messages = []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}
	return result, nil
}

// instructions returns the text for a model at the beginning.
func (r *request) instructions() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "This is the context of a workspace as it was pinned for this chat, at revision %d: its skills and instructions are resources, written by whoever wrote those files.", r.pin.Revision)
	if r.capability != "" {
		b.WriteString(" Tools act in the workspace itself, as it is now.")
	}
	if !r.pin.DriftedAt.IsZero() {
		b.WriteString(" The workspace's context has changed since; the pin can be refreshed.")
	}
	return b.String()
}

// entry returns a skill with its manifest: its pinned or known files.
func (i *item) entry(known Manifests) mcpserving.Skill {
	e := mcpserving.Skill{
		URI: i.uri, FrontMatter: map[string]any{"name": i.name, "description": text.Line(i.Description, maxDescription)},
		Resources: []mcpserving.SkillFile{{URI: i.uri, Digest: digest(i.ContentHash), Size: i.SizeBytes}},
	}
	for _, f := range known[i.ID()] {
		if f.Path != mcpserving.SkillManifest {
			e.Resources = append(e.Resources, mcpserving.SkillFile{URI: i.base() + (&url.URL{Path: f.Path}).EscapedPath(), Digest: f.Digest, Size: f.Size})
		}
	}
	return e
}

// base returns the prefix of the URIs of the skill's files.
func (i *item) base() string { return strings.TrimSuffix(i.uri, mcpserving.SkillManifest) }

// manifests returns what is known about the files of the pin's skills.
func (r *request) manifests(ctx context.Context) (Manifests, error) {
	body, err := r.pins.PinManifests(ctx, r.pin.ID)
	if err != nil || body == nil {
		return nil, err
	}
	known, err := decode[Manifests](body)
	return *known, err
}

// readFile reads a file of a skill in the workspace, if it has the pinned digest.
func (r *request) readFile(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	known, err := r.manifests(ctx)
	if err != nil {
		return nil, r.unread(ctx, err)
	}
	for i := range list {
		rest, within := strings.CutPrefix(uri, list[i].base())
		name, err := url.PathUnescape(rest)
		if !list[i].skill || !within || err != nil {
			continue
		}
		for _, f := range known[list[i].ID()] {
			if f.Path == name {
				return r.readLive(ctx, &list[i], uri, f)
			}
		}
	}
	return nil, mcp.ResourceNotFoundError(uri)
}

func (r *request) readLive(ctx context.Context, skill *item, uri string, f reverse.SkillFile) (*mcp.ReadResourceResult, error) {
	if r.capability == "" {
		return nil, errCapability
	}
	begin := time.Now()
	body, err := r.opts.Agents.SkillFile(ctx, r.pin.AgentID, r.capability, skill.ID(), f)
	if err == nil && fmt.Sprintf("sha256:%x", sha256.Sum256(body)) != f.Digest {
		err = &reverse.Error{Code: reverse.CodeChanged, Text: "the agent has sent another content than the one that was pinned"}
	}
	r.opts.Observe(Called{
		Token: r.reader.Token.ID, AgentID: r.pin.AgentID, Pin: r.pin.ID, Tool: reverse.KindSkillFile,
		Arguments: len(uri), Result: len(body), Duration: time.Since(begin), Error: errtext.Of(err),
	})
	if err != nil {
		return nil, refusal(ctx, err)
	}
	m := r.about()
	m["waymark/source"], m["waymark/digest"] = text.Line(path.Join(skill.Source, f.Path), maxDescription), f.Digest
	return contentsOf(uri, mcpserving.MediaType(f.Path), body, m), nil
}

// contentsOf returns a file as text if it is text.
func contentsOf(uri, kind string, body []byte, m mcp.Meta) *mcp.ReadResourceResult {
	contents := &mcp.ResourceContents{URI: uri, MIMEType: kind, Meta: m}
	switch {
	case httpapi.IsText(body):
		contents.Text = string(body)
	case strings.HasPrefix(kind, "text/"):
		contents.MIMEType = "application/octet-stream"
		fallthrough
	default:
		contents.Blob = body
	}
	result := completed[mcp.ReadResourceResult]()
	result.Contents = []*mcp.ResourceContents{contents}
	return result
}

func (r *request) listSkills(ctx context.Context, _ *mcp.ServerSession, p *mcpserving.ListSkillsParams) (*mcpserving.ListSkillsResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	known, err := r.manifests(ctx)
	if err != nil {
		return nil, r.unread(ctx, err)
	}
	list = slices.DeleteFunc(list, func(i item) bool { return !i.listed })
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.uri, b.uri) })
	if p != nil && p.Cursor != "" {
		list = slices.DeleteFunc(list, func(i item) bool { return i.uri <= p.Cursor })
	}
	result := &mcpserving.ListSkillsResult{Cacheable: mcpserving.Uncached, ResultType: mcpserving.Complete, Skills: []mcpserving.Skill{}}
	for i := range list {
		if i == page {
			result.NextCursor = list[i-1].uri
			break
		}
		result.Skills = append(result.Skills, list[i].entry(known))
	}
	return result, nil
}

func (r *request) getSkill(ctx context.Context, _ *mcp.ServerSession, p *mcpserving.GetSkillParams) (*mcpserving.GetSkillResult, error) {
	if p == nil {
		return nil, invalid("name a skill by its uri")
	}
	one, err := r.find(ctx, p.URI)
	if err != nil {
		return nil, err
	}
	if !one.listed {
		return nil, invalid("this is no skill")
	}
	known, err := r.manifests(ctx)
	if err != nil {
		return nil, r.unread(ctx, err)
	}
	return &mcpserving.GetSkillResult{Cacheable: mcpserving.Uncached, ResultType: mcpserving.Complete, Skill: one.entry(known)}, nil
}
