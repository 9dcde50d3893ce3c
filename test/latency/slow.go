package main

import (
	"context"
	"os"
	"path/filepath"

	"waymark/test/built"
	"waymark/test/e2e"
)

// turns is for how long each of the slow module's 32 resolvers runs: some 0.7 s.
const turns = "400000000"

// slow measures edits beside a module whose resolvers all take long, and look at what is
// edited, in alternation with edits without it.
func (b *bench) slow(ctx context.Context, skills int) error {
	wasm, err := built.Guest(ctx, "waymark/host/testdata/slow")
	if err != nil {
		return err
	}
	return b.with(ctx, skills, e2e.SkillBytes, func(without []*site) error {
		return b.with(ctx, skills, e2e.SkillBytes, func(with []*site) error {
			for _, s := range with {
				plugins := filepath.Join(s.home.Dir, "plugins")
				s.args = []string{"--plugins", plugins}
				if err := os.WriteFile(filepath.Join(s.root, "SPIN.md"), []byte(turns), 0o600); err != nil {
					return err
				}
				if err := os.Mkdir(plugins, 0o700); err != nil {
					return err
				}
				if err := os.Symlink(wasm, filepath.Join(plugins, "slow.wasm")); err != nil {
					return err
				}
			}
			sites := append(without, with...)
			err := each(sites, func(s *site) error {
				if err := s.start(ctx, s.hub.URL); err != nil {
					return err
				}
				return s.settled(ctx)
			})
			if err != nil {
				return err
			}
			found, err := measureInTurn(ctx, sites, b.Edits)
			if err != nil {
				return err
			}
			for i, s := range sites {
				beside := "alone"
				if i >= len(without) {
					beside = "beside 32 slow resolvers"
				}
				s.add(figure("edit → stored, in place, "+beside, skills, unitTime, times(found[s].inPlace)))
				s.add(figure("edit → stored, rename, "+beside, skills, unitTime, times(found[s].renamed)))
			}
			return nil
		})
	})
}
