package pushtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"storj.io/drpc"

	"waymark/host/push"
	"waymark/test/pushtest"
	"waymark/wire/waymark"
)

// Fleet is a number of agents.
type Fleet struct {
	agents []*agent
}

// agent is one connection and what it has pushed.
type agent struct {
	conn    drpc.Conn
	mu      sync.Mutex // one push at a time; guards the rest
	version uint64
	name    []byte
	rows    []*pushtest.Resource
}

// Plan says what the agents are like.
type Plan struct {
	URLs      []string // of the hubs
	Tokens    []string // one for each agent
	Resources int      // that each of them has
	Size      int      // of each, in bytes
}

// Connect dials all agents, a few at a time, as after the hub's restart.
func Connect(ctx context.Context, plan *Plan) (*Fleet, error) {
	f := &Fleet{agents: make([]*agent, len(plan.Tokens))}
	err := each(len(plan.Tokens), 32, func(i int) error {
		opts, err := push.Remote(plan.URLs[i%len(plan.URLs)], push.RemoteOptions{Token: plan.Tokens[i]})
		if err != nil {
			return err
		}
		a := &agent{}
		for n := range plan.Resources {
			a.rows = append(a.rows, &pushtest.Resource{
				Kind: "skill", Source: fmt.Sprintf("/w/.agents/skills/skill-%03d", n), Name: fmt.Sprintf("skill-%03d", n),
				Description: "What this skill is for, in a sentence.", Status: waymark.Status_STATUS_OK,
				SizeBytes: uint64(plan.Size), Resolver: "waymark/context@1.0.0", Payload: noise(plan.Size),
			})
		}
		if a.conn, err = opts.Dialer.Dial(ctx); err != nil {
			return err
		}
		f.agents[i] = a
		_, err = waymark.NewDRPCContextClient(a.conn).Open(ctx, &waymark.OpenRequest{})
		return err
	})
	return f, err
}

// noise is content that no other resource has: a hub may keep equal ones once.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails, says its documentation
	return data
}

// Close ends all connections.
func (f *Fleet) Close() {
	for _, a := range f.agents {
		if a != nil {
			_ = a.conn.Close()
		}
	}
}

// Form is how a push is sent.
type Form string

// The forms of a push after the first one, which is Full.
const (
	Full   Form = "full"  // everything with its payloads
	Delta  Form = "delta" // what has changed
	ByHash Form = "names" // everything by its names, with the payload that the hub wants
)

// push changes one resource and pushes that. Names are made of the whole, since real
// agents do so, too.
func (a *agent) push(ctx context.Context, form Form) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := &pushtest.Push{Version: a.version + 1, Resources: a.rows}
	changed := a.rows[int(p.Version)%len(a.rows)]
	changed.Payload = noise(len(changed.Payload))
	client := waymark.NewDRPCContextClient(a.conn)
	switch {
	case a.version == 0, form == Full:
	case form == Delta:
		p.Base, p.Resources = a.name, []*pushtest.Resource{changed}
	default:
		p.Resources = nil
		for _, r := range a.rows {
			p.Resources = append(p.Resources, r.Named())
		}
		if response, err := client.Push(ctx, first(p.Request())); err != nil || len(response.GetWanted()) != 1 {
			return fmt.Errorf("the hub wants %d payloads: %w", len(response.GetWanted()), err)
		}
		if _, err := client.Upload(ctx, &waymark.UploadRequest{Payloads: [][]byte{changed.Payload}}); err != nil {
			return err
		}
	}
	response, err := pushtest.Send(ctx, client, p)
	switch {
	case err != nil:
		return err
	case !response.GetAccepted():
		return errors.New("the hub has not accepted a push")
	}
	a.version, a.name = p.Version, p.Name()
	return nil
}

func first(request *waymark.PushRequest, _ [][]byte) *waymark.PushRequest { return request }

// each calls f for 0 to n-1, on so many goroutines, and returns the first
// error.
func each(n, workers int, f func(i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// Once has every agent push, so many at a time.
func (f *Fleet) Once(ctx context.Context, workers int, form Form) Result {
	var m meter
	m.begin()
	m.fail(each(len(f.agents), workers, func(i int) error {
		return m.time(func() error { return f.agents[i].push(ctx, form) })
	}))
	return m.result()
}

// Saturate has workers push without a pause for d, each time for the next
// agent, and each at least once.
func (f *Fleet) Saturate(ctx context.Context, workers int, d time.Duration, form Form) Result {
	var m meter
	end := time.Now().Add(d)
	m.begin()
	m.fail(each(1<<40, workers, func(i int) error {
		if i >= workers && time.Now().After(end) {
			return errEnough
		}
		return m.time(func() error { return f.agents[i%len(f.agents)].push(ctx, form) })
	}))
	return m.result()
}

var errEnough = errors.New("enough")

// Steady has every agent push once per interval for d, spread evenly. What is
// timed begins when a push was due, whatever held it up.
func (f *Fleet) Steady(ctx context.Context, interval, d time.Duration, form Form) Result {
	var m meter
	m.begin()
	start := time.Now()
	m.fail(each(len(f.agents), len(f.agents), func(i int) error {
		due := start.Add(interval * time.Duration(i) / time.Duration(len(f.agents)))
		for ; due.Sub(start) < d; due = due.Add(interval) {
			timer := time.NewTimer(time.Until(due))
			<-timer.C
			err := f.agents[i].push(ctx, form)
			m.add(time.Since(due))
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return m.result()
}
