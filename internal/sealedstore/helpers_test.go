package sealedstore_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"waymark/internal/sealedstore"
)

// logBuffer collects log lines of several goroutines.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lines is how many were written.
func (b *logBuffer) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.text.Bytes(), []byte("\n"))
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// open makes a store in a new directory, with the key elsewhere.
func open(t testing.TB, opts sealedstore.Options) (s *sealedstore.Store, dir string, logs *logBuffer) {
	t.Helper()
	logs = &logBuffer{}
	opts.Logger = slog.New(slog.NewTextHandler(logs, nil))
	dir = filepath.Join(t.TempDir(), "store")
	if opts.KeyDir == "" {
		opts.KeyDir = filepath.Join(t.TempDir(), "key")
	}
	s, err := sealedstore.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir, logs
}

func put(t testing.TB, s *sealedstore.Store, name string, data []byte) {
	t.Helper()
	if err := tryPut(s, name, data); err != nil {
		t.Fatal(err)
	}
}

func tryPut(s *sealedstore.Store, name string, data []byte) error {
	return s.Put(name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// get returns a copy of a blob, or nil for a miss.
func get(t testing.TB, s *sealedstore.Store, name string) []byte {
	t.Helper()
	blob, err := s.Get(name)
	if err != nil {
		if !errors.Is(err, sealedstore.ErrMiss) {
			t.Errorf("error %v, want a miss", err)
		}
		return nil
	}
	defer blob.Release()
	return append([]byte{}, blob.Bytes()...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
