package transport

// This is internal because the limits adapt to times that a real store doesn't take on demand.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAdmission: agents that come at once to a slow store are let in as fast as it answers,
// none after it has hung up, and the others come again spread over the time that it takes.
func TestAdmission(t *testing.T) {
	for name, slow := range map[string]time.Duration{"fast": time.Millisecond, "slow": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAdmission()
				const agents = 2000
				entered, gone, refused := make(chan struct{}, agents), make(chan struct{}, agents), make(chan int, 100*agents)
				store := make(chan struct{}, minAdmitted) // answers so many at a time
				begin := time.Now()
				for range agents {
					go func() {
						for {
							ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
							place, again := a.enter(ctx)
							if place == nil {
								cancel()
								refused <- again
								time.Sleep(time.Duration(again) * time.Second)
								continue
							}
							store <- struct{}{}
							time.Sleep(slow / 8)
							<-store
							place.leave(true)
							late := ctx.Err() != nil
							cancel()
							if !late {
								entered <- struct{}{}
								return
							}
							gone <- struct{}{}
						}
					}()
				}
				for range agents {
					<-entered
				}
				// The store's own time, with nothing done for nobody.
				least := slow / 8 * agents / minAdmitted
				took := time.Since(begin)
				t.Logf("%d agents in %v, the store needs %v; %d answers too late, %d refusals", agents, took, least, len(gone), len(refused))
				if len(gone) > agents/20 || took > 3*least+maxRetry*time.Second/4 {
					t.Errorf("%d answers were too late, and it took %v", len(gone), took)
				}
				if a.inside != 0 || len(a.waiting) != 0 {
					t.Errorf("%d inside, %d waiting", a.inside, len(a.waiting))
				}
			})
		})
	}
}

// TestAdmissionHungUp: who hangs up leaves the queue, and takes no turn.
func TestAdmissionHungUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission()
		var inside *place
		for a.inside < a.limit {
			inside, _ = a.enter(t.Context())
		}
		ctx, cancel := context.WithCancel(t.Context())
		go a.enter(ctx)
		synctest.Wait()
		last := make(chan bool)
		go func() {
			place, _ := a.enter(t.Context())
			last <- place != nil
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(a.waiting) != 1 {
			t.Errorf("%d wait", len(a.waiting))
		}
		inside.leave(true)
		if !<-last {
			t.Error("the other one wasn't let in")
		}
	})
}
