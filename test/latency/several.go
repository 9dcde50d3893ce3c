package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// several is how many agents of one user run at once.
const several = 5

// several measures what agents of one user hold together, each in a workspace of
// its own: what they share counts once.
func (b *bench) several(ctx context.Context, skills int) error {
	return b.with(ctx, skills, e2e.SkillBytes, func(sites []*site) error {
		return each(sites, func(s *site) error { return s.together(ctx) })
	})
}

func (s *site) together(ctx context.Context) (err error) {
	home := s.home
	home.PerWorkspace = true
	var agents []*e2e.Agent
	defer func() {
		for _, a := range agents {
			a.Kill()
			if err != nil {
				err = errors.Join(err, errors.New(a.Output()))
			}
		}
	}()
	for i := range several {
		id := fmt.Sprintf("bench-%d", i)
		root := filepath.Join(home.Dir, id)
		if err := e2e.SkillTree(root, s.skills, s.bytes); err != nil {
			return err
		}
		token, err := s.hub.Token(ctx, id)
		if err != nil {
			return err
		}
		a, err := e2e.StartAgent(ctx, e2e.AgentOptions{Program: s.program, Home: home, Root: root, URL: s.hub.URL, TokenFile: token})
		if err != nil {
			return err
		}
		agents = append(agents, a)
		if err := s.pushedBy(ctx, id); err != nil {
			return err
		}
	}
	if err := process.Pause(ctx, 2*time.Second); err != nil {
		return err
	}
	var sum int64
	for _, a := range agents {
		share, err := a.Share()
		if err != nil {
			return err
		}
		sum += share
	}
	s.add(figure(nameSeveral, s.skills, unitMemory, []float64{mib(sum)}))
	return nil
}

// pushedBy waits for the first push of an agent.
func (s *site) pushedBy(ctx context.Context, id string) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, _, err := s.hub.Stored.Await(limit, 0, func(p *e2e.Stored) bool { return p.AgentID == id })
	return err
}
