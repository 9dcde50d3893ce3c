package sealedstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

const (
	keyName = "key"
	keySize = 32 // AES-256
)

func randomName() string { return rand.Text() }

// openKey reads the key in dir, or makes one. It replaces a key that is damaged, or that
// others could have read, which makes everything sealed with it useless.
func openKey(dir *os.File, log *slog.Logger) (cipher.AEAD, error) {
	// If several processes make the key at once, the later ones use the first one's. The
	// bound only protects against a hostile directory.
	for range 10 {
		key, err := readKey(dir)
		switch {
		case err == nil:
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			return cipher.NewGCM(block)
		case !errors.Is(err, unix.ENOENT):
			log.Warn("sealing key replaced: what was sealed with it is made anew",
				slog.String("dir", dir.Name()), slog.Any("error", err))
			if err := remove(dir, keyName); err != nil {
				return nil, fmt.Errorf("remove the damaged key in %s: %w", dir.Name(), err)
			}
		}
		if err := makeKey(dir); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("make a key in %s: %w", dir.Name(), err)
		}
	}
	return nil, fmt.Errorf("the key in %s changes all the time", dir.Name())
}

func readKey(dir *os.File) ([]byte, error) {
	f, size, err := openFile(dir, keyName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size != keySize {
		return nil, fmt.Errorf("the key has %d bytes instead of %d", size, keySize)
	}
	key := make([]byte, keySize)
	_, err = io.ReadFull(f, key)
	return key, err
}

// makeKey makes a complete key appear under its name, unless there is one.
func makeKey(dir *os.File) error {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	f, temp, err := createTemp(dir, tempPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = remove(dir, temp) }()
	_, err = f.Write(key)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	fd := int(dir.Fd())
	err = unix.Linkat(fd, temp, fd, keyName, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		// There are no hard links here. Of two concurrent processes the second wins, and what
		// the first has sealed is a miss.
		err = unix.Renameat(fd, temp, fd, keyName)
	}
	return err
}
