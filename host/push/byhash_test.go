package push_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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
	"waymark/test/randtest"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// hashPeer is a hub that takes pushes by hash, as simply as the protocol has it.
type hashPeer struct {
	waymark.DRPCContextUnimplementedServer
	t     *testing.T
	takes *waymark.Takes

	mu      sync.Mutex // guards the rest
	model   model
	has     map[string][]byte // payloads by SHA-256
	request *waymark.PushRequest
	wanted  []uint32
	log     []string
	// claimed is what was claimed last, and disbelieves that it is answered with
	// full_needed.
	claimed     []byte
	disbelieves bool
	// change changes an answer, or the error.
	change func(*waymark.PushResponse) error
}

func (p *hashPeer) Open(context.Context, *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	return &waymark.OpenResponse{Takes: p.takes}, nil
}

func (p *hashPeer) Push(_ context.Context, m *waymark.PushRequest) (*waymark.PushResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Claim != nil {
		return p.claim(m)
	}
	p.note("push", m, len(m.Resources), 0, m.More)
	p.request, p.wanted = m, nil
	for _, r := range m.Resources {
		if !p.takes.Facts && len(r.Readers)+len(r.Findings)+len(r.Convention)+len(r.Scope) > 0 {
			p.t.Errorf("%s has facts, which the hub doesn't keep", r.Source)
		}
		if hash := sha256.Sum256(r.Payload); r.Payload != nil {
			p.has[string(hash[:])] = r.Payload
		}
	}
	return p.answer(m.More)
}

func (p *hashPeer) claim(m *waymark.PushRequest) (*waymark.PushResponse, error) {
	p.note("claim", m, len(m.Resources), 0, m.More)
	if !p.takes.Claims {
		return nil, errors.New("refused")
	}
	if p.claimed = m.Claim; p.disbelieves {
		return &waymark.PushResponse{FullNeeded: true}, nil
	}
	p.model.version = m.Version
	return &waymark.PushResponse{Accepted: true, Deltas: true}, nil
}

func (p *hashPeer) PushMore(_ context.Context, m *waymark.PushMoreRequest) (*waymark.PushResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("more", m, len(m.Resources), len(m.Payloads), m.More)
	if p.request == nil || m.Version != p.request.Version {
		return nil, drpcerr.WithCode(errors.New("begin anew"), wire.CodeBusy)
	}
	p.request.Resources = append(p.request.Resources, m.Resources...)
	for _, payload := range m.Payloads {
		i := slices.Index(p.wanted, payload.Resource)
		body := p.request.Resources[payload.Resource].Body
		hash := sha256.Sum256(payload.Payload)
		if i < 0 || string(p.hash(p.request.Resources[payload.Resource])) != string(hash[:]) || body.SizeBytes != uint64(len(payload.Payload)) {
			p.t.Errorf("payload %d isn't what is wanted", payload.Resource)
			return nil, errors.New("refused")
		}
		p.wanted = slices.Delete(p.wanted, i, i+1)
		p.has[string(hash[:])] = payload.Payload
	}
	return p.answer(m.More)
}

func (p *hashPeer) note(what string, m proto.Message, resources, payloads int, more bool) {
	p.log = append(p.log, fmt.Sprintf("%s %d+%d more=%t", what, resources, payloads, more))
	if size := proto.Size(m); p.takes.ByHash && p.takes.MaxMessage >= 1<<19 && size > 1<<20 {
		p.t.Errorf("a message has %d bytes", size)
	}
}

func (p *hashPeer) hash(r *waymark.Resource) []byte {
	if hash := r.Body.Sha256; len(hash) > 0 {
		return hash
	}
	return r.ContentHash
}

// answer is what it says to a message that is taken.
func (p *hashPeer) answer(more bool) (*waymark.PushResponse, error) {
	response := &waymark.PushResponse{Continues: true}
	switch {
	case more || len(p.wanted) > 0:
	case p.missing():
		response.Wanted = slices.Clone(p.wanted)
	default:
		for _, r := range p.request.Resources {
			if r.Body != nil {
				r.Payload, r.Body = p.has[string(p.hash(r))], nil
			}
		}
		response = &waymark.PushResponse{Accepted: true, Deltas: true}
		if err := errors.Join(checkWaymark(withoutSize(p.request)), p.model.apply(p.request)); err != nil {
			p.t.Error(err)
		}
		p.request = nil
	}
	if p.change != nil {
		if err := p.change(response); err != nil {
			return nil, err
		}
	}
	return response, nil
}

// withoutSize takes out payloads, for a check of a message's length.
func withoutSize(m *waymark.PushRequest) *waymark.PushRequest {
	m = proto.CloneOf(m)
	for _, r := range m.Resources {
		r.Payload = nil
	}
	return m
}

func (p *hashPeer) missing() bool {
	for i, r := range p.request.Resources {
		if _, known := p.has[string(p.hash2(r))]; r.Body != nil && !known {
			p.wanted = append(p.wanted, uint32(i))
		}
	}
	return len(p.wanted) > 0
}

func (p *hashPeer) hash2(r *waymark.Resource) []byte {
	if r.Body == nil {
		return nil
	}
	return p.hash(r)
}

func (p *hashPeer) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.log
	p.log = nil
	return log
}

// startHash runs a Pusher against p; cut ends its connections.
func startHash(t *testing.T, p *hashPeer, opts push.Options) (pusher *push.Pusher, cut func()) {
	p.t, p.has = t, map[string][]byte{}
	if p.takes == nil {
		p.takes = &waymark.Takes{ByHash: true, MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 16 << 20, Facts: true, MaxPayload: 256 << 10}
	}
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

// kept is what the hub keeps of s.
func (p *hashPeer) kept(s *snapshot.Snapshot) *snapshot.Snapshot {
	if p.takes.Facts {
		return s
	}
	kept := *s
	kept.Resources = slices.Clone(s.Resources)
	for i := range kept.Resources {
		kept.Resources[i].ClearFacts()
	}
	return &kept
}

// holds requires that the hub has what s says.
func (p *hashPeer) holds(s *snapshot.Snapshot) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var want model
	if err := want.apply(convert.ToWaymark(p.kept(s))); err != nil {
		p.t.Fatal(err)
	}
	if !p.model.same(&want) {
		p.t.Errorf("the hub has version %d with %d rows, want version %d with %d", p.model.version, len(p.model.rows), want.version, len(want.rows))
	}
}

func TestByHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &hashPeer{}
		var attempts []push.Attempt
		pusher, cut := startHash(t, p, push.Options{Observe: func(a push.Attempt) { attempts = append(attempts, a) }})
		publish := func(s *snapshot.Snapshot, want ...string) {
			t.Helper()
			pusher.Publish(s)
			accepted(t, pusher, s.Version)
			p.holds(s)
			if got := p.took(); !slices.Equal(got, want) {
				t.Errorf("the hub took %q, want %q", got, want)
			}
		}
		s := texts(1, 10, 1000, 10)
		s.Resources[9].Payload = []byte("short")
		publish(s, "push 10+0 more=false", "more 0+9 more=false")
		s = texts(2, 11, 1000, 10)
		publish(s, "push 2+0 more=false") // a delta brings its payloads
		cut()
		state(t, pusher, push.StateBackingOff)
		s = texts(3, 12, 1000, 11)
		publish(s, "push 12+0 more=false", "more 0+2 more=false")
		cut()
		state(t, pusher, push.StateBackingOff)
		s.Version = 4
		s.SnapshotError = "another"
		publish(s, "push 12+0 more=false")
		// A delta that is too large is a push by hash.
		publish(texts(5, 100, 20_000, 50), "push 100+0 more=false", "more 0+52 more=false", "more 0+48 more=false")
		if err := pusher.Close(); err != nil { // after it, nobody appends
			t.Error(err)
		}
		var brief []string
		for _, a := range attempts {
			brief = append(brief, fmt.Sprint(a.Result, " ", a.Delta, " ", a.Bodies, " ", a.Bytes > 2_000_000))
		}
		if got := fmt.Sprint(brief); got != "[accepted false 9 false accepted true 0 false accepted false 2 false accepted false 0 false accepted false 100 true]" {
			t.Errorf("attempts are %v", got)
		}
		for _, a := range attempts[3:4] {
			if a.Bytes > 1200 {
				t.Errorf("12 resources take %d bytes", a.Bytes)
			}
		}
	})
}

// TestByHashTakes: of a hub that takes more than Coder's server more is sent, up to
// what it takes; one that says nothing gets what it always got.
// TestClaim: a run that was heard claims what it has when it comes back, from a hub that
// takes claims, and pushes it where the hub hasn't got that.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &hashPeer{takes: &waymark.Takes{ByHash: true, MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 16 << 20, Claims: true}}
		var kinds []string
		pusher, cut := startHash(t, p, push.Options{Observe: func(a push.Attempt) { kinds = append(kinds, fmt.Sprintf("claim=%t %s", a.Claim, a.Result)) }})
		came := func(s *snapshot.Snapshot, want ...string) {
			t.Helper()
			accepted(t, pusher, s.Version)
			synctest.Wait()
			p.holds(s)
			if got := p.took(); !slices.Equal(got, want) {
				t.Errorf("the hub took %q, want %q", got, want)
			}
		}
		again := func() {
			cut()
			state(t, pusher, push.StateBackingOff)
			state(t, pusher, push.StateConnected)
			synctest.Wait()
		}
		s := texts(1, 3, 1000, 3)
		pusher.Publish(s)
		came(s, "push 3+0 more=false", "more 0+3 more=false")
		again()
		came(s, "claim 0+0 more=false")
		first := p.claimed
		s = texts(2, 3, 1000, 2)
		pusher.Publish(s)
		came(s, "push 1+0 more=false") // a delta against what was claimed
		again()
		came(s, "claim 0+0 more=false")
		if string(first) == string(p.claimed) {
			t.Error("something else has the same name")
		}
		p.disbelieves = true
		again()
		came(s, "claim 0+0 more=false", "push 3+0 more=false")
		p.takes.Claims = false // an older hub
		again()
		came(s, "push 3+0 more=false")
		if want := []string{
			"claim=false accepted", "claim=true accepted", "claim=false accepted", "claim=true accepted",
			"claim=true full_needed", "claim=false accepted", "claim=false accepted",
		}; !slices.Equal(kinds, want) {
			t.Errorf("attempts %q, want %q", kinds, want)
		}
	})
}

func TestByHashTakes(t *testing.T) {
	for name, tc := range map[string]struct {
		takes     *waymark.Takes
		rows, ok  int
		size      int
		heldBack  int
		manyParts bool
	}{
		"all":         {&waymark.Takes{ByHash: true, MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 16 << 20}, 4200, 4000, 3000, 200, true},
		"fewer":       {&waymark.Takes{ByHash: true, MaxMessage: 1 << 30, MaxResources: 2000, MaxBytes: 1 << 40}, 2100, 2000, 200, 100, false},
		"fewer bytes": {&waymark.Takes{ByHash: true, MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 5 << 20}, 1000, 524, 10_000, 0, false},
		"no":          {&waymark.Takes{MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 16 << 20}, 1100, 1000, 200, 100, false},
		"tiny":        {&waymark.Takes{ByHash: true, MaxMessage: 1 << 10, MaxResources: 4000, MaxBytes: 16 << 20}, 1100, 1000, 200, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &hashPeer{takes: tc.takes}
				pusher, _ := startHash(t, p, push.Options{})
				s := texts(1, tc.rows, tc.size, 0)
				if tc.manyParts {
					for i := range s.Resources {
						s.Resources[i].Description = strings.Repeat("d", 500)
					}
				}
				pusher.Publish(s)
				accepted(t, pusher, 1)
				p.mu.Lock()
				rows, ok := len(p.model.rows), 0
				for _, r := range p.model.rows {
					if r.Status == waymark.Status_STATUS_OK && len(r.Payload) > tc.size {
						ok++
					}
				}
				p.mu.Unlock()
				if rows != tc.rows-tc.heldBack || ok < tc.ok-2 || ok > tc.ok {
					t.Errorf("%d rows, %d of them with payload; want %d and some %d", rows, ok, tc.rows-tc.heldBack, tc.ok)
				}
				if parts := strings.Count(fmt.Sprint(p.took()), "more=true"); (parts > 0) != tc.manyParts {
					t.Errorf("the manifest came in %d parts", parts+1)
				}
			})
		})
	}
}

// TestByHashNonsense: what makes no sense ends the connection, and what is lost on
// the way is pushed anew.
func TestByHashNonsense(t *testing.T) {
	for name, change := range map[string]func(*waymark.PushResponse) error{
		"out of range": func(r *waymark.PushResponse) error { r.Wanted = append(r.Wanted, 1<<31); return nil },
		"not named":    func(r *waymark.PushResponse) error { r.Wanted = []uint32{2}; return nil },
		"twice":        func(r *waymark.PushResponse) error { r.Wanted = []uint32{0, 0}; return nil },
		"falling":      func(r *waymark.PushResponse) error { r.Wanted = []uint32{1, 0}; return nil },
		"nothing":      func(r *waymark.PushResponse) error { r.Wanted = nil; return nil },
		"busy":         func(*waymark.PushResponse) error { return drpcerr.WithCode(errors.New("later"), wire.CodeBusy) },
		"for ever":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &hashPeer{}
				wrong := 3
				p.change = func(r *waymark.PushResponse) error {
					if wrong == 0 {
						return nil
					}
					if change == nil { // it never has what it was brought
						clear(p.has)
						if r.Accepted {
							wrong--
							r.Reset()
							r.Continues, r.Wanted = true, []uint32{0}
						}
						return nil
					}
					wrong--
					return change(r)
				}
				pusher, _ := startHash(t, p, push.Options{})
				s := texts(1, 3, 1000, 0)
				s.Resources[2].Payload = []byte("short")
				pusher.Publish(s)
				if change == nil {
					synctest.Wait()
					p.mu.Lock()
					wrong = 0
					p.mu.Unlock()
				}
				accepted(t, pusher, 1)
				p.holds(s)
			})
		})
	}
}

// TestByHashRandom: whatever snapshots hold, the hub has them after a push by hash,
// in messages that it takes.
func TestByHashRandom(t *testing.T) {
	rnd := randtest.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		p := &hashPeer{}
		if rnd.IntN(2) == 0 { // of the first version
			p.takes = &waymark.Takes{ByHash: true, MaxMessage: 1 << 20, MaxResources: 4000, MaxBytes: 16 << 20}
		}
		pusher, cut := startHash(t, p, push.Options{})
		for version := range uint64(randtest.Rounds(10, 40, 2000)) {
			s := hostileSnapshot(rand.New(rand.NewPCG(rnd.Uint64(), 1)))
			s.Version = version + 1
			for range rnd.IntN(30) {
				s.Resources = append(s.Resources, file(fmt.Sprint("/", rnd.IntN(50)), func(r *snapshot.Resource) {
					r.Payload = []byte(strings.Repeat(fmt.Sprint(rnd.IntN(20)), rnd.IntN(20_000)))
				}))
			}
			pusher.Publish(s)
			accepted(t, pusher, s.Version)
			var want model
			if err := want.apply(prepared(t, s, p.takes)); err != nil {
				t.Fatal(err)
			}
			want.version = s.Version
			want.head.Version = s.Version
			p.mu.Lock()
			same := p.model.same(&want)
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
