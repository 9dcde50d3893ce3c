package beneath

import "golang.org/x/sys/unix"

// dirFlags open a directory to go through it: O_PATH needs the permission to
// search it only, not to list it, as a path lookup does.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
