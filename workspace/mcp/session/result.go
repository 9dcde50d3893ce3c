package session

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"

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
	if data != "" {
		decoded, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("its data isn't base64")
		}
		c.Data = decoded
	}
	return c, nil
}

// unknownContent shows a piece of a newer protocol, or an invalid one, as JSON, instead of
// losing the whole result.
func unknownContent(raw jsontext.Value) *Content {
	return &Content{Type: "text", MediaType: "application/json", Text: string(raw)}
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
