//go:build !linux

package memory

import (
	"io"
	"os"
)

// NewImage makes none: it is an ErrNoImage.
func (a *Allocator) NewImage() (*Image, error) { return nil, ErrNoImage }

// CopyImage makes none: it is an ErrNoImage.
func CopyImage(Layout, io.Reader) (*Image, error) { return nil, ErrNoImage }

// MapImage makes none: it is an ErrNoImage.
func MapImage(Layout, *os.File, int64) (*Image, error) { return nil, ErrNoImage }

// Warm learns nothing.
func (a *Allocator) Warm() (added uint64) { return 0 }

// Reusable is an ErrNoImage.
func Reusable() error { return ErrNoImage }

func (i *Image) mapAt([]byte) error  { return ErrNoImage }
func (i *Image) copyTo([]byte) error { return ErrNoImage }

func (i *Image) restore(*area, bool) bool { return false }
