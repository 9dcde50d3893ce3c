// Package sealedstore keeps blobs in a directory, and returns only those that this user's key
// has sealed.
//
// # Guarantees
//
//   - The directory is the user's own and closed to others (mode 0700). Each operation opens
//     it anew without following a link, and checks the descriptor, so it notices a directory
//     that is replaced, removed or opened to others while the process runs.
//   - A blob is sealed with AES-256-GCM under its name. Anything but exactly what was stored
//     under this name (cut, altered, swapped, foreign, a link, too large) is removed, logged
//     and reported as ErrMiss.
//   - A blob appears whole or not at all, for other processes too. After a power failure one
//     may be damaged, which is a miss.
//   - All blobs together stay within Options.MaxBytes: the least recently used are removed
//     first.
//   - Contents are held outside the Go heap and returned to the system by Blob.Release, so
//     that a large blob leaves nothing behind.
//
// # Concurrency
//
// A Store may be used by any number of goroutines, and a directory by any number of
// processes.
//
// # Limits
//
// Every process of the user can read the key file and write to the directory, and can
// therefore seal anything; nothing here protects against that. An older blob of the same name
// that is put back is taken for the current one. Contents are sealed, names and sizes are
// not. The random nonces suffice for 2^32 blobs per key.
package sealedstore
