package host

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"waymark/internal/sealedstore"
)

const (
	// maxMemos bounds all memos on disk: those of some hundred workspaces.
	maxMemos = 128 << 20
	// maxMemo bounds the memos of one root: those of the largest snapshot that a hub takes,
	// 16 MiB with 4,000 resources, and their traces.
	maxMemo = 32 << 20
)

// memoStore keeps memos and the modules' descriptions between processes, sealed with the
// user's key. It implements resolve.Store.
type memoStore struct {
	store *sealedstore.Store
	salt  string
}

// openMemos opens the store in a directory. If it can't, it logs a warning and returns nil,
// and nothing is kept.
func openMemos(dir, keyDir string, log *slog.Logger) *memoStore {
	if dir == "" {
		return nil
	}
	store, err := sealedstore.Open(dir, sealedstore.Options{KeyDir: keyDir, MaxBytes: maxMemos, MaxBlob: maxMemo, Logger: log})
	if err != nil {
		log.Warn("memos are not kept", slog.Any("error", err))
		return nil
	}
	return &memoStore{store, programIdentity()}
}

// programIdentity identifies this version of the program. Another version might compute
// different results from the same memo.
func programIdentity() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%q %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// Get implements resolve.Store.
func (m *memoStore) Get(name string) ([]byte, bool) {
	blob, err := m.store.Get(name)
	if err != nil {
		return nil, false
	}
	defer blob.Release()
	return append([]byte(nil), blob.Bytes()...), true
}

// Put implements resolve.Store.
func (m *memoStore) Put(name string, data []byte) error {
	return m.store.Put(name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
