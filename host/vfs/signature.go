package vfs

import (
	"fmt"
	"slices"
)

// sign makes the signature; what goes into it is all that an open root brings
// to a run besides its files.
func (r *Root) sign(opts RootOptions) {
	r.signature = fmt.Sprintf("%q %q %q %d %d %q %q", r.dir, r.given, r.file, r.id.Dev, r.id.Ino,
		slices.Sorted(slices.Values(opts.Exclude)), slices.Sorted(slices.Values(r.mcpFiles)))
}

// Signature is equal for roots that show the same: the same directory, under
// the same paths, with the same options. A trace taken at one may be checked
// at the other, in another process too.
func (r *Root) Signature() string { return r.signature }
