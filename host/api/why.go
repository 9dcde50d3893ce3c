package api

import (
	"context"
	"net/http"
	"path/filepath"

	"waymark/host/why"
)

// maxQuestions bounds the paths of one request: each is looked up in all
// traces.
const maxQuestions = 64

// why answers GET /api/v0/context/why, in the order of the paths.
func (h *handler) why(w http.ResponseWriter, r *http.Request, _ string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	paths := values["path"]
	if len(paths) == 0 || len(paths) > maxQuestions {
		return badQuery("say ?path= for each file, at most 64 times")
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return badQuery("each path must be absolute: whose working directory would count?")
		}
	}
	answers := make([]why.Answer, len(paths))
	err = h.within(w, r, h.opts.Timeout, func(ctx context.Context) (err error) {
		for i := 0; i < len(paths) && err == nil; i++ {
			answers[i], err = h.opts.Backend.Why(ctx, paths[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, answers)
}
