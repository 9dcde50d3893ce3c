package agentapi

import (
	"encoding/json"
	"errors"
	"net/textproto"
	"slices"

	"github.com/google/uuid"
)

// Headers that say for which chat a request is made. They are information and no
// authority: who may do what is a matter of tokens.
const (
	HeaderChat      = "Coder-Chat-Id"
	HeaderAncestors = "Coder-Ancestor-Chat-Ids"
)

// CallerParams are these headers in the descriptions of the services: parameters of an
// operation that looks at them.
type CallerParams struct {
	// The chat that the request is made for. It is information and no authority; without
	// it the request is made for no chat, and sees what all have made.
	Chat string `header:"Coder-Chat-Id" format:"uuid"`
	// The chats that it was started by: a JSON array of at most 64 UUIDs.
	Ancestors string `header:"Coder-Ancestor-Chat-Ids" example:"[\"0199a1b2-0000-7000-8000-00000000000a\"]"`
}

// maxAncestors bounds how deep chats are nested.
const maxAncestors = 64

// Caller is the chat that a request is made for. The zero Caller is unscoped and
// sees everything.
type Caller struct {
	// Chat is the chat itself; uuid.Nil is none.
	Chat uuid.UUID
	// Ancestors are the chats that it was started by, the nearest first or in
	// whatever order the header has them.
	Ancestors []uuid.UUID
}

// CallerOf reads the headers of a request, an http.Header. One without
// Coder-Chat-Id is unscoped, whatever the other header says.
func CallerOf(header map[string][]string) (Caller, error) {
	text := textproto.MIMEHeader(header).Get(HeaderChat)
	if text == "" {
		return Caller{}, nil
	}
	var c Caller
	var err error
	if c.Chat, err = uuid.Parse(text); err != nil {
		return Caller{}, errors.New(HeaderChat + " is not a UUID")
	}
	text = textproto.MIMEHeader(header).Get(HeaderAncestors)
	if text == "" {
		return c, nil
	}
	var ids []string
	if json.Unmarshal([]byte(text), &ids) != nil || len(ids) > maxAncestors {
		return Caller{}, errors.New(HeaderAncestors + " is not a JSON array of at most 64 UUIDs")
	}
	for _, id := range ids {
		ancestor, err := uuid.Parse(id)
		if err != nil {
			return Caller{}, errors.New(HeaderAncestors + " is not a JSON array of at most 64 UUIDs")
		}
		c.Ancestors = append(c.Ancestors, ancestor)
	}
	return c, nil
}

// Scoped reports whether the request is made for a chat.
func (c Caller) Scoped() bool { return c.Chat != uuid.Nil }

// Owns reports whether what another caller has made belongs to this one: its own,
// and for an unscoped one everything. A chat doesn't own what the chats that it
// started have made.
func (c Caller) Owns(made uuid.UUID) bool { return !c.Scoped() || c.Chat == made }

// Under reports whether the caller is the chat or was started by it, at whatever
// depth.
func (c Caller) Under(chat uuid.UUID) bool {
	return c.Chat == chat || slices.Contains(c.Ancestors, chat)
}
