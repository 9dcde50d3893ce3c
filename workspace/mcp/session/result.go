package session

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/text"
)

// maxContent limits the pieces of a result. An empty piece takes a server 2 bytes, but this
// program 100.
const maxContent = 10_000

// lenient accepts what servers' JSON libraries accept.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

type wireResult struct {
	Content    []jsontext.Value `json:"content"`
	Structured jsontext.Value   `json:"structuredContent"`
	IsError    bool             `json:"isError"`
}

type wireContent struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
		Blob     string `json:"blob"`
	} `json:"resource"`
}

// parseResult parses a call's result as sent by a server.
func parseResult(raw []byte) (*Result, error) {
	var wire wireResult
	if err := json.Unmarshal(raw, &wire, lenient); err != nil {
		return nil, errors.New("the server's result is none: it doesn't have the fields of one")
	}
	if len(wire.Content) > maxContent {
		return nil, fmt.Errorf("the server's result has %d pieces, and %d are taken", len(wire.Content), maxContent)
	}
	result := &Result{IsError: wire.IsError, Content: make([]Content, 0, len(wire.Content))}
	if len(wire.Structured) > 0 && wire.Structured.Kind() != 'n' {
		if err := wire.Structured.Compact(lenient); err == nil {
			result.Structured = []byte(wire.Structured)
		}
	}
	for i := range wire.Content {
		c, err := parseContent(wire.Content[i])
		if err != nil {
			c = unknownContent(wire.Content[i])
		}
		result.Content = append(result.Content, *c)
	}
	return result, nil
}

func parseContent(raw jsontext.Value) (*Content, error) {
	var wire wireContent
	if err := json.Unmarshal(raw, &wire, lenient); err != nil {
		return nil, errors.New("it doesn't have the fields of one")
	}
	if wire.Type == "resource_link" && wire.URI == "" || wire.Type == "resource" && wire.Resource.URI == "" {
		return nil, errors.New("it has no URI")
	}
	c := &Content{Type: wire.Type, MediaType: text.Line(wire.MIMEType, 256)}
	var data string
	switch wire.Type {
	case "text":
		c.Text = wire.Text
	case "image", "audio":
		data = wire.Data
	case "resource_link":
		c.URI, c.Name = wire.URI, cmp.Or(wire.Name, wire.URI)
	case "resource":
		c.URI, c.MediaType = wire.Resource.URI, text.Line(wire.Resource.MIMEType, 256)
		c.Text, data = wire.Resource.Text, wire.Resource.Blob
	default:
		return unknownContent(raw), nil
	}
	if data == "" {
		return c, nil
	}
	if c.Data = decode(data); c.Data == nil {
		// Shown as it is, it would be a lot of nothing.
		return &Content{Type: "text", Text: fmt.Sprintf("[the server's %s, %s of %d characters, isn't base64, and is left out]", c.Type, cmp.Or(c.MediaType, "data"), len(data))}, nil
	}
	return c, nil
}

// decode decodes base64 in any of the forms that servers write: with line breaks, the letters
// for URLs, as a data URL, or without padding. It returns nil for anything else.
func decode(data string) []byte {
	if rest, ok := strings.CutPrefix(data, "data:"); ok {
		_, data, _ = strings.Cut(rest, ",")
	}
	data = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "", "=", "").Replace(data)
	decoded, err := base64.RawStdEncoding.DecodeString(data)
	if err != nil {
		return nil
	}
	return decoded
}

// unknownContent shows a piece of a newer protocol, or an invalid one, as JSON, instead of
// losing the whole result.
func unknownContent(raw jsontext.Value) *Content {
	return &Content{Type: "text", MediaType: "application/json", Text: string(raw)}
}

// asked is what a server asks before it answers.
type asked struct {
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// inputOf returns what a server asks in place of a result, with its state; nil for a result.
func inputOf(raw []byte) (wanted map[string]asked, state string) {
	var wire struct {
		ResultType    string           `json:"resultType"`
		InputRequests map[string]asked `json:"inputRequests"`
		RequestState  string           `json:"requestState"`
	}
	if json.Unmarshal(raw, &wire, lenient) != nil || wire.ResultType != "input_required" {
		return nil, ""
	}
	if wire.InputRequests == nil { // it is only busy
		wire.InputRequests = map[string]asked{}
	}
	return wire.InputRequests, wire.RequestState
}

// withoutContent returns the part of a result that the SDK needs: whether the server
// requests something before it continues. For anything but a result it returns an empty
// one.
func withoutContent(raw []byte) []byte {
	var wire struct {
		ResultType    string         `json:"resultType,omitzero"`
		InputRequests jsontext.Value `json:"inputRequests,omitzero"`
		RequestState  string         `json:"requestState,omitzero"`
	}
	empty := []byte(`{"resultType":"complete","content":[]}`)
	if err := json.Unmarshal(raw, &wire, lenient); err != nil || len(wire.InputRequests) == 0 && wire.ResultType != "input_required" {
		return empty
	}
	out, err := json.Marshal(&wire, lenient)
	if err != nil {
		return empty
	}
	return out
}
