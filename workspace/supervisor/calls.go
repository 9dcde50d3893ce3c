package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"waymark/agentapi"
)

// Parameters and results of the calls. Fields are only ever added, because the other end
// may be older or newer.
type (
	nothing     struct{}
	startResult struct {
		Info     Info
		Attached bool
	}
	listParams struct{ After string }
	listResult struct {
		Infos []Info
		More  bool
	}
	idParams   struct{ ID string }
	readParams struct {
		ID     string
		Offset int64
		Limit  int
		Wait   time.Duration
	}
	signalParams struct {
		ID     string
		Signal int
	}
	stdinParams struct {
		ID  string
		End bool
	}
	resizeParams struct {
		ID   string
		Size agentapi.TerminalSize
	}
	tokenParams struct{ Token string }
	tokenResult struct {
		ID             string
		Found, Pending bool
		Age            time.Duration
	}
	cancelParams struct {
		ID      string
		Tracked Tracked
		Wait    time.Duration
	}
	cancelResult struct {
		Fenced bool
		Info   *Info
	}
)

// answer is a result with the data that follows it.
type answer struct {
	result any
	data   []byte
}

// wireSpec is the encoding of a Spec. Arguments, variables and paths are bytes, because
// they needn't be UTF-8. An unknown field in a profile is an error, because it may be a
// restriction; unknown fields elsewhere are ignored.
type wireSpec struct {
	Spec
	Argv, Env [][]byte
	Dir       []byte
}

func specToWire(s *Spec) *wireSpec {
	w := &wireSpec{Spec: *s, Dir: []byte(s.Dir)}
	for _, arg := range s.Argv {
		w.Argv = append(w.Argv, []byte(arg))
	}
	for _, v := range s.Env {
		w.Env = append(w.Env, []byte(v))
	}
	return w
}

func specFromWire(data []byte) (*Spec, error) {
	var w wireSpec
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("what holds the processes doesn't understand all of this start (%w): "+
			"it may be older than the agent; end it with what it holds, and the next one is of the agent's version", err)
	}
	s := w.Spec
	s.Dir = string(w.Dir)
	for _, arg := range w.Argv {
		s.Argv = append(s.Argv, string(arg))
	}
	for _, v := range w.Env {
		s.Env = append(s.Env, string(v))
	}
	return &s, nil
}

// methods are the callable methods.
var methods = map[string]func(ctx context.Context, s *server, params, data []byte) (answer, error){
	"start": func(ctx context.Context, s *server, params, _ []byte) (answer, error) {
		spec, err := specFromWire(params)
		if err != nil {
			return answer{}, err
		}
		// The start continues even if the caller disconnects.
		info, attached, err := s.start(context.WithoutCancel(ctx), spec)
		return answer{result: startResult{info, attached}}, err
	},
	"list": method(func(_ context.Context, s *server, p *listParams, _ []byte) (answer, error) {
		infos, more := s.list(p.After)
		return answer{result: listResult{infos, more}}, nil
	}),
	"detached": method(func(_ context.Context, s *server, _ *struct{}, _ []byte) (answer, error) {
		return answer{result: s.detached()}, nil
	}),
	"get": method(func(ctx context.Context, s *server, p *idParams, _ []byte) (answer, error) {
		h, err := s.get(ctx, p.ID)
		if err != nil {
			return answer{}, err
		}
		return answer{result: h.info()}, nil
	}),
	"read": method(func(ctx context.Context, s *server, p *readParams, _ []byte) (answer, error) {
		page, err := s.read(ctx, p.ID, p.Offset, p.Limit, p.Wait)
		data := page.Data
		page.Data = nil
		return answer{result: page, data: data}, err
	}),
	"wait": method(func(ctx context.Context, s *server, p *idParams, _ []byte) (answer, error) {
		info, err := s.wait(ctx, p.ID)
		return answer{result: info}, err
	}),
	"signal": method(func(ctx context.Context, s *server, p *signalParams, _ []byte) (answer, error) {
		h, err := s.get(ctx, p.ID)
		if err == nil {
			err = h.signal(syscall.Signal(p.Signal))
		}
		return answer{}, err
	}),
	"stdin": method(func(ctx context.Context, s *server, p *stdinParams, data []byte) (answer, error) {
		h, err := s.get(ctx, p.ID)
		if err == nil {
			err = h.writeInput(ctx, data, p.End)
		}
		return answer{}, err
	}),
	"resize": method(func(ctx context.Context, s *server, p *resizeParams, _ []byte) (answer, error) {
		h, err := s.get(ctx, p.ID)
		if err == nil {
			err = h.resize(p.Size)
		}
		return answer{}, err
	}),
	"token": method(func(_ context.Context, s *server, p *tokenParams, _ []byte) (answer, error) {
		var r tokenResult
		r.ID, r.Found, r.Pending, r.Age = s.token(p.Token)
		return answer{result: r}, nil
	}),
	"cancel-tracked": method(func(ctx context.Context, s *server, p *cancelParams, _ []byte) (answer, error) {
		fenced, info, err := s.cancel(ctx, p.ID, p.Tracked, p.Wait)
		return answer{result: cancelResult{fenced, info}}, err
	}),
	"stop": method(func(context.Context, *server, *nothing, []byte) (answer, error) {
		return answer{}, nil // the sender of the answer does the work
	}),
}

func method[P any](f func(context.Context, *server, *P, []byte) (answer, error)) func(context.Context, *server, []byte, []byte) (answer, error) {
	return func(ctx context.Context, s *server, params, data []byte) (answer, error) {
		var p P
		if len(params) > 0 {
			if err := decode(params, &p); err != nil {
				return answer{}, err
			}
		}
		return f(ctx, s, &p, data)
	}
}

// maxCalls limits the open calls of an agent. Each has a goroutine, and each waiting chat
// has a call.
const maxCalls = 4096

// session is the connection of an agent.
type session struct {
	server *server
	link   *link
	calls  sync.WaitGroup

	mu   sync.Mutex // guards open
	open map[uint64]context.CancelFunc
}

// serve answers calls until the connection ends.
func (s *server) serve(conn *net.UnixConn) {
	c := &session{server: s, link: newLink(conn), open: map[uint64]context.CancelFunc{}}
	ctx, cancel := context.WithCancel(context.Background())
	for {
		head, data, err := c.link.receive()
		if err != nil {
			break
		}
		var r request
		if err := decode(head, &r); err != nil {
			s.logger.Warn("an agent's message isn't understood", slog.Any("error", err))
			break
		}
		if r.Method == methodCancel {
			c.cancel(r.ID)
			continue
		}
		c.begin(ctx, &r, data)
	}
	cancel()
	c.link.close()
	c.calls.Wait()
}

// begin answers a call in its own goroutine.
func (c *session) begin(ctx context.Context, r *request, data []byte) {
	c.mu.Lock()
	full := len(c.open) >= maxCalls
	if !full {
		ctx, c.open[r.ID] = context.WithCancel(ctx)
	}
	c.mu.Unlock()
	if full {
		_ = c.link.send(ctx, reply{ID: r.ID, Error: toWire(fmt.Errorf("%d calls are open: %w", maxCalls, ErrFull))}, nil)
		return
	}
	c.calls.Go(func() {
		rep, data := c.call(ctx, r, data)
		c.cancel(r.ID)
		_ = c.link.send(context.Background(), rep, data) // an error means that the link has ended
		if r.Method == "stop" && rep.Error == nil {
			c.server.shut()
		}
	})
}

func (c *session) cancel(id uint64) {
	c.mu.Lock()
	cancel := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (c *session) call(ctx context.Context, r *request, data []byte) (reply, []byte) {
	f := methods[r.Method]
	if f == nil {
		return reply{ID: r.ID, Error: toWire(fmt.Errorf("what holds the processes is of an older version, and has no %q: %w", r.Method, errUnsupported))}, nil
	}
	a, err := f(ctx, c.server, r.Params, data)
	rep := reply{ID: r.ID, Error: toWire(err)}
	if a.result != nil {
		if rep.Result, err = json.Marshal(a.result); err != nil {
			rep.Error = toWire(err)
		}
	}
	return rep, a.data
}
