package sealedstore_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/internal/sealedstore"
)

func TestPutAndGet(t *testing.T) {
	s, dir, logs := open(t, sealedstore.Options{})
	if got := get(t, s, "a"); got != nil {
		t.Errorf("an empty store holds %q", got)
	}
	for _, data := range []string{"first", "second, longer", "", "third"} {
		put(t, s, "a", []byte(data))
		if got := get(t, s, "a"); string(got) != data {
			t.Errorf("got %q, want %q", got, data)
		}
	}
	put(t, s, "b", bytes.Repeat([]byte("plain text"), 1000))
	raw, err := os.ReadFile(filepath.Join(dir, "b.sealed"))
	must(t, err)
	if bytes.Contains(raw, []byte("plain")) {
		t.Error("the file holds the plain text")
	}
	must(t, s.Delete("a"))
	must(t, s.Delete("a"))
	if get(t, s, "a") != nil || get(t, s, "b") == nil {
		t.Error("Delete removed the wrong one")
	}
	if logs.lines() != 0 {
		t.Errorf("logged: %s", logs)
	}
}

// TestReopen: what one process keeps the next one finds, with its own key only.
func TestReopen(t *testing.T) {
	keyDir := filepath.Join(t.TempDir(), "key")
	s, dir, _ := open(t, sealedstore.Options{KeyDir: keyDir})
	put(t, s, "a", []byte("data"))
	again, err := sealedstore.Open(dir, sealedstore.Options{KeyDir: keyDir})
	must(t, err)
	if got := get(t, again, "a"); string(got) != "data" {
		t.Errorf("got %q", got)
	}
	foreign, err := sealedstore.Open(dir, sealedstore.Options{KeyDir: filepath.Join(t.TempDir(), "other")})
	must(t, err)
	if got := get(t, foreign, "a"); got != nil {
		t.Errorf("another key opens it: %q", got)
	}
}

func TestPutRefuses(t *testing.T) {
	s, _, _ := open(t, sealedstore.Options{MaxBlob: 100})
	if err := tryPut(s, "a", make([]byte, 101)); err == nil {
		t.Error("a blob beyond the bound is taken")
	}
	put(t, s, "a", make([]byte, 100))
	for _, name := range []string{"", ".hidden", "../x", "a/b", "a\x00", strings.Repeat("x", 300)} {
		if err := tryPut(s, name, nil); err == nil {
			t.Errorf("%q is taken as a name", name)
		}
		if get(t, s, name) != nil || s.Delete(name) != nil {
			t.Errorf("%q is no miss", name)
		}
	}
	broken := errors.New("broken")
	for _, fill := range []func(io.Writer) error{
		func(io.Writer) error { return broken },
		func(w io.Writer) error { _, err := w.Write(make([]byte, 11)); return err },
	} {
		if err := s.Put("b", 10, fill); err == nil {
			t.Error("a failure to fill is no error")
		}
	}
	if get(t, s, "b") != nil {
		t.Error("half a blob was kept")
	}
	must(t, s.Put("b", 10, func(w io.Writer) error { _, err := w.Write([]byte("less")); return err }))
	if got := get(t, s, "b"); string(got) != "less" {
		t.Errorf("got %q", got)
	}
}

// TestPrune: the least recently used go first, never the newest, and what
// killed writers left goes as well.
func TestPrune(t *testing.T) {
	s, dir, _ := open(t, sealedstore.Options{MaxBytes: 3500, MaxBlob: 3400})
	age := func(name string, d time.Duration) {
		at := time.Now().Add(-d)
		must(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	for i, name := range []string{"a", "b", "c"} {
		put(t, s, name, make([]byte, 1000))
		age(name+".sealed", time.Duration(10-i)*time.Hour)
	}
	for _, name := range []string{".tmp-old", ".tmp-new", "foreign"} {
		must(t, os.WriteFile(filepath.Join(dir, name), make([]byte, 5000), 0o600))
	}
	age(".tmp-old", 2*time.Hour)
	if get(t, s, "a") == nil { // makes b the oldest
		t.Fatal("a is missing")
	}
	put(t, s, "d", make([]byte, 1000))
	var left []string
	for _, name := range []string{"a.sealed", "b.sealed", "c.sealed", "d.sealed", ".tmp-old", ".tmp-new", "foreign"} {
		if exists(filepath.Join(dir, name)) {
			left = append(left, name)
		}
	}
	if got, want := fmt.Sprint(left), "[a.sealed c.sealed d.sealed .tmp-new foreign]"; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
	put(t, s, "e", make([]byte, 3400))
	if get(t, s, "e") == nil || get(t, s, "d") != nil {
		t.Error("a blob that fills the store did not take the others' place")
	}
}

// TestManyAtOnce: stores of several processes share a directory from the
// making of the key on.
func TestManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sealedstore.Open(dir, sealedstore.Options{MaxBytes: 1 << 20})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 20 {
				name := fmt.Sprint("n", i%3)
				want := bytes.Repeat([]byte(name), 10_000)
				if err := tryPut(s, name, want); err != nil {
					t.Error(err)
				}
				if got := get(t, s, name); got != nil && !bytes.Equal(got, want) {
					t.Error("a blob is another's")
				}
			}
		})
	}
	wg.Wait()
	s, err := sealedstore.Open(dir, sealedstore.Options{})
	must(t, err)
	for i := range 3 {
		if get(t, s, fmt.Sprint("n", i)) == nil {
			t.Errorf("n%d is lost: the processes didn't agree on a key", i)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s, _, _ := open(b, sealedstore.Options{})
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		put(b, s, "a", data)
	}
}

func BenchmarkGet(b *testing.B) {
	s, _, _ := open(b, sealedstore.Options{})
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	put(b, s, "a", data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		blob, err := s.Get("a")
		if err != nil {
			b.Fatal(err)
		}
		blob.Release()
	}
}

// FuzzFile: whatever a file holds, it is a miss and removed, unless it is what
// was put there.
func FuzzFile(f *testing.F) {
	s, dir, _ := open(f, sealedstore.Options{})
	put(f, s, "a", []byte("data"))
	path := filepath.Join(dir, "a.sealed")
	whole, err := os.ReadFile(path)
	must(f, err)
	f.Add(whole)
	f.Add([]byte{})
	f.Add(whole[:len(whole)-1])
	f.Add(append(bytes.Clone(whole), 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		got := get(t, s, "a")
		if bytes.Equal(data, whole) {
			if string(got) != "data" {
				t.Errorf("the blob itself is a miss")
			}
			return
		}
		if got != nil || exists(path) {
			t.Errorf("%x is taken: %q", data, got)
		}
	})
}
