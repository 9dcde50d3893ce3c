package pushtest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
)

// Pushers are real agents, as far as their pushes go: they push what they have, and
// come back when the hub does. What they send and get goes over a line that counts.
type Pushers struct {
	list  []*push.Pusher
	stop  context.CancelFunc
	runs  sync.WaitGroup
	lines []*line // to each hub
}

// StartPushers starts the agents of a plan, at all its hubs.
func StartPushers(ctx context.Context, plan *Plan) (*Pushers, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &Pushers{stop: stop}
	for _, u := range plan.URLs {
		l, err := newLine(u)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.lines = append(p.lines, l)
	}
	for i, token := range plan.Tokens {
		opts, err := push.Remote(p.lines[i%len(p.lines)].url, push.RemoteOptions{Token: token})
		if err != nil {
			p.Close()
			return nil, err
		}
		opts.Describe = func() push.Description {
			return push.Description{Hostname: fmt.Sprintf("host-%d", i), Root: "/w", Version: "1.0"}
		}
		pusher := push.New(opts)
		pusher.Publish(workspace(plan))
		p.list = append(p.list, pusher)
		p.runs.Go(func() { _ = pusher.Run(ctx) })
	}
	return p, nil
}

// workspace is what an agent has.
func workspace(plan *Plan) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: 1}
	for n := range plan.Resources {
		payload := noise(plan.Size)
		hash := sha256.Sum256(payload)
		s.Resources = append(s.Resources, snapshot.Resource{
			Kind: abi.KindSkill, Source: fmt.Sprintf("/w/.agents/skills/skill-%03d", n), Name: fmt.Sprintf("skill-%03d", n),
			Description: "What this skill is for, in a sentence.", Status: snapshot.StatusOK,
			ContentHash: hash[:], SizeBytes: int64(plan.Size), Resolver: "waymark/context@1.0.0", Payload: payload,
		})
	}
	return s
}

// Close ends the agents.
func (p *Pushers) Close() {
	p.stop()
	p.runs.Wait()
	for _, l := range p.lines {
		l.close()
	}
}

// Current waits until the hub has accepted a push of each agent since that moment,
// and says how long after it that was, for the last one and for half and 99 % of them, and how
// many bytes have gone over the line, both ways, since the last call.
func (p *Pushers) Current(ctx context.Context, since time.Time) (Result, error) {
	var m meter
	states := make(map[string]int) // of those that aren't current when ctx ends
	for _, pusher := range p.list {
		for waits := true; waits; {
			status, changed := pusher.Watch()
			if last := status.LastAccepted; last != nil && last.At.After(since) {
				m.add(last.At.Sub(since))
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				states[fmt.Sprintf("%s: %s", status.State, status.LastError)]++
				waits = false
			}
		}
	}
	r := m.result()
	r.Seconds = 0
	if len(m.times) > 0 {
		r.Seconds = m.times[len(m.times)-1].Seconds()
	}
	if len(states) > 0 {
		return r, fmt.Errorf("%d agents are current, of the others are %v", r.Pushes, states)
	}
	for _, l := range p.lines {
		r.Bytes += l.bytes.Swap(0)
	}
	return r, nil
}

// line stands between the agents and the hub.
type line struct {
	url      string
	target   string
	listener net.Listener
	bytes    atomic.Int64
	conns    sync.WaitGroup
}

func newLine(target string) (*line, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{target: u.Host, listener: listener, url: "http://" + listener.Addr().String()}
	l.conns.Go(l.serve)
	return l, nil
}

func (l *line) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.target)
		if err != nil { // the hub is away
			_ = near.Close()
			continue
		}
		l.conns.Go(func() { l.carry(near, far) })
		l.conns.Go(func() { l.carry(far, near) })
	}
}

// carry counts as it goes: a connection lasts.
func (l *line) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.bytes.Add(int64(n))
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (l *line) close() {
	_ = l.listener.Close()
	l.conns.Wait()
}
