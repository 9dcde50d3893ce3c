package tools

import "waymark/agentapi"

// gitDiff answers with what isn't committed: the names of all changed files, and as many of
// the diffs as fit.
func (c *call) gitDiff() (any, error) {
	in, err := decode[agentapi.GitQuestion](c)
	if err != nil {
		return nil, err
	}
	for i := range in.Paths {
		if in.Paths[i], err = c.absolute(in.Paths[i], "the name of each path"); err != nil {
			return nil, err
		}
	}
	in.MaxBytes = 0 // what a model reads at once
	return c.client.GitDiff(c, in)
}
