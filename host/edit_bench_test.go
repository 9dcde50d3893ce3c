package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"waymark/host"
)

// BenchmarkEdit: one skill of many is edited in place and the host refreshed,
// beside a refresh after which nothing had changed. CPU is the process's.
func BenchmarkEdit(b *testing.B) {
	for _, n := range skillSizes {
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			dir := skillTree(b, n)
			h := benchHost(b, host.Options{Roots: []host.RootSpec{{Path: dir}}})
			path := filepath.Join(dir, "skills/skill-000/SKILL.md")
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			refresh := func() {
				if _, err := h.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			refresh()
			var edited, unchanged, cpu []time.Duration
			for i := 0; b.Loop(); i++ {
				h.Settle(b.Context())
				unchanged = append(unchanged, timed(refresh))
				if err := os.WriteFile(path, fmt.Appendf(text, "edit %d\n", i), 0o600); err != nil {
					b.Fatal(err)
				}
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

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
