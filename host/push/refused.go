package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// refusal is how Coder's server and a hub say no.
type refusal struct {
	Message     string `json:"message"`
	Detail      string `json:"detail"`
	Validations []struct {
		Field  string `json:"field"`
		Detail string `json:"detail"`
	} `json:"validations"`
}

// refused says why a handshake failed, in the words of the peer where it has
// some. response is nil when there was none.
func refused(response *http.Response, err error) error {
	if response == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return plain(err)
	}
	var body refusal
	if response.Body != nil {
		// The library keeps the first kilobyte, which is enough for this.
		data, _ := io.ReadAll(response.Body)
		_ = json.Unmarshal(data, &body) // anything else has no message
	}
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: %s", ErrUnauthorized, body.text(code))
	case code == http.StatusBadRequest && body.version() != "":
		return fmt.Errorf("%w: %s: %s", ErrVersionRefused, body.text(code), body.version())
	case code == http.StatusNotFound && body.Message == "":
		return fmt.Errorf("the peer has no agent endpoint (%s); is the URL that of a hub or of a Coder server?", body.text(code))
	default:
		return fmt.Errorf("the peer refuses the connection: %s", body.text(code))
	}
}

func (r *refusal) text(code int) string {
	text := fmt.Sprintf("HTTP %d", code)
	if r.Message == "" {
		return text + " " + http.StatusText(code)
	}
	text += ", " + r.Message
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

// version returns what the peer says about the version, if it does.
func (r *refusal) version() string {
	for _, v := range r.Validations {
		if v.Field == "version" {
			return v.Detail
		}
	}
	return ""
}

// plain strips what the libraries wrap around the cause: the whole URL, and
// whose function it was.
func plain(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
