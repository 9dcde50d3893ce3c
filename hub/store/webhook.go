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

// Webhooks is the part of a Store for webhooks, their pending messages, and what was
// noticed. It ensures that only one of several hubs with a database sends a message.
//
// Messages report conditions: what agents need attention for, and of pins, which have drifted.
// A condition is reported when it begins, and as resolved when it has been over for
// WebhookQuiet. If it begins again before that, nothing is reported, to avoid a flood.
//
// The messages for a webhook are queued: the oldest is sent until it is delivered or too
// old, then the next one.
type Webhooks interface {
	// CreateWebhook adds a webhook. What NewWebhook.Check refuses is ErrInvalid. Beyond
	// MaxWebhooks the error is ErrTooManyWebhooks.
	CreateWebhook(ctx context.Context, webhook NewWebhook) (Webhook, error)
	// Webhooks lists all webhooks, oldest first, with their secrets.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// DeleteWebhook removes a webhook and its queue. Removing the last one also forgets
	// what was reported, so that the next webhook gets everything that holds.
	DeleteWebhook(ctx context.Context, id string) error
	// Notice looks for conditions that have begun, and queues a message for each of their
	// types at the webhooks that want it. It returns the number of messages. It does
	// nothing if it ran at any hub within WebhookTurn, or if there are no webhooks.
	Notice(ctx context.Context, o NoticeOptions) (messages int, err error)
	// ClaimWebhook claims a webhook with a due message, until the lease expires or
	// FinishMessage. If there is none, the error is ErrNotFound.
	ClaimWebhook(ctx context.Context, lease time.Duration) (Webhook, Message, error)
	// FinishMessage stores the result of an attempt. If the lease was lost to another hub,
	// it returns false without an error. A message that was delivered or is dropped leaves
	// the queue. The webhook's next message is due at next.
	FinishMessage(ctx context.Context, webhook *Webhook, message *Message, result MessageResult) (mine bool, err error)
}

const (
	// MaxWebhooks limits the webhooks of a store, because each needs a connection now and
	// then.
	MaxWebhooks = 16
	// MaxMessages limits the queue of a webhook. Further messages are dropped and counted.
	MaxMessages = 100
	// MaxTold limits the agents or pins that a message names. It has their total number.
	MaxTold = 100
	// WebhookTurn is the interval of looking for conditions.
	WebhookTurn = 10 * time.Second
	// WebhookQuiet is how long a condition must be over before it is resolved.
	WebhookQuiet = 10 * time.Minute

	maxWebhookURL = 2048
	maxPluginsHit = 5 // names of an agent's plugins in a message
)

// ErrTooManyWebhooks says that MaxWebhooks is reached.
var ErrTooManyWebhooks = errors.New("too many webhooks; remove one that nobody needs")

// WebhookType is the type of a message: an Attention, resolved or not.
type WebhookType string

const (
	// WebhookResolved ends the type of a message about what is over.
	WebhookResolved = ".resolved"
	// WebhookTest is sent on an operator's request. A webhook can't select it.
	WebhookTest WebhookType = "webhook.test"
)

// WebhookTypes returns the types that webhooks can select.
func WebhookTypes() (list []WebhookType) {
	for _, reason := range Attentions() {
		list = append(list, WebhookType(reason), WebhookType(reason)+WebhookResolved)
	}
	return list
}

// NewWebhook describes a new webhook.
type NewWebhook struct {
	Name string // for people
	URL  string
	// Secret signs the messages, a credential.WebhookSecret. It is stored unhashed, because
	// signing needs it.
	Secret string
	// Types are the selected types; empty means all.
	Types []WebhookType
	// Insecure allows http. Private allows internal addresses: this machine's and private
	// ones.
	Insecure, Private bool
}

// Check reports whether it can be added. The error contains neither the URL nor the secret.
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

// Webhook is a stored webhook.
type Webhook struct {
	// ID identifies it for people and commands; it isn't secret.
	ID string
	NewWebhook
	CreatedAt time.Time
	// Sent is the number of delivered messages, Dropped that of messages that were too old
	// or exceeded the queue.
	Sent, Dropped int64
	// SentAt is the time of the last delivery.
	SentAt time.Time
	// Waiting is the length of the queue.
	Waiting int
	// Failures is the number of failed attempts since the last success. LastError is the
	// last one's error, NextAt the time of the next attempt.
	Failures  int
	LastError string
	NextAt    time.Time
}

// Wants reports whether the webhook gets messages of a type.
func (w *Webhook) Wants(t WebhookType) bool { return len(w.Types) == 0 || slices.Contains(w.Types, t) }

// Message is a message in a webhook's queue.
type Message struct {
	// ID is the same for each attempt, so that receivers can detect duplicates.
	ID        string
	Body      []byte // JSON
	CreatedAt time.Time
}

// MessageResult is the result of an attempt.
type MessageResult struct {
	// Delivered and Drop remove the message from the queue.
	Delivered, Drop bool
	// Error says what failed, for people; "" if nothing did.
	Error string
	Next  time.Time
}

// NoticeOptions define conditions.
type NoticeOptions struct {
	// SeenBefore is the time since which every connected agent was certainly seen: others
	// are away. The zero time means that this is unknown.
	SeenBefore time.Time
}

// Told is an item of a message. Since is when it began, or was over.
type Told struct {
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name,omitempty"`
	Since     time.Time `json:"since"`
	// Plugins are the names of some failing plugins, Failing is their number.
	Plugins []string `json:"plugins,omitempty"`
	Failing int      `json:"failing,omitempty"`
	PinID   string   `json:"pin_id,omitempty"`
	PinName string   `json:"pin_name,omitempty"`
	// Revision is the pinned revision, DriftRevision the first one that differs.
	Revision      int64 `json:"revision,omitempty"`
	DriftRevision int64 `json:"drift_revision,omitempty"`
}

// NewMessage encodes a message about conditions that have begun, in the form of Standard
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

// SomePlugins returns the names of failing plugins for a message.
func SomePlugins(names []string) []string {
	slices.Sort(names)
	return names[:min(len(names), maxPluginsHit)]
}
