package api

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"

	"waymark/internal/text"
	"waymark/snapshot"
)

// The limits.
const (
	// MaxEncoded is below the limit of a frame to a hub, in bytes.
	MaxEncoded = 44 << 10
	// maxDecoded bounds the decompressed size, in bytes: some 4,000 items.
	maxDecoded = 1 << 20
	maxItems   = 4000
	// maxText cuts each text, in bytes.
	maxText = 1024
	// maxRequest bounds a request.
	maxRequest = 1 << 10
)

// ClientRequest asks what a client would see if started in the agent's directory.
type ClientRequest struct {
	// Client is the id of the coding agent.
	Client string `json:"client"`
}

// ClientContext is what a coding agent would see at its start: the answer of GET
// /api/v0/context/client of an agent's API, without some long fields.
type ClientContext struct {
	// Client is the coding agent.
	Client string `json:"client"`
	// Name is what its makers call it.
	Name string `json:"name"`
	// Version is the version of the coding agent that the rules describe.
	Version string `json:"version"`
	// Judged says what the rules were compared with, and when: the program in a version, or
	// its documentation.
	Judged string `json:"judged"`
	// Root is the directory that it would be started in: the agent's.
	Root string `json:"root"`
	// Project is the directory that it takes for the top of the project, as far as the hub
	// may know.
	Project string `json:"project"`
	// Items are what it sees, in its order; then what it leaves out.
	Items []snapshot.ClientItem `json:"items"`
	// Budget is what there is room for, and what is used.
	Budget snapshot.ClientBudget `json:"budget"`
	// Withheld is how many more items are kept from the hub because they aren't pushed to it.
	Withheld int `json:"withheld" minimum:"0"`
	// LeftOff is how many more items the answer has no room for.
	LeftOff int `json:"left_off" minimum:"0"`
	// Known are the clients that the agent can be asked about.
	Known []KnownClient `json:"known"`
}

// KnownClient is a client that the agent can be asked about.
type KnownClient struct {
	// Client is its id.
	Client string `json:"client"`
	// Name is what its makers call it.
	Name string `json:"name"`
}

// ErrFormat says that a body doesn't have the expected form.
var ErrFormat = errors.New("what came isn't what was asked for")

// EncodeClientRequest encodes a request for DecodeClientRequest.
func EncodeClientRequest(r ClientRequest) []byte {
	body, _ := json.Marshal(r) // a text never fails
	return body
}

// DecodeClientRequest decodes a request. The error is ErrFormat.
func DecodeClientRequest(body []byte) (r ClientRequest, err error) {
	if len(body) > maxRequest || json.Unmarshal(body, &r) != nil {
		return ClientRequest{}, ErrFormat
	}
	return r, nil
}

// EncodeClientContext encodes an answer as compressed JSON, because its paths have much in common.
func EncodeClientContext(a ClientContext) ([]byte, error) {
	items := a.Items
	a.Items = make([]snapshot.ClientItem, 0, min(len(items), maxItems))
	for _, it := range items[:min(len(items), maxItems)] {
		for _, s := range []*string{&it.ID, &it.Path, &it.Name, &it.Detail} {
			*s = text.Cut(*s, maxText)
		}
		a.Items = append(a.Items, it)
	}
	for {
		a.LeftOff = len(items) - len(a.Items)
		body, fits, err := pack(a)
		if err != nil || fits || len(body) > 0 && len(a.Items) == 0 {
			return body, err
		}
		a.Items = a.Items[:len(a.Items)*3/4]
	}
}

// pack encodes an answer, and reports whether it fits into a frame. It returns no body if the
// decoder would refuse it as too large.
func pack(answer any) (body []byte, fits bool, err error) {
	plain, err := json.Marshal(answer)
	if err != nil || len(plain) > maxDecoded {
		return nil, false, err
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // the level is a valid one
	if _, err := w.Write(plain); err != nil {
		return nil, false, err
	}
	if err := w.Close(); err != nil {
		return nil, false, err
	}
	return b.Bytes(), b.Len() <= MaxEncoded, nil
}

// unpack is the inverse of pack. The error is ErrFormat.
func unpack(body []byte, answer any) error {
	if len(body) > MaxEncoded {
		return ErrFormat
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxDecoded+1))
	if err != nil || len(plain) > maxDecoded || json.Unmarshal(plain, answer) != nil {
		return ErrFormat
	}
	return nil
}

// DecodeClientContext decodes an answer. The error is ErrFormat.
func DecodeClientContext(body []byte) (*ClientContext, error) {
	a := new(ClientContext)
	if unpack(body, a) != nil || len(a.Items) > maxItems {
		return nil, ErrFormat
	}
	if a.Items == nil {
		a.Items = []snapshot.ClientItem{}
	}
	if a.Known == nil {
		a.Known = []KnownClient{}
	}
	return a, nil
}
