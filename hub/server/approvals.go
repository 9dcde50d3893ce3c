package server

import (
	"fmt"
	"net/http"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/httpapi/problem"
	"waymark/wire/approval"
)

// maxApprovalBody limits the body with a signed approval, base64 in JSON.
const maxApprovalBody = 2 * store.MaxApproval

func (a *API) listApprovals(c *call) error {
	list, _, err := a.store.Approvals(c.Context(), -1)
	if err != nil {
		return err
	}
	answer := make([]api.Approval, 0, len(list))
	for i := range list {
		answer = append(answer, a.toApproval(&list[i]))
	}
	return c.JSON(http.StatusOK, answer)
}

// addApproval stores a signed approval. Agents decide whether they trust its key. A hub
// that decided would be another place to configure, and agents couldn't rely on it.
func (a *API) addApproval(c *call) error {
	var wanted api.NewApproval
	if err := c.Decode(&wanted); err != nil {
		return err
	}
	refused := func(format string, args ...any) error {
		return &problem.Error{Code: http.StatusBadRequest, Message: "the approval was not added", Detail: fmt.Sprintf(format, args...)}
	}
	claim, err := approval.Inspect(wanted.Signed)
	if err != nil {
		return refused("%v", err)
	}
	if credential.Expired(a.opts.Now(), claim.Expires) {
		return refused("it has expired; sign one anew")
	}
	c.act.Subject = claim.ID
	c.says("%s %s", claim.Name, claim.Definition)
	kept, err := a.store.AddApproval(c.Context(), store.NewApproval{
		ID: claim.ID, Signed: wanted.Signed, ExpiresAt: claim.Expires, AddedBy: c.reader.Token.ID,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, a.toApproval(&kept))
}

func (a *API) revokeApproval(c *call) error {
	kept, err := a.store.RevokeApproval(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.toApproval(&kept))
}

func (a *API) toApproval(kept *store.Approval) api.Approval {
	answer := api.Approval{
		ID: kept.ID, Agents: []string{}, ExpiresAt: kept.ExpiresAt, State: api.ApprovalLive, AddedBy: kept.AddedBy,
		AddedAt: kept.AddedAt, RevokedAt: orNull(kept.RevokedAt), Signed: kept.Signed,
	}
	switch {
	case !kept.RevokedAt.IsZero():
		answer.State = api.ApprovalRevoked
	case !kept.Live(a.opts.Now()):
		answer.State = api.ApprovalExpired
	}
	// It may come from a later version of the hub with the same database.
	if claim, err := approval.Inspect(kept.Signed); err == nil {
		answer.Name, answer.Definition, answer.KeyID, answer.IssuedAt = claim.Name, claim.Definition, claim.KeyID, claim.Issued
		answer.Agents = append(answer.Agents, claim.Agents...)
	}
	return answer
}
