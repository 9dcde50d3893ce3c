package server

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/udiff"
)

const (
	// maxDiffText limits the content that is compared by lines: the most that an agent
	// pushes of a file.
	maxDiffText = 64 << 10
	// maxDiffs limits the diffs of an answer.
	maxDiffs = 1 << 20
)

func (a *API) getDiff(c *call) error {
	from, given, err := c.revision("from")
	if err == nil && !given {
		err = httpapi.BadQuery("from is missing: name a revision, such as the history of the agent lists")
	}
	if err != nil {
		return err
	}
	to, _, err := c.revision("to")
	if err != nil {
		return err
	}
	agent, err := c.store.Agent(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	to = cmp.Or(to, agent.Revision)
	if from == 0 || to == 0 {
		return &store.NotFoundError{What: "revision", ID: "0"}
	}
	end, err := a.beginRendering(c.Context())
	if err != nil {
		return err
	}
	defer end()
	changes, err := c.store.Diff(c.Context(), agent.ID, from, to)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Diff{AgentID: agent.ID, From: from, To: to, Changes: compareAll(changes)})
}

func (a *API) getPinDiff(c *call) error {
	end, err := a.beginRendering(c.Context())
	if err != nil {
		return err
	}
	defer end()
	pin, changes, revision, err := c.store.PinDiff(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Diff{AgentID: pin.AgentID, From: pin.Revision, To: revision, Changes: compareAll(changes)})
}

func compareAll(changes []store.ResourceChange) []api.ResourceDiff {
	list := make([]api.ResourceDiff, len(changes))
	left := maxDiffs
	for i := range changes {
		list[i] = compareOne(&changes[i], left)
		left -= len(list[i].Diff)
	}
	return list
}

func compareOne(ch *store.ResourceChange, left int) api.ResourceDiff {
	d := api.ResourceDiff{ID: ch.ID, Before: ch.Before, After: ch.After}
	var before, after []byte
	switch {
	case ch.Before == nil:
		d.Change, d.Kind, after = api.Added, string(ch.After.Kind), ch.After.Payload
	case ch.After == nil:
		d.Change, d.Kind, before = api.Removed, string(ch.Before.Kind), ch.Before.Payload
	default:
		d.Change, d.Kind, before, after = api.Changed, string(ch.After.Kind), ch.Before.Payload, ch.After.Payload
	}
	d.DiffNote = whyNoDiff(before, after)
	if d.DiffNote == "" {
		d.Diff = unifiedDiff(ch, string(before), string(after))
	}
	if len(d.Diff) > left {
		d.Diff, d.DiffNote = "", "left out: the differences of all resources are too long for one answer; read the bodies"
	}
	return d
}

// whyNoDiff says why there is no diff to show, or "".
func whyNoDiff(before, after []byte) string {
	switch {
	case len(before) > maxDiffText || len(after) > maxDiffText:
		return "too large to compare line by line"
	case !httpapi.IsText(before) || !httpapi.IsText(after):
		return "not text"
	case before == nil && after == nil:
		return "no content is kept of it"
	case len(before) == 0 && len(after) == 0:
		return "the content is empty"
	case bytes.Equal(before, after):
		return "the content is the same; other fields differ"
	}
	return ""
}

// unifiedDiff returns a unified diff. The names in its head are ids, which are mostly
// chosen by a workspace, so line breaks in them are replaced.
func unifiedDiff(ch *store.ResourceChange, before, after string) string {
	from, to := "/dev/null", "/dev/null"
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '\uFFFD'
		}
		return r
	}, ch.ID)
	if ch.Before != nil {
		from = "a/" + name
	}
	if ch.After != nil {
		to = "b/" + name
	}
	return udiff.Diff(from, to, before, after)
}
