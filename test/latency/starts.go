package main

import (
	"context"
	"slices"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// life is one life of a process: from its start to the first push that is stored, from
// SIGTERM to the end, and what CPU time it took in all.
type life struct{ start, stop, cpu time.Duration }

// lives are those of one program, the first ones with an empty home.
type lives struct{ cold, warm []life }

func (l *lives) add(s *site) {
	of := func(lives []life, value func(life) time.Duration) (list []time.Duration) {
		for _, l := range lives {
			list = append(list, value(l))
		}
		return list
	}
	start, stop := func(l life) time.Duration { return l.start }, func(l life) time.Duration { return l.stop }
	cpu := func(l life) time.Duration { return l.cpu }
	s.add(figure(nameCold, s.skills, unitTime, times(of(l.cold, start))))
	s.add(figure(nameWarm, s.skills, unitTime, times(of(l.warm, start))))
	s.add(figure(nameStop, s.skills, unitTime, times(of(slices.Concat(l.cold, l.warm), stop))))
	s.add(figure(nameColdCPU, s.skills, unitTime, times(of(l.cold, cpu))))
	s.add(figure(nameWarmCPU, s.skills, unitTime, times(of(l.warm, cpu))))
}

// starts measures from the start of the process to the first push stored, and
// from SIGTERM to its end.
func (b *bench) starts(ctx context.Context, skills int) error {
	found := map[*side]*lives{}
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
func startSeries(ctx context.Context, sites []*site, found map[*side]*lives) error {
	for round := range 3 {
		for _, s := range sites {
			l := found[s.side]
			if l == nil {
				l = &lives{}
				found[s.side] = l
			}
			one, err := s.firstPush(ctx)
			if err != nil {
				return err
			}
			if round == 0 {
				l.cold = append(l.cold, one)
			} else {
				l.warm = append(l.warm, one)
			}
		}
	}
	return nil
}

// firstPush starts an agent and ends it after its first push.
func (s *site) firstPush(ctx context.Context) (one life, err error) {
	if one.start, err = s.pushed(ctx); err != nil {
		return life{}, err
	}
	// Let it load what the first push didn't need, as in real life.
	if err := process.Pause(ctx, 300*time.Millisecond); err != nil {
		return life{}, err
	}
	agent := s.agent
	if one.stop, err = s.stop(ctx); err != nil {
		return life{}, err
	}
	state := agent.State()
	one.cpu = state.UserTime() + state.SystemTime()
	return one, nil
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
