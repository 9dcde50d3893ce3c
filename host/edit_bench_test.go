package host_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/watch"
	"waymark/snapshot"
)

// BenchmarkEdit: one skill of many is edited in place, below the head that its
// resolver reads or in it, and the host refreshed, beside a refresh after which nothing
// had changed. CPU is the process's, without the new spare instance.
func BenchmarkEdit(b *testing.B) {
	for _, n := range skillSizes {
		for _, where := range []string{"body", "head"} {
			b.Run(fmt.Sprintf("skills=%d/%s", n, where), func(b *testing.B) {
				dir := skillTree(b, n)
				h := benchHost(b, host.Options{Roots: []host.RootSpec{{Path: dir}}})
				edit := skillEditor(b, dir, where)
				refresh := func() {
					if _, err := h.Refresh(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				refresh()
				var edited, unchanged, cpu []time.Duration
				for b.Loop() {
					h.Settle(b.Context())
					unchanged = append(unchanged, timed(refresh))
					edit()
					before := cpuTime(b)
					edited = append(edited, timed(refresh))
					cpu = append(cpu, cpuTime(b)-before)
				}
				report(b, "edited", median(edited))
				report(b, "edited-cpu", median(cpu))
				report(b, "unchanged", median(unchanged))
			})
		}
	}
}

// skillEditor returns what edits the first skill of a skillTree, each time to another text.
func skillEditor(b *testing.B, dir, where string) func() {
	b.Helper()
	path := filepath.Join(dir, "skills/skill-000/SKILL.md")
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	return func() {
		i++
		next := fmt.Appendf(text[:len(text):len(text)], "edit %d\n", i)
		if where == "head" {
			next = bytes.Replace(text, []byte("is good for"), fmt.Appendf(nil, "is good for %d", i), 1)
		}
		if err := os.WriteFile(path, next, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNear: the same after a hint, which is what an event does: how long it
// takes until the edit is in the snapshot, how long when nothing was changed, and then
// the check of everything else.
func BenchmarkNear(b *testing.B) {
	for _, n := range append(slices.Clone(skillSizes), 4000) {
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			dir := skillTree(b, n)
			reports := make(chan *host.Report, 16)
			h := benchHost(b, host.Options{
				Roots: []host.RootSpec{{Path: dir}}, Watch: noEvents,
				Caps:    snapshot.Caps{MaxResources: 4000, MaxBytes: 64 << 20, MaxListed: 5000},
				Observe: func(r *host.Report) { reports <- r },
			})
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- h.Run(ctx) }()
			next := func(reason string) time.Duration {
				for {
					if r := <-reports; r.Reason == reason {
						return r.Duration
					}
				}
			}
			next("start")
			h.Settle(ctx)
			edit := skillEditor(b, dir, "body")
			var edited, unchanged, rest, cpu []time.Duration
			path := filepath.Join(dir, "skills/skill-000/SKILL.md")
			for b.Loop() {
				edit()
				before := cpuTime(b)
				h.Hint(path)
				edited = append(edited, next("hint"))
				cpu = append(cpu, cpuTime(b)-before)
				h.Hint(path)
				unchanged = append(unchanged, next("hint"))
				if n > 200 { // all of smaller ones is checked with the hint
					rest = append(rest, next(watch.ReasonRecheck))
				}
			}
			cancel()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
			report(b, "edited", median(edited))
			report(b, "edited-cpu", median(cpu))
			report(b, "unchanged", median(unchanged))
			if len(rest) > 0 {
				report(b, "rest", median(rest))
			}
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
