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
	Client string `json:"client"`
}

// Answer is that. Its fields are those of GET /api/v0/context/client of an agent's API,
// without some that are long.
type Answer struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Judged  bool   `json:"judged"`
	Root    string `json:"root"`
	Project string `json:"project"`
	Items   []Item `json:"items"`
	Budget  Budget `json:"budget"`
	// Withheld counts the items that the hub isn't told of, since they aren't pushed to
	// it; LeftOff those for which there was no room.
	Withheld int `json:"withheld"`
	LeftOff  int `json:"left_off"`
	// Known are the clients that the agent can be asked about.
	Known []Known `json:"known"`
}

// Known is one of them.
type Known struct {
	Client string `json:"client"`
	Name   string `json:"name"`
}

// Item is one thing that a client sees or leaves out.
type Item struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	Tokens   int64  `json:"tokens"`
	Included bool   `json:"included"`
	CutBytes int64  `json:"cut_bytes"`
	Reason   string `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Budget is what there is room for, and what is used; 0 for no bound.
type Budget struct {
	InstructionBytes int64 `json:"instruction_bytes"`
	UsedBytes        int64 `json:"used_bytes"`
	SkillTokens      int64 `json:"skill_tokens"`
	WindowTokens     int64 `json:"window_tokens"`
	UsedTokens       int64 `json:"used_tokens"`
	Builtin          int   `json:"builtin_skills"`
	Shortened        int   `json:"shortened_skills"`
	Dropped          int   `json:"dropped_skills"`
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
