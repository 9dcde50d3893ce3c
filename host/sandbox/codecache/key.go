package codecache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"

	"waymark/internal/reexec"
)

// format is the version of what is kept and how; it is in every key.
const format = "5"

// Recipe is what determines the native code of a module, besides the machine
// and the versions that Key adds.
type Recipe struct {
	// Rewriter names the rewriter's version. Empty means that the module is
	// compiled as it is.
	Rewriter string
	// RewriteOptions go to the rewriter as they are.
	RewriteOptions []byte
	// CloseOnDone is wazero's WithCloseOnContextDone, which changes the code.
	CloseOnDone bool
}

// Key identifies the code of one module for one kind of machine.
type Key [sha256.Size]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of a module; digest is the SHA-256 of its bytes before
// rewriting.
func KeyOf(digest [sha256.Size]byte, r Recipe) (Key, error) {
	version, err := wazeroDir()
	if err != nil {
		return Key{}, err
	}
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte("waymark codecache " + format), []byte(version), cpuBytes(), digest[:],
		[]byte(r.Rewriter), r.RewriteOptions, fmt.Appendf(nil, "close=%t", r.CloseOnDone),
	} {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write(part)
	}
	return Key(h.Sum(nil)), nil
}

// Wazero says which version of wazero this is, where wazero doesn't know it: "dev", in
// binaries without module information, such as tests. As long as it is empty the digest
// of the executable stands in, so that no two of these share what they compiled. Tests
// set it before they use the package.
var Wazero string

// wazeroDir is the name of wazero's own directory below that of a cache, as in
// wazero-v1.12.0-amd64-linux: wazero, asked for it, knows best.
var wazeroDir = sync.OnceValues(func() (string, error) {
	temp, err := os.MkdirTemp("", scratchPrefix)
	if err != nil && runtime.GOOS == "linux" {
		temp, err = os.MkdirTemp(memoryDir, scratchPrefix)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	_, name, err := wazeroCache(temp)
	if err != nil || !strings.HasPrefix(name, "wazero-dev-") {
		return name, err
	}
	if Wazero != "" {
		return name + "-" + Wazero, nil
	}
	sum, err := executableDigest()
	return name + "-" + sum, err
})

// wazeroCache makes a cache in a directory that is empty or was used by the
// same wazero, and says which directory in it wazero uses.
func wazeroCache(in string) (wazero.CompilationCache, string, error) {
	cache, err := wazero.NewCompilationCacheWithDir(in)
	if err != nil {
		return nil, "", err
	}
	names, err := filepath.Glob(filepath.Join(in, "wazero-*"))
	if err != nil || len(names) != 1 {
		return nil, "", fmt.Errorf("wazero uses %d directories instead of one (%w)", len(names), err)
	}
	return cache, filepath.Base(names[0]), nil
}

func executableDigest() (string, error) {
	path, err := reexec.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// nativeName is the name of the file in which wazero keeps the code of a module
// (1.12.0: Module.ID without listeners, then fileCacheKey in
// engine_cache.go). Whether it is right is seen with every compilation: a file
// of another name is not taken.
func nativeName(wasm []byte, closeOnDone bool) string {
	flag := byte(0)
	if closeOnDone {
		flag = 1
	}
	id := sha256.New()
	_, _ = id.Write(wasm)
	_, _ = id.Write([]byte{flag})
	h := sha256.New()
	_, _ = h.Write(id.Sum(nil))
	_, _ = h.Write([]byte("WAZEVO"))
	_, _ = h.Write(cpuBytes())
	return hex.EncodeToString(h.Sum(nil))
}

func cpuBytes() []byte { return binary.LittleEndian.AppendUint64(nil, cpuFeatures()) }
