package process

import (
	"cmp"
	"net/http"
	"slices"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/supervisor"
)

// listed is the default length of a list, as in Coder's agent; maxListed is the maximum.
const listed, maxListed = 10, 10000

// list answers GET /api/v0/processes/list.
func (s *Service) list(c *httpapi.Call) error {
	who, err := caller(c)
	if err != nil {
		return err
	}
	limit, given, err := number(c, "limit")
	if err != nil {
		return err
	}
	if !given {
		limit = listed
	}
	instance, err := s.opts.Supervisor.Instance(c.Context())
	if err != nil {
		return err
	}
	all, err := s.opts.Supervisor.List(c.Context())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(info supervisor.Info) bool { return !who.Owns(info.Chat) })
	slices.SortFunc(all, runningThenNewest)
	answer := agentapi.ProcessList{Processes: []agentapi.Process{}, AgentInstanceID: instance}
	for i := range all[:min(int64(len(all)), limit, maxListed)] {
		answer.Processes = append(answer.Processes, all[i].Process)
	}
	return c.JSON(http.StatusOK, answer)
}

// runningThenNewest is the order of a list.
func runningThenNewest(a, b supervisor.Info) int {
	switch {
	case a.Running && !b.Running:
		return -1
	case b.Running && !a.Running:
		return 1
	}
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
}
