package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	r := Report{
		Machine: Machine{CPU: "slow", CPUs: 2, Load: [2]string{"1.00", "2.00"}},
		Figures: []Figure{
			{Name: "good", Skills: 50, Unit: "ms", Count: 9, Min: 1, Median: 2.04, P95: 3, Target: 4, Ratio: 0.51},
			{Name: "bad", Skills: 200, Unit: "MiB", Count: 1, Min: 80, Median: 80, P95: 80, Target: 40, Ratio: 2, Note: "(twice)"},
			{Name: "free", Skills: 4, Unit: "ms", Count: 2, Min: 1, Median: 2, P95: 3},
		},
	}
	var b strings.Builder
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"slow, 2 CPUs, load average 1.00 before and 2.00 after",
		"",
		"figure skills n min median p95 target ratio",
		"good 50 9 1.0 ms 2.0 ms 3.0 ms ≤ 4.0 ms 0.51",
		"bad 200 1 80.0 MiB ≤ 40.0 MiB 2.00 over (twice)",
		"free 4 2 1.0 ms 2.0 ms 3.0 ms",
	}
	got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTableCompared has a figure of the version before, and one that it hasn't.
func TestTableCompared(t *testing.T) {
	t.Parallel()
	r := Report{Figures: []Figure{
		{Name: "old", Skills: 50, Unit: "ms", Count: 9, Min: 1, Median: 2, P95: 3, Target: 4, Ratio: 0.5, Before: 8, Change: 0.25},
		{Name: "new", Skills: 4, Count: 1, Median: 2, Note: "(so far)"},
	}}
	var b strings.Builder
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, want := range []string{
		"figure skills n min median p95 target ratio before change",
		"old 50 9 1.0 ms 2.0 ms 3.0 ms ≤ 4.0 ms 0.50 8.0 ms × 0.25",
		"new 4 1 2.0 (so far)",
	} {
		if got := strings.Join(strings.Fields(lines[i+2]), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNoAgent(t *testing.T) {
	t.Parallel()
	_, err := Measure(t.Context(), Options{Agent: t.TempDir() + "/agent"})
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without an agent: %v", err)
	}
}
