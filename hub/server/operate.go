package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/hub/webhook"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
)

// maxTokenBody limits the body of a new token, which may name a thousand agents.
const maxTokenBody = 256 << 10

// operating are the routes for what operators do: tokens, enrollment, agents, approvals,
// webhooks and backups, and the log of it. What is told to others, or leaves as a whole, needs
// the token itself; the rest a browser may do that an operator has signed in.
func (a *API) operating(route func(method, pattern string, handle func(*call) error) httpapi.Route) []httpapi.Route {
	token := route(http.MethodPost, "/tokens", a.acts("token.created", true, a.createToken))
	token.MaxBody = maxTokenBody
	approval := route(http.MethodPost, "/approvals", a.acts("approval.added", true, a.addApproval))
	approval.MaxBody = maxApprovalBody
	return []httpapi.Route{
		token, approval,
		route(http.MethodGet, "/audit", operator(true, a.listActs)),
		route(http.MethodGet, "/approvals", operator(true, a.listApprovals)),
		route(http.MethodDelete, "/approvals/{id}", a.acts("approval.revoked", true, a.revokeApproval)),
		route(http.MethodGet, "/tokens", operator(true, a.listTokens)),
		route(http.MethodDelete, "/tokens/{id}", a.acts("token.revoked", true, a.revokeToken)),
		route(http.MethodGet, "/enrollments", operator(true, a.listEnrollments)),
		route(http.MethodPost, "/enrollments", a.acts("enrollment.created", true, a.createEnrollment)),
		route(http.MethodDelete, "/enrollments/{id}", a.acts("enrollment.revoked", true, a.revokeEnrollment)),
		route(http.MethodPatch, "/agents/{id}", a.acts("agent.renamed", true, a.renameAgent)),
		route(http.MethodPatch, "/agents/{id}/labels", a.acts("agent.labeled", true, a.labelAgent)),
		route(http.MethodDelete, "/agents/{id}", a.acts("agent.removed", true, a.removeAgent)),
		route(http.MethodGet, "/webhooks", operator(true, a.listWebhooks)),
		route(http.MethodPost, "/webhooks", a.acts("webhook.created", false, a.createWebhook)),
		route(http.MethodDelete, "/webhooks/{id}", a.acts("webhook.deleted", false, a.deleteWebhook)),
		route(http.MethodPost, "/webhooks/{id}/test", a.acts("webhook.tested", false, a.testWebhook)),
		route(http.MethodPost, "/backup", a.acts("backup.made", false, a.backup)),
	}
}

// errNotOperator refuses readers, errNeedsToken the browsers of operators.
var (
	errNotOperator = &problem.Error{
		Code: http.StatusForbidden, Message: "forbidden",
		Detail: "this needs an operator's token; hub token create --role operator makes one on the hub's machine",
	}
	errNeedsToken = &problem.Error{
		Code: http.StatusForbidden, Message: "forbidden",
		Detail: "a browser that is signed in may not do this; whoever has the operator's token may, with the commands of hub",
	}
)

// operator restricts a handler to operators, and to those that send their token unless browsers
// may call it, too.
func operator(browsers bool, handle func(*call) error) func(*call) error {
	return func(c *call) error {
		switch {
		case c.reader.Token.Role != store.RoleOperator:
			return errNotOperator
		case c.reader.SessionID != "" && !browsers:
			return errNeedsToken
		}
		return handle(c)
	}
}

// acts is operator for a handler that changes something: the store writes the call's act with
// the change. The log says it, too.
func (a *API) acts(what string, browsers bool, handle func(*call) error) func(*call) error {
	return operator(browsers, func(c *call) error {
		c.act = &store.Act{At: a.opts.Now(), By: c.reader.Token.ID, ByName: c.reader.Token.Name, What: what, Subject: c.Arg("id")}
		c.Request = c.WithContext(store.WithAct(c.Context(), c.act))
		err := handle(c)
		if err == nil {
			a.log.Info("operator: "+what, slog.String("id", c.act.Subject), slog.String("by", c.act.By))
		}
		return err
	})
}

// maxDetail limits the detail of an act, in bytes.
const maxDetail = 500

// says sets the detail of the call's act.
func (c *call) says(format string, args ...any) {
	c.act.Detail = text.Line(fmt.Sprintf(format, args...), maxDetail)
}

// defaultActs and maxActs limit a page of the audit log.
const (
	defaultActs = 100
	maxActs     = 1000
)

// listActs returns a page of the audit log.
func (a *API) listActs(c *call) error {
	limit, given, err := c.Number("limit", 31)
	if err != nil {
		return err
	}
	if !given || limit == 0 {
		limit = defaultActs
	}
	query := store.AuditQuery{Limit: int(min(limit, maxActs))}
	if query.Subject, err = c.Text("subject"); err != nil {
		return err
	}
	if query.After, err = placeIn[store.ActPlace](c, func(at *store.ActPlace) bool { return at.ID != "" }); err != nil {
		return err
	}
	acts, next, err := a.store.Acts(c.Context(), query)
	if err != nil {
		return err
	}
	answer := make([]api.Act, len(acts))
	for i := range acts {
		answer[i] = api.Act(acts[i])
	}
	if next != nil {
		if err := c.linkNext("/audit", next); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, answer)
}

func invalid(field string, err error) error {
	return fmt.Errorf("%w: %s: %w", store.ErrInvalid, field, err)
}

func (a *API) listTokens(c *call) error {
	list, err := a.store.Tokens(c.Context())
	if err != nil {
		return err
	}
	answer := make([]api.Token, 0, len(list))
	for i := range list {
		answer = append(answer, toToken(&list[i]))
	}
	return c.JSON(http.StatusOK, answer)
}

func (a *API) createToken(c *call) error {
	var wanted api.NewToken
	if err := c.Decode(&wanted); err != nil {
		return err
	}
	token := store.NewToken{
		Role: store.Role(wanted.Role), AgentID: wanted.AgentID, Name: wanted.Name, Scope: wanted.Scope, ScopeLabels: wanted.ScopeLabels,
	}
	if err := token.Hash.UnmarshalText([]byte(wanted.TokenSHA256)); err != nil {
		return invalid("token_sha256", err)
	}
	if wanted.ExpiresAt != nil {
		token.ExpiresAt = *wanted.ExpiresAt
	}
	if credential.Expired(a.opts.Now(), token.ExpiresAt) {
		return invalid("expires_at", errPast)
	}
	c.says("%s %s", token.Role, cmp.Or(token.AgentID, token.Name))
	made, err := a.store.CreateToken(c.Context(), token)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, toToken(&made))
}

var errPast = errors.New("that is not in the future")

func (a *API) revokeToken(c *call) error {
	id := c.Arg("id")
	if err := a.store.RevokeToken(c.Context(), id); err != nil {
		return err
	}
	return c.NoContent()
}

func toToken(t *store.Token) api.Token {
	return api.Token{
		ID: t.ID, Role: string(t.Role), AgentID: t.AgentID, Name: t.Name, Provisioned: t.Provisioned, Scope: t.Scope,
		ScopeLabels: t.ScopeLabels, EnrolledBy: t.EnrolledBy, CreatedAt: t.CreatedAt, LastUsedAt: orNull(t.LastUsedAt),
		ExpiresAt: orNull(t.ExpiresAt), RevokedAt: orNull(t.RevokedAt),
	}
}

func (a *API) listEnrollments(c *call) error {
	list, err := a.store.Enrollments(c.Context())
	if err != nil {
		return err
	}
	answer := make([]api.EnrollmentKey, 0, len(list))
	for i := range list {
		answer = append(answer, a.toEnrollment(&list[i]))
	}
	return c.JSON(http.StatusOK, answer)
}

func (a *API) createEnrollment(c *call) error {
	var wanted api.NewEnrollmentKey
	if err := c.Decode(&wanted); err != nil {
		return err
	}
	enrollment := store.NewEnrollment{
		Name: wanted.Name, AgentID: wanted.AgentID, Labels: wanted.Labels, MaxUses: wanted.MaxUses, ExpiresAt: wanted.ExpiresAt,
	}
	if err := enrollment.Hash.UnmarshalText([]byte(wanted.KeySHA256)); err != nil {
		return invalid("key_sha256", err)
	}
	if credential.Expired(a.opts.Now(), enrollment.ExpiresAt) {
		return invalid("expires_at", errPast)
	}
	c.says("for %d: %s", enrollment.MaxUses, strings.TrimSpace(enrollment.AgentID+" "+enrollment.Name+" "+enrollment.Labels.String()))
	made, err := a.store.CreateEnrollment(c.Context(), enrollment)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, a.toEnrollment(&made))
}

func (a *API) revokeEnrollment(c *call) error {
	tokens, err := c.Word("tokens", "", "1")
	if err != nil {
		return err
	}
	if tokens == "1" {
		c.says("with the tokens of its agents")
	}
	n, err := a.store.RevokeEnrollment(c.Context(), c.Arg("id"), tokens == "1")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.RevokedEnrollment{Tokens: n})
}

func (a *API) toEnrollment(e *store.Enrollment) api.EnrollmentKey {
	answer := api.EnrollmentKey{
		ID: e.ID, Name: e.Name, AgentID: e.AgentID, Labels: e.Labels, Uses: e.Uses, MaxUses: e.MaxUses,
		CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt, RevokedAt: orNull(e.RevokedAt), State: api.EnrollmentValid,
	}
	if answer.Labels == nil {
		answer.Labels = map[string]string{}
	}
	switch {
	case !e.RevokedAt.IsZero():
		answer.State = api.EnrollmentRevoked
	case e.Uses >= e.MaxUses:
		answer.State = api.EnrollmentUsed
	case !e.Valid(a.opts.Now()):
		answer.State = api.EnrollmentExpired
	}
	return answer
}

func (a *API) renameAgent(c *call) error {
	var change api.AgentChange
	if err := c.Decode(&change); err != nil {
		return err
	}
	c.says("%s", change.Name)
	if err := a.store.RenameAgent(c.Context(), c.Arg("id"), change.Name); err != nil {
		return err
	}
	return a.getAgent(c)
}

func (a *API) labelAgent(c *call) error {
	var change api.LabelChange
	if err := c.Decode(&change); err != nil {
		return err
	}
	said := store.Labels(change.Set).String()
	for _, name := range change.Remove {
		said += " " + name + "-"
	}
	c.says("%s", said)
	labels, err := a.store.LabelAgent(c.Context(), c.Arg("id"), change.Set, change.Remove)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.LabelChange{Set: labels})
}

func (a *API) removeAgent(c *call) error {
	if err := a.store.RemoveAgent(c.Context(), c.Arg("id")); err != nil {
		return err
	}
	return c.NoContent()
}

func (a *API) listWebhooks(c *call) error {
	list, err := a.store.Webhooks(c.Context())
	if err != nil {
		return err
	}
	answer := make([]api.Webhook, 0, len(list))
	for i := range list {
		answer = append(answer, toWebhook(&list[i]))
	}
	return c.JSON(http.StatusOK, answer)
}

func (a *API) createWebhook(c *call) error {
	var wanted api.NewWebhook
	if err := c.Decode(&wanted); err != nil {
		return err
	}
	hook := store.NewWebhook{Name: wanted.Name, URL: wanted.URL, Secret: wanted.Secret, Insecure: wanted.Insecure, Private: wanted.Private}
	for _, t := range wanted.Types {
		hook.Types = append(hook.Types, store.WebhookType(t))
	}
	c.says("%s", hook.Name)
	made, err := a.store.CreateWebhook(c.Context(), hook)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, toWebhook(&made))
}

func (a *API) deleteWebhook(c *call) error {
	if err := a.store.DeleteWebhook(c.Context(), c.Arg("id")); err != nil {
		return err
	}
	return c.NoContent()
}

// testWebhook sends a message at once, by the same rules as all others.
func (a *API) testWebhook(c *call) error {
	list, err := a.store.Webhooks(c.Context())
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].ID != c.Arg("id") {
			continue
		}
		if err := webhook.Test(c.Context(), &list[i], a.opts.Now()); err != nil {
			return &problem.Error{Code: http.StatusBadGateway, Message: "the webhook doesn't take it", Detail: err.Error()}
		}
		if err := a.store.Record(c.Context()); err != nil {
			return err
		}
		return c.NoContent()
	}
	return &store.NotFoundError{What: "webhook", ID: c.Arg("id")}
}

func toWebhook(w *store.Webhook) api.Webhook {
	answer := api.Webhook{
		ID: w.ID, Name: w.Name, URL: w.URL, Types: []string{}, Insecure: w.Insecure, Private: w.Private, CreatedAt: w.CreatedAt,
		Sent: w.Sent, SentAt: orNull(w.SentAt), Waiting: w.Waiting, Dropped: w.Dropped, Failures: w.Failures, LastError: w.LastError,
	}
	for _, t := range w.Types {
		answer.Types = append(answer.Types, string(t))
	}
	return answer
}

// errNoBackup refuses a backup where the hub can't make one.
var errNoBackup = &problem.Error{
	Code: http.StatusNotImplemented, Message: "this hub makes no backups",
	Detail: "it was embedded without them; hub backup --db makes one on its machine",
}

// backup sends a copy of the database. It is made completely before anything is sent, so
// that a failure is an error, and the length is known.
func (a *API) backup(c *call) error {
	if a.opts.Backup == nil {
		return errNoBackup
	}
	select { // one at a time: each needs the space of the database
	case a.backups <- struct{}{}:
		defer func() { <-a.backups }()
	default:
		return &problem.Error{Code: http.StatusTooManyRequests, Message: "a backup is being made", Detail: "ask again when it is done", RetryAfter: time.Minute}
	}
	dir, err := os.MkdirTemp("", "waymark-backup-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "hub.backup")
	c.Stream() // it may take minutes
	if err := a.opts.Backup(c.Context(), path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.says("%d bytes", info.Size())
	if err := a.store.Record(c.Context()); err != nil {
		return err
	}
	header := c.Writer().Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "hub-" + a.opts.Now().UTC().Format("2006-01-02") + ".backup"}))
	return sendParts(c, f)
}

// sendParts sends parts, each of which the receiver has Limits.Write to take.
func sendParts(c *call, r io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			if err := c.Flush(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
