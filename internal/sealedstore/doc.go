// Package sealedstore keeps blobs in a directory so that only what this user's key
// has sealed is ever given back.
//
// # Guarantees
//
//   - The directory is the user's own and closed to others (mode 0700), opened
//     without following a link and checked on the descriptor, anew for each
//     operation: one that is replaced, removed or opened up while the process
//     runs is noticed.
//   - A blob is sealed with AES-256-GCM under its name. Whatever is not
//     exactly what was put there under this name (cut, altered, swapped,
//     foreign, a link, too large) is removed, logged and reported as ErrMiss.
//   - A blob appears whole or not at all, for other processes too. After a
//     power failure one may be damaged, which is a miss.
//   - All blobs together stay within Options.MaxBytes: the least recently used
//     go first.
//   - Contents are held outside the Go heap and given back to the system by
//     Blob.Release, so that a large blob leaves nothing behind.
//
// # Concurrency
//
// A Store may be used by any number of goroutines, and a directory by any
// number of processes.
//
// # Limits
//
// Whoever can read the key file and write to the directory, which is every
// process of the user, can seal what he likes: against him nothing here helps.
// An older blob of the same name that comes back is taken for the newer one.
// Contents are sealed, names and sizes are not. The random nonces are good for
// 2^32 blobs per key.
package sealedstore
