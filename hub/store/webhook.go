package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"waymark/internal/credential"
)

// Webhooks is the part of a Store that keeps webhooks, what is to be told to them, and
// what was noticed, so that of the hubs over one database one tells it.
//
// What is told are conditions: an agent that is away, plugins of an agent that fail, a
// pin that has drifted. Each is told when it begins, once, and not again when it ends
// and begins within WebhookQuiet, so that what flaps doesn't flood anybody.
//
// The messages for a webhook stand in a row: the oldest is sent until it gets through
// or is too old, then the next one.
type Webhooks interface {
	// CreateWebhook adds a webhook. What NewWebhook.Check refuses is ErrInvalid; there
	// are at most MaxWebhooks, and then it is ErrTooManyWebhooks.
	CreateWebhook(ctx context.Context, webhook NewWebhook) (Webhook, error)
	// Webhooks lists all, the oldest first, with their secrets.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// DeleteWebhook removes one, and what waits for it. With the last one goes what was
	// told, so that the next one hears of all that holds.
	DeleteWebhook(ctx context.Context, id string) error
	// Notice looks for conditions that have begun and puts a message for each of their
	// types into the rows of the webhooks that want it; it returns how many messages. It
	// does so only if nobody else, at any hub, has in the last WebhookTurn. Without
	// webhooks it does nothing.
	Notice(ctx context.Context, o NoticeOptions) (messages int, err error)
	// ClaimWebhook takes a webhook for which a message is due: nobody else gets it for
	// the next lease, or until FinishMessage. ErrNotFound says that none is.
	ClaimWebhook(ctx context.Context, lease time.Duration) (Webhook, Message, error)
	// FinishMessage writes down how it went, unless the lease was lost to another hub,
	// which is no error: then false is returned. What was delivered, or is dropped,
	// leaves the row; the webhook's next message is due at next.
	FinishMessage(ctx context.Context, webhook *Webhook, message *Message, result MessageResult) (mine bool, err error)
}

const (
	// MaxWebhooks bounds those of a store: each costs a connection now and then.
	MaxWebhooks = 16
	// MaxMessages bounds what waits for one webhook. What comes then is dropped, and
	// counted.
	MaxMessages = 100
	// MaxTold is how many agents or pins a message names. It says how many there are.
	MaxTold = 100
	// WebhookTurn is how often conditions are looked for.
	WebhookTurn = 10 * time.Second
	// WebhookQuiet is how long a condition must have been over to be told again.
	WebhookQuiet = time.Hour

	maxWebhookURL = 2048
	maxPluginsHit = 5 // named in a message, of one agent
)

// ErrTooManyWebhooks says that there are MaxWebhooks already.
var ErrTooManyWebhooks = errors.New("too many webhooks; remove one that nobody needs")

// WebhookType is what a message is about.
type WebhookType string

// The types.
const (
	WebhookAway    WebhookType = "agents.away"
	WebhookFailing WebhookType = "plugins.failing"
	WebhookDrifted WebhookType = "pins.drifted"
	// WebhookTest is sent when an operator asks for it; it can't be chosen.
	WebhookTest WebhookType = "webhook.test"
)

// WebhookTypes are those that webhooks can be for.
func WebhookTypes() []WebhookType {
	return []WebhookType{WebhookAway, WebhookFailing, WebhookDrifted}
}

// NewWebhook describes a webhook to be added.
type NewWebhook struct {
	Name string // for people
	URL  string
	// Secret signs what is sent, a credential.WebhookSecret. It is stored as it is, since
	// signing needs it.
	Secret string
	// Types are what it is told; empty means all.
	Types []WebhookType
	// Insecure allows http, Private addresses inside: this machine's, and private ones.
	Insecure, Private bool
}

// Check reports whether it can be added. The error names neither the URL nor the secret.
func (w *NewWebhook) Check() error {
	if notText(w.Name) || len(w.Name) > maxName {
		return fmt.Errorf("%w: the name is longer than %d bytes, or not UTF-8 without NUL", ErrInvalid, maxName)
	}
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || notText(w.URL) || len(w.URL) > maxWebhookURL || u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("%w: that is no URL of a webhook; it looks like https://example.com/hook", ErrInvalid)
	case u.User != nil:
		return fmt.Errorf("%w: the URL of a webhook has no user and no password; what is sent is signed", ErrInvalid)
	case u.Fragment != "":
		return fmt.Errorf("%w: the URL of a webhook has no #fragment", ErrInvalid)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: the URL of a webhook begins with https://", ErrInvalid)
	case u.Scheme == "http" && !w.Insecure:
		return fmt.Errorf("%w: the URL of a webhook begins with https://; --insecure allows http://", ErrInvalid)
	}
	if _, err := credential.WebhookSecret.Parse(w.Secret); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for _, t := range w.Types {
		if !slices.Contains(WebhookTypes(), t) {
			return fmt.Errorf("%w: %q is nothing that webhooks are told; want one of %s", ErrInvalid, t, strings.Join(words(WebhookTypes()), ", "))
		}
	}
	return nil
}

func words(types []WebhookType) []string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = string(t)
	}
	return list
}

// Webhook is a webhook as it is kept.
type Webhook struct {
	// ID names it to people and commands; it isn't secret.
	ID string
	NewWebhook
	CreatedAt time.Time
	// Sent counts what it has taken, Dropped what it was never told, because too much
	// waited or it was too old.
	Sent, Dropped int64
	// SentAt is when it took something last.
	SentAt time.Time
	// Waiting is how many messages stand in its row.
	Waiting int
	// Failures counts the tries that went wrong since one has not; LastError says how the
	// last one did; NextAt is when there will be another one.
	Failures  int
	LastError string
	NextAt    time.Time
}

// Wants reports whether it is told about the type.
func (w *Webhook) Wants(t WebhookType) bool { return len(w.Types) == 0 || slices.Contains(w.Types, t) }

// Message is one message in a webhook's row.
type Message struct {
	// ID stays the same for each try: by it receivers know what they have.
	ID        string
	Body      []byte // JSON
	CreatedAt time.Time
}

// MessageResult is how a try went.
type MessageResult struct {
	// Delivered and Drop take the message out of the row.
	Delivered, Drop bool
	// Error says what went wrong, for people; "" if nothing did.
	Error string
	Next  time.Time
}

// NoticeOptions say what conditions are.
type NoticeOptions struct {
	// SeenBefore is the time since which an agent that is connected was certainly seen:
	// others are away. The zero time means that this isn't known now.
	SeenBefore time.Time
}

// Told is one thing that a message is about.
type Told struct {
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name,omitempty"`
	Since     time.Time `json:"since"`
	// Plugins names some of those that fail, Failing counts them.
	Plugins []string `json:"plugins,omitempty"`
	Failing int      `json:"failing,omitempty"`
	PinID   string   `json:"pin_id,omitempty"`
	PinName string   `json:"pin_name,omitempty"`
	// Revision is the one that was pinned, DriftRevision the first that differs.
	Revision      int64 `json:"revision,omitempty"`
	DriftRevision int64 `json:"drift_revision,omitempty"`
}

// NewMessage writes a message about what has begun. The form is that of Standard
// Webhooks: type, timestamp and data.
func NewMessage(t WebhookType, at time.Time, told []Told) ([]byte, error) {
	type data struct {
		Count int    `json:"count"`
		Items []Told `json:"items"`
	}
	items := told[:min(len(told), MaxTold)]
	if items == nil {
		items = []Told{}
	}
	return json.Marshal(struct {
		Type      WebhookType `json:"type"`
		Timestamp time.Time   `json:"timestamp"`
		Data      data        `json:"data"`
	}{t, at.UTC(), data{len(told), items}})
}

// SomePlugins are the names that a message has, of plugins that fail.
func SomePlugins(names []string) []string {
	slices.Sort(names)
	return names[:min(len(names), maxPluginsHit)]
}
