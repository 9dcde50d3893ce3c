package host_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host"
	"waymark/plugins"
)

// The benchmarks measure pairs in alternation, because the machine is noisy:
// what is reported are medians over all iterations, and their ratio. ns/op is
// the sum of both sides and means nothing.

// skillSizes are the numbers of skills of 8 KiB each, the sizes of the table in
// the design's section 7.
var skillSizes = []int{4, 50, 200, 450}

// skillTree makes a workspace with n skills of 8 KiB, spread over the four
// containers, an AGENTS.md and a .mcp.json.
func skillTree(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	containers := []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}
	for i := range n {
		name := fmt.Sprintf("skill-%03d", i)
		head := "---\nname: " + name + "\ndescription: What skill number " + fmt.Sprint(i) + " is good for\n---\n"
		write(containers[i%4]+"/"+name+"/SKILL.md", head+strings.Repeat("Some text.\n", (8192-len(head))/11))
	}
	write("AGENTS.md", "# Agents\n"+strings.Repeat("More text.\n", 100))
	write(".mcp.json", `{"mcpServers":{"a":{"command":"b"}}}`)
	return dir
}

func benchHost(b *testing.B, opts host.Options) *host.Host {
	b.Helper()
	opts.Builtin, opts.CacheDir = module(builtin(b)), cacheDir
	h, err := host.New(opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	if err := h.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	return h
}

// native does what the built-in resolvers do without a sandbox: the same code
// on the plain file system, and every file read and hashed.
func native(b *testing.B, dir string) {
	b.Helper()
	m := plugins.Module()
	root := os.DirFS(dir)
	for _, r := range m.Resolvers {
		input, err := json.Marshal(abi.Request{ABI: 1, Resolver: r.Name, Root: abi.Root{Name: filepath.Base(dir)}})
		if err != nil {
			b.Fatal(err)
		}
		output, err := m.HandleResolve(input, root)
		if err != nil {
			b.Fatal(err)
		}
		var resp struct {
			Resources []struct{ Content struct{ File string } }
		}
		if err := json.Unmarshal(output, &resp); err != nil {
			b.Fatal(err)
		}
		for _, res := range resp.Resources {
			data, err := os.ReadFile(filepath.Join(dir, res.Content.File))
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(data)
		}
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func report(b *testing.B, name string, d time.Duration) {
	b.Helper()
	b.ReportMetric(float64(d.Nanoseconds())/1e6, name+"-ms")
}

// BenchmarkResolve: a full resolve through the sandbox, nothing memoised, with
// spare instances ready, beside the same resolvers without a sandbox. It also runs
// in the tree of an earlier version, in alternation with which it shows what a cold
// run has become.
func BenchmarkResolve(b *testing.B) {
	for _, n := range skillSizes {
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			dir := skillTree(b, n)
			h := benchHost(b, host.Options{Roots: []host.RootSpec{{Path: dir}}, NoMemo: true})
			var sandboxed, used, plain []time.Duration
			refresh := func() {
				if _, err := h.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			refresh()
			for b.Loop() {
				plain = append(plain, timed(func() { native(b, dir) }))
				// The spares of the run before are prepared meanwhile, as they
				// are between two edits.
				h.Settle(b.Context())
				before := cpuTime(b)
				sandboxed = append(sandboxed, timed(refresh))
				used = append(used, cpuTime(b)-before)
			}
			s, p := median(sandboxed), median(plain)
			report(b, "sandbox", s)
			report(b, "sandbox-least", sandboxed[0])
			report(b, "sandbox-cpu", median(used))
			report(b, "native", p)
			b.ReportMetric(float64(s)/float64(p), "ratio")
		})
	}
}

// BenchmarkUnchanged: a re-resolve when nothing changed, beside a full one.
func BenchmarkUnchanged(b *testing.B) {
	for _, n := range skillSizes {
		b.Run(fmt.Sprintf("skills=%d", n), func(b *testing.B) {
			roots := []host.RootSpec{{Path: skillTree(b, n)}}
			memo := benchHost(b, host.Options{Roots: roots})
			full := benchHost(b, host.Options{Roots: roots, NoMemo: true})
			refresh := func(h *host.Host) func() {
				return func() {
					if _, err := h.Refresh(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			// A file that was younger than 2 s when it was read is compared by
			// content: measure what holds from then on.
			time.Sleep(2100 * time.Millisecond)
			refresh(memo)()
			refresh(full)()
			var reused, ran []time.Duration
			for b.Loop() {
				reused = append(reused, timed(refresh(memo)))
				full.Settle(b.Context())
				ran = append(ran, timed(refresh(full)))
			}
			r, f := median(reused), median(ran)
			report(b, "reused", r)
			report(b, "full", f)
			b.ReportMetric(float64(r)/float64(f), "ratio")
		})
	}
}

// BenchmarkLoad: loading the built-in module from a warm compile cache, up to
// its description.
func BenchmarkLoad(b *testing.B) {
	var loads []time.Duration
	wasm := builtin(b)
	for b.Loop() {
		loads = append(loads, timed(func() {
			h, err := host.New(host.Options{Builtin: module(wasm), CacheDir: cacheDir})
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := h.Close(); err != nil {
				b.Fatal(err)
			}
		}))
	}
	report(b, "load", median(loads))
}

// BenchmarkFirst: from a new engine to its first snapshot of 50 skills, with a
// warm compile cache.
func BenchmarkFirst(b *testing.B) {
	dir := skillTree(b, 50)
	wasm := builtin(b)
	var firsts []time.Duration
	for b.Loop() {
		firsts = append(firsts, timed(func() {
			h, err := host.New(host.Options{Builtin: module(wasm), CacheDir: cacheDir, Roots: []host.RootSpec{{Path: dir}}})
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
			if _, err := h.Refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := h.Close(); err != nil {
				b.Fatal(err)
			}
		}))
	}
	report(b, "first", median(firsts))
}
