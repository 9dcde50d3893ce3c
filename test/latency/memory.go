package latency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// memory measures what an agent holds, in its second life, after the start,
// later, and after edits.
func (b *bench) memory(ctx context.Context, skills int) (err error) {
	s, err := b.site(ctx, skills)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hub.Close()) }()
	if _, _, err := s.firstPush(ctx); err != nil {
		return err
	}
	stored, _ := s.hub.Stored.All()
	agent, err := s.start(ctx, s.hub.URL)
	if err != nil {
		return err
	}
	defer agent.Kill()
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, _, err := s.hub.Stored.Await(limit, len(stored), func(*e2e.Stored) bool { return true }); err != nil {
		return errors.Join(err, errors.New(agent.Output()))
	}
	if err := process.Pause(ctx, time.Second); err != nil {
		return err
	}
	if err := s.resident(agent, "resident, after the start"); err != nil {
		return err
	}
	if err := process.Pause(ctx, b.Idle); err != nil {
		return err
	}
	if err := s.resident(agent, nameIdle); err != nil {
		return err
	}
	for i := range b.Later {
		if _, err := s.stored(ctx, i%2 == 0); err != nil {
			return errors.Join(err, errors.New(agent.Output()))
		}
	}
	if err := s.resident(agent, nameEdited); err != nil {
		return err
	}
	_, err = s.stop(ctx, agent)
	return err
}

func (s *site) resident(agent *e2e.Agent, name string) error {
	m, err := agent.Memory()
	if err != nil {
		return err
	}
	f := figure(name, s.skills, unitMemory, []float64{mib(m.Resident)})
	f.Note = fmt.Sprintf("(anonymous %.1f, files %.1f, highest %.1f)", mib(m.Anonymous), mib(m.File), mib(m.High))
	s.bench.add(f)
	return nil
}
