package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"waymark/hub/mcpserver"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/wire/reverse"
)

// ReplicaRoot is where a hub serves other hubs. Several hubs with one store ask agents through the
// hub that each is connected to. A hub publishes its address in the store, with a secret that is
// new with each start; see store.PresentHub. The asking hub passes on only the request for the
// agent. The other hub uses only its own connections, so that nothing is passed on twice.
//
// The secret is as sensitive as the store: whoever can read it can also read everything
// that agents have pushed. Acting in a workspace requires a capability, which the agent
// checks.
const ReplicaRoot = "/internal/v0/"

const (
	// replicaHeader has the id of the asking hub, for the log.
	replicaHeader = "Waymark-Hub"
	// maxAsked limits a request: the arguments of a call, with their envelope.
	maxAsked = 640 << 10
	// replicaDial limits how long a hub in the same network may take to accept a
	// connection.
	replicaDial = 3 * time.Second
	// replicaGrace is how much longer the asking hub waits than the other one, which can
	// report the reason better.
	replicaGrace = 2 * time.Second
	// replicaIdle is shorter than what a hub keeps an idle connection.
	replicaIdle = time.Minute
	// replicaHeaders limits the headers of an answer, replicaWrite the time to write one.
	replicaHeaders, replicaWrite = 32 << 10, time.Minute
)

// newReplicaClient returns the client for other hubs.
func newReplicaClient() *http.Client {
	dialer := &net.Dialer{Timeout: replicaDial}
	return &http.Client{
		// No proxy: the addresses are in one network, and the secret must stay there.
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: replicaDial, MaxIdleConnsPerHost: maxChatCalls,
			IdleConnTimeout: replicaIdle, MaxResponseHeaderBytes: replicaHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// whys are a hub's errors of agentChannel.ask, by their names between hubs.
var whys = map[string]error{"not_there": errNotThere, "too_old": errTooOld, "lost": errLost, "answer": errAnswer}

// refused is the answer without a result: a hub's error, or the agent's.
type refused struct {
	Why  string `json:"why,omitempty"`
	Code uint64 `json:"code,omitempty"`
	Text string `json:"text,omitempty"`
}

// notedType is the type of an answer with notes before it: JSON of parts, one after the
// other, of which the last has the answer or the error. maxNoted limits all of them, in bytes.
const (
	notedType = "application/x-ndjson"
	maxNoted  = 16 << 20
)

type notedPart struct {
	Note    []byte   `json:"note,omitempty"`
	Answer  []byte   `json:"answer,omitempty"`
	Refused *refused `json:"refused,omitempty"`
}

// askThrough asks an agent through another hub.
//
// # Errors
//
// errNotThere says that nothing was asked: the other hub doesn't have the agent, or doesn't
// answer.
func (c *Calls) askThrough(ctx context.Context, at store.PresentHub, agentID, kind string, body []byte) ([]byte, error) {
	var sent atomic.Bool // the other hub may have read the request
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	u := at.URL + ReplicaRoot + "agents/" + url.PathEscape(agentID) + "/ask/" + kind
	request, err := http.NewRequestWithContext(traced, http.MethodPost, u, bytes.NewReader(body))
	if err != nil {
		return nil, errNotThere
	}
	take := reverse.NotesOf(ctx)
	request.Header = http.Header{
		"Authorization": {"Bearer " + at.Secret}, "Content-Type": {"application/octet-stream"}, replicaHeader: {c.opts.Self.ID}, "User-Agent": {"waymark-hub"},
	}
	if take != nil {
		request.Header.Set("Accept", notedType)
	}
	response, err := c.client.Do(request)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		if noted := json.NewDecoder(io.LimitReader(response.Body, maxNoted)); response.Header.Get("Content-Type") == notedType {
			var part notedPart
			for err = noted.Decode(&part); err == nil && part.Note != nil; err = noted.Decode(&part) {
				take(part.Note)
				part = notedPart{}
			}
			if body = part.Answer; err == nil && part.Refused != nil {
				return nil, part.Refused.err()
			}
		} else {
			body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && sent.Load():
		c.opts.Log.Warn("another hub was lost in the middle of a call", slog.String("agent", agentID), slog.String("hub", at.ID), slog.String("error", errtext.Of(err)))
		return nil, errLost
	case err != nil:
		c.opts.Log.Warn("another hub doesn't answer", slog.String("agent", agentID), slog.String("hub", at.ID), slog.String("url", at.URL), slog.String("error", errtext.Of(err)))
		return nil, errNotThere
	case len(body) > maxAnswer:
		return nil, errAnswer
	case response.StatusCode == http.StatusOK:
		return body, nil
	case response.StatusCode == http.StatusConflict:
		var no refused
		if json.Unmarshal(body, &no) != nil {
			return nil, errAnswer
		}
		return nil, no.err()
	}
	// The other hub was restarted, is stopping, or isn't at this address any more.
	c.opts.Log.Warn("another hub refuses to ask an agent", slog.String("agent", agentID), slog.String("hub", at.ID), slog.String("url", at.URL), slog.Int("status", response.StatusCode))
	return nil, errNotThere
}

// err returns the error.
func (no *refused) err() error {
	if err := whys[no.Why]; err != nil {
		return err
	}
	return &reverse.Error{Code: no.Code, Text: text.Line(no.Text, MaxErrorLogged*4)}
}

// Replicas serves requests of other hubs, below ReplicaRoot.
func (c *Calls) Replicas() http.Handler {
	return httpapi.New(httpapi.Options{
		Name: "hub", Logger: c.opts.Log, MaxBody: maxAsked, WriteTimeout: replicaWrite,
		Admit: func(request *http.Request) (context.Context, error) {
			ctx, shown := request.Context(), httpapi.BearerToken(request)
			valid := c.opts.Self.URL != "" && credential.Same(shown, c.opts.Self.Secret)
			transport.Authenticated(ctx, valid)
			if !valid {
				return nil, &problem.Error{Code: http.StatusUnauthorized, Message: "unauthorized", Detail: "this is for hubs that share a database"}
			}
			return ctx, nil
		},
		Classify: func(_ *httpapi.Call, err error) *problem.Error {
			if errors.Is(err, httpapi.ErrNoRoute) {
				return &problem.Error{Code: http.StatusNotFound, Message: "no such page"}
			}
			return nil
		},
	}, httpapi.Service{Routes: []httpapi.Route{{
		Method: http.MethodPost, Pattern: ReplicaRoot + "agents/{id}/ask/{kind}", Handle: c.serveReplica, Failed: "the agent was not asked", Timeout: mcpserver.MaxCall + replicaGrace,
	}}})
}

// serve asks an agent that is connected here for another hub.
func (c *Calls) serveReplica(call *httpapi.Call) error {
	agentID, kind, begin := call.Arg("id"), call.Arg("kind"), time.Now()
	limit, known := asked[kind]
	if !known {
		return httpapi.ErrNoRoute
	}
	body, err := io.ReadAll(call.Body)
	if err != nil {
		return &problem.Error{Code: http.StatusBadRequest, Message: call.Failed(), Detail: errtext.Of(err)}
	}
	ctx, cancel := context.WithTimeout(call.Context(), limit)
	defer cancel()
	send := func(part notedPart) {
		data, _ := json.Marshal(part)                                  // strings always marshal
		if ctx.Err() == nil && call.Flush(append(data, '\n')) != nil { // the other hub is gone
			cancel()
		}
	}
	noted := call.Header.Get("Accept") == notedType
	if noted {
		ctx = reverse.WithNotes(ctx, func(body []byte) { send(notedPart{Note: body}) })
		call.Stream()
		call.Writer().Header().Set("Content-Type", notedType)
	}
	var answer []byte
	if one := c.channels.of(agentID); one == nil || one.Ended() || c.opts.Transport.Draining() {
		err = errNotThere
	} else {
		answer, err = one.ask(ctx, kind, body)
	}
	c.opts.Log.Info("agent asked for another hub", slog.String("hub", text.Line(call.Header.Get(replicaHeader), 64)), slog.String("agent", agentID),
		slog.String("kind", kind), slog.Int("request", len(body)), slog.Int("answer", len(answer)), slog.Duration("took", time.Since(begin)),
		slog.String("error", text.Line(errtext.Of(err), MaxErrorLogged)))
	switch {
	case err != nil && noted:
		no := refusalOf(err)
		send(notedPart{Refused: &no})
		return nil
	case err != nil:
		return call.JSON(http.StatusConflict, refusalOf(err))
	case noted:
		send(notedPart{Answer: answer})
		return nil
	}
	call.Send(http.StatusOK, "application/octet-stream", answer)
	return nil
}

// refusalOf encodes an error of agentChannel.ask.
func refusalOf(err error) refused {
	var no *reverse.Error
	if errors.As(err, &no) {
		return refused{Code: no.Code, Text: no.Text}
	}
	for why, one := range whys {
		if errors.Is(err, one) {
			return refused{Why: why}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return refused{Code: reverse.CodeDeadline, Text: "it wasn't done in time, and was cancelled"}
	}
	return refused{Code: reverse.CodeUnavailable, Text: "the hub to which it is connected can't ask it"}
}
