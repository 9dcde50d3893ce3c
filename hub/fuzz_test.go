package hub_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// raw is a DRPC encoding for messages that are bytes already, so that the
// decoder of the hub sees whatever the fuzzer thinks of.
type raw struct{}

func (raw) Marshal(m drpc.Message) ([]byte, error) { return *m.(*[]byte), nil }
func (raw) Unmarshal(b []byte, m drpc.Message) error {
	*m.(*[]byte) = slices.Clone(b)
	return nil
}

// unlimited lets a fuzzer call as often as it can.
func unlimited() transport.Limits {
	return transport.Limits{SessionsPerToken: 1000, Rate: 1e9, Burst: 1e9, TotalRate: 1e9, TotalBurst: 1e9}
}

// pushRaw sends bytes as a push and reports whether they were stored.
func pushRaw(t *testing.T, f *fixture, p *peer, method string, data []byte) bool {
	t.Helper()
	before := f.snapshot("a")
	var answer []byte
	err := p.conn.Invoke(p.ctx, method, raw{}, &data, &answer)
	after := f.snapshot("a")
	if err != nil {
		if strings.Contains(err.Error(), "internal error") {
			t.Errorf("hub: %v\n%s", err, f.log)
		}
		if fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("a refused push was written: %v", err)
		}
		return false
	}
	accepted := strings.HasPrefix(string(answer), "\x08\x01") // field 1, true, in both protocols
	if !accepted && fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a push that wasn't accepted was written")
	}
	return accepted
}

// same compares what was sent and what is stored, both without what the hub
// mends and orders.
func same(t *testing.T, sent, stored snapshot.Snapshot) {
	t.Helper()
	lines := func(s snapshot.Snapshot) []string {
		var list []string
		for i := range s.Resources {
			row, _ := store.Digests(&s.Resources[i])
			list = append(list, fmt.Sprintf("%s %x %v", s.Resources[i].ID(), row, s.Resources[i].Payload == nil))
		}
		slices.Sort(list)
		return append(list, fmt.Sprintf("%d %x %s %q", s.Version, []byte(s.AggregateHash), s.SnapshotError, fmt.Sprint(s.Plugins)))
	}
	if d := cmp.Diff(lines(sent), lines(stored)); d != "" {
		t.Errorf("(-sent +stored):\n%s", d)
	}
}

func FuzzPushWaymark(f *testing.F) {
	seed, _ := (&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/a", "x")}, Plugins: []*waymark.Plugin{{Name: "p"}}}).Request()
	data, err := proto.Marshal(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Add([]byte("\x08\x02\x3a\x02\x08\x01"))
	fix := newFixture(f, hub.Options{Limits: unlimited()})
	p := fix.dial(fix.token(store.RoleAgent, "a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var request waymark.PushRequest
		if !pushRaw(t, fix, p, wire.MethodPush, data) {
			return
		}
		if err := proto.Unmarshal(data, &request); err != nil {
			t.Fatalf("stored what can't be read: %v", err)
		}
		if len(request.GetBase()) > 0 || slices.Contains(data, 0) {
			return // FuzzDelta looks at the one, TestWaymarkMended at the other
		}
		sent, bodies, err := convert.FromWaymark(&request)
		if err != nil {
			t.Fatal(err)
		}
		for i, body := range bodies {
			for _, payload := range request.GetPayloads() {
				if sha256.Sum256(payload) == body.SHA256 {
					sent.Resources[i].Payload = payload
				}
			}
			if sent.Resources[i].Payload == nil {
				return // it was there
			}
		}
		same(t, *sent, fix.snapshot("a").Snapshot)
	})
}

func FuzzPushCoder(f *testing.F) {
	seed := &coder.PushContextStateRequest{Version: 1, Initial: true, Resources: []*coder.ContextResource{coderFile("/a", "x")}}
	data, err := proto.Marshal(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	fix := newFixture(f, hub.Options{Limits: unlimited()})
	p := fix.dial(fix.token(store.RoleAgent, "a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var request coder.PushContextStateRequest
		if !pushRaw(t, fix, p, wire.MethodPushContextState, data) {
			return
		}
		if err := proto.Unmarshal(data, &request); err != nil {
			t.Fatalf("stored what can't be read: %v", err)
		}
		if slices.Contains(data, 0) {
			return // may have been mended; TestCoderBodies says how
		}
		sent, err := convert.FromCoder(&request)
		if err != nil {
			t.Fatal(err)
		}
		same(t, *sent, fix.snapshot("a").Snapshot)
	})
}
