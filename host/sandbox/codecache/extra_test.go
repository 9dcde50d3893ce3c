package codecache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"waymark/host/sandbox/codecache"
	"waymark/test/testenv"
)

// TestExtra: what is packed with code is found with it, wherever that was placed, and is
// of no account to the code; what is kept hasn't got it.
func TestExtra(t *testing.T) {
	var packed bytes.Buffer
	must(t, codecache.Ahead(t.Context(), &packed, small(), codecache.Recipe{}, nil))
	text, pages := []byte("a text"), bytes.Repeat([]byte("pages "), 20_000)
	pack, err := codecache.WithExtra(packed.Bytes(), text, pages)
	must(t, err)
	if _, err := codecache.WithExtra(pack, text, pages); err == nil {
		t.Error("it was packed twice")
	}
	for name, bad := range map[string][]byte{"nothing": nil, "no pack": pages, "cut": packed.Bytes()[:packed.Len()-1]} {
		if _, err := codecache.WithExtra(bad, text, pages); err == nil {
			t.Errorf("it was packed with %s", name)
		}
	}
	if _, err := codecache.WithExtra(packed.Bytes(), nil, pages); err == nil {
		t.Error("pages were packed without a text")
	}
	none, err := codecache.WithExtra(packed.Bytes(), text, nil)
	must(t, err)
	_, placed, err := codecache.Place(pack, slices.Concat(make([]byte, 54321), pack))
	must(t, err)
	if bytes.Equal(placed, pack) {
		t.Error("it wasn't moved")
	}
	for name, tt := range map[string]struct{ pack, pages []byte }{"written": {pack, pages}, "placed": {placed, pages}, "no pages": {none, nil}} {
		code, err := loadExtra(t, codecache.Options{}, tt.pack)
		must(t, err)
		e, err := code.Extra()
		must(t, err)
		got, err := io.ReadAll(e.Pages)
		must(t, err)
		if !bytes.Equal(e.Text, text) || !bytes.Equal(got, tt.pages) || e.File != nil {
			t.Errorf("%s: it is %q, and %d bytes", name, e.Text, len(got))
		}
		must(t, code.Close())
	}
	code, err := loadExtra(t, codecache.Options{}, packed.Bytes())
	must(t, err)
	if e, err := code.Extra(); !errors.Is(err, codecache.ErrNoExtra) {
		t.Errorf("there is %v, %v", e, err)
	}
	must(t, code.Close())
	for range 2 { // compiled, and kept
		code, err := loadExtra(t, codecache.Options{Dir: filepath.Join(t.TempDir(), "code")}, nil)
		must(t, err)
		if e, err := code.Extra(); !errors.Is(err, codecache.ErrNoExtra) {
			t.Errorf("of %s code there is %v, %v", code.Source, e, err)
		}
		must(t, code.Close())
	}
}

// TestDamagedExtra: what is damaged isn't given to anybody, and the code is.
func TestDamagedExtra(t *testing.T) {
	var packed bytes.Buffer
	must(t, codecache.Ahead(t.Context(), &packed, small(), codecache.Recipe{}, nil))
	text, pages := bytes.Repeat([]byte("text "), 500), bytes.Repeat([]byte("pages "), 20_000)
	pack, err := codecache.WithExtra(packed.Bytes(), text, pages)
	must(t, err)
	random := testenv.Rand(t)
	describes := len(packMagicOf(pack)) + 3*32 + 8 + 3*8 // in the head, what is packed
	for _, part := range [][2]int{
		{describes, describes + 32 + 8 + 16},
		{bytes.Index(pack, text), bytes.Index(pack, text) + len(text)},
		{bytes.LastIndex(pack, pages), bytes.LastIndex(pack, pages) + len(pages)},
	} {
		for range testenv.Rounds(5, 20, 500) {
			damaged, at := bytes.Clone(pack), part[0]+random.IntN(part[1]-part[0])
			damaged[at] ^= 1 << random.IntN(8)
			code, err := loadExtra(t, codecache.Options{}, damaged)
			must(t, err)
			if e, err := code.Extra(); err == nil || e != nil {
				t.Errorf("byte %d of %d is another, and it is found", at, len(pack))
			}
			if code.Source != codecache.Embedded {
				t.Errorf("byte %d of %d is another, and the code is %s", at, len(pack), code.Source)
			}
			must(t, code.Close())
		}
	}
}

// loadExtra loads small with packed code and calls it.
func loadExtra(t *testing.T, opts codecache.Options, pack []byte) (*codecache.Code, error) {
	t.Helper()
	req := codecache.Request{Wasm: small()}
	if pack != nil {
		req.Embedded = bytes.NewReader(pack)
	}
	var g guest
	code, err := openCache(t, opts).Load(context.Background(), req, g.use)
	if err == nil {
		must(t, g.Describe(context.Background()))
		must(t, g.Close())
	}
	return code, err
}

func packMagicOf(pack []byte) []byte { return pack[:bytes.IndexByte(pack, '\n')+1] }
