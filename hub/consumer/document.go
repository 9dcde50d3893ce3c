package consumer

import (
	_ "embed" // the document
	"net/http"
	"slices"
)

//go:embed openapi.json
var openapi []byte

// Document returns the OpenAPI document.
func Document() []byte { return slices.Clone(openapi) }

func (a *API) document(c *call) error {
	send(c.w, http.StatusOK, "application/json; charset=utf-8", openapi)
	return nil
}
