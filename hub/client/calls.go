package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"waymark/hub/api"
	"waymark/internal/httpapi/apiclient"
)

func agentPath(id string) string { return "/agents/" + url.PathEscape(id) }

func pinPath(id string) string { return "/pins/" + url.PathEscape(id) }

// with adds a parameter unless n is 0, which means the default.
func with(r apiclient.Request, name string, n int64) apiclient.Request {
	if n != 0 {
		if r.Query == nil {
			r.Query = make(url.Values)
		}
		r.Query.Set(name, strconv.FormatInt(n, 10))
	}
	return r
}

func markdown(path string) apiclient.Request {
	r := apiclient.Get(path + "/context")
	r.Query = url.Values{"format": {"markdown"}}
	return r
}

func (h *hub) Agents(ctx context.Context) ([]api.Agent, error) {
	return apiclient.List[api.Agent](ctx, h.api, apiclient.Get("/agents"))
}

// AgentQuery selects agents; the zero value selects all.
type AgentQuery struct {
	// Limit is the maximum length of a page, up to 1000; 0 means all agents at once.
	Limit int
	// After is AgentPage.Next of the previous page of the same query.
	After string
	// Sort is the order, "" for ids; Descending reverses it.
	Sort       string
	Descending bool
	// Text has words that must all occur in an agent's id, name, host, root, version or
	// labels.
	Text string
	// State and Labels (NAME=VALUE) select agents that have them, Attention those that need
	// attention for that reason, or for any.
	State     api.AgentState
	Labels    []string
	Attention string
}

// AgentPage is a page of agents.
type AgentPage struct {
	Agents []api.Agent
	// Total is the number of agents on all pages.
	Total int
	// Next is where the next page begins; "" on the last page.
	Next string
	// Events is the EventOptions.After for what happens after the page was made.
	Events string
}

func (q *AgentQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"after": q.After, "sort": q.Sort, "q": q.Text, "state": string(q.State), "attention": q.Attention} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Descending {
		v.Set("order", "desc")
	}
	v["label"] = q.Labels
	return v
}

func (h *hub) FindAgents(ctx context.Context, q AgentQuery) (*AgentPage, error) {
	r := apiclient.Get("/agents")
	r.Query = q.values()
	answer, err := h.api.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	list, err := apiclient.Decode[[]api.Agent](h.api, answer)
	if err != nil {
		return nil, err
	}
	page := &AgentPage{Agents: *list, Total: len(*list), Events: answer.Header.Get("X-Events-After")}
	if n, err := strconv.Atoi(answer.Header.Get("X-Total-Count")); err == nil { // hubs without the header return all agents on one page
		page.Total = n
	}
	page.Next = nextIn(answer.Header)
	return page, nil
}

// nextIn returns where the next page of a list begins; "" after the last.
func nextIn(header http.Header) string {
	if link, _, ok := strings.Cut(header.Get("Link"), `>; rel="next"`); ok {
		if next, err := url.Parse(strings.TrimPrefix(link, "<")); err == nil {
			return next.Query().Get("after")
		}
	}
	return ""
}

// AuditQuery selects entries of the audit log, the newest first.
type AuditQuery struct {
	// Subject selects entries about what has this id; "" selects all.
	Subject string
	// Limit is the maximum length of the page, up to 1000; 0 means 100.
	Limit int
	// After is where the previous page of the same query ended.
	After string
}

func (h *hub) Audit(ctx context.Context, q AuditQuery) (acts []api.Act, next string, err error) {
	r := with(apiclient.Get("/audit"), "limit", int64(q.Limit))
	for name, value := range map[string]string{"subject": q.Subject, "after": q.After} {
		if r.Query == nil {
			r.Query = make(url.Values)
		}
		if value != "" {
			r.Query.Set(name, value)
		}
	}
	answer, err := h.api.Do(ctx, r)
	if err != nil {
		return nil, "", err
	}
	list, err := apiclient.Decode[[]api.Act](h.api, answer)
	if err != nil {
		return nil, "", err
	}
	return *list, nextIn(answer.Header), nil
}

func (h *hub) Search(ctx context.Context, text string, limit int) (*api.SearchResult, error) {
	r := with(apiclient.Get("/search"), "limit", int64(limit))
	if r.Query == nil {
		r.Query = make(url.Values)
	}
	r.Query.Set("q", text)
	return apiclient.Fetch[api.SearchResult](ctx, h.api, r)
}

func (h *hub) Enroll(ctx context.Context, tokenSHA256, name string) (*api.Enrolled, error) {
	return apiclient.Fetch[api.Enrolled](ctx, h.api, apiclient.Request{
		Method: http.MethodPost, Path: "/enroll", Body: api.Enrollment{TokenSHA256: tokenSHA256, Name: name},
	})
}

func (h *hub) Agent(ctx context.Context, agentID string) (*api.Agent, error) {
	return apiclient.Fetch[api.Agent](ctx, h.api, apiclient.Get(agentPath(agentID)))
}

func (h *hub) Context(ctx context.Context, agentID string, opts ContextOptions) (*api.Snapshot, error) {
	r := with(apiclient.Get(agentPath(agentID)+"/context"), "revision", opts.Revision)
	if opts.Wait > 0 {
		r.Wait = opts.Wait
		if r.Query == nil {
			r.Query = make(url.Values)
		}
		r.Query.Set("wait", opts.Wait.String())
		r.Query.Set("after", strconv.FormatInt(opts.After, 10))
		if opts.Complete {
			r.Query.Set("discovery", "complete")
		}
	}
	answer, err := h.api.Do(ctx, r)
	if err != nil || answer.Code == http.StatusNotModified {
		return nil, err
	}
	return apiclient.Decode[api.Snapshot](h.api, answer)
}

func (h *hub) Markdown(ctx context.Context, agentID string, revision int64) (string, error) {
	text, err := h.api.Bytes(ctx, with(markdown(agentPath(agentID)), "revision", revision))
	return string(text), err
}

func (h *hub) Resource(ctx context.Context, agentID, resourceID string, revision int64) ([]byte, error) {
	return h.api.Bytes(ctx, with(apiclient.Get(agentPath(agentID)+"/context/resources/"+url.PathEscape(resourceID)), "revision", revision))
}

func (h *hub) History(ctx context.Context, agentID string, limit int) ([]api.Change, error) {
	return apiclient.List[api.Change](ctx, h.api, with(apiclient.Get(agentPath(agentID)+"/history"), "limit", int64(limit)))
}

func (h *hub) Diff(ctx context.Context, agentID string, from, to int64) (*api.Diff, error) {
	return apiclient.Fetch[api.Diff](ctx, h.api, with(with(apiclient.Get(agentPath(agentID)+"/diff"), "from", from), "to", to))
}

func (h *hub) ClientContext(ctx context.Context, agentID, client string) (*api.ClientContext, error) {
	return apiclient.Fetch[api.ClientContext](ctx, h.api, apiclient.Get(agentPath(agentID)+"/clients/"+url.PathEscape(client)))
}

func (h *hub) CreatePin(ctx context.Context, agentID, name string) (*api.Pin, error) {
	return apiclient.Fetch[api.Pin](ctx, h.api, apiclient.Request{
		Method: http.MethodPost, Path: "/pins", Body: api.NewPin{AgentID: agentID, Name: name},
	})
}

func (h *hub) Pins(ctx context.Context, agentID string) ([]api.Pin, error) {
	r := apiclient.Get("/pins")
	if agentID != "" {
		r.Query = url.Values{"agent_id": {agentID}}
	}
	return apiclient.List[api.Pin](ctx, h.api, r)
}

func (h *hub) Pin(ctx context.Context, pinID string) (*api.Pin, error) {
	return apiclient.Fetch[api.Pin](ctx, h.api, apiclient.Get(pinPath(pinID)))
}

func (h *hub) DeletePin(ctx context.Context, pinID string) error {
	return h.api.Send(ctx, apiclient.Request{Method: http.MethodDelete, Path: pinPath(pinID)})
}

func (h *hub) RefreshPin(ctx context.Context, pinID string) (*api.Pin, error) {
	return apiclient.Fetch[api.Pin](ctx, h.api, apiclient.Request{Method: http.MethodPost, Path: pinPath(pinID) + "/refresh"})
}

func (h *hub) PinContext(ctx context.Context, pinID string) (*api.Snapshot, error) {
	return apiclient.Fetch[api.Snapshot](ctx, h.api, apiclient.Get(pinPath(pinID)+"/context"))
}

func (h *hub) PinMarkdown(ctx context.Context, pinID string) (string, error) {
	text, err := h.api.Bytes(ctx, markdown(pinPath(pinID)))
	return string(text), err
}

// PromptOptions determine a text for a prompt. The zero value means everything.
type PromptOptions struct {
	// Client is the id of a client in the table of conventions. What that client reads
	// itself is left out.
	Client string
	// Budget is the approximate maximum length in tokens, at least 256; 0 means no limit.
	Budget int
}

func (h *hub) PinPieces(ctx context.Context, pinID string, opts PromptOptions) (*api.Pieces, error) {
	r := apiclient.Get(pinPath(pinID) + "/context")
	r.Query = url.Values{"format": {"pieces"}}
	if opts.Client != "" {
		r.Query.Set("client", opts.Client)
	}
	return apiclient.Fetch[api.Pieces](ctx, h.api, with(r, "budget", int64(opts.Budget)))
}

func (h *hub) PinResource(ctx context.Context, pinID, resourceID string) ([]byte, error) {
	return h.api.Bytes(ctx, apiclient.Get(pinPath(pinID)+"/context/resources/"+url.PathEscape(resourceID)))
}

func (h *hub) PinDiff(ctx context.Context, pinID string) (*api.Diff, error) {
	return apiclient.Fetch[api.Diff](ctx, h.api, apiclient.Get(pinPath(pinID)+"/diff"))
}

func (h *hub) AddApproval(ctx context.Context, signed []byte) (*api.Approval, error) {
	return apiclient.Fetch[api.Approval](ctx, h.api, apiclient.Request{
		Method: http.MethodPost, Path: "/approvals", Body: api.NewApproval{Signed: signed},
	})
}

func (h *hub) Approvals(ctx context.Context) ([]api.Approval, error) {
	return apiclient.List[api.Approval](ctx, h.api, apiclient.Get("/approvals"))
}

func (h *hub) RevokeApproval(ctx context.Context, id string) (*api.Approval, error) {
	return apiclient.Fetch[api.Approval](ctx, h.api, apiclient.Request{Method: http.MethodDelete, Path: "/approvals/" + url.PathEscape(id)})
}

func (h *hub) Login(ctx context.Context) (*api.Login, error) {
	return apiclient.Fetch[api.Login](ctx, h.api, apiclient.Request{Method: http.MethodPost, Path: "/login"})
}

func post(path string, body any) apiclient.Request {
	return apiclient.Request{Method: http.MethodPost, Path: path, Body: body}
}

func remove(path, id string) apiclient.Request {
	return apiclient.Request{Method: http.MethodDelete, Path: path + "/" + url.PathEscape(id)}
}

func (h *hub) Tokens(ctx context.Context) ([]api.Token, error) {
	return apiclient.List[api.Token](ctx, h.api, apiclient.Get("/tokens"))
}

func (h *hub) CreateToken(ctx context.Context, token api.NewToken) (*api.Token, error) {
	return apiclient.Fetch[api.Token](ctx, h.api, post("/tokens", token))
}

func (h *hub) RevokeToken(ctx context.Context, id string) error {
	return h.api.Send(ctx, remove("/tokens", id))
}

func (h *hub) Enrollments(ctx context.Context) ([]api.EnrollmentKey, error) {
	return apiclient.List[api.EnrollmentKey](ctx, h.api, apiclient.Get("/enrollments"))
}

func (h *hub) CreateEnrollment(ctx context.Context, key api.NewEnrollmentKey) (*api.EnrollmentKey, error) {
	return apiclient.Fetch[api.EnrollmentKey](ctx, h.api, post("/enrollments", key))
}

func (h *hub) RevokeEnrollment(ctx context.Context, id string, tokens bool) (int, error) {
	r := remove("/enrollments", id)
	if tokens {
		r.Query = url.Values{"tokens": {"1"}}
	}
	answer, err := apiclient.Fetch[api.RevokedEnrollment](ctx, h.api, r)
	if err != nil {
		return 0, err
	}
	return answer.Tokens, nil
}

func (h *hub) RenameAgent(ctx context.Context, agentID, name string) (*api.Agent, error) {
	return apiclient.Fetch[api.Agent](ctx, h.api, apiclient.Request{Method: http.MethodPatch, Path: agentPath(agentID), Body: api.AgentChange{Name: name}})
}

func (h *hub) LabelAgent(ctx context.Context, agentID string, change api.LabelChange) (map[string]string, error) {
	answer, err := apiclient.Fetch[api.LabelChange](ctx, h.api, apiclient.Request{
		Method: http.MethodPatch, Path: agentPath(agentID) + "/labels", Body: change,
	})
	if err != nil {
		return nil, err
	}
	return answer.Set, nil
}

func (h *hub) RemoveAgent(ctx context.Context, agentID string) error {
	return h.api.Send(ctx, remove("/agents", agentID))
}

func (h *hub) Webhooks(ctx context.Context) ([]api.Webhook, error) {
	return apiclient.List[api.Webhook](ctx, h.api, apiclient.Get("/webhooks"))
}

func (h *hub) CreateWebhook(ctx context.Context, webhook api.NewWebhook) (*api.Webhook, error) {
	return apiclient.Fetch[api.Webhook](ctx, h.api, post("/webhooks", webhook))
}

func (h *hub) DeleteWebhook(ctx context.Context, id string) error {
	return h.api.Send(ctx, remove("/webhooks", id))
}

func (h *hub) TestWebhook(ctx context.Context, id string) error {
	return h.api.Send(ctx, post("/webhooks/"+url.PathEscape(id)+"/test", nil))
}

func (h *hub) Backup(ctx context.Context, w io.Writer) (int64, error) {
	resp, err := h.api.Open(ctx, post("/backup", nil))
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(w, resp.Body)
	if err == nil && n != resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, fmt.Errorf("the backup didn't arrive completely: %w", err)
	}
	return n, nil
}
