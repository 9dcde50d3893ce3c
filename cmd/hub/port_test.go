package main

import (
	"fmt"
	"syscall"
)

// reserve takes a port of this machine which a hub can listen on, again and
// again, and nobody else is given: the socket that holds it is bound, but
// doesn't listen. A port that was free when a hub ended may belong to anybody
// when it is started again, even to a connection that was to reach the hub.
func reserve() (address string, release func(), err error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = syscall.Close(fd) }
	// Go's listeners have this set as well, which makes two sockets possible.
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at syscall.Sockaddr
	if err == nil {
		at, err = syscall.Getsockname(fd)
	}
	inet, ok := at.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		release()
		return "", nil, fmt.Errorf("no port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", inet.Port), release, nil
}
