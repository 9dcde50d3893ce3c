//go:build !linux

package acl

import "os"

// OfFile returns no list: they are read on Linux alone.
func OfFile(*os.File) (writers []Writer, has bool, err error) { return nil, false, nil }

// OfPath returns no list.
func OfPath(string) (writers []Writer, has bool, err error) { return nil, false, nil }
