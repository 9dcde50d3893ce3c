package latency

import (
	"context"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// launches are the times of starts and ends of one program.
type launches struct{ cold, warm, stops []time.Duration }

func (l *launches) add(s *site) {
	s.add(figure(nameCold, s.skills, unitTime, times(l.cold)))
	s.add(figure(nameWarm, s.skills, unitTime, times(l.warm)))
	s.add(figure(nameStop, s.skills, unitTime, times(l.stops)))
}

// starts measures from the start of the process to the first push stored, and
// from SIGTERM to its end.
func (b *bench) starts(ctx context.Context, skills int) error {
	found := map[*side]*launches{}
	var last []*site
	for range b.Starts {
		err := b.with(ctx, skills, e2e.SkillBytes, func(sites []*site) error {
			last = sites
			return startSeries(ctx, sites, found)
		})
		if err != nil {
			return err
		}
	}
	for _, s := range last {
		found[s.side].add(s)
	}
	return nil
}

// startSeries starts an agent in each empty home, and then twice more.
func startSeries(ctx context.Context, sites []*site, found map[*side]*launches) error {
	for round := range 3 {
		for _, s := range sites {
			l := found[s.side]
			if l == nil {
				l = &launches{}
				found[s.side] = l
			}
			took, stop, err := s.firstPush(ctx)
			if err != nil {
				return err
			}
			if l.stops = append(l.stops, stop); round == 0 {
				l.cold = append(l.cold, took)
			} else {
				l.warm = append(l.warm, took)
			}
		}
	}
	return nil
}

// firstPush starts an agent and ends it after its first push.
func (s *site) firstPush(ctx context.Context) (took, stop time.Duration, err error) {
	if took, err = s.pushed(ctx); err != nil {
		return 0, 0, err
	}
	// Let it load what the first push didn't need, as in real life.
	if err := process.Pause(ctx, 300*time.Millisecond); err != nil {
		return 0, 0, err
	}
	stop, err = s.stop(ctx)
	return took, stop, err
}

// pushed starts an agent and waits until its first push is stored.
func (s *site) pushed(ctx context.Context) (time.Duration, error) {
	list, _ := s.hub.Stored.All()
	if err := s.start(ctx, s.hub.URL); err != nil {
		return 0, err
	}
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	push, _, err := s.hub.Stored.Await(limit, len(list), func(*e2e.Stored) bool { return true })
	return push.At.Sub(s.agent.Started), err
}
