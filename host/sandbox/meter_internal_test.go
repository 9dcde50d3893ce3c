package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/test/built"
)

// BenchmarkMetering runs the built-in skills resolver on 200 skills of 8 KiB:
// metered, as it is, and as it is with wazero's close-on-context-done, in
// alternation. It reports medians, and ratios to the unmetered one.
func BenchmarkMetering(b *testing.B) {
	path, err := built.Guest(b.Context(), "waymark/plugins/builtin")
	if err != nil {
		b.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	metered, err := admit(wasm, 1024)
	if err != nil {
		b.Fatal(err)
	}
	run := skillsRun(b)
	kinds := []struct {
		name    string
		program *program
		times   []time.Duration
	}{
		{name: "unmetered", program: compilePlain(b, wasm, false)},
		{name: "metered", program: compilePlain(b, metered.Wasm, false)},
		{name: "closeondone", program: compilePlain(b, wasm, true)},
	}
	for b.Loop() {
		for i := range kinds {
			kinds[i].times = append(kinds[i].times, timeResolve(b, kinds[i].program, run()))
		}
	}
	base := float64(0)
	for _, k := range kinds {
		slices.Sort(k.times)
		ms := float64(k.times[len(k.times)/2].Nanoseconds()) / 1e6
		if base == 0 {
			base = ms
		}
		b.ReportMetric(ms, k.name+"-ms")
		b.ReportMetric(ms/base, k.name+"-ratio")
	}
}

// skillsRun makes a workspace and returns what begins a run on it.
func skillsRun(b *testing.B) func() *vfs.Run {
	b.Helper()
	dir := b.TempDir()
	for i := range 200 {
		name := fmt.Sprintf("skill-%03d", i)
		skill := filepath.Join(dir, "skills", name)
		if err := os.MkdirAll(skill, 0o700); err != nil {
			b.Fatal(err)
		}
		text := "---\nname: " + name + "\ndescription: What it is good for\n---\n" + strings.Repeat("Some text.\n", 740)
		if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = root.Close() })
	filter, err := vfs.View{Reads: []string{"skills/*/SKILL.md"}}.Compile()
	if err != nil {
		b.Fatal(err)
	}
	return func() *vfs.Run { return root.Begin(filter, vfs.Limits{}) }
}

func compilePlain(b *testing.B, wasm []byte, closeOnDone bool) *program {
	b.Helper()
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(closeOnDone).WithMemoryLimitPages(1024)
	p, err := newProgram(b.Context(), config, wasm)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// timeResolve is one run on a fresh, prepared instance, metered or not.
func timeResolve(b *testing.B, p *program, run *vfs.Run) time.Duration {
	b.Helper()
	m := &Module{host: &Host{}, limits: Limits{}.WithDefaults(), program: p}
	in := m.blankInstance(b.Context())
	if err := in.instantiate(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	defer func() { in.close(); _ = run.Close() }()
	// Close-on-done watches a context that can end.
	cancelable, cancel := context.WithCancel(b.Context())
	defer cancel()
	ctx := &runContext{cancelable, in}
	for _, name := range []string{exportInitialize, abi.ExportDescribe} {
		if _, err := in.module.ExportedFunction(name).Call(ctx); err != nil {
			b.Fatal(err)
		}
	}
	input, err := json.Marshal(abi.Request{ABI: abi.Version, Resolver: "context", Root: abi.Root{Name: "root"}})
	if err != nil {
		b.Fatal(err)
	}
	in.bind(run)
	start := time.Now()
	in.blocks.reset()
	if in.blocks.input, err = in.blocks.put(input); err != nil {
		b.Fatal(err)
	}
	rc, err := in.module.ExportedFunction(abi.ExportResolve).Call(ctx)
	out := in.blocks.output()
	took := time.Since(start)
	if err != nil || rc[0] != 0 || strings.Count(string(out), `"kind"`) != 200 {
		b.Fatalf("rc %d, %d bytes, %v", rc, len(out), err)
	}
	return took
}
