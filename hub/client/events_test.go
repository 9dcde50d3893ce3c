package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/api"
	"waymark/hub/client"
)

// script is a hub that answers the requests in turn, each with an element.
type script struct {
	mu    sync.Mutex // guards asked
	asked []string
	turns []turn
}

// turn is one answer: a status (0 for a connection that isn't made), and what
// is sent before the line is cut, or, with hang, before it falls silent.
type turn struct {
	status int
	body   string
	hang   bool
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.asked)
	s.asked = append(s.asked, strings.TrimPrefix(r.URL.RequestURI(), "/api/v0"))
	if n >= len(s.turns) {
		return nil, errors.New("the script is at its end")
	}
	turn := s.turns[n]
	if turn.status == 0 {
		return nil, errors.New("no route to the hub")
	}
	body := io.Reader(strings.NewReader(turn.body))
	if turn.hang {
		body = io.MultiReader(body, silent{r.Context()})
	}
	return &http.Response{StatusCode: turn.status, Status: fmt.Sprint(turn.status), Body: io.NopCloser(body), Request: r, Header: http.Header{"X-Events-After": {"5"}}}, nil
}

type silent struct{ ctx context.Context } //nolint:containedctx // ends with the request

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

func pushed(revision int64) string {
	return fmt.Sprintf("event: context\nid: %d\ndata: {\"agent_id\":\"a\",\"revision\":%d,\"version\":1,\"aggregate_hash\":\"\",\"changed\":[]}\n\n", revision, revision)
}

// follow collects what Events yields, as words, until the script is at its
// end. Errors are "error", but for the one that the script ends with.
func follow(t *testing.T, s *script, opts client.EventOptions) (got []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hub := client.New("http://hub", client.Options{Transport: s})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for e, err := range hub.Events(ctx, opts) {
			if err != nil {
				got = append(got, "error")
				if strings.Contains(err.Error(), "script") || strings.Contains(err.Error(), "reader") {
					return
				}
				continue
			}
			word := e.Type
			switch e.Type {
			case api.EventContext:
				word += " " + e.Context.AgentID
			case api.EventPin:
				word += " " + e.Pin.ID
			case api.EventAgent:
				word += " " + e.Agent.ID
			case api.EventReset:
				word += " " + e.Reset.Reason
			}
			got = append(got, fmt.Sprintf("%s %s", word, e.Cursor))
			if len(s.asked) >= len(s.turns) && e.Type == api.EventReset && e.Reset.Reason == "end" {
				return
			}
		}
	})
	return got
}

const end = "event: reset\nid: 99\ndata: {\"reason\":\"end\"}\n\n"

func TestEvents(t *testing.T) {
	agent := "event: agent\ndata: {\"id\":\"a\"}\n\n"
	pin := "event: pin\nid: 3\ndata: {\"id\":\"p\"}\n\n"
	for name, test := range map[string]struct {
		opts  client.EventOptions
		turns []turn
		asked []string
		want  []string
	}{
		"all kinds": {
			turns: []turn{{200, ": hello\nretry: 1000\n\n" + agent + pushed(2) + pin + "event: later\nid: 4\ndata: {}\n\n" + end, false}},
			asked: []string{"/events?after=0"},
			want:  []string{"agent a 0", "context a 2", "pin p 3", "reset end 99"},
		},
		"a cut line is resumed": {
			opts: client.EventOptions{After: "1"},
			turns: []turn{
				{200, pushed(2) + pushed(3), false},
				{0, "", false}, {503, "", false}, // the hub restarts
				{200, agent + pushed(4) + end, false},
			},
			asked: []string{"/events?after=1", "/events?after=3", "/events?after=3", "/events?after=3"},
			want:  []string{"context a 2", "context a 3", "error", "agent a 3", "context a 4", "reset end 99"},
		},
		"an event is complete or none": {
			turns: []turn{
				{200, pushed(2) + strings.TrimSuffix(pushed(30), "\n"), false},
				{200, pushed(2) + "event: context\nid: 31", false},
				{200, pushed(3) + end, false},
			},
			asked: []string{"/events?after=0", "/events?after=2", "/events?after=2"},
			want:  []string{"context a 2", "error", "error", "context a 3", "reset end 99"},
		},
		"nothing twice": {
			turns: []turn{{200, pushed(2), false}, {200, pushed(1) + pushed(2) + pushed(3) + end, false}},
			asked: []string{"/events?after=0", "/events?after=2"},
			want:  []string{"context a 2", "error", "context a 3", "reset end 99"},
		},
		"a push behind its pins, without an id": {
			turns: []turn{{200, strings.Replace(pushed(5), "id: 5\n", "", 1) + end, false}},
			asked: []string{"/events?after=0"},
			want:  []string{"context a 0", "reset end 99"},
		},
		"set back": {
			opts:  client.EventOptions{After: "50"},
			turns: []turn{{200, "event: reset\nid: 7\ndata: {\"reason\":\"future\"}\n\n" + pushed(8), false}, {200, end, false}},
			asked: []string{"/events?after=50", "/events?after=8"},
			want:  []string{"reset future 7", "context a 8", "error", "reset end 99"},
		},
		"from now on": {
			opts: client.EventOptions{After: client.Now, AgentID: "a", PinID: "p"},
			turns: []turn{
				{200, `[{"id":"a","revision":5},{"id":"b","revision":3}]`, false},
				{503, "", false}, // a connection that breaks at once loses nothing
				{200, pushed(6) + end, false},
			},
			asked: []string{"/agents?limit=1", "/events?after=5&agent_id=a&pin_id=p", "/events?after=5&agent_id=a&pin_id=p"},
			want:  []string{"error", "context a 6", "reset end 99"},
		},
		"each agent has its own revisions": {
			turns: []turn{{200, pushed(5) + strings.ReplaceAll(pushed(4), `"a"`, `"b"`) + pushed(4) + end, false}},
			asked: []string{"/events?after=0"},
			want:  []string{"context a 5", "context b 4", "reset end 99"},
		},
		"what is there": {
			opts:  client.EventOptions{Once: true},
			turns: []turn{{200, pushed(2) + "event: end\nid: 3\ndata: {}\n\n" + pushed(4), false}},
			asked: []string{"/events?after=0&follow=0"},
			want:  []string{"context a 2"},
		},
		"a silent line is dead": {
			turns: []turn{{200, pushed(2), true}, {200, end, false}},
			asked: []string{"/events?after=0", "/events?after=2"},
			want:  []string{"context a 2", "error", "reset end 99"},
		},
		"rubbish": {
			turns: []turn{
				{200, pushed(2) + "event: context\nid: 3\ndata: [\n\n", false},
				{200, "event: pin\nid: 3\ndata: [\n\n", false},
				{200, "data: " + strings.Repeat("x", 5<<20) + "\n\n", false},
				{200, strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 5) + "\n", false},
				{200, end, false},
			},
			asked: []string{"/events?after=0", "/events?after=2", "/events?after=2", "/events?after=2", "/events?after=2"},
			want:  []string{"context a 2", "error", "error", "error", "error", "reset end 99"},
		},
		"nobody there": {turns: []turn{{0, "", false}}, asked: []string{"/events?after=0"}, want: []string{"error"}},
		"refused": {
			turns: []turn{{200, pushed(2), false}, {401, `{"message":"send a reader token","detail":""}`, false}},
			asked: []string{"/events?after=0", "/events?after=2"},
			want:  []string{"context a 2", "error", "error"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{turns: test.turns}
			got := follow(t, s, test.opts)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("yielded (-want +got):\n%s", d)
			}
			sorted := func(list []string) (out []string) {
				for _, uri := range list {
					path, query, _ := strings.Cut(uri, "?")
					values := strings.Split(query, "&")
					out = append(out, path+" "+strings.Join(order(values), "&"))
				}
				return out
			}
			if d := cmp.Diff(sorted(test.asked), sorted(s.asked)); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestEventsEnd: the loop's end, and the context's, end everything.
func TestEventsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{turns: []turn{{200, pushed(2) + pushed(3), true}, {200, pushed(4), true}}}
		hub := client.New("http://hub", client.Options{Transport: s})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, err := range hub.Events(ctx, client.EventOptions{}) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if len(s.asked) != 1 {
			t.Errorf("asked %q after the loop's end", s.asked)
		}
		n := 0
		for _, err := range hub.Events(ctx, client.EventOptions{After: "3"}) {
			if n++; err != nil {
				t.Error(err)
			}
			cancel()
		}
		if n != 1 {
			t.Errorf("%d events and errors, want 1: a context that ends isn't an error", n)
		}
	})
}
