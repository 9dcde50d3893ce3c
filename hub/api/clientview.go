package api

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"

	"waymark/internal/text"
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
	Items []ClientContextItem `json:"items"`
	// Budget is what there is room for, and what is used.
	Budget ClientContextBudget `json:"budget"`
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

// ClientContextItem is one thing that a client sees or leaves out.
type ClientContextItem struct {
	// ID is that of the resource, which the newest snapshot may have.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind string `json:"kind"`
	// Path is that of the file, absolute.
	Path string `json:"path"`
	// Name is what the coding agent calls it; empty for instructions.
	Name string `json:"name"`
	// Bytes is what it would take with nothing cut: the text of instructions, and for others
	// the line in a list.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is what it takes: an estimate, one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// Included says that it is there at the start.
	Included bool `json:"included"`
	// CutBytes is how many of the bytes are cut off; all if there is no room for it.
	CutBytes int64 `json:"cut_bytes" minimum:"0"`
	// Reason says in a word why it is missing or not whole; docs/clients.md lists them.
	Reason string `json:"reason,omitempty"`
	// Detail says the same for a person.
	Detail string `json:"detail,omitempty"`
}

// ClientContextBudget is what there is room for, and what is used; 0 means no bound.
type ClientContextBudget struct {
	// InstructionBytes bounds all instructions together; 0 means no bound.
	InstructionBytes int64 `json:"instruction_bytes" minimum:"0"`
	// UsedBytes is what they take.
	UsedBytes int64 `json:"used_bytes" minimum:"0"`
	// SkillTokens bounds the list of skills; 0 means no bound.
	SkillTokens int64 `json:"skill_tokens" minimum:"0"`
	// WindowTokens is the context of which SkillTokens is a share.
	WindowTokens int64 `json:"window_tokens" minimum:"0"`
	// UsedTokens is what the list of skills takes, with the coding agent's own: an estimate.
	UsedTokens int64 `json:"used_tokens" minimum:"0"`
	// Builtin counts the coding agent's own skills.
	Builtin int `json:"builtin_skills" minimum:"0"`
	// Shortened counts those whose description is cut.
	Shortened int `json:"shortened_skills" minimum:"0"`
	// Dropped counts those that are left out.
	Dropped int `json:"dropped_skills" minimum:"0"`
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
	a.Items = make([]ClientContextItem, 0, min(len(items), maxItems))
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
		a.Items = []ClientContextItem{}
	}
	if a.Known == nil {
		a.Known = []KnownClient{}
	}
	return a, nil
}
