package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"waymark/agentapi"
)

// client is a connection that is restored when it has ended.
type client struct {
	opts Options

	turn *semaphore.Weighted // held while connecting

	mu     sync.Mutex // guards the fields below
	peer   *peer      // nil if there is none
	closed bool
}

// peer is a connection to a supervisor.
type peer struct {
	link     *link
	instance string
	done     chan struct{} // closed when receiving has ended

	mu      sync.Mutex // guards the fields below
	last    uint64
	waiting map[uint64]chan<- response
	ended   bool
}

type response struct {
	reply
	data []byte
}

func newPeer(l *link, instance string) *peer {
	p := &peer{link: l, instance: instance, waiting: map[uint64]chan<- response{}, done: make(chan struct{})}
	go p.receive()
	return p
}

// receive passes answers to the waiting callers until the connection ends.
func (p *peer) receive() {
	defer close(p.done)
	for {
		head, data, err := p.link.receive()
		if err != nil {
			break
		}
		r := response{data: data}
		if decode(head, &r.reply) != nil {
			break
		}
		p.mu.Lock()
		c := p.waiting[r.ID]
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if c != nil { // otherwise the caller has given up
			c <- r
		}
	}
	p.link.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = nil
}

// call sends a request and waits for its answer.
func (p *peer) call(ctx context.Context, method string, params any, data []byte, result any) ([]byte, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if len(encoded) > maxHead-1024 || len(data) > maxData {
		return nil, errTooLarge
	}
	c := make(chan response, 1)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return nil, ErrLost
	}
	p.last++
	id := p.last
	p.waiting[id] = c
	p.mu.Unlock()
	if err := p.link.send(ctx, request{ID: id, Method: method, Params: encoded}, data); err != nil {
		p.forget(id)
		return nil, err
	}
	select {
	case r, ok := <-c:
		if !ok {
			return nil, ErrLost
		}
		if result != nil && len(r.Result) > 0 {
			if err := decode(r.Result, result); err != nil {
				return nil, err
			}
		}
		return r.data, r.Error.err()
	case <-ctx.Done():
		p.forget(id)
		// In its own goroutine, because the connection may be blocked. It ends with the
		// connection.
		go func() { _ = p.link.send(context.WithoutCancel(ctx), request{ID: id, Method: methodCancel}, nil) }()
		return nil, context.Cause(ctx)
	}
}

func (p *peer) forget(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

func (p *peer) close() {
	p.link.close()
	<-p.done
}

// connected returns the connection. If there is none, it connects, and starts a supervisor
// if necessary. Only one goroutine connects at a time.
func (c *client) connected(ctx context.Context) (*peer, error) {
	if c.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer c.turn.Release(1)
	c.mu.Lock()
	p, closed := c.peer, c.closed
	c.mu.Unlock()
	if closed {
		return nil, os.ErrClosed
	}
	if p != nil {
		select {
		case <-p.link.dead:
		default:
			return p, nil
		}
		p.close()
	}
	p, err := connect(ctx, &c.opts)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.peer, closed = p, c.closed
	c.mu.Unlock()
	if closed {
		p.close()
		return nil, os.ErrClosed
	}
	return p, nil
}

// call calls a method of the current supervisor.
func (c *client) call(ctx context.Context, method string, params any, data []byte, result any) ([]byte, error) {
	p, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	return p.call(ctx, method, params, data, result)
}

func (c *client) Instance(ctx context.Context) (string, error) {
	p, err := c.connected(ctx)
	if err != nil {
		return "", err
	}
	return p.instance, nil
}

func (c *client) Start(ctx context.Context, spec *Spec) (Info, bool, error) {
	var r startResult
	_, err := c.call(ctx, "start", specToWire(spec), nil, &r)
	return r.Info, r.Attached, err
}

func (c *client) List(ctx context.Context) ([]Info, error) {
	infos := []Info{}
	for after := ""; ; {
		var r listResult
		if _, err := c.call(ctx, "list", listParams{After: after}, nil, &r); err != nil {
			return nil, err
		}
		infos = append(infos, r.Infos...)
		if !r.More || len(r.Infos) == 0 {
			return infos, nil
		}
		after = r.Infos[len(r.Infos)-1].ID
	}
}

func (c *client) Get(ctx context.Context, id string) (Info, error) {
	var info Info
	_, err := c.call(ctx, "get", idParams{id}, nil, &info)
	return info, err
}

func (c *client) Read(ctx context.Context, id string, offset int64, limit int, wait time.Duration) (Page, error) {
	var p Page
	data, err := c.call(ctx, "read", readParams{id, offset, limit, wait}, nil, &p)
	p.Data = data
	return p, err
}

func (c *client) Wait(ctx context.Context, id string) (Info, error) {
	var info Info
	_, err := c.call(ctx, "wait", idParams{id}, nil, &info)
	return info, err
}

func (c *client) Detached(ctx context.Context) (pids []int, err error) {
	_, err = c.call(ctx, "detached", struct{}{}, nil, &pids)
	return pids, err
}

func (c *client) Signal(ctx context.Context, id string, s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%v is no signal of this system", s)
	}
	_, err := c.call(ctx, "signal", signalParams{id, int(number)}, nil, nil)
	return err
}

func (c *client) WriteStdin(ctx context.Context, id string, data []byte, end bool) error {
	// Send long input in pieces, because the size of messages is limited.
	for len(data) > maxRead {
		if _, err := c.call(ctx, "stdin", stdinParams{ID: id}, data[:maxRead], nil); err != nil {
			return err
		}
		data = data[maxRead:]
	}
	_, err := c.call(ctx, "stdin", stdinParams{id, end}, data, nil)
	return err
}

func (c *client) Resize(ctx context.Context, id string, size agentapi.TerminalSize) error {
	_, err := c.call(ctx, "resize", resizeParams{id, size}, nil, nil)
	return err
}

func (c *client) Token(ctx context.Context, token string) (id string, found, pending bool, age time.Duration, err error) {
	var r tokenResult
	_, err = c.call(ctx, "token", tokenParams{token}, nil, &r)
	return r.ID, r.Found, r.Pending, r.Age, err
}

func (c *client) Cancel(ctx context.Context, id string, t Tracked, wait time.Duration) (bool, *Info, error) {
	var r cancelResult
	_, err := c.call(ctx, "cancel-tracked", cancelParams{id, t, wait}, nil, &r)
	return r.Fenced, r.Info, err
}

func (c *client) StartOwned(ctx context.Context, spec *Spec) (Owned, error) {
	if _, err := c.connected(ctx); err != nil { // make sure that there is a supervisor
		return nil, err
	}
	conn, _, err := dial(ctx, c.opts.Dir, roleOwned)
	if err != nil {
		return nil, err
	}
	return startOwned(ctx, conn, spec)
}

func (c *client) Stop(ctx context.Context) error {
	p, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if _, err := p.call(ctx, "stop", nothing{}, nil, nil); err != nil && !isLost(err) {
		return err
	}
	select {
	case <-p.done: // the supervisor ended, and with it the connection
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *client) Close() error {
	c.mu.Lock()
	p := c.peer
	c.closed, c.peer = true, nil
	c.mu.Unlock()
	if p != nil {
		p.close()
	}
	return nil
}
