package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"waymark/test/e2e"
	"waymark/test/process"
)

// halves measures how often a file that is written in two steps, 1 to 50 ms apart,
// is stored half written, and how soon it is whole: one that stays open meanwhile,
// and one that is closed and opened again.
func (b *bench) halves(ctx context.Context, skills int) error {
	return b.with(ctx, skills, e2e.SkillBytes, func(sites []*site) error {
		err := each(sites, func(s *site) error {
			if err := s.start(ctx, s.hub.URL); err != nil {
				return err
			}
			return s.settled(ctx)
		})
		if err != nil {
			return err
		}
		for _, closing := range []bool{false, true} {
			if err := b.writeHalves(ctx, sites, closing); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) writeHalves(ctx context.Context, sites []*site, closing bool) error {
	kind := "open between"
	if closing {
		kind = "closed between"
	}
	found, seen := map[*site][]time.Duration{}, map[*site]int{}
	random := rand.New(rand.NewPCG(b.Seed, 0))
	for range b.Halves {
		pause := time.Millisecond + time.Duration(random.Int64N(int64(49*time.Millisecond)))
		for _, s := range sites {
			took, half, err := s.writeTwice(ctx, pause, closing)
			if err != nil {
				return err
			}
			if found[s] = append(found[s], took); half {
				seen[s]++
			}
		}
	}
	for _, s := range sites {
		f := figure("half-written and stored, "+kind, s.skills, "%", []float64{100 * float64(seen[s]) / float64(b.Halves)})
		f.Note = fmt.Sprintf("(%d of %d)", seen[s], b.Halves)
		s.add(f)
		s.add(figure("second half → stored, "+kind, s.skills, unitTime, times(found[s])))
	}
	return nil
}

// writeTwice writes a file in two steps. It returns how long after the last the
// whole was stored, and whether the half was.
func (s *site) writeTwice(ctx context.Context, pause time.Duration, closing bool) (took time.Duration, half bool, err error) {
	list, _ := s.hub.Stored.All()
	var whole []byte
	took, err = s.storedBy(ctx, func() ([]byte, time.Time, error) {
		s.edit++
		whole = []byte(e2e.SkillText(0, s.bytes, fmt.Sprintf("Edit %d.\n", s.edit)))
		path := filepath.Join(s.root, e2e.SkillFile(0))
		begun, err := writeInSteps(ctx, path, whole, pause, closing)
		return whole, begun, err
	})
	if err != nil {
		return 0, false, err
	}
	after, _ := s.hub.Stored.All()
	for i := len(list); i < len(after) && !half; i++ {
		half = holds(&after[i], whole[:len(whole)/2])
	}
	return took, half, nil
}

// writeInSteps returns when it began with the second half.
func writeInSteps(ctx context.Context, path string, text []byte, pause time.Duration, closing bool) (begun time.Time, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return begun, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(text[:len(text)/2]); err != nil {
		return begun, err
	}
	if closing {
		if err := f.Close(); err != nil {
			return begun, err
		}
	}
	if err := process.Pause(ctx, pause); err != nil {
		return begun, err
	}
	if closing {
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return begun, err
		}
	}
	begun = time.Now()
	if _, err := f.Write(text[len(text)/2:]); err != nil {
		return begun, err
	}
	return begun, f.Close()
}
