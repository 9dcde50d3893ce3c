package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"waymark/abi"
	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/memory"
	"waymark/internal/text"
)

// imageVersion is raised whenever a change of the host may give fresh instances another
// state: what host functions answer and charge, the clock, the random numbers, where blocks
// lie. Older images aren't used any more. The key of the native code covers what concerns the
// code.
const imageVersion = 1

// writtenImage is an image as it is packed with native code, without the memory's content.
type writtenImage struct {
	Version int
	// Limits are those under which the image was made and must be used, except for fuel and
	// the answer's length: Used and Described tell whether those would have been kept.
	Limits    Limits
	Used      int64
	Described []byte
	Memory    memory.Layout
	Globals   []uint64
	Blocks    uint64
	Fuel      int64
	Clock     int64
	Random    []byte // as rand.ChaCha8 marshals itself
	Logs      writtenLogs
	Stderr    writtenOutput
	Output    writtenOutput
	Early     int
	Preopened bool
}

type writtenLogs struct {
	Used, Dropped int
	Lines         []LogLine
}

type writtenOutput struct {
	Head, Tail []byte
	Written    int64
}

// bounds returns the limits that have to be equal. Time isn't one of them, because a module
// that takes too long has no image.
func (l Limits) bounds() Limits {
	l.Time, l.Fuel, l.Response = 0, 0, 0
	return l
}

// kept reports whether describe would have stayed within the limits.
func (w *writtenImage) kept(l Limits) bool {
	return w.Limits == l.bounds() && len(w.Described) <= l.Response && (l.Fuel == 0 || w.Used < l.Fuel)
}

// aheadTime is how long a module may take to describe itself when it is packed. Build
// machines are often busy.
const aheadTime = time.Minute

// Ahead compiles a module ahead of time, for machines like this one and the default limits.
// It writes what LoadNative reads: native code and, unless the module's instances are plain,
// an image for them. It is for build tools.
//
// # Errors
//
// Those of Load, and those of w.
func Ahead(ctx context.Context, w io.Writer, wasm []byte) error {
	var code bytes.Buffer
	r, err := recipe(Limits{}.WithDefaults())
	if err == nil {
		err = codecache.Ahead(ctx, &code, wasm, r, rewrite)
	}
	if err != nil {
		return err
	}
	pack, err := withImage(ctx, wasm, code.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(pack)
	return err
}

// withImage adds an image to native code.
func withImage(ctx context.Context, wasm, code []byte) (pack []byte, err error) {
	h := New(Options{Output: true}) // the loading program may want that
	m, err := h.loadCode(ctx, codecache.Request{Wasm: wasm, Digest: sha256.Sum256(wasm), Embedded: bytes.NewReader(code)}, Limits{Time: aheadTime})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.freeCode()) }()
	in, described, err := m.ask(ctx)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if m.keepImage(in); m.image == nil {
		return code, nil
	}
	defer func() { err = errors.Join(err, m.image.memory.Close()) }()
	head, content, err := m.image.write(m.limits, described, in.gov.granted+in.gov.charged)
	if err != nil {
		return nil, err
	}
	return codecache.WithExtra(code, head, content)
}

// write serializes an image that was made under the given limits. described is the instance's
// answer to describe, used the fuel that took at most.
func (i *image) write(limits Limits, described []byte, used int64) (head, content []byte, err error) {
	w := writtenImage{
		Version: imageVersion, Limits: limits.bounds(), Used: used, Described: described,
		Memory: i.memory.Layout(), Globals: i.globals, Blocks: i.blocks, Fuel: i.fuel, Clock: i.clock.ns,
		Logs:   writtenLogs{i.logs.used, i.logs.dropped, i.logs.lines},
		Stderr: i.stderr.write(), Output: i.output.write(), Early: i.early, Preopened: i.preopened,
	}
	if w.Random, err = i.random.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	if content, err = io.ReadAll(i.memory.Content()); err != nil {
		return nil, nil, err
	}
	head, err = json.Marshal(w)
	return head, content, err
}

func (o *output) write() writtenOutput { return writtenOutput{o.head, o.tail, o.written} }

func (w writtenOutput) read(most int) output {
	return output{max: most, head: w.Head, tail: w.Tail, written: w.Written}
}

// errOtherImage says that an image is intact but was made for another version or other
// limits.
var errOtherImage = errors.New("made under other limits or by another version")

// useAhead takes the module's image from what was packed with its native code. It returns
// false if nothing fits; instances are then initialized.
func (m *Module) useAhead() bool {
	if m.host.opts.NoImages {
		return false
	}
	var desc *abi.Description
	var i *image
	extra, err := m.code.Extra()
	if err == nil {
		desc, i, err = m.readAhead(extra)
	}
	switch {
	case err == nil:
		m.desc, m.image, m.program.data, m.ahead = desc, i, nil, true
		return true
	case errors.Is(err, codecache.ErrNoExtra):
	case errors.Is(err, errOtherImage), errors.Is(err, memory.ErrNoImage):
		m.log.Debug("the image made ahead of time doesn't fit", slog.Any("error", err))
	default:
		m.log.Warn("the image made ahead of time is not used", slog.String("error", text.Line(err.Error(), guestTextMax)))
	}
	return false
}

// readAhead makes an image of what withImage has packed.
func (m *Module) readAhead(extra *codecache.Extra) (*abi.Description, *image, error) {
	var w writtenImage
	if err := json.Unmarshal(extra.Text, &w); err != nil {
		return nil, nil, err
	}
	switch {
	case w.Version != imageVersion, !w.kept(m.limits):
		return nil, nil, errOtherImage
	case m.meta.Fixed != "", len(w.Globals) != m.meta.Globals, w.Memory.Bytes() != uint64(extra.Pages.Size()): //nolint:gosec // not negative
		return nil, nil, errors.New("it isn't one of this module")
	}
	desc, err := decodeDescription(w.Described)
	if err != nil {
		return nil, nil, err
	}
	i := &image{
		globals: w.Globals, blocks: w.Blocks, fuel: w.Fuel, clock: virtualClock{w.Clock},
		logs:   logKeeper{max: m.limits.Logs, used: w.Logs.Used, dropped: w.Logs.Dropped, lines: w.Logs.Lines},
		stderr: w.Stderr.read(stderrMax), early: w.Early, preopened: w.Preopened,
	}
	if m.host.opts.Output {
		o := w.Output.read(outputMax)
		i.output = &o
	}
	if err := i.random.UnmarshalBinary(w.Random); err != nil {
		return nil, nil, err
	}
	if i.memory, err = memoryOf(&w, extra); err != nil {
		return nil, nil, err
	}
	return desc, i, nil
}

// memoryOf returns the memory content of an image: in the program's file if the code is
// executed from there, else a copy.
func memoryOf(w *writtenImage, extra *codecache.Extra) (*memory.Image, error) {
	if extra.File != nil {
		if i, err := memory.MapImage(w.Memory, extra.File, extra.At); err == nil {
			return i, nil
		}
	}
	i, err := memory.CopyImage(w.Memory, extra.Pages)
	if err != nil {
		return nil, fmt.Errorf("the memory: %w", err)
	}
	return i, nil
}
