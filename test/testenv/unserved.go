//go:build unix

package testenv

import (
	"fmt"
	"syscall"
	"testing"
)

// UnservedAddress returns the host and port of an address that nobody listens on, and that
// nobody else can get before the end of the test: it is bound.
func UnservedAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	inet, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the address is a %T", bound)
	}
	return fmt.Sprintf("127.0.0.1:%d", inet.Port)
}
