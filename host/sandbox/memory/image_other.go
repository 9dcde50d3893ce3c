//go:build !linux

package memory

// NewImage makes none: it is an ErrNoImage.
func (a *Allocator) NewImage() (*Image, error) { return nil, ErrNoImage }

// Warm learns nothing.
func (a *Allocator) Warm() (added uint64) { return 0 }

func (i *Image) mapAt([]byte) error  { return ErrNoImage }
func (i *Image) copyTo([]byte) error { return ErrNoImage }
