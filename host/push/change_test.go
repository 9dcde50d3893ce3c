package push_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/waymark"
)

// model is what a hub has after a number of pushes.
type model struct {
	version uint64
	name    string
	head    *waymark.Head
	rows    map[string]*waymark.Resource
}

var errNoBase = errors.New("base unknown")

// apply is what the protocol says a push does, word by word.
func (m *model) apply(request *waymark.PushRequest) error {
	next := model{version: request.Version, name: string(request.Name), head: request.Head, rows: map[string]*waymark.Resource{}}
	if len(request.Base) > 0 {
		if m.name == "" || string(request.Base) != m.name {
			return errNoBase
		}
		if next.rows = maps.Clone(m.rows); next.head == nil {
			next.head = m.head
		}
		if next.name == "" {
			next.name = m.name
		}
	}
	for _, id := range request.Removed {
		if next.rows[id] == nil {
			return fmt.Errorf("%s is removed, but was never there", id)
		}
		delete(next.rows, id)
	}
	for _, r := range request.Resources {
		next.rows[idOf(r)] = r
	}
	name, err := pushtest.NameOf(next.whole())
	if err == nil && string(name[:]) != next.name {
		err = errors.New("what it makes has another name")
	}
	if err == nil {
		*m = next
	}
	return err
}

// whole is a push of everything that there is.
func (m *model) whole() *waymark.PushRequest {
	request := &waymark.PushRequest{Version: max(1, m.version), Name: []byte(m.name), Head: m.head}
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		request.Resources = append(request.Resources, m.rows[id])
	}
	return request
}

func idOf(r *waymark.Resource) string {
	id := r.Kind + ":" + r.Source
	if r.Key != "" {
		id += "#" + r.Key
	}
	return id
}

// same reports whether both hold the same.
func (m *model) same(other *model) bool {
	return m.name == other.name && proto.Equal(m.head, other.head) &&
		maps.EqualFunc(m.rows, other.rows, func(a, b *waymark.Resource) bool { return proto.Equal(a, b) })
}

// hubPeer is a hub, as simply as the protocol has it.
type hubPeer struct {
	waymark.DRPCContextUnimplementedServer
	t *testing.T

	mu    sync.Mutex // guards the rest
	model model
	has   map[string][]byte // payloads by SHA-256
	log   []string
	// change changes an answer, or the error.
	change func(*waymark.PushRequest, *waymark.PushResponse) error
}

func (p *hubPeer) Open(context.Context, *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	return &waymark.OpenResponse{}, nil
}

func (p *hubPeer) Push(_ context.Context, m *waymark.PushRequest) (*waymark.PushResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := checkWaymark(m); err != nil {
		p.t.Errorf("a push breaks the rules: %v", err)
	}
	what := "all"
	switch {
	case len(m.Base) > 0 && len(m.Name) == 0:
		what = "nothing"
	case len(m.Base) > 0:
		what = "change"
	}
	if m.Head != nil && len(m.Base) > 0 {
		what += " head"
	}
	p.log = append(p.log, fmt.Sprintf("%s +%d -%d, %d payloads", what, len(m.Resources), len(m.Removed), len(m.Payloads)))
	for _, payload := range m.Payloads {
		p.take(payload)
	}
	response := &waymark.PushResponse{}
	for _, r := range m.Resources {
		if name := hashOf(r); name != nil && p.has[string(name)] == nil && !slices.ContainsFunc(response.Wanted, func(w []byte) bool { return string(w) == string(name) }) {
			response.Wanted = append(response.Wanted, name)
		}
	}
	switch err := p.after(m); {
	case errors.Is(err, errNoBase):
		response = &waymark.PushResponse{BaseUnknown: true}
	case err != nil:
		p.t.Error(err)
	case len(response.Wanted) == 0:
		response.Accepted = true
	}
	if p.change != nil {
		if err := p.change(m, response); err != nil {
			return nil, err
		}
	}
	if response.Accepted {
		return response, p.model.apply(m)
	}
	return response, nil
}

// after says whether a push can be applied.
func (p *hubPeer) after(m *waymark.PushRequest) error {
	next := p.model
	return next.apply(m)
}

func (p *hubPeer) take(payload []byte) {
	hash := sha256.Sum256(payload)
	p.has[string(hash[:])] = append([]byte{}, payload...)
}

func hashOf(r *waymark.Resource) []byte {
	if r.Body == nil {
		return nil
	}
	if hash := r.Body.Sha256; len(hash) > 0 {
		return hash
	}
	return r.ContentHash
}

func (p *hubPeer) Upload(_ context.Context, m *waymark.UploadRequest) (*waymark.UploadResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, fmt.Sprintf("upload of %d payloads", len(m.Payloads)))
	sum := 0
	for _, payload := range m.Payloads {
		sum += len(payload)
		p.take(payload)
	}
	if len(m.Payloads) == 0 || sum > wire.MaxUpload {
		p.t.Errorf("an upload of %d bytes", sum)
	}
	return &waymark.UploadResponse{}, nil
}

func (p *hubPeer) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.log
	p.log = nil
	return log
}

// startHub runs a Pusher against p; cut ends its connections.
func startHub(t *testing.T, p *hubPeer, opts push.Options) (pusher *push.Pusher, cut func()) {
	p.t, p.has = t, map[string][]byte{}
	mux := drpcmux.New()
	if err := waymark.DRPCRegisterContext(mux, p); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	opts.Dialer = push.DialFunc(func(context.Context) (drpc.Conn, error) {
		client, server := net.Pipe()
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, server)
		serving.Go(func() { _ = drpcserver.New(mux).ServeOne(context.Background(), server) })
		return push.NewConn(client), nil
	})
	pusher = push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := errors.Join(pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
		cut()
		serving.Wait()
	})
	return pusher, cut
}

// texts is a snapshot of skills with texts of so many bytes; those of a number below
// old are what they were in every version.
func texts(version uint64, n, size, old int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: version}
	for i := range n {
		text := fmt.Sprint(i, " ")
		if i >= old {
			text += fmt.Sprint("of version ", version, " ")
		}
		text += strings.Repeat("x", size)
		hash := sha256.Sum256([]byte(text))
		s.Resources = append(s.Resources, snapshot.Resource{
			Kind: abi.KindSkill, Source: fmt.Sprintf("/w/%04d", i), Name: fmt.Sprint(i), Status: snapshot.StatusOK,
			ContentHash: hash[:], Payload: []byte(text), SizeBytes: int64(len(text)),
			Readers: []string{"codex"}, Findings: []snapshot.Finding{{Code: "c", Severity: "info", Message: "m"}},
		})
	}
	return s
}

// everything is the push of a snapshot, for a model that has nothing.
func everything(t *testing.T, s *snapshot.Snapshot) (m model) {
	t.Helper()
	content, _, _, err := push.Prepare(s, wire.ProtocolWaymark)
	if err != nil {
		t.Fatal(err)
	}
	request := &waymark.PushRequest{}
	if err := proto.Unmarshal(content, request); err != nil {
		t.Fatal(err)
	}
	if err := m.apply(request); err != nil {
		t.Fatal(err)
	}
	return m
}

// holds requires that the hub has what s says, with its payloads.
func (p *hubPeer) holds(s *snapshot.Snapshot) {
	p.t.Helper()
	want := everything(p.t, s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.model.same(&want) || p.model.version != s.Version {
		p.t.Errorf("the hub has version %d with %d rows, want version %d with %d", p.model.version, len(p.model.rows), s.Version, len(want.rows))
	}
	for id, r := range p.model.rows {
		if name := hashOf(r); name != nil && p.has[string(name)] == nil {
			p.t.Errorf("the hub hasn't the payload of %s", id)
		}
	}
}

// TestChanges: a hub is sent what has changed, with its payloads where there is room, and
// what it wants; also after a lost connection.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &hubPeer{}
		var attempts []push.Attempt
		pusher, cut := startHub(t, p, push.Options{Observe: func(a push.Attempt) { attempts = append(attempts, a) }})
		publish := func(s *snapshot.Snapshot, want ...string) {
			t.Helper()
			pusher.Publish(s)
			accepted(t, pusher, s.Version)
			p.holds(s)
			if got := p.took(); !slices.Equal(got, want) {
				t.Errorf("the hub took %q, want %q", got, want)
			}
		}
		again := func() {
			t.Helper()
			cut()
			state(t, pusher, push.StateBackingOff)
		}
		publish(texts(1, 10, 1000, 10), "all +10 -0, 0 payloads", "upload of 10 payloads", "all +10 -0, 0 payloads")
		publish(texts(2, 11, 1000, 10), "change +1 -0, 1 payloads")
		again()
		state(t, pusher, push.StateConnected)
		synctest.Wait()
		if got := p.took(); !slices.Equal(got, []string{"nothing +0 -0, 0 payloads"}) {
			t.Errorf("after a lost connection the hub took %q", got)
		}
		again()
		publish(texts(3, 12, 1000, 10), "change +2 -0, 2 payloads") // number 10 is of another version
		s := texts(4, 2, 1000, 2)
		s.SnapshotError = "no inotify"
		publish(s, "change head +0 -10, 0 payloads")
		s = texts(5, 2, 1000, 2)
		s.SnapshotError = "no inotify"
		s.Resources[0].Readers = nil // and its payload stays
		publish(s, "change +1 -0, 0 payloads")
		publish(texts(6, 100, 20_000, 0), "change head +100 -0, 3 payloads", "upload of 52 payloads", "upload of 45 payloads", "change head +100 -0, 0 payloads")
		// A hub that was set back is sent everything, at once, and only what it hasn't.
		p.mu.Lock()
		p.model = model{}
		p.mu.Unlock()
		publish(texts(7, 100, 20_000, 99), "change +100 -0, 3 payloads", "all +100 -0, 0 payloads", "upload of 52 payloads", "upload of 45 payloads", "all +100 -0, 0 payloads")
		publish(texts(8, 0, 0, 0), "change +0 -100, 0 payloads")
		if err := pusher.Close(); err != nil { // after it, nobody appends
			t.Error(err)
		}
		var brief []string
		for _, a := range attempts {
			if a.Bytes == 0 || a.Protocol != wire.ProtocolWaymark {
				t.Errorf("attempt %+v", a)
			}
			brief = append(brief, fmt.Sprint(a.Result, " ", a.Delta, " ", a.Bodies))
		}
		if got, want := strings.Join(brief, ", "), "accepted false 10, accepted true 0, accepted true 0, accepted true 0, accepted true 0, accepted true 0, accepted true 97, full_needed true 0, accepted false 97, accepted true 0"; got != want {
			t.Errorf("attempts are %s\nwant %s", got, want)
		}
		if n := attempts[2].Bytes; n > 38 {
			t.Errorf("nothing takes %d bytes", n)
		}
	})
}

// TestHubTakes: a hub is sent more than Coder's server, up to what it takes.
func TestHubTakes(t *testing.T) {
	for name, tc := range map[string]struct {
		rows, size, description int
		left, texts             int
	}{
		"many":         {4200, 3000, 500, 4000, 4000},
		"many bytes":   {1000, 40_000, 0, 1000, 419},
		"long heads":   {4000, 10, 4000, 851, 851},
		"long payload": {1, 256<<10 - 20, 0, 1, 1},
		"too long":     {1, 256 << 10, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &hubPeer{}
				pusher, _ := startHub(t, p, push.Options{})
				s := texts(1, tc.rows, tc.size, 0)
				for i := range s.Resources {
					s.Resources[i].Description = strings.Repeat("d", tc.description)
				}
				pusher.Publish(s)
				accepted(t, pusher, 1)
				p.mu.Lock()
				defer p.mu.Unlock()
				ok := 0
				for _, r := range p.model.rows {
					if r.Status == waymark.Status_STATUS_OK && r.Body != nil {
						ok++
					}
				}
				if rows := len(p.model.rows); rows < tc.left-2 || rows > tc.left || ok < tc.texts-2 || ok > tc.texts {
					t.Errorf("%d rows, %d of them with payload; want %d and some %d", rows, ok, tc.left, tc.texts)
				}
			})
		})
	}
}

// TestNonsense: what makes no sense ends the connection, and is pushed anew.
func TestNonsense(t *testing.T) {
	for name, change := range map[string]func(*waymark.PushRequest, *waymark.PushResponse) error{
		"not named": func(_ *waymark.PushRequest, r *waymark.PushResponse) error {
			r.Accepted, r.Wanted = false, [][]byte{make([]byte, 32)}
			return nil
		},
		"no hash": func(_ *waymark.PushRequest, r *waymark.PushResponse) error {
			r.Accepted, r.Wanted = false, [][]byte{{1}}
			return nil
		},
		"no base": func(_ *waymark.PushRequest, r *waymark.PushResponse) error {
			r.Reset()
			r.BaseUnknown = true
			return nil
		},
		"busy": func(*waymark.PushRequest, *waymark.PushResponse) error {
			return drpcerr.WithCode(errors.New("later"), wire.CodeBusy)
		},
		"for ever": func(m *waymark.PushRequest, r *waymark.PushResponse) error {
			r.Accepted, r.Wanted = false, [][]byte{hashOf(m.Resources[0])}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, wrong := &hubPeer{}, 3
				p.change = func(m *waymark.PushRequest, r *waymark.PushResponse) error {
					if wrong == 0 {
						return nil
					}
					wrong--
					return change(m, r)
				}
				pusher, _ := startHub(t, p, push.Options{})
				s := texts(1, 3, 1000, 0)
				pusher.Publish(s)
				accepted(t, pusher, 1)
				p.holds(s)
			})
		})
	}
}

// TestBusy: the peer wants to be asked later, and the connection stays.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, refusals := &hubPeer{}, 3
		p.change = func(m *waymark.PushRequest, _ *waymark.PushResponse) error {
			if m.Version == 2 && refusals > 0 {
				refusals--
				return drpcerr.WithCode(errors.New("too many requests"), wire.CodeBusy)
			}
			return nil
		}
		pusher, _ := startHub(t, p, push.Options{})
		pusher.Publish(texts(1, 2, 10, 2))
		accepted(t, pusher, 1)
		p.took()
		pusher.Publish(texts(2, 1, 10, 2))
		if got := state(t, pusher, push.StateBackingOff).LastError; got != "too many requests" {
			t.Errorf("error is %q", got)
		}
		accepted(t, pusher, 2)
		if got := p.took(); len(got) != 4 || slices.Compact(got)[0] != "change +0 -1, 0 payloads" {
			t.Errorf("the hub took %q", got)
		}
	})
}

// TestChangesRandom: whatever snapshots hold, the hub has them, in messages that it takes.
func TestChangesRandom(t *testing.T) {
	rnd := testenv.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		p := &hubPeer{}
		pusher, cut := startHub(t, p, push.Options{})
		for version := range uint64(testenv.Rounds(10, 40, 2000)) {
			s := hostileSnapshot(rand.New(rand.NewPCG(rnd.Uint64(), 1)))
			s.Version = version + 1
			for range rnd.IntN(30) {
				s.Resources = append(s.Resources, file(fmt.Sprint("/", rnd.IntN(50)), func(r *snapshot.Resource) {
					r.Payload = []byte(strings.Repeat(fmt.Sprint(rnd.IntN(20)), rnd.IntN(20_000)))
				}))
			}
			pusher.Publish(s)
			accepted(t, pusher, s.Version)
			want := everything(t, s)
			p.mu.Lock()
			same := p.model.same(&want)
			if rnd.IntN(5) == 0 {
				p.model = model{}
			}
			if rnd.IntN(5) == 0 {
				clear(p.has)
			}
			p.mu.Unlock()
			if !same {
				t.Fatalf("version %d isn't what was pushed", s.Version)
			}
			if rnd.IntN(2) == 0 {
				cut()
				state(t, pusher, push.StateBackingOff)
			}
		}
	})
}

// FuzzDelta: a change applied to its base is the whole, whatever the two snapshots hold.
func FuzzDelta(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed+1, "/a", "/b", []byte("x"))
	}
	f.Add(uint64(3), uint64(3), "/a#b", "/a", []byte{})
	f.Fuzz(func(t *testing.T, seed1, seed2 uint64, source1, source2 string, payload []byte) {
		before := hostileSnapshot(rand.New(rand.NewPCG(seed1, 1)))
		after := hostileSnapshot(rand.New(rand.NewPCG(seed2, 1)))
		for _, r := range before.Resources { // much stays as it is
			if rand.New(rand.NewPCG(seed1, uint64(len(r.Source)))).IntN(4) > 0 {
				after.Resources = append(after.Resources, r)
			}
		}
		before.Resources = append(before.Resources, snapshot.Resource{Kind: abi.KindSkill, Source: source1, Status: snapshot.StatusOK, Payload: payload})
		after.Resources = append(after.Resources, snapshot.Resource{Kind: abi.KindSkill, Source: source2, Key: source1, Status: snapshot.StatusOK, Payload: payload})

		base, full := everything(t, before), everything(t, after)
		next, err := push.PrepareDelta(before)
		if err != nil {
			t.Fatal(err)
		}
		content, err := next(after)
		if err != nil {
			t.Fatal(err)
		}
		delta := &waymark.PushRequest{}
		if err := proto.Unmarshal(content, delta); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(checkWaymark(delta), base.apply(delta)); err != nil {
			t.Fatal(err)
		}
		if !base.same(&full) {
			t.Errorf("the delta makes\n%v, want\n%v", base, full)
		}
	})
}
