package session

import (
	"sync"
	"waymark/internal/await"
)

// maxProgress limits the queued progress reports of a call. The oldest is dropped, because
// the newest matters most.
const maxProgress = 64

// progress delivers a call's progress reports to the caller, in order.
type progress struct {
	tell func(Progress)
	wake await.Wake
	done chan struct{} // closed when no more reports are delivered

	mu     sync.Mutex // guards the fields below
	queue  []Progress
	closed bool
}

func newProgress(tell func(Progress)) *progress {
	p := &progress{tell: tell, wake: await.NewWake(), done: make(chan struct{})}
	go p.run()
	return p
}

func (p *progress) add(what Progress) {
	p.mu.Lock()
	if !p.closed {
		if len(p.queue) >= maxProgress {
			p.queue = p.queue[1:]
		}
		p.queue = append(p.queue, what)
	}
	p.mu.Unlock()
	p.signal()
}

func (p *progress) signal() {
	p.wake.Set()
}

// end ends delivery. It first delivers queued reports, unless drop is true. Nothing is
// delivered after it returns.
func (p *progress) end(drop bool) {
	p.mu.Lock()
	p.closed = true
	if drop {
		p.queue = nil
	}
	p.mu.Unlock()
	p.signal()
	<-p.done
}

func (p *progress) run() {
	defer close(p.done)
	for range p.wake {
		for {
			p.mu.Lock()
			queue, closed := p.queue, p.closed
			if len(queue) > 0 {
				p.queue = queue[1:]
			}
			p.mu.Unlock()
			if len(queue) == 0 {
				if closed {
					return
				}
				break
			}
			p.tell(queue[0])
		}
	}
}
