package api

import (
	"errors"
	"mime"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody bounds a request's body. The largest that means anything is a path.
const maxBody = 64 << 10

// decode reads a body into v. It is strict: an unknown key, here as nearly
// always, is a known one that somebody misspelled. encoding/json would also
// take repeated keys, keys in the wrong case, and bytes that aren't UTF-8,
// which it changes.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &Error{Code: http.StatusUnsupportedMediaType, Message: "a JSON body is needed",
			Detail: "send it with Content-Type: application/json"}
	}
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), v, json.RejectUnknownMembers(true))
	var large *http.MaxBytesError
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &Error{Code: http.StatusRequestEntityTooLarge, Message: "the body is too large", Detail: "at most 64 KiB are read"}
	case errors.As(err, &syntax), errors.As(err, &meaning):
		return &Error{Code: http.StatusBadRequest, Message: "the body is not what it should be", Detail: err.Error()}
	}
	// It didn't come, or not in time.
	return &Error{Code: http.StatusBadRequest, Message: "the body can't be read", Detail: err.Error()}
}

// decodeNothing reads the body of a request that needs none: there is none, or
// an empty object.
func decodeNothing(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	return decode(w, r, &struct{}{})
}
