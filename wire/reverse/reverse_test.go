package reverse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// hub is the far end of pipes.
type hub struct {
	waymark.DRPCContextUnimplementedServer
	serve func(waymark.DRPCContext_ReverseStream) error
}

func (h *hub) Reverse(stream waymark.DRPCContext_ReverseStream) error { return h.serve(stream) }

// ends are both ends of one stream.
type ends struct {
	agent, hub   drpc.Stream
	endAgent     func(error)
	endHub       func(error)
	both         sync.WaitGroup
	agentDone    chan error
	hubDone      chan error
	transport    net.Conn
	transportHub net.Conn
}

// connect makes a stream between two ends; both are over when the test is.
func connect(t testing.TB) *ends {
	t.Helper()
	near, far := net.Pipe()
	e := &ends{transport: near, transportHub: far, agentDone: make(chan error, 1), hubDone: make(chan error, 1)}
	streams := make(chan drpc.Stream)
	over := make(chan struct{})
	mux := drpcmux.New()
	err := waymark.DRPCRegisterContext(mux, &hub{serve: func(stream waymark.DRPCContext_ReverseStream) error {
		streams <- stream
		<-over
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	e.both.Go(func() { _ = drpcserver.New(mux).ServeOne(context.Background(), far) })
	ctx, cancel := context.WithCancel(context.Background())
	conn := drpcconn.New(near)
	if e.agent, err = conn.NewStream(ctx, wire.MethodReverse, raw{}); err != nil {
		t.Fatal(err)
	}
	flushed := make(chan error, 1) // the other end has to take the call meanwhile
	go func() { flushed <- e.agent.(interface{ RawFlush() error }).RawFlush() }()
	e.hub = <-streams
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	e.endAgent = func(error) { cancel() }
	e.endHub = func(error) { _ = far.Close() }
	t.Cleanup(func() {
		cancel()
		close(over)
		_ = conn.Close()
		_ = far.Close()
		e.both.Wait()
	})
	return e
}

// raw sends bytes, and receives frames.
type raw struct{}

func (raw) Marshal(m drpc.Message) ([]byte, error) { return m.([]byte), nil }
func (raw) Unmarshal(data []byte, m drpc.Message) error {
	return proto.Unmarshal(data, m.(proto.Message))
}

func frame(t testing.TB, f *waymark.ReverseFrame) []byte {
	t.Helper()
	data, err := proto.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func helloFrame(kinds ...string) *waymark.ReverseFrame {
	return &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{Version: 1, Kinds: kinds}}}
}

func requestFrame(id uint64, kind string, ms uint32, body string) *waymark.ReverseFrame {
	return &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Request{Request: &waymark.ReverseRequest{Id: id, Kind: kind, DeadlineMs: ms, Body: []byte(body)}}}
}

func cancelFrame(id uint64) *waymark.ReverseFrame {
	return &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Cancel{Cancel: &waymark.ReverseCancel{Id: id}}}
}

// run runs both ends, and waits for both with the test.
func (e *ends) run(t testing.TB, agent, far reverse.Options) (a, h *reverse.Channel) {
	t.Helper()
	ready := make(chan struct{}, 2)
	agent.Agent, agent.End, far.End = true, e.endAgent, e.endHub
	agent.Ready = func(reverse.Hello) { ready <- struct{}{} }
	far.Ready = agent.Ready
	a, h = reverse.New(e.agent, agent), reverse.New(e.hub, far)
	e.both.Go(func() { e.agentDone <- a.Run() })
	e.both.Go(func() { e.hubDone <- h.Run() })
	<-ready
	<-ready
	return a, h
}

func echo(_ context.Context, body []byte) ([]byte, error) { return body, nil }

// TestBothAsk: requests go in both directions, many at a time, and each gets its own
// answer.
func TestBothAsk(t *testing.T) {
	t.Parallel()
	e := connect(t)
	var mu sync.Mutex
	served := map[string]int{}
	handlers := map[string]reverse.Handler{
		"echo": echo,
		"fail": func(context.Context, []byte) ([]byte, error) {
			return nil, &reverse.Error{Code: wire.CodeBusy, Text: "not\x1b[2J now"}
		},
		"large": func(context.Context, []byte) ([]byte, error) { return make([]byte, 2<<20), nil },
	}
	agent, far := e.run(t, reverse.Options{Run: []byte("run"), Handlers: handlers, Observe: func(s reverse.Served) {
		mu.Lock()
		defer mu.Unlock()
		served[fmt.Sprint(s.Kind, s.Code)]++
	}}, reverse.Options{Handlers: map[string]reverse.Handler{"echo": echo}})
	if peer := far.Peer(); string(peer.Run) != "run" || peer.Version != 1 || !peer.Knows("large") || peer.Knows("other") {
		t.Errorf("the hub knows %+v", peer)
	}
	var work sync.WaitGroup
	for i := range 50 {
		for _, c := range []*reverse.Channel{agent, far} {
			work.Go(func() {
				body := strings.Repeat(fmt.Sprint(i), 1000)
				if got, err := c.Call(t.Context(), "echo", []byte(body)); err != nil || string(got) != body {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
	work.Wait()
	var no *reverse.Error
	if _, err := far.Call(t.Context(), "fail", nil); !errors.As(err, &no) || no.Code != wire.CodeBusy || no.Text != "not[2J now" {
		t.Errorf("fail: %v", err)
	}
	if _, err := far.Call(t.Context(), "large", nil); !errors.As(err, &no) || no.Code != wire.CodeTooLarge {
		t.Errorf("large: %v", err)
	}
	if _, err := agent.Call(t.Context(), "fail", nil); !errors.As(err, &no) || no.Code != wire.CodeUnimplemented {
		t.Errorf("what the hub doesn't serve: %v", err)
	}
	if _, err := agent.Call(t.Context(), "echo", make([]byte, reverse.MaxToHub)); err == nil || drpcerr.Code(err) != wire.CodeTooLarge {
		t.Errorf("a request that is too large: %v", err)
	}
	if got, err := agent.Call(t.Context(), "echo", []byte("still")); err != nil || string(got) != "still" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if served["echo0"] != 50 || served["fail8"] != 1 || served["large11"] != 1 {
		t.Errorf("observed %v", served)
	}
}

// TestNotes: what is noted before an answer comes before it, in order, to one who takes notes;
// one that is too long, or that nobody takes in time, costs nothing but itself.
func TestNotes(t *testing.T) {
	t.Parallel()
	e := connect(t)
	takes := make(chan bool, 2)
	_, far := e.run(t, reverse.Options{Handlers: map[string]reverse.Handler{
		"steps": func(ctx context.Context, _ []byte) ([]byte, error) {
			note := reverse.Notes(ctx)
			if takes <- note != nil; note != nil {
				note([]byte("one"))
				note(make([]byte, 9<<10))
				note([]byte("two"))
			}
			return []byte("done"), nil
		},
		"many": func(ctx context.Context, _ []byte) ([]byte, error) {
			for range 200 {
				reverse.Notes(ctx)([]byte("x"))
			}
			return []byte("done"), nil
		},
	}}, reverse.Options{})
	var noted []string
	ctx := reverse.WithNotes(t.Context(), func(body []byte) { noted = append(noted, string(body)) })
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{{ctx, "one two"}, {t.Context(), ""}} {
		noted = nil
		answer, err := far.Call(c.ctx, "steps", nil)
		if got := strings.Join(noted, " "); err != nil || string(answer) != "done" || got != c.want || <-takes != (c.want != "") {
			t.Errorf("%q, %v with the notes %q, want %q", answer, err, got, c.want)
		}
	}
	// The first note is taken once 200 have been sent, or dropped.
	echoed := false
	slow := reverse.WithNotes(t.Context(), func([]byte) {
		if !echoed {
			echoed = true
			if _, err := far.Call(t.Context(), "steps", nil); err != nil {
				t.Error(err)
			}
		}
	})
	if answer, err := far.Call(slow, "many", nil); err != nil || string(answer) != "done" || !echoed {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestDeadlineAndCancel: whoever serves a request learns that nobody waits any more.
func TestDeadlineAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t)
		ends := make(chan error, 4)
		_, far := e.run(t, reverse.Options{Handlers: map[string]reverse.Handler{
			"hang": func(ctx context.Context, _ []byte) ([]byte, error) {
				<-ctx.Done()
				ends <- ctx.Err()
				return nil, ctx.Err()
			},
		}}, reverse.Options{})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := far.Call(ctx, "hang", nil); !errors.Is(err, context.DeadlineExceeded) && err == nil {
			t.Errorf("%v", err)
		}
		if err := <-ends; err == nil || time.Since(begin) != time.Minute {
			t.Errorf("ended after %s: %v", time.Since(begin), err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin = time.Now()
		if _, err := far.Call(ctx, "hang", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := <-ends; !errors.Is(err, context.Canceled) || time.Since(begin) != time.Second {
			t.Errorf("ended after %s: %v", time.Since(begin), err)
		}
		// The end of the channel ends what is under way, at both ends.
		time.AfterFunc(time.Second, func() { _ = e.transport.Close() })
		if _, err := far.Call(t.Context(), "hang", nil); err == nil {
			t.Error("an answer of a channel that has ended")
		}
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if a, h := <-e.agentDone, <-e.hubDone; a == nil || h == nil {
			t.Errorf("they ended with %v and %v", a, h)
		}
	})
}

// TestStaysAlive: a channel on which nothing is asked stays, and one whose peer is
// silent or doesn't read ends.
func TestStaysAlive(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := connect(t)
			_, far := e.run(t, reverse.Options{Handlers: map[string]reverse.Handler{"echo": echo}}, reverse.Options{})
			time.Sleep(24 * time.Hour)
			if got, err := far.Call(t.Context(), "echo", []byte("x")); err != nil || string(got) != "x" {
				t.Errorf("a day later: %q, %v", got, err)
			}
		})
	})
	for name, hello := range map[string]bool{"says nothing": false, "falls silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connect(t)
				begin := time.Now()
				far := reverse.New(e.hub, reverse.Options{End: e.endHub})
				e.both.Go(func() { e.hubDone <- far.Run() })
				e.both.Go(func() { // reads, and that is all
					for e.agent.MsgRecv(new(waymark.ReverseFrame), raw{}) == nil {
					}
				})
				want := 10 * time.Second
				if hello {
					want = 2 * time.Minute
					if err := e.agent.MsgSend(frame(t, helloFrame()), raw{}); err != nil {
						t.Fatal(err)
					}
				}
				if err := <-e.hubDone; !strings.Contains(err.Error(), "nothing was heard") || time.Since(begin) != want {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
			})
		})
	}
	t.Run("doesn't read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := connect(t)
			far := reverse.New(e.hub, reverse.Options{End: e.endHub})
			e.both.Go(func() { e.hubDone <- far.Run() })
			if err := e.agent.MsgSend(frame(t, helloFrame("echo")), raw{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			begin := time.Now()
			var err error
			for range 10 { // what DRPC reads ahead comes first
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if _, err = far.Call(ctx, "echo", make([]byte, 900<<10)); err == nil {
					t.Error("an answer from nobody")
				}
				cancel()
			}
			if err := <-e.hubDone; !strings.Contains(err.Error(), "doesn't read") || time.Since(begin) > time.Minute {
				t.Errorf("after %s: %v", time.Since(begin), err)
			}
		})
	})
}

// TestHostilePeer: what breaks a rule ends the channel.
func TestHostilePeer(t *testing.T) {
	many := make([]string, 65)
	var flood [][]byte
	for i := range uint64(17) {
		flood = append(flood, frame(t, requestFrame(i+1, "hang", 0, "")))
	}
	for name, frames := range map[string][][]byte{
		"not a frame":      {[]byte("\xff\xff\xff")},
		"before the hello": {frame(t, requestFrame(1, "hang", 0, ""))},
		"two hellos":       {frame(t, helloFrame()), frame(t, helloFrame())},
		"no version":       {frame(t, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{}}})},
		"many kinds":       {frame(t, helloFrame(many...))},
		"a long kind":      {frame(t, helloFrame(strings.Repeat("x", 65)))},
		"a long run":       {frame(t, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{Version: 1, RunId: make([]byte, 65)}}})},
		"too large":        {frame(t, helloFrame()), frame(t, requestFrame(1, "hang", 0, strings.Repeat("x", reverse.MaxToAgent)))},
		"one id twice":     {frame(t, helloFrame()), flood[0], flood[0]},
		"too many":         append([][]byte{frame(t, helloFrame())}, flood...),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connect(t)
				begin := time.Now()
				agent := reverse.New(e.agent, reverse.Options{Agent: true, End: e.endAgent, Handlers: map[string]reverse.Handler{
					"hang": func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
				}})
				e.both.Go(func() { e.agentDone <- agent.Run() })
				e.both.Go(func() {
					for e.hub.MsgRecv(new(waymark.ReverseFrame), raw{}) == nil {
					}
				})
				for _, f := range frames {
					_ = e.hub.MsgSend(f, raw{})
				}
				if err := <-e.agentDone; err == nil || !strings.Contains(err.Error(), "the reverse channel: ") || time.Since(begin) > time.Second {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
			})
		})
	}
}

// TestUnknownFrames: what a later version has is ignored, as are answers and cancels
// that nobody waits for.
func TestUnknownFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t)
		agent := reverse.New(e.agent, reverse.Options{Agent: true, End: e.endAgent, Handlers: map[string]reverse.Handler{"echo": echo}})
		e.both.Go(func() { e.agentDone <- agent.Run() })
		answers := make(chan *waymark.ReverseFrame, 100)
		e.both.Go(func() {
			for {
				f := new(waymark.ReverseFrame)
				if e.hub.MsgRecv(f, raw{}) != nil {
					return
				}
				answers <- f
			}
		})
		<-answers // its hello
		later := helloFrame()
		later.GetHello().Version = 7
		for _, f := range [][]byte{
			frame(t, later), {}, []byte("\xba\x3e\x03abc"), frame(t, cancelFrame(9)),
			frame(t, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Response{Response: &waymark.ReverseResponse{Id: 3}}}),
			frame(t, requestFrame(1, "echo", 0, "x")), frame(t, requestFrame(2, "unheard of", 0, "x")),
		} {
			if err := e.hub.MsgSend(f, raw{}); err != nil {
				t.Fatal(err)
			}
		}
		got := map[uint64]uint32{}
		for range 2 {
			response := (<-answers).GetResponse()
			got[response.GetId()] = response.GetCode()
		}
		if len(got) != 2 || got[1] != 0 || got[2] != 12 {
			t.Errorf("answers %v", got)
		}
		if peer := agent.Peer(); peer.Version != 1 {
			t.Errorf("they speak version %d", peer.Version)
		}
	})
}

// FuzzFrames: whatever comes, the channel ends when its stream does, and answers no
// more than it was asked.
func FuzzFrames(f *testing.F) {
	f.Add(frame(f, helloFrame("echo")), frame(f, requestFrame(1, "echo", 5, "x")), frame(f, cancelFrame(1)))
	f.Add(frame(f, helloFrame()), []byte{}, []byte("\xff"))
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		e := connect(t)
		answers := 0
		agent := reverse.New(e.agent, reverse.Options{Agent: true, End: e.endAgent, Handlers: map[string]reverse.Handler{"echo": echo}})
		e.both.Go(func() { e.agentDone <- agent.Run() })
		read := make(chan struct{})
		e.both.Go(func() {
			defer close(read)
			for {
				f := new(waymark.ReverseFrame)
				if e.hub.MsgRecv(f, raw{}) != nil {
					return
				}
				if f.GetResponse() != nil {
					answers++
				}
			}
		})
		for _, f := range [][]byte{first, second, third, bytes.Repeat([]byte{0xff}, 3)} {
			_ = e.hub.MsgSend(f, raw{})
		}
		if err := <-e.agentDone; err == nil {
			t.Error("it ended without a reason")
		}
		<-read
		if answers > 3 {
			t.Errorf("%d answers", answers)
		}
	})
}
