package hub_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcconn"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// member is an agent that may share its token with others, over either kind of
// connection.
type member struct {
	t      *testing.T
	open   func(run string, yields bool) (superseded bool, err error)
	push   func(*pushtest.Push) (accepted bool, err error)
	coder  func(*coder.PushContextStateRequest) (accepted bool, err error)
	closed <-chan struct{}
	close  func()
}

// members connects agents in both ways.
var members = map[string]func(f *fixture, endpoint, token string) *member{
	"plain DRPC": func(f *fixture, _, token string) *member {
		p := f.dial(token)
		return &member{
			t: f.t.(*testing.T), push: p.push, coder: p.pushCoder, closed: p.conn.Closed(), close: func() { _ = p.conn.Close() },
			open: func(run string, yields bool) (bool, error) {
				answer, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, &waymark.OpenRequest{RunId: []byte(run), Yields: yields})
				return answer.GetSuperseded(), err
			},
		}
	},
	"WebSocket": func(f *fixture, endpoint, token string) *member {
		a := dialBare(f.t, endpoint, token)
		return &member{
			t: f.t.(*testing.T), coder: a.pushCoder, closed: a.session.CloseChan(), close: a.close,
			push: func(request *pushtest.Push) (bool, error) {
				answer, err := a.push(request)
				return answer.GetAccepted(), err
			},
			open: func(run string, yields bool) (superseded bool, err error) {
				err = a.call(func(conn *drpcconn.Conn) error {
					answer, err := waymark.NewDRPCContextClient(conn).Open(f.t.Context(), &waymark.OpenRequest{RunId: []byte(run), Yields: yields})
					superseded = answer.GetSuperseded()
					return err
				})
				return superseded, err
			},
		}
	},
}

func (m *member) mustOpen(run string, yields, superseded bool) {
	m.t.Helper()
	if got, err := m.open(run, yields); err != nil || got != superseded {
		m.t.Fatalf("open of run %s, yields %t: superseded %t, %v; want %t", run, yields, got, err, superseded)
	}
}

func (m *member) mustPush(version uint64) {
	m.t.Helper()
	request := &pushtest.Push{Version: version, Resources: []*pushtest.Resource{file("/x", fmt.Sprint(version))}}
	if accepted, err := m.push(request); err != nil || !accepted {
		m.t.Fatalf("push of version %d: accepted %t, %v", version, accepted, err)
	}
}

// mustEnd waits until the hub has ended the connection.
func (m *member) mustEnd(f *fixture, why string) {
	m.t.Helper()
	if !f.eventually(m.ended) {
		m.t.Fatalf("the connection isn't ended: %s", why)
	}
}

func (m *member) ended() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// shown waits until readers see how many of agent a's token aren't heard.
func (f *fixture) shown(reader string, notHeard int) {
	f.t.Helper()
	want := fmt.Sprintf(`"not_heard":%d`, notHeard)
	var got string
	if !f.eventually(func() bool {
		got = body(f.t, f.do("GET", "/api/v0/agents/a", reader, ""))
		return strings.Contains(got, want)
	}) {
		f.t.Fatalf("never %s, but %s", want, got)
	}
}

// TestTwoAgentsOneToken: the agent in whose place another one has pushed has its
// connection ended at once, is told when it comes back, and is heard again when
// the other one has gone. Nobody is told who has only just been started, or who
// comes back to where it was itself.
func TestTwoAgentsOneToken(t *testing.T) {
	t.Parallel()
	for name, connect := range members {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, hub.Options{})
			endpoint, token, reader := f.web(), f.token(store.RoleAgent, "a"), f.token(store.RoleReader, "")
			dial := func() *member { return connect(f, endpoint, token) }
			first := dial()
			first.mustOpen("first", false, false)
			first.mustPush(1)
			again := dial()
			again.mustOpen("first", true, false) // its own run is no other agent
			again.mustPush(2)
			first.mustEnd(f, "its agent has a newer one")
			if strings.Contains(f.log.String(), "another agent") {
				t.Errorf("one agent is taken for two:\n%s", f.log)
			}

			second := dial()
			second.mustOpen("second", false, false)
			second.mustPush(3)
			again.mustEnd(f, "another agent has taken over")
			if !strings.Contains(f.log.String(), `level=WARN msg="another agent with the same token has taken over`) {
				t.Errorf("the log says\n%s", f.log)
			}
			back := dial()
			back.mustOpen("first", true, true)
			back.mustOpen("first", true, true) // the same connection may ask again
			f.shown(reader, 1)
			if n := f.hub.Stats().NotHeard; n != 1 {
				t.Errorf("%d aren't heard in the statistics", n)
			}
			second.mustPush(4)

			second.close()
			back.mustEnd(f, "the other agent is gone")
			f.shown(reader, 0)
			heard := dial()
			heard.mustOpen("first", true, false)
			heard.mustPush(5)
			if got := f.snapshot("a").Snapshot.Version; got != 5 {
				t.Errorf("version %d is stored", got)
			}
		})
	}
}

// TestStartedLast: an agent that is started while another one is connected takes
// over, though its connection is older, since only a push counts.
func TestStartedLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	older := members["WebSocket"](f, endpoint, token)
	newer := members["WebSocket"](f, endpoint, token)
	newer.mustOpen("newer", false, false)
	newer.mustPush(1)
	older.mustOpen("older", false, false)
	if _, err := older.push(&pushtest.Push{Version: 1}); !wire.IsSuperseded(err) {
		t.Errorf("a push of an older connection: %v", err)
	}
	older.mustEnd(f, "no push on it would ever count")
	back := members["plain DRPC"](f, endpoint, token)
	back.mustOpen("older", true, true)
	back.mustOpen("third", false, false)
	if _, err := back.open(strings.Repeat("x", 65), false); err == nil || wire.IsUnimplemented(err) {
		t.Errorf("a run's id without end: %v", err)
	}
}

// TestCoderAgentsDontFight: connections of agents that can't be told anything
// aren't ended as long as the newer one is there, since they would come back and
// take over in their turn; when it goes, they are.
func TestCoderAgentsDontFight(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint, token, reader := f.web(), f.token(store.RoleAgent, "a"), f.token(store.RoleReader, "")
	push := func(a *bareAgent, version uint64) error {
		_, err := a.pushCoder(&coder.PushContextStateRequest{Version: version, Initial: version == 1})
		return err
	}
	older, newer := dialBare(t, endpoint, token), dialBare(t, endpoint, token)
	last := dialBare(t, endpoint, token)
	for _, a := range []*bareAgent{older, newer} {
		if err := push(a, 1); err != nil {
			t.Fatal(err)
		}
	}
	for version := range uint64(3) {
		if err := push(older, version+2); !wire.IsSuperseded(err) {
			t.Errorf("push %d: %v", version, err)
		}
	}
	f.shown(reader, 1)
	ours := members["plain DRPC"](f, endpoint, token)
	ours.mustOpen("ours", true, true) // it stands back for Coder's, too
	f.shown(reader, 2)
	if err := push(newer, 2); err != nil {
		t.Error(err)
	}
	newer.close()
	ours.mustEnd(f, "the newer one is gone")
	if !f.eventually(older.session.IsClosed) {
		t.Error("the older one isn't ended when the newer one is gone")
	}
	if err := push(last, 1); err != nil {
		t.Errorf("a connection that was newer still: %v", err)
	}
}

// TestSharedConnectionStays: a connection that several agents use isn't ended
// because of one of them.
func TestSharedConnectionStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	token := f.token(store.RoleAgent, "a")
	shared := f.dial(token)
	if _, err := waymark.NewDRPCContextClient(shared.conn).Open(shared.ctx, &waymark.OpenRequest{RunId: []byte("shared")}); err != nil {
		t.Fatal(err)
	}
	shared.mustPush(&pushtest.Push{Version: 1}, true)
	b := shared.as(f.token(store.RoleAgent, "b"))
	b.mustPush(&pushtest.Push{Version: 1}, true)
	f.dial(token).mustPush(&pushtest.Push{Version: 1}, true)
	if _, err := shared.push(&pushtest.Push{Version: 2}); !wire.IsSuperseded(err) {
		t.Errorf("superseded: %v", err)
	}
	b.mustPush(&pushtest.Push{Version: 2}, true)
}

// TestSupersededSays why it ends a WebSocket.
func TestSupersededSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	endpoint, token := f.web(), f.token(store.RoleAgent, "a")
	ws := dialWS(t, endpoint, token)
	conn := &lastError{Conn: websocket.NetConn(t.Context(), ws, websocket.MessageBinary), err: make(chan error, 1)}
	config := yamux.DefaultConfig()
	config.LogOutput = io.Discard
	session, err := yamux.Client(conn, config)
	if err != nil {
		t.Fatal(err)
	}
	older := &bareAgent{t: t, ws: ws, session: session}
	t.Cleanup(older.close)
	err = older.call(func(conn *drpcconn.Conn) error {
		_, err := waymark.NewDRPCContextClient(conn).Open(t.Context(), &waymark.OpenRequest{RunId: []byte("older")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	newer := members["WebSocket"](f, endpoint, token)
	newer.mustOpen("newer", false, false)
	newer.mustPush(1)
	if err := <-conn.err; websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(err.Error(), "same token has taken over") {
		t.Errorf("ended with %v", err)
	}
}

// lastError keeps the first error of reading.
type lastError struct {
	net.Conn
	err chan error
}

func (l *lastError) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if err != nil {
		select {
		case l.err <- err:
		default:
		}
	}
	return n, err
}

// TestTwoHubsOneToken: it is the same where the two agents are connected to two
// hubs over one database.
func TestTwoHubsOneToken(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	opts := func() hub.Options {
		st, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return hub.Options{Store: st, Presence: 1} // as often as possible
	}
	here, there := newFixture(t, opts()), newFixture(t, opts())
	token, reader := here.token(store.RoleAgent, "a"), here.token(store.RoleReader, "")
	dial := func(f *fixture) *member { return members["plain DRPC"](f, "", token) }
	first, second := dial(here), dial(there)
	first.mustOpen("first", false, false)
	first.mustPush(1)
	second.mustOpen("second", false, false)
	second.mustPush(2)
	first.mustEnd(here, "another agent has taken over at the other hub")
	back := dial(here)
	back.mustOpen("first", true, true)
	here.shown(reader, 1)
	there.shown(reader, 1)
	moved := dial(here) // the other one comes back through this hub
	moved.mustOpen("second", true, false)
	moved.mustPush(3)
	second.mustEnd(there, "its agent has a newer connection")
	back.mustEnd(here, "no push on it would count any more")
	back = dial(here)
	back.mustOpen("first", true, true)
	moved.close()
	back.mustEnd(here, "the other agent is gone")
	var heard *member
	if !there.eventually(func() bool { // it takes the other hub a moment to know
		heard = dial(there)
		superseded, err := heard.open("first", true)
		return err == nil && !superseded
	}) {
		t.Fatal("superseded for ever")
	}
	heard.mustPush(4)
}
