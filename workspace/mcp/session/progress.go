package session

import (
	"sync"
	"waymark/internal/notify"
)

// maxProgress is how much of a call's progress may wait to be told; the oldest gives
// way, since the newest says how far the call is.
const maxProgress = 64

// progress brings what a server says of a call's progress to the caller, in order.
type progress struct {
	tell func(Progress)
	wake notify.Wake
	done chan struct{} // closed when nothing more is told

	mu     sync.Mutex // guards what follows
	queue  []Progress
	closed bool
}

func newProgress(tell func(Progress)) *progress {
	p := &progress{tell: tell, wake: notify.NewWake(), done: make(chan struct{})}
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

// end ends it. Everything that came before is told first, unless drop says not to;
// nothing is told afterwards.
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
