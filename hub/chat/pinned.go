package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/text"
	"waymark/snapshot"
)

const (
	skillsExtension = "io.modelcontextprotocol/skills"
	manifest        = "SKILL.md"
	markdown        = "text/markdown"
)

// item is a resource of the pinned snapshot that is offered.
type item struct {
	*snapshot.Resource

	uri, name string
	skill     bool
	// listed says that the skill's name is one that the extension takes.
	listed bool
}

// skillName is the rule of the extension, which is that of Agent Skills.
var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxSkillName = 64

// items lists what is offered of the pinned snapshot, in its order of precedence: skills
// and instructions that have a text. The first skill of a name has it to itself.
func (r *request) items(ctx context.Context) (list []item, err error) {
	_, stored, err := r.pins.PinSnapshot(ctx, r.pin.ID, true)
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, nil // an empty pin
	case err != nil:
		return nil, r.internal(ctx, "what is pinned can't be read", err)
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
			one.listed = len(one.name) <= maxSkillName && skillName.MatchString(one.name)
			one.uri = "skill://" + url.PathEscape(one.name) + "/" + manifest
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

// source is the file that the text is from.
func (i *item) source() string {
	if i.skill {
		return path.Join(i.Source, manifest)
	}
	return i.Source
}

// what says what it is.
func (i *item) what() string {
	if i.skill {
		return "a skill"
	}
	return "a file of instructions"
}

// meta says where a text is from, and which it is.
func (r *request) meta(i *item) mcp.Meta {
	m := r.about()
	m["waymark/source"], m["waymark/digest"] = text.Line(i.source(), maxDescription), digest(i.ContentHash)
	return m
}

func digest(h snapshot.Hash) string { return fmt.Sprintf("sha256:%x", []byte(h)) }

// find returns what has a URI.
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

// body returns the text of what is pinned.
func (r *request) body(ctx context.Context, i *item) ([]byte, error) {
	body, err := r.pins.PinBody(ctx, r.pin.ID, i.ID())
	var missing *store.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, mcp.ResourceNotFoundError(i.uri)
	case err != nil:
		return nil, r.internal(ctx, "what is pinned can't be read", err)
	}
	return body, nil
}

// listResources lists skills and instructions. A cursor is the URI after which it goes on.
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
	if err != nil {
		return nil, err
	}
	body, err := r.body(ctx, one)
	if err != nil {
		return nil, err
	}
	contents := &mcp.ResourceContents{URI: uri, MIMEType: markdown, Meta: r.meta(one)}
	if httpapi.IsText(body) {
		contents.Text = string(body)
	} else {
		contents.MIMEType, contents.Blob = "application/octet-stream", body
	}
	result := completed[mcp.ReadResourceResult]()
	result.Contents = []*mcp.ResourceContents{contents}
	return result, nil
}

// listPrompts lists the skills, for clients that don't know the extension.
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

// maxRequest bounds what a prompt is asked for, in bytes.
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

// instructions are what a model is told at the beginning.
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

// Requests and results of the skills extension. ResultType is set since the SDK doesn't do
// that for methods that aren't its own.
type (
	skillsListParams struct {
		mcp.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	skillsListResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string       `json:"resultType"`
		Skills     []skillEntry `json:"skills"`
		NextCursor string       `json:"nextCursor,omitempty"`
	}
	skillsGetParams struct {
		mcp.ParamsBase
		URI string `json:"uri"`
	}
	skillsGetResult struct {
		mcp.ResultBase
		mcp.Cacheable
		ResultType string     `json:"resultType"`
		Skill      skillEntry `json:"skill"`
	}
)

// skillEntry is a skill with its manifest: as much of it as is pinned.
type skillEntry struct {
	URI         string            `json:"uri"`
	FrontMatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

const complete = "complete"

var uncached = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}

func (i *item) entry() skillEntry {
	return skillEntry{
		URI: i.uri, FrontMatter: map[string]string{"name": i.name, "description": text.Line(i.Description, maxDescription)},
		Resources: []skillFile{{i.uri, digest(i.ContentHash), i.SizeBytes}},
	}
}

func (r *request) listSkills(ctx context.Context, _ *mcp.ServerSession, p *skillsListParams) (*skillsListResult, error) {
	list, err := r.items(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i item) bool { return !i.listed })
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.uri, b.uri) })
	if p != nil && p.Cursor != "" {
		list = slices.DeleteFunc(list, func(i item) bool { return i.uri <= p.Cursor })
	}
	result := &skillsListResult{Cacheable: uncached, ResultType: complete, Skills: []skillEntry{}}
	for i := range list {
		if i == page {
			result.NextCursor = list[i-1].uri
			break
		}
		result.Skills = append(result.Skills, list[i].entry())
	}
	return result, nil
}

func (r *request) getSkill(ctx context.Context, _ *mcp.ServerSession, p *skillsGetParams) (*skillsGetResult, error) {
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
	return &skillsGetResult{Cacheable: uncached, ResultType: complete, Skill: one.entry()}, nil
}
