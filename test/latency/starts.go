package latency

import (
	"context"
	"errors"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// starts measures from the start of the process to the first push stored, and
// from SIGTERM to its end.
func (b *bench) starts(ctx context.Context, skills int) error {
	var cold, warm, stops []time.Duration
	for range b.Starts {
		if err := b.startSeries(ctx, skills, &cold, &warm, &stops); err != nil {
			return err
		}
	}
	b.add(figure(nameCold, skills, unitTime, times(cold)))
	b.add(figure(nameWarm, skills, unitTime, times(warm)))
	b.add(figure(nameStop, skills, unitTime, times(stops)))
	return nil
}

// startSeries starts an agent in an empty home, and then twice more.
func (b *bench) startSeries(ctx context.Context, skills int, cold, warm, stops *[]time.Duration) (err error) {
	s, err := b.site(ctx, skills)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hub.Close()) }()
	for _, list := range []*[]time.Duration{cold, warm, warm} {
		took, stop, err := s.firstPush(ctx)
		if err != nil {
			return err
		}
		*list, *stops = append(*list, took), append(*stops, stop)
	}
	return nil
}

func (s *site) firstPush(ctx context.Context) (took, stop time.Duration, err error) {
	list, _ := s.hub.Stored.All()
	agent, err := s.start(ctx, s.hub.URL)
	if err != nil {
		return 0, 0, err
	}
	defer agent.Kill()
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	push, _, err := s.hub.Stored.Await(limit, len(list), func(*e2e.Stored) bool { return true })
	if err != nil {
		return 0, 0, errors.Join(err, errors.New(agent.Output()))
	}
	// Let it load what the first push didn't need, as in real life.
	if err := process.Pause(ctx, 300*time.Millisecond); err != nil {
		return 0, 0, err
	}
	stop, err = s.stop(ctx, agent)
	return push.At.Sub(agent.Started), stop, err
}

func (s *site) stop(ctx context.Context, agent *e2e.Agent) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return agent.Stop(ctx)
}
