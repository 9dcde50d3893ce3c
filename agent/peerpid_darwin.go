package agent

import "golang.org/x/sys/unix"

// peerPID returns the process that listens at the other end of a socket.
func peerPID(fd int) (int, error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}
