package agentapi

import (
	"encoding/json"
	"errors"
	"net/textproto"
	"slices"

	"github.com/google/uuid"
)

// Headers that name the chat of a request. They are information and grant nothing; only
// tokens do.
const (
	HeaderChat      = "Coder-Chat-Id"
	HeaderAncestors = "Coder-Ancestor-Chat-Ids"
)

// CallerParams describe these headers in the OpenAPI document, for operations that read
// them.
type CallerParams struct {
	// The chat that the request is made for. It grants nothing. Without it, the request
	// belongs to no chat and sees everything.
	Chat string `header:"Coder-Chat-Id" format:"uuid"`
	// The chats that started this chat: a JSON array of at most 64 UUIDs.
	Ancestors string `header:"Coder-Ancestor-Chat-Ids" example:"[\"0199a1b2-0000-7000-8000-00000000000a\"]"`
}

// maxAncestors limits how deeply chats are nested.
const maxAncestors = 64

// Caller is the chat that a request is made for. The zero Caller is unscoped and sees
// everything.
type Caller struct {
	// Chat is the chat's id; uuid.Nil means none.
	Chat uuid.UUID
	// Ancestors are the chats that started it, directly or indirectly, in the order of the
	// header.
	Ancestors []uuid.UUID
}

// CallerOf reads the headers of a request, an http.Header. Without Coder-Chat-Id the Caller
// is unscoped, whatever the other header says.
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

// Owns reports whether the caller owns what the chat made. A chat owns only what it made
// itself, and not what chats made that it started. An unscoped caller owns everything.
func (c Caller) Owns(made uuid.UUID) bool { return !c.Scoped() || c.Chat == made }

// Under reports whether the caller is the chat or was started by it, directly or
// indirectly.
func (c Caller) Under(chat uuid.UUID) bool {
	return c.Chat == chat || slices.Contains(c.Ancestors, chat)
}
