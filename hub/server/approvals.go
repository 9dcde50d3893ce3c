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

// maxApprovalBody bounds the body with a signed approval, which is base64 in JSON.
const maxApprovalBody = 2 * store.MaxApproval

// errNotOperator refuses whoever only reads.
var errNotOperator = &problem.Error{
	Code: http.StatusForbidden, Message: "forbidden",
	Detail: "approvals need an operator's token; hub token create --role operator makes one",
}

// operator makes a handler one for operators. What they approve and revoke they show
// their token for: a browser that is signed in with it only looks.
func operator(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		reads := c.Method == http.MethodGet || c.Method == http.MethodHead
		if c.reader.Token.Role != store.RoleOperator || c.reader.SessionID != "" && !reads {
			return errNotOperator
		}
		return handle(c)
	}
}

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

// addApproval keeps a signed approval. Whether anybody trusts the key is for agents to
// know: a hub that judged would be a second place to set up, and one that nobody has
// to believe.
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
	// A later version's may be in a database that is shared with its hub.
	if claim, err := approval.Inspect(kept.Signed); err == nil {
		answer.Name, answer.Definition, answer.KeyID, answer.IssuedAt = claim.Name, claim.Definition, claim.KeyID, claim.Issued
		answer.Agents = append(answer.Agents, claim.Agents...)
	}
	return answer
}
