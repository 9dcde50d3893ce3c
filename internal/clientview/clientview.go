// Package clientview is what an agent tells its hub of the files that coding agents look
// for: what one would see at its start, and what lies there and isn't used. These are the
// bodies of the reverse channel's kinds "client.context" and "context.coverage", and a part
// of the hub's API.
//
// # Guarantees
//
// What is encoded fits into a frame, whatever is in it: texts are cut, and items left off
// and counted. What is decoded is bounded before it is: a peer that answers with more, or
// with something else, gets an error, which has nothing of it.
//
// # Concurrency
//
// The package has no state.
package clientview

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
	// MaxEncoded is less than a frame may have that goes to a hub, in bytes.
	MaxEncoded = 44 << 10
	// maxDecoded bounds what that may stand for, in bytes: some 4,000 items.
	maxDecoded = 1 << 20
	maxItems   = 4000
	// maxText cuts each text, in bytes.
	maxText = 1024
	// maxRequest bounds a request.
	maxRequest = 1 << 10
)

// Request asks what a client would see that is started where the agent works.
type Request struct {
	// Client is the id of the coding agent.
	Client string `json:"client"`
}

// Answer is what a coding agent would see at its start: what GET /api/v0/context/client of an
// agent's API answers, without some fields that are long.
type Answer struct {
	// Client is the coding agent.
	Client string `json:"client"`
	// Name is what its makers call it.
	Name string `json:"name"`
	// Version is the one of the coding agent that the rules are of.
	Version string `json:"version"`
	// Judged says that the rules are compared with the program itself; otherwise they follow
	// its documentation.
	Judged bool `json:"judged"`
	// Root is the directory that it would be started in: the agent's.
	Root string `json:"root"`
	// Project is the directory that it takes for the top of the project, as far as the hub may
	// know.
	Project string `json:"project"`
	// Items are what it sees, in its order; then what it leaves out.
	Items []Item `json:"items"`
	// Budget is what there is room for, and what is used.
	Budget Budget `json:"budget"`
	// Withheld is how many more items there are, of which the hub isn't told since they aren't
	// pushed to it.
	Withheld int `json:"withheld" minimum:"0"`
	// LeftOff is how many more items there are, for which the answer has no room.
	LeftOff int `json:"left_off" minimum:"0"`
	// Known are the clients that the agent can be asked about.
	Known []Known `json:"known"`
}

// Known is one of them.
type Known struct {
	// Client is its id.
	Client string `json:"client"`
	// Name is what its makers call it.
	Name string `json:"name"`
}

// Item is one thing that a client sees or leaves out.
type Item struct {
	// ID is that of the resource, which the newest snapshot may have.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind string `json:"kind"`
	// Path is that of the file, absolute.
	Path string `json:"path"`
	// Name is what the coding agent calls it; empty for instructions.
	Name string `json:"name"`
	// Bytes is what it would take with nothing cut: of instructions the text, of others the
	// line in a list.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is what it takes: an estimate, one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// Included says that it is there at the start.
	Included bool `json:"included"`
	// CutBytes is how many of the bytes are cut off; all, where there is no room for it.
	CutBytes int64 `json:"cut_bytes" minimum:"0"`
	// Reason says in a word why it isn't there or not whole; docs/clients.md lists them.
	Reason string `json:"reason,omitempty"`
	// Detail says the same for a person.
	Detail string `json:"detail,omitempty"`
}

// Budget is what there is room for, and what is used; 0 for no bound.
type Budget struct {
	// InstructionBytes is what all instructions may have together; 0: no bound.
	InstructionBytes int64 `json:"instruction_bytes" minimum:"0"`
	// UsedBytes is what they take.
	UsedBytes int64 `json:"used_bytes" minimum:"0"`
	// SkillTokens is what the list of skills may have; 0: no bound.
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

// ErrFormat says that what came isn't what it should be.
var ErrFormat = errors.New("what came isn't what was asked for")

// EncodeRequest and DecodeRequest are the two ends of a request.
func EncodeRequest(r Request) []byte {
	body, _ := json.Marshal(r) // a text never fails
	return body
}

// DecodeRequest decodes a request. The error is ErrFormat.
func DecodeRequest(body []byte) (r Request, err error) {
	if len(body) > maxRequest || json.Unmarshal(body, &r) != nil {
		return Request{}, ErrFormat
	}
	return r, nil
}

// Encode encodes an answer, as compressed JSON: its paths have much in common.
func Encode(a Answer) ([]byte, error) {
	items := a.Items
	a.Items = make([]Item, 0, min(len(items), maxItems))
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

// pack makes a body of an answer, and says whether that fits into a frame. There is no
// body where the other end would take it for too much.
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

// unpack is the other end of pack. The error is ErrFormat.
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

// Decode decodes an answer. The error is ErrFormat.
func Decode(body []byte) (*Answer, error) {
	a := new(Answer)
	if unpack(body, a) != nil || len(a.Items) > maxItems {
		return nil, ErrFormat
	}
	if a.Items == nil {
		a.Items = []Item{}
	}
	if a.Known == nil {
		a.Known = []Known{}
	}
	return a, nil
}
