//go:build !linux

package main

import "errors"

// landlockVersion is of Linux alone.
func landlockVersion() (int, error) { return 0, errors.ErrUnsupported }
