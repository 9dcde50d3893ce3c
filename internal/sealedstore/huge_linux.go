package sealedstore

import "golang.org/x/sys/unix"

// adviseHuge asks for large pages, because faulting a blob in by 4 KiB takes as long as
// reading and decrypting it. It is best effort.
func adviseHuge(mapped []byte) { _ = unix.Madvise(mapped, unix.MADV_HUGEPAGE) }
