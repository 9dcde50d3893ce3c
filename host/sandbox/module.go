package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"waymark/abi"
	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/meter"
	"waymark/host/vfs"
	"waymark/internal/text"
)

// Module is a compiled resolver module with its description. It is safe for concurrent use.
// Close it when nothing uses it any more.
type Module struct {
	host    *Host
	log     *slog.Logger
	limits  Limits
	digest  string
	desc    *abi.Description
	program *program
	code    *codecache.Code
	meta    rewriteMeta
	image   *image // what instances start from; nil if each is initialized
	plain   string // why there is no image, for people
	waits   int    // see governor.again
	ahead   bool   // the image was made when the program was built

	spares

	closeOnce sync.Once
}

// Load admits, meters, compiles and describes a module. An ErrRejected means that the module
// is at fault, and says what to do. Other errors are the host's, or the machine's, which may
// be too busy.
func (h *Host) Load(ctx context.Context, wasm []byte, limits Limits) (*Module, error) {
	if err := checkHeader(wasm); err != nil { // before a process is started for it
		return nil, err
	}
	return h.load(ctx, codecache.Request{Wasm: wasm, Digest: sha256.Sum256(wasm)}, limits)
}

// LoadNative is Load for the program's own module, with the native code and image that Ahead
// has made. If these don't fit this machine, they are ignored; a nil native has none. native
// is read at most once. The module itself is read only if it has to be compiled, and must
// then have the given digest, its SHA-256 in hexadecimal.
func (h *Host) LoadNative(ctx context.Context, digest string, read func() ([]byte, error), native io.ReaderAt, limits Limits) (*Module, error) {
	req := codecache.Request{Own: true, Embedded: native, Read: func() ([]byte, error) {
		wasm, err := read()
		if err == nil {
			err = checkHeader(wasm)
		}
		return wasm, err
	}}
	if n, err := hex.Decode(req.Digest[:], []byte(digest)); err != nil || n != len(req.Digest) {
		return nil, fmt.Errorf("%q is no digest of a module", digest)
	}
	return h.load(ctx, req, limits)
}

// load loads a module and calls describe.
func (h *Host) load(ctx context.Context, req codecache.Request, limits Limits) (*Module, error) {
	m, err := h.loadCode(ctx, req, limits)
	if err != nil {
		return nil, err
	}
	if err := m.describe(ctx, req); err != nil {
		return nil, errors.Join(err, m.freeCode())
	}
	return m, nil
}

// loadCode loads a module without calling it.
func (h *Host) loadCode(ctx context.Context, req codecache.Request, limits Limits) (*Module, error) {
	limits = limits.WithDefaults()
	program, code, err := h.compile(ctx, req, limits)
	if err != nil {
		return nil, asReject(err)
	}
	m := &Module{host: h, log: h.log, limits: limits, program: program, code: code}
	m.digest = hex.EncodeToString(req.Digest[:])
	if req.Own {
		m.waits = ownWaits
	}
	if err := json.Unmarshal(code.Meta, &m.meta); err != nil {
		return nil, errors.Join(err, m.freeCode())
	}
	return m, nil
}

// freeCode frees the native code.
func (m *Module) freeCode() error {
	return errors.Join(m.program.Close(context.Background()), m.code.Close())
}

// describe obtains the module's description and the initial state of its instances: from what
// came with its native code, or from an instance.
func (m *Module) describe(ctx context.Context, req codecache.Request) error {
	var in *instance
	if !m.useAhead() {
		err := m.readData(req)
		if err != nil {
			return err
		}
		if in, _, err = m.ask(ctx); err != nil {
			return err
		}
		m.keepImage(in)
	}
	m.program.keepData()
	m.startSpares()
	if m.image == nil {
		m.ready <- in
		return nil
	}
	if in != nil {
		in.close() // its memory isn't shared, and it may be long until a run needs it
	}
	m.wake.Set()
	return nil
}

// readData makes the initial memory content available. Code that was packed with an image
// comes without it; if the image isn't used, the module is rewritten once more.
func (m *Module) readData(req codecache.Request) error {
	if err := m.meta.check(m.program.data); err == nil || m.code.Source != codecache.Embedded {
		return err
	}
	wasm, err := req.Module()
	if err != nil {
		return err
	}
	r, err := recipe(m.limits)
	if err != nil {
		return err
	}
	if wasm, _, err = rewrite(wasm, r.RewriteOptions); err != nil {
		return err
	}
	if m.program.data, err = meter.Data(wasm); err != nil {
		return err
	}
	return m.meta.check(m.program.data)
}

// ask makes an instance and returns its description, decoded and as received.
func (m *Module) ask(ctx context.Context) (*instance, []byte, error) {
	in, out, err := m.initialize(ctx)
	if err != nil {
		var run *RunError
		switch {
		case !errors.As(err, &run):
			return nil, nil, reject("import only what abi/ABI.md lists, with the signatures given there",
				"it can't be instantiated: %s", text.Line(err.Error(), guestTextMax))
		case errors.Is(run, ErrCanceled):
			return nil, nil, err
		}
		return nil, nil, undescribed(run)
	}
	if m.desc, err = decodeDescription(out); err != nil {
		in.close()
		return nil, nil, err
	}
	return in, out, nil
}

// undescribed returns the rejection of a module whose describe failed.
func undescribed(run *RunError) error {
	e := &RejectError{Reason: "describe fails: " + describeFailure(run), Hint: `run it in a debugger or with fewer imports; see abi/ABI.md, "describe"`}
	if errors.Is(run, ErrDeadline) {
		e.Cause = ErrDeadline
	}
	switch {
	case errors.Is(run, ErrGuest): // it has said itself what is wrong
		e.Hint = `mend the description, which in Go is what guest.Serve gets; see abi/ABI.md, "describe"`
	case run.Busy:
		e.Hint = "try again when there is less to do; a running agent does so by itself"
	}
	return e
}

func describeFailure(run *RunError) string {
	text := run.Kind.Error()
	for _, s := range []string{run.Detail, run.GuestText} {
		if s != "" {
			text += ": " + s
		}
	}
	return text + at(run.Where)
}

// Description says what the module holds. Don't change it.
func (m *Module) Description() *abi.Description { return m.desc }

// Digest is the SHA-256 of the module as it was loaded, in hexadecimal.
func (m *Module) Digest() string { return m.digest }

// Limits returns the limits that the module runs under, defaults filled in.
func (m *Module) Limits() Limits { return m.limits }

// Result is the result of one run.
type Result struct {
	Response *abi.Response
	// Rows is the number of resources in the answer. Response has at most 20,000 of them.
	Rows        int
	Logs        []LogLine
	LogsDropped int
	// Output is what the guest wrote to standard output and standard error since it was
	// instantiated, in order: any bytes, the first and the last 32 KiB. It is empty without
	// Options.Output.
	Output string
	// Fuel is what the run used; see Limits. It is equal for equal runs, and up to a slice
	// too high for one that was stopped.
	Fuel int64
	// PeakMemory is the most memory that the instance had, the module's linear memory and its
	// blocks together, in bytes.
	PeakMemory int64
	// Duration is wall-clock time spent in the guest, without preparing the instance.
	Duration time.Duration
}

// Resolve runs one resolver on a root. run bounds what it may see and use of the root; the
// caller begins and closes run. Errors are a *RunError. On an error the result holds only
// what the guest said and used.
func (m *Module) Resolve(ctx context.Context, req *abi.Request, run *vfs.Run) (*Result, error) {
	input, err := json.Marshal(req)
	if err != nil {
		return &Result{}, m.runError(req.Resolver, &RunError{Kind: ErrAnswer, Detail: "the request can't be encoded: " + err.Error()})
	}
	return m.ResolveJSON(ctx, req.Resolver, input, run)
}

// ResolveJSON is Resolve with a request in its text form, which may be anything. It is for
// testing how a module handles requests that this host doesn't make. resolver names the
// intended resolver.
func (m *Module) ResolveJSON(ctx context.Context, resolver string, input []byte, run *vfs.Run) (*Result, error) {
	in, err := m.take(ctx)
	if err != nil {
		return &Result{}, m.runError(resolver, err)
	}
	in.bind(run)
	start := time.Now()
	out, err := in.call(ctx, abi.ExportResolve, input)
	in.fs.unbind() // the guest doesn't pay for the host's later questions
	run.DropUnit()
	res := &Result{Duration: time.Since(start), Fuel: in.gov.fuel(), PeakMemory: in.memory.Peak(), Logs: in.logs.lines, LogsDropped: in.logs.dropped}
	if in.output != nil {
		res.Output = in.output.String()
	}
	m.retire(in)
	if m.withholds(resolver) {
		res.LogsDropped += len(res.Logs)
		res.Logs = nil
	}
	if err == nil {
		res.Response, res.Rows, err = decodeResponse(out)
	}
	if err != nil {
		return res, m.runError(resolver, err)
	}
	if m.withholds(resolver) {
		res.Response.Warnings = nil
	}
	return res, nil
}

// Withholds reports whether the own words of a resolver of these kinds must not be repeated.
// One that may read settings files could put a token into any of them.
func Withholds(kinds []abi.Kind) bool {
	return slices.Contains(kinds, abi.KindMCPConfig) || vfs.SeesSettings(kinds)
}

func (m *Module) withholds(resolver string) bool {
	for _, r := range m.desc.Resolvers {
		if r.Name == resolver {
			return Withholds(r.Kinds)
		}
	}
	return true
}

func (m *Module) runError(resolver string, err error) error {
	var run *RunError
	if !errors.As(err, &run) {
		run = &RunError{Kind: ErrCrashed, Detail: text.Line(err.Error(), guestTextMax)}
	}
	run.Module, run.Resolver = m.desc.Name, resolver
	if m.withholds(resolver) {
		if run.GuestText != "" || errors.Is(run, ErrAnswer) {
			run.GuestText, run.Detail = "", "its own words are withheld, because it reads files that hold tokens"
		}
		run.Where, run.Stack = "", nil // a guest can make the failing function depend on what it read
	}
	return run
}

// Close stops preparing spares and frees the compiled code. Active runs end with ErrCrashed.
// It is safe to call twice.
func (m *Module) Close() error {
	var err error
	m.closeOnce.Do(func() {
		m.closeSpares()
		err = m.freeCode()
		if m.image != nil {
			err = errors.Join(err, m.image.memory.Close())
		}
	})
	return err
}
