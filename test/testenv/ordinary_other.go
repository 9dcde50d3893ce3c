//go:build !linux

package testenv

import (
	"errors"
	"os"
)

func powerful() bool { return os.Geteuid() == 0 }

var errLinux = errors.New("that needs Linux: run the tests as a user")

func canGiveUp() error { return errLinux }

func giveUp() error { return errLinux }
