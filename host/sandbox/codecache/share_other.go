//go:build !linux

package codecache

import (
	"errors"
	"os"
)

// Only Linux has sealed memory files, and lets a program map its own file
// whatever became of the name.

func executable() (*os.File, error) { return nil, errors.ErrUnsupported }

func newSealed(*native) (*native, error) { return nil, errors.ErrUnsupported }

// feed isn't used where no code is constant.
type feed struct{}

func newFeed(string, *native) (*feed, error) { return nil, errors.ErrUnsupported }

func (*feed) close() {}

func (*feed) share(*native) error { return errors.ErrUnsupported }
