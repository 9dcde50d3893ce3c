package host

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fxamacker/cbor/v2"

	"waymark/abi"
	"waymark/host/sealed"
)

const (
	// maxMemos bounds all memos on disk: those of some hundred workspaces.
	maxMemos = 128 << 20
	// maxMemo bounds the memos of one root: a full snapshot of 2 MiB from each
	// of a few resolvers.
	maxMemo = 16 << 20
)

// blobs keeps memos and descriptions between processes, sealed with the user's
// key. It implements resolve.Store. A nil *blobs keeps nothing.
type blobs struct {
	store *sealed.Store
	salt  string
}

// openBlobs opens the store in a directory. What can't be used is a warning,
// and nothing is kept.
func openBlobs(dir, keyDir string, log *slog.Logger) *blobs {
	if dir == "" {
		return nil
	}
	store, err := sealed.Open(dir, sealed.Options{KeyDir: keyDir, MaxBytes: maxMemos, MaxBlob: maxMemo, Logger: log})
	if err != nil {
		log.Warn("memos are not kept", slog.Any("error", err))
		return nil
	}
	return &blobs{store, programIdentity()}
}

// programIdentity tells this program from any other version of it: what one
// version remembers, another might compute differently.
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
func (b *blobs) Get(name string) ([]byte, bool) {
	blob, err := b.store.Get(name)
	if err != nil {
		return nil, false
	}
	defer blob.Release()
	return append([]byte(nil), blob.Bytes()...), true
}

// Put implements resolve.Store.
func (b *blobs) Put(name string, data []byte) error {
	return b.store.Put(name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// keptDescription is what a module said of itself when it was loaded last.
type keptDescription struct {
	Salt, Digest string
	Description  abi.Description
}

func descriptionName(digest string) string { return "module-" + digest }

// description returns what a module has said of itself; nil when it isn't
// known.
func (b *blobs) description(digest string) *abi.Description {
	if b == nil {
		return nil
	}
	data, ok := b.Get(descriptionName(digest))
	if !ok {
		return nil
	}
	var kept keptDescription
	if cbor.Unmarshal(data, &kept) != nil || kept.Salt != b.salt || kept.Digest != digest {
		return nil
	}
	return &kept.Description
}

func (b *blobs) keepDescription(digest string, d *abi.Description) error {
	if b == nil {
		return nil
	}
	data, err := cbor.Marshal(keptDescription{b.salt, digest, *d})
	if err != nil {
		return err
	}
	return b.Put(descriptionName(digest), data)
}
