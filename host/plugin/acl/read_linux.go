package acl

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxAttribute is how long the kernel lets an attribute be, in bytes.
const maxAttribute = 64 << 10

// OfFile returns whom the list of an open file, or directory, lets write. has
// is false where there is no list: then the mode's bits say all.
func OfFile(f *os.File) (writers []Writer, has bool, err error) {
	return read(f.Name(), func(attribute string, buf []byte) (int, error) {
		return unix.Fgetxattr(int(f.Fd()), attribute, buf)
	})
}

// OfPath is OfFile of what a path leads to.
func OfPath(path string) (writers []Writer, has bool, err error) {
	return read(path, func(attribute string, buf []byte) (int, error) { return unix.Getxattr(path, attribute, buf) })
}

func read(name string, get func(string, []byte) (int, error)) ([]Writer, bool, error) {
	for _, format := range formats {
		data, err := attribute(format.attribute, get)
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
			continue
		}
		if err != nil {
			return nil, true, &os.PathError{Op: "read the access control list of", Path: name, Err: err}
		}
		writers, has, err := format.parse(data)
		if err != nil {
			return nil, true, fmt.Errorf("%s: %w", format.attribute, err)
		}
		if has {
			return writers, true, nil
		}
	}
	return nil, false, nil
}

// attribute reads one, which mostly isn't there, or short.
func attribute(name string, get func(string, []byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := get(name, buf)
	if errors.Is(err, unix.ERANGE) {
		buf = make([]byte, maxAttribute)
		n, err = get(name, buf)
	}
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
