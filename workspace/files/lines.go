package files

import (
	"context"
	"errors"
	"io"
	"net/http"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/files/edit"
)

// readFileLines answers GET /api/v0/read-file-lines. The status is always 200, and the body
// has success or an error.
func (s *Service) readFileLines(c *httpapi.Call) error {
	path, want, err := lineRange(c)
	if err != nil {
		return err
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	answer, err := a.lines(c.Context(), path, want)
	if err != nil {
		r, ok := errors.AsType[*refusal](err)
		if !ok {
			return err
		}
		answer = agentapi.FileLines{Error: r.text}
	}
	return c.JSON(http.StatusOK, answer)
}

// lineRange reads the query.
func lineRange(c *httpapi.Call) (path string, want agentapi.LineRange, err error) {
	numbers := []struct {
		name  string
		value *int64
	}{
		{"offset", &want.Offset}, {"limit", &want.Limit}, {"max_file_size", &want.MaxFileSize}, {"max_line_bytes", &want.MaxLineBytes},
		{"max_response_lines", &want.MaxResponseLines}, {"max_response_bytes", &want.MaxResponseBytes},
	}
	known := []string{"path"}
	for _, n := range numbers {
		known = append(known, n.name)
	}
	if err := onlyParameters(c, known...); err != nil {
		return "", want, err
	}
	for _, n := range numbers {
		if *n.value, err = number(c, n.name, 0); err != nil {
			return "", want, err
		}
	}
	if path, err = c.Text("path"); err == nil && path == "" {
		err = &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "a path is needed"}
	}
	return path, want, err
}

func (a *asker) lines(ctx context.Context, path string, want agentapi.LineRange) (agentapi.FileLines, error) {
	f, err := a.open(path)
	if err != nil {
		return agentapi.FileLines{}, err
	}
	defer f.close()
	answer, err := edit.Number(ctx, io.NewSectionReader(f, 0, f.st.Size), f.st.Size, want)
	if err != nil {
		return answer, refuseFor(path, err)
	}
	return answer, nil
}
