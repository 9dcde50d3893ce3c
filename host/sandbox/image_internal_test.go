package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/host/sandbox/codecache"
	"waymark/test/built"
)

// BenchmarkInstance: an instance of the built-in module, made, used for one run
// over 200 skills, and closed, with images and without, in turn. It is internal
// because nobody else sees instances. Medians; ns/op means nothing.
func BenchmarkInstance(b *testing.B) {
	path, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		b.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	input, err := json.Marshal(abi.Request{ABI: abi.Version, Resolver: "context", Root: abi.Root{Name: "root"}})
	if err != nil {
		b.Fatal(err)
	}
	run := skillsRun(b)
	modules := map[string]*Module{}
	for name, off := range map[string]bool{"image": false, "plain": true} {
		m, err := New(Options{CacheDir: built.CodeCache(), NoImages: off}).Load(b.Context(), wasm, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = m.Close() }()
		modules[name] = m
	}
	figures := map[string][]float64{}
	add := func(name string, f func()) {
		faults, cpu, start := usage()
		f()
		took := time.Since(start)
		faultsAfter, cpuAfter, _ := usage()
		figures[name+"-ms"] = append(figures[name+"-ms"], took.Seconds()*1e3)
		figures[name+"-cpu-ms"] = append(figures[name+"-cpu-ms"], float64(cpuAfter-cpu)/1e6)
		figures[name+"-faults"] = append(figures[name+"-faults"], float64(faultsAfter-faults))
	}
	for b.Loop() {
		for name, m := range modules {
			var in *instance
			r := run()
			add(name+"-new", func() {
				if in, err = m.newInstance(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
			in.bind(r)
			add(name+"-run", func() {
				if _, err := in.call(b.Context(), abi.ExportResolve, input); err != nil {
					b.Fatal(err)
				}
			})
			add(name+"-close", func() { m.discard(in) })
			_ = r.Close()
		}
	}
	for name, list := range figures {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(float64(modules["image"].Instances().Hot)/1024, "hot-KiB")
	b.ReportMetric(float64(modules["image"].Instances().Kept)/1024, "kept-KiB")
	b.ReportMetric(float64(modules["image"].Instances().Bytes)/1024, "image-KiB")
}

// BenchmarkAhead: what a start takes to have the image of the built-in module, from an
// instance that is initialized and from what a build has made, mapped from a file as an
// agent does and copied into a memory file, in turn. It is internal because all else that
// loading does is much more. Medians; ns/op means nothing.
func BenchmarkAhead(b *testing.B) {
	path, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		b.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var native bytes.Buffer
	if err := Ahead(b.Context(), &native, wasm); err != nil {
		b.Fatal(err)
	}
	req := codecache.Request{Wasm: wasm, Digest: sha256.Sum256(wasm), Embedded: bytes.NewReader(native.Bytes())}
	m, err := New(Options{}).loadCode(b.Context(), req, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.freeCode() }()
	extra, err := m.code.Extra()
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.Copy(f, extra.Pages); err != nil {
		b.Fatal(err)
	}
	if err := m.readData(req); err != nil { // code with an image comes without it
		b.Fatal(err)
	}
	data := m.program.data
	figures := map[string][]float64{}
	add := func(name string, prepare func()) {
		m.image, m.program.data = nil, data
		faults, cpu, start := usage()
		prepare()
		took := time.Since(start)
		faultsAfter, cpuAfter, _ := usage()
		figures[name+"-ms"] = append(figures[name+"-ms"], took.Seconds()*1e3)
		figures[name+"-cpu-ms"] = append(figures[name+"-cpu-ms"], float64(cpuAfter-cpu)/1e6)
		figures[name+"-faults"] = append(figures[name+"-faults"], float64(faultsAfter-faults))
		if m.image == nil {
			b.Fatal(m.plain)
		}
		_ = m.image.memory.Close()
	}
	read := func(file *os.File) {
		e, err := m.code.Extra()
		if err == nil {
			e.File, e.At = file, 0
			m.desc, m.image, err = m.readAhead(e)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		add("initialized", func() {
			in, _, err := m.ask(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			m.keepImage(in)
			in.close()
		})
		add("mapped", func() { read(f) })
		add("copied", func() { read(nil) })
	}
	for name, list := range figures {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(float64(extra.Pages.Size())/1024, "image-KiB")
}

// usage is how many page faults there were that no disk was needed for, and the
// time on all processors.
func usage() (faults, cpu int64, now time.Time) {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return r.Minflt, r.Utime.Nano() + r.Stime.Nano(), time.Now()
}
