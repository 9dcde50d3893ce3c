package pushtest

import (
	"context"
	"fmt"
	"sync"

	"storj.io/drpc"
	"storj.io/drpc/drpcmux"

	"waymark/internal/await"
	"waymark/wire/coder"
	"waymark/wire/rules"
)

// Pushes keeps the pushes of an agent. All else that Coder's server does is
// unimplemented.
type Pushes struct {
	coder.DRPCAgentUnimplementedServer

	changed await.Signal // list has grown

	mu   sync.Mutex // guards list
	list []*coder.PushContextStateRequest
}

// Handler serves them.
func (p *Pushes) Handler() (drpc.Handler, error) {
	mux := drpcmux.New()
	return mux, coder.DRPCRegisterAgent(mux, p)
}

// PushContextState implements coder.DRPCAgentServer. What breaks a rule of Coder's
// server is refused.
func (p *Pushes) PushContextState(_ context.Context, m *coder.PushContextStateRequest) (*coder.PushContextStateResponse, error) {
	if _, err := rules.Coder(m); err != nil {
		return nil, err
	}
	defer p.changed.Notify()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, m)
	return &coder.PushContextStateResponse{Accepted: true}, nil
}

// Await returns the first push, of those that have come and those to come, that
// fulfills a condition.
func (p *Pushes) Await(ctx context.Context, ok func(*coder.PushContextStateRequest) bool) (*coder.PushContextStateRequest, error) {
	for n := 0; ; {
		more := p.changed.Changed()
		p.mu.Lock()
		list := p.list[:len(p.list):len(p.list)]
		p.mu.Unlock()
		for ; n < len(list); n++ {
			if ok(list[n]) {
				return list[n], nil
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, fmt.Errorf("no such push among %d: %w", n, ctx.Err())
		}
	}
}
