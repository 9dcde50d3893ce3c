package main

import (
	"context"
	"fmt"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// memory measures what an agent holds, in its second life, after the start,
// later, after edits, and later again, and how often it wakes up when nothing happens.
func (b *bench) memory(ctx context.Context, skills int) error {
	return b.with(ctx, skills, e2e.SkillBytes, func(sites []*site) error {
		err := each(sites, func(s *site) error {
			if _, err := s.firstPush(ctx); err != nil {
				return err
			}
			return s.rest(ctx)
		})
		if err != nil {
			return err
		}
		if err := b.idle(ctx, sites); err != nil {
			return err
		}
		for i := range b.Later {
			err := each(sites, func(s *site) error {
				_, err := s.stored(ctx, i%2 == 0)
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := each(sites, func(s *site) error { return s.resident(nameEdited) }); err != nil {
			return err
		}
		if err := process.Pause(ctx, b.Idle); err != nil {
			return err
		}
		return each(sites, func(s *site) error {
			if err := s.resident(nameQuiet); err != nil {
				return err
			}
			_, err := s.stop(ctx)
			return err
		})
	})
}

// rest starts an agent, and measures what it holds when it has loaded what it
// needs, and the most that it held until then.
func (s *site) rest(ctx context.Context) error {
	if _, err := s.pushed(ctx); err != nil {
		return err
	}
	if err := process.Pause(ctx, time.Second); err != nil {
		return err
	}
	m, err := s.agent.Memory()
	if err != nil {
		return err
	}
	s.add(figure(namePeak, s.skills, unitMemory, []float64{mib(m.High)}))
	return s.resident("resident, after the start")
}

// idle leaves the agents alone.
func (b *bench) idle(ctx context.Context, sites []*site) error {
	before := map[*site]int64{}
	err := each(sites, func(s *site) (err error) {
		before[s], err = s.agent.Wakeups()
		return err
	})
	if err != nil {
		return err
	}
	start := time.Now()
	if err := process.Pause(ctx, b.Idle); err != nil {
		return err
	}
	return each(sites, func(s *site) error {
		after, err := s.agent.Wakeups()
		if err != nil {
			return err
		}
		s.add(figure("wake-ups at rest", s.skills, "/min", []float64{float64(after-before[s]) / time.Since(start).Minutes()}))
		return s.resident(nameIdle)
	})
}

func (s *site) resident(name string) error {
	m, err := s.agent.Memory()
	if err != nil {
		return err
	}
	pss, err := s.agent.Share()
	if err != nil {
		return err
	}
	f := figure(name, s.skills, unitMemory, []float64{mib(m.Resident)})
	f.Note = fmt.Sprintf("(anonymous %.1f, files %.1f, PSS %.1f, highest %.1f)", mib(m.Anonymous), mib(m.File), mib(pss), mib(m.High))
	s.add(f)
	return nil
}
