package guesttest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// Options says what is compared. The zero value loads under the default limits,
// and runs every resolver that the module describes on an empty directory.
type Options struct {
	// CacheDir is that of the sandbox, for modules that take long to compile.
	CacheDir string
	// Native, unless nil, is what sandbox.Ahead has made of the module: then it is the image
	// in there that instances begin with, where there can be images.
	Native []byte
	// Limits are the module's. What ends by its time isn't compared: use Fuel for
	// what doesn't end.
	Limits sandbox.Limits
	// Dir is the root that the runs see; "" is an empty one.
	Dir string
	// Requests are what is asked; nil asks each resolver once, without a config.
	Requests []abi.Request
	// Rounds is how often each is asked; 0 means three times. From the second on,
	// pages that were written are made ready, and memories used again.
	Rounds int
}

// Compare loads the module in both ways, runs it, and reports what differs. It
// returns how instances are made where there may be images: nil when the module
// is refused, or late to describe itself.
func Compare(t testing.TB, wasm []byte, opts Options) *sandbox.Instances {
	t.Helper()
	if opts.Limits.Time <= 0 {
		opts.Limits.Time = time.Minute
	}
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	if opts.Rounds <= 0 {
		opts.Rounds = 3
	}
	image, err := load(t, wasm, opts, false)
	plain, plainErr := load(t, wasm, opts, true)
	if errors.Is(err, sandbox.ErrDeadline) || errors.Is(plainErr, sandbox.ErrDeadline) {
		return nil
	}
	if fmt.Sprint(err) != fmt.Sprint(plainErr) {
		t.Errorf("loading ends with\n%v\nand without images with\n%v", err, plainErr)
	}
	if err != nil || plainErr != nil {
		return nil
	}
	if !reflect.DeepEqual(image.Description(), plain.Description()) {
		t.Errorf("it describes itself as %+v, and without images as %+v", image.Description(), plain.Description())
	}
	if how := plain.Instances(); how.Image || how.Reason == "" {
		t.Errorf("images are switched off: %+v", how)
	}
	requests := opts.Requests
	if requests == nil {
		for _, r := range image.Description().Resolvers {
			requests = append(requests, abi.Request{ABI: abi.Version, Resolver: r.Name, Root: abi.Root{Name: "root"}})
		}
	}
	root, err := vfs.OpenRoot(opts.Dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for round := range opts.Rounds {
		for _, req := range requests {
			got, want := outcome(t, image, root, req), outcome(t, plain, root, req)
			for i := range min(len(got), len(want)) {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("round %d, resolver %s: with images\n%s\nwithout\n%s", round, req.Resolver, show(got[i]), show(want[i]))
				}
			}
		}
		image.Settle(t.Context()) // so that the next round uses again what this one has left
	}
	how := image.Instances()
	if how.Ahead != (how.Image && opts.Native != nil) {
		t.Errorf("instances begin with another image: %+v", how)
	}
	return &how
}

func load(t testing.TB, wasm []byte, opts Options, plain bool) (*sandbox.Module, error) {
	t.Helper()
	h := sandbox.New(sandbox.Options{CacheDir: opts.CacheDir, Output: true, NoImages: plain})
	m, err := loadOn(t, h, wasm, opts)
	if err != nil && !errors.Is(err, sandbox.ErrRejected) {
		t.Fatal(err)
	}
	if err == nil {
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return m, err
}

func loadOn(t testing.TB, h *sandbox.Host, wasm []byte, opts Options) (*sandbox.Module, error) {
	t.Helper()
	if opts.Native == nil {
		return h.Load(t.Context(), wasm, opts.Limits)
	}
	read := func() ([]byte, error) { return wasm, nil }
	return h.LoadNative(t.Context(), fmt.Sprintf("%x", sha256.Sum256(wasm)), read, bytes.NewReader(opts.Native), opts.Limits)
}

// outcome is what one run gives and what it has looked at. There is none of a run
// that was late.
func outcome(t testing.TB, m *sandbox.Module, root *vfs.Root, req abi.Request) []any {
	t.Helper()
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	res, err := m.Resolve(t.Context(), &req, run)
	if errors.Is(err, sandbox.ErrDeadline) {
		return nil
	}
	res.Duration = 0
	trace := slices.Clone(run.Trace())
	for i := range trace {
		trace[i].Young = false // a file grows old between two runs
	}
	return []any{res, err, run.Usage(), trace, run.Denied()}
}

func show(v any) string {
	if res, ok := v.(*sandbox.Result); ok {
		return fmt.Sprintf("%+v, response %+v", *res, res.Response)
	}
	return fmt.Sprintf("%+v", v)
}
